"""COCO annotations as the truth of BaDLAD: masks by image and class, and every fault told."""

import gzip
import json
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segjudge.codecs import CocoRle
from segjudge.errors import UsageError
from segjudge.findings import Collector
from segjudge.formats.coco import annotations, stream
from segjudge.formats.coco.source import open_coco_truth
from segjudge.formats.opening import Workspace
from segjudge.images import Images
from segjudge.polygons import polygon_masks
from segjudge.task import load_task

BADLAD = load_task("badlad")
NAMES = ("paragraph", "text_box", "image", "table")
SQUARE = [1.0, 1.0, 4.0, 1.0, 4.0, 3.0, 1.0, 3.0]
OTHER = [3, 2, 6, 2, 6, 5, 3, 5]


def page(key, height=6, width=8, name="page.png"):
    return {"id": key, "file_name": name, "height": height, "width": width}


def note(key, class_id, segmentation):
    return {"id": 0, "image_id": key, "category_id": class_id, "segmentation": segmentation, "iscrowd": 0}


def content(images, notes):
    categories = [{"id": number, "name": name} for number, name in enumerate(NAMES)]
    return {"info": {"year": 2023}, "images": images, "annotations": notes, "categories": categories}


@pytest.fixture
def opened(tmp_path):
    """Writes a truth and opens it: the source, and its diagnosis."""

    def opening(data, task=BADLAD):
        path = tmp_path / "truth.json"
        path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
        findings = Collector()
        source = open_coco_truth(path, "truth.json", task, findings, Workspace())
        return source, findings.diagnosis()

    return opening


def pictures(source, *places):
    """(places, classes, height, width) pictures of the images, bound in the source's own order."""
    source.bind(Images.of(source.image_ids, source.shapes))
    chunk = source.read(np.array(places or range(len(source.image_ids)), np.int64), None)
    assert chunk.findings.diagnosis().ok
    return chunk.instances, [chunk.instances.masks.picture(i) for i in range(len(chunk.instances))]


def test_every_class_of_every_image_has_one_mask(opened):
    source, found = opened(content([page(7), page(0, 5, 4)], [note(0, 2, [[0, 0, 2, 0, 2, 2]])]))
    assert found.totals == {}
    assert source.image_ids == ("7", "0")
    assert source.shapes.tolist() == [[6, 8], [5, 4]]
    instances, _ = pictures(source)
    assert instances.image_ids == ("7", "0")
    assert instances.image.tolist() == [0] * 4 + [1] * 4
    assert instances.class_ids.tolist() == [0, 1, 2, 3] * 2
    assert (instances.masks.areas > 0).tolist() == [False] * 6 + [True, False]
    assert instances.masks.shapes.tolist() == [[6, 8]] * 4 + [[5, 4]] * 4
    assert not instances.rows.any()
    assert not instances.ignored.any()


def test_rings_and_annotations_of_a_class_are_joined(opened):
    notes = [note(1, 0, [SQUARE, [6, 4, 8, 4, 8, 6, 6, 6]]), note(1, 3, [SQUARE]), note(1, 0, [OTHER])]
    source, found = opened(content([page(1)], notes))
    assert found.totals == {}
    _, masks = pictures(source)
    drawn = polygon_masks([[SQUARE, [6, 4, 8, 4, 8, 6, 6, 6], OTHER], [SQUARE]], [(6, 8)] * 2)
    np.testing.assert_array_equal(masks[0], drawn.picture(0))
    np.testing.assert_array_equal(masks[3], drawn.picture(1))
    assert not masks[1].any()
    assert not masks[2].any()


def test_polygons_and_both_kinds_of_run_lengths_are_joined(opened):
    picture = np.zeros((6, 8), bool)
    picture[5, :] = picture[0, 2] = True
    runs = CocoRle().encode(picture)
    last = {"size": [6, 8], "counts": "_11"}  # 47 pixels of background, one of the mask
    source, found = opened(content([page(1)], [note(1, 1, runs), note(1, 1, last), note(1, 1, [SQUARE])]))
    assert found.totals == {}
    wanted = picture | polygon_masks([[SQUARE]], [(6, 8)]).picture(0)
    np.testing.assert_array_equal(pictures(source)[1][1], wanted)


def test_compressed_run_lengths_are_read_as_pycocotools_writes_them(opened):
    coco = pytest.importorskip("pycocotools.mask")
    picture = np.random.default_rng(3).random((6, 8)) < 0.4
    text = coco.encode(np.asfortranarray(picture.astype(np.uint8)))["counts"].decode()
    source, found = opened(content([page(1)], [note(1, 1, {"size": [6, 8], "counts": text})]))
    assert found.totals == {}
    np.testing.assert_array_equal(pictures(source)[1][1], picture)


def test_masks_come_in_the_tasks_order(opened):
    data = content([page(1)], [note(1, 0, [SQUARE])])
    by_column, by_row = (opened(data, BADLAD.with_settings([f"order={o}"]))[0] for o in ("column", "row"))
    for source, order in ((by_column, "column"), (by_row, "row")):
        instances, masks = pictures(source)
        assert instances.masks.order == order
        np.testing.assert_array_equal(masks[0], polygon_masks([[SQUARE]], [(6, 8)]).picture(0))


def test_images_may_be_named_by_their_files(opened):
    images = [page(1, name="scans/0012.png"), page(2, name="b\\3e5.tiff")]
    data = content(images, [note(2, 0, [SQUARE])])
    source, found = opened(data, BADLAD.with_settings(["image_key=file_name"]))
    assert found.totals == {}
    assert source.image_ids == ("0012", "3e5")
    assert pictures(source)[0].masks.areas[4:].any()


def test_chunks_follow_the_images_asked_for(opened):
    notes = [note(key, key % 4, [SQUARE]) for key in (2, 0, 1, 2)] + [note(1, 3, [OTHER])]
    source, _ = opened(content([page(key) for key in (0, 1, 2)], notes))
    source.bind(Images.of(["2", "stranger", "0"]))
    instances = source.read(np.array([1, 2, 0]), None).instances
    assert instances.image_ids == ("stranger", "0", "2")
    assert instances.image.tolist() == [1] * 4 + [2] * 4
    assert (instances.masks.areas > 0).tolist() == [True, *[False] * 3, False, False, True, False]
    assert len(source.read(np.array([], np.int64), None).instances) == 0


def test_a_source_survives_the_way_to_a_worker(opened):
    source, _ = opened(content([page(1)], [note(1, 0, [SQUARE])]))
    source.bind(Images.of(source.image_ids, source.shapes))
    copy = pickle.loads(pickle.dumps(source))
    (here,), (there,) = (s.read(np.array([0]), None).instances.masks.areas[None] for s in (source, copy))
    assert here.tolist() == there.tolist()
    assert copy.holds_gil


def test_images_with_more_to_draw_weigh_more(opened):
    notes = [note(1, 0, [SQUARE]), note(2, 0, [SQUARE, OTHER]), note(2, 0, [SQUARE])]
    source, _ = opened(content([page(0), page(1), page(2)], notes))
    empty, one, three = source.weights().tolist()
    assert 0 < empty < one < three


def test_a_truth_of_run_lengths_alone_has_weights_too(opened):
    source, _ = opened(content([page(1)], [note(1, 1, {"size": [6, 8], "counts": [40, 8]})]))
    assert (source.weights() > 0).all()


@pytest.mark.parametrize("packed", ["gzip", "zip", "bom"])
def test_a_truth_may_be_packed(tmp_path, packed):
    data = json.dumps(content([page(1, name="পাতা.png")], [note(1, 0, [SQUARE])]), ensure_ascii=False).encode()
    path = tmp_path / "truth"
    if packed == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("truth.json", data)
    else:
        path.write_bytes(gzip.compress(data) if packed == "gzip" else b"\xef\xbb\xbf" + data)
    findings, workspace = Collector(), Workspace()
    source = open_coco_truth(path, "truth", BADLAD, findings, workspace)
    assert findings.diagnosis().totals == {}
    workspace.close()
    assert pictures(source)[0].masks.areas[0] > 0


def test_no_file_is_the_callers_fault(tmp_path):
    with pytest.raises(UsageError):
        open_coco_truth(tmp_path / "gone.json", "gone.json", BADLAD, Collector(), Workspace())


# --------------------------------------------------------------------------------------------- faults

WRONG_NOTES = [
    ("missing-field", {"category_id": 0, "segmentation": [SQUARE]}),
    ("missing-field", {"image_id": 1, "segmentation": [SQUARE]}),
    ("missing-field", {"image_id": 1, "category_id": 0}),
    ("missing-field", note(1, 0, [])),
    ("missing-field", note(1, 0, {"size": [6, 8]})),
    ("missing-field", note(1, 0, {"counts": [48]})),
    ("bad-type", "annotation"),
    ("bad-type", None),
    ("bad-type", note(1.0, 0, [SQUARE])),
    ("bad-type", note(True, 0, [SQUARE])),
    ("bad-type", note("\ud800", 0, [SQUARE])),
    ("bad-type", note(1, "0", [SQUARE])),
    ("bad-type", note(1, False, [SQUARE])),
    ("bad-type", note(1, 0, SQUARE)),
    ("bad-type", note(1, 0, [[SQUARE]])),
    ("bad-type", note(1, 0, "SQUARE")),
    ("bad-type", note(1, 0, None)),
    ("bad-type", note(1, 0, [[1, 1, 4, 4]])),
    ("bad-type", note(1, 0, [SQUARE, [1, 1, 4, 4, 3, 2, 1]])),
    ("bad-type", note(1, 0, [[1, 1, 4, 4, True, 2]])),
    ("bad-type", note(1, 0, [[1, 1, 4, 4, None, 2]])),
    ("bad-type", note(1, 0, [[1, 1, 4, 4, "3", 2]])),
    ("bad-type", note(1, 0, [[1, 1, 4, 4, float("nan"), 2]])),
    ("bad-type", note(1, 0, [[1, 1, 4, 4, float("-inf"), 2]])),
    ("rle-out-of-bounds", note(1, 0, [[1, 1, 4, 4, 1e7, 2]])),
    ("rle-out-of-bounds", note(1, 0, [[1, 1, 4, 4, 10**400, 2]])),
    ("unknown-id", note(2, 0, [SQUARE])),
    ("unknown-id", note(-(10**30), 0, [SQUARE])),
    ("shape-mismatch", note(1, 0, {"size": [8, 6], "counts": [48]})),
    ("rle-wrong-total", note(1, 0, {"size": [6, 8], "counts": [40, 7]})),
    ("rle-wrong-total", note(1, 0, {"size": [6, 8], "counts": [1 << 52] * 4096 + [48]})),
    ("rle-bad-length", note(1, 0, {"size": [6, 8], "counts": [49, -1]})),
    ("rle-not-integer", note(1, 0, {"size": [6, 8], "counts": [40, 8.0]})),
    ("rle-not-integer", note(1, 0, {"size": [6, 8], "counts": "_"})),
    ("bad-type", note(1, 0, {"size": [6, 8], "counts": None})),
    ("bad-type", note(1, 0, {"size": [10**30, 0], "counts": [0]})),
    ("bad-type", note(1, 0, {"size": [-6, -8], "counts": [48]})),
    ("bad-type", note(1, 0, {"size": "6x8", "counts": [48]})),
]


@pytest.mark.parametrize(("code", "wrong"), WRONG_NOTES)
def test_an_annotation_at_fault_is_told_with_its_place(opened, code, wrong):
    source, found = opened(content([page(1)], [note(1, 1, [SQUARE]), wrong, note(1, 3, [OTHER])]))
    assert found.totals == {code: 1}
    assert not found.ok
    (finding,) = found.findings
    assert (finding.where.file, finding.where.entry) == ("truth.json", 1)
    assert finding.where.column.startswith("annotations")
    json.dumps(finding.to_json()).encode()
    str(finding).encode()
    assert (pictures(source)[0].masks.areas > 0).tolist() == [False, True, False, True]


WRONG_PAGES = [
    ("missing-field", {"file_name": "a.png", "height": 6, "width": 8}),
    ("missing-field", {"id": 2, "file_name": "a.png", "width": 8}),
    ("bad-type", [2]),
    ("bad-type", page(None)),
    ("bad-type", page("")),
    ("bad-type", page(2, 6.0)),
    ("bad-type", page(2, "6")),
    ("shape-mismatch", page(2, 0)),
    ("shape-mismatch", page(2, 6, -8)),
    ("shape-mismatch", page(2, 10**30)),
    ("duplicate-id", page(1, 9, 9)),
    ("duplicate-id", page("1")),
]


@pytest.mark.parametrize(("code", "wrong"), WRONG_PAGES)
def test_an_image_at_fault_is_told_with_its_place(opened, code, wrong):
    notes = [note(1, 0, [SQUARE])]
    if isinstance(wrong, dict) and wrong.get("id") == 2:
        notes.append(note(2, 0, [SQUARE]))  # no fault of its own
    source, found = opened(content([page(1), wrong], notes))
    assert found.totals == {code: 1}
    assert found.findings[0].where.entry == 1
    assert found.findings[0].where.column.startswith("images")
    assert source.image_ids == ("1",)
    assert pictures(source)[0].masks.shapes.tolist() == [[6, 8]] * 4


@pytest.mark.parametrize(
    ("code", "name"), [("duplicate-id", "x/page.jpg"), ("bad-type", ""), ("bad-type", 3)]
)
def test_file_names_that_name_no_image_of_their_own_are_told(opened, code, name):
    data = content([page(1), page(2, name=name)], [])
    assert opened(data)[1].totals == {}
    assert opened(data, BADLAD.with_settings(["image_key=file_name"]))[1].totals == {code: 1}


def test_annotations_of_other_categories_are_left_out_with_a_warning(opened):
    source, found = opened(content([page(1)], [note(1, 4, [SQUARE]), note(1, -1, None)]))
    assert found.totals == {"unknown-class": 2}
    assert found.ok
    assert not pictures(source)[0].masks.areas.any()


def test_categories_counted_from_another_number_are_warned_of(opened):
    data = content([page(1)], [note(1, 1, [SQUARE])])
    data["categories"] = [{"id": number + 1, "name": name} for number, name in enumerate(NAMES)]
    _, found = opened(data)
    assert found.totals == {"unknown-class": 4}
    assert found.ok
    assert "'paragraph' is 0" in found.findings[0].message


def test_a_category_stands_once(opened):
    data = content([page(1)], [])
    data["categories"].append({"id": 3, "name": "table"})
    assert opened(data)[1].totals == {"duplicate-id": 1}


def test_lists_may_come_in_any_order(opened):
    data = content([page(1)], [note(1, 0, [SQUARE]), note(5, 0, [SQUARE])])
    turned = dict(reversed(data.items()))
    source, found = opened(turned)
    assert found.totals == {"unknown-id": 1}
    assert pictures(source)[0].masks.areas[0] > 0


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("bad-json", b""),
        ("bad-json", b"  "),
        ("bad-json", b"[]"),
        ("bad-json", b"7"),
        ("bad-json", b"Id,Predicted\n"),
        ("bad-json", b'{"images": [], "annotations": []'),
        ("bad-json", b'{"images": [], "annotations": [{"id": 1}, {"id"'),
        ("bad-json", b'{"images": [], "annotations": []}{"images": [], "annotations": []}'),
        ("bad-json", b'{"images": [], "images": [], "annotations": []}'),
        ("bad-json", b'{"images": [,], "annotations": []}'),
        ("bad-json", b'{"images": [] "annotations": []}'),
        ("bad-json", b'{7: [], "annotations": []}'),
        ("bad-json", b'{"images": [], "annotations": [' + b"[" * 200_000),
        ("bad-json", b'{"images": [' + b"9" * 9000 + b'], "annotations": []}'),
        ("bad-type", b'{"images": {}, "annotations": []}'),
        ("missing-field", b'{"images": []}'),
        ("missing-field", b'{"annotations": []}'),
        ("not-utf8", '{"images": [], "annotations": []}'.encode("utf-16")),
        ("not-utf8", b'{"images": [{"id": "\xe9"}], "annotations": []}'),
    ],
)
def test_a_file_that_is_no_truth_is_told(opened, code, text):
    source, found = opened(text)
    assert source is None
    assert found.totals[code] == 1
    assert found.findings[0].code == code
    assert found.findings[0].message


def test_an_empty_truth_has_no_images(opened):
    source, found = opened(b'{"images": [], "annotations": []}')
    assert found.totals == {}
    assert source.image_ids == ()
    assert source.weights().tolist() == []
    assert len(pictures(source)[0]) == 0


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    ["id", "image_id", "category_id", "segmentation", "size", "counts", "height"]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=20,
    ),
    st.sampled_from(["images", "annotations", "categories"]),
    st.sampled_from([*page(1), *note(1, 0, None), ""]),
)
def test_no_value_anywhere_raises(tmp_path_factory, value, place, field):
    item = {**page(1), **note(1, 0, [SQUARE])}
    data = content([page(1)], [note(1, 0, [SQUARE])])
    data[place].append({**item, field: value} if field else value)
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(data))
    source = open_coco_truth(path, "any.json", BADLAD, Collector(), Workspace())
    pictures(source)


@given(st.integers(1, 40), st.booleans())
def test_windows_of_the_text_do_not_show(tmp_path_factory, block, spaced):
    data = content([page(1), page(-2)], [note(1, 0, [[*SQUARE, 1.5e-7, -0.25e1]]), 12345.5e-3, 7, -12, "é\\"])
    path = tmp_path_factory.getbasetemp() / "windows.json"
    path.write_text(json.dumps(data, indent=1 if spaced else None, ensure_ascii=False), encoding="utf-8")
    taken = {"images": [], "annotations": [], "categories": []}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "_BLOCK", block)
        seen = stream.read_lists(
            path, {name: lambda _, v, into=into: into.append(v) for name, into in taken.items()}
        )
    assert seen == set(taken)
    assert taken == {name: data[name] for name in taken}


def test_waiting_arrays_do_not_show(opened, monkeypatch):
    random = np.random.default_rng(5)
    notes = [
        note(int(k), int(c), [random.uniform(-2, 9, 8).tolist()]) for k, c in random.integers(0, 4, (40, 2))
    ]
    notes += [note(int(k), 1, CocoRle().encode(random.random((6, 8)) < 0.2)) for k in range(4)]
    notes[11]["segmentation"][0][3] = float("nan")
    data = content([page(key) for key in range(4)], notes)
    whole, found = opened(data)
    monkeypatch.setattr(annotations, "_BLOCK", 1)
    monkeypatch.setattr(annotations, "_MASKS", 1)
    single, found_singly = opened(data)
    assert found == found_singly
    assert [f.where.entry for f in found.findings] == [11]
    for one, other in zip(pictures(whole)[1], pictures(single)[1], strict=True):
        np.testing.assert_array_equal(one, other)
