"""COCO's files: what the kernels take and what the careful readers take is the same, and faults are told."""

from __future__ import annotations

import gzip
import json
import math
import pickle
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pycocotools import mask as coco_mask

import segjudge as sj
from segjudge import kernels
from segjudge.errors import MaskError
from segjudge.findings import Collector
from segjudge.formats.coco import rows, stream
from segjudge.kernels import _json_plain
from segjudge.polygons import polygon_masks
from tests.running import segjudge

if TYPE_CHECKING:
    from pathlib import Path

COCO = sj.load_task("coco")
SIZE = (4, 5)
RUNS = {"size": [4, 5], "counts": [2, 3, 15]}
TEXT = {"size": [4, 5], "counts": sj.CocoRle().compress(sj.CocoRle().decode(RUNS))[0]}
RESULT = {"image_id": 1, "category_id": 3, "segmentation": TEXT, "score": 0.5}
BOXED = {**RESULT, "bbox": [0, 2, 1, 3]}
IMAGE = {"id": 1, "height": 4, "width": 5, "file_name": "a.jpg"}
TRUTH = {
    "id": 7, "image_id": 1, "category_id": 3, "segmentation": [[0, 0, 3, 0, 3, 3, 0, 3]], "area": 9.5,
    "iscrowd": 0, "bbox": [0, 0, 3, 3],
}  # fmt: skip
CLASSES = [{"id": 3, "name": "car"}, {"id": 0, "name": "cat"}]

no_kernels = [
    mock.patch.object(kernels, "scan_entries", _json_plain.scan_entries),
    mock.patch.object(kernels, "read_segments", _json_plain.read_segments),
]


# --- making and reading --------------------------------------------------------------------------------------


def annotations(
    drawn: list[Any], images: list[Any] | None = None, classes: list[Any] | None = None
) -> dict[str, Any]:
    return {
        "info": {"year": 2014, "note": "é"},
        "images": [IMAGE] if images is None else images,
        "annotations": drawn,
        "categories": CLASSES if classes is None else classes,
    }


def written(path: Path, content: object) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


@dataclass(frozen=True)
class Seen:
    """Everything that was learnt of a file, as plain values that can be compared."""

    findings: list[str]
    totals: dict[str, int]
    image_ids: tuple[str, ...] = ()
    columns: tuple[Any, ...] = ()


def instances_of(opened: sj.Submission | sj.Truth) -> sj.Instances:
    source = opened.source
    images = sj.Images.of(source.image_ids, source.shapes)
    source.bind(images)
    return source.read(np.arange(len(images)), None).instances


def seen(opened: sj.Submission | sj.Truth, cap: int | None = None) -> Seen:
    findings = opened.findings.copy()
    source = opened.source
    if source is None:
        diagnosis = findings.diagnosis()
        return Seen(sorted(map(str, diagnosis.findings)), dict(diagnosis.totals))
    source.bind(sj.Images.of(source.image_ids, source.shapes))
    chunk = source.read(np.arange(len(source.image_ids)), cap)
    findings.absorb(chunk.findings)
    diagnosis = findings.diagnosis()
    got = chunk.instances
    arrays = [
        got.image, got.class_ids, got.confidences, got.ignored, got.rows, got.areas, got.crowd,
        got.masks.starts, got.masks.stops, got.masks.indptr, got.masks.shapes, got.masks.areas,
        got.masks.extents, source.shapes,
    ]  # fmt: skip
    columns = tuple(None if array is None else (array.shape, array.tobytes()) for array in arrays)
    return Seen(
        sorted(map(str, diagnosis.findings)), dict(diagnosis.totals), tuple(source.image_ids), columns
    )


def read_both(path: Path, read: Any) -> tuple[Seen, Seen]:
    """What the kernels and the careful readers together see, and what the careful readers see alone."""
    fast = seen(read(COCO, path, findings=Collector(cap=None)))
    with no_kernels[0], no_kernels[1]:
        careful = seen(read(COCO, path, findings=Collector(cap=None)))
    return fast, careful


def found(path: Path, read: Any = sj.read_submission) -> dict[str, int]:
    return seen(read(COCO, path)).totals


# --- drawn files ---------------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.floats(0, 1),
    st.sampled_from([0, 1, True, False, None, "1", "", "é", 1.0, 1e-310, 1 << 62, 1 << 63, 10**400, -0.0]),
)
COUNTS = st.one_of(
    st.sampled_from(
        [[2, 3, 15], [20], [0, 20], [], [2, 3, 14], [0, 0, 5, 0, 15], [-1, 21], [1 << 63], [2.0, 18]]
    ),
    st.sampled_from(["23?", "d0", "", "0d0", "oooooooooooooo0", "2~", "é", "2 ", "\\", "\\\\", "2\u0000"]),
    st.text(st.characters(min_codepoint=44, max_codepoint=115), max_size=6),
    st.just(TEXT["counts"]),
    NUMBERS,
)
SIZES = st.one_of(
    st.just([4, 5]), st.sampled_from([[5, 4], [4], [4, 5, 1], [0, 0], [-4, 5], [4.0, 5], "4x5", [1 << 21, 1]])
)
RINGS = st.one_of(
    st.just([[0, 0, 3, 0, 3, 3, 0, 3]]),
    st.sampled_from(
        [[], [[]], [[1, 2, 3, 4]], [[0, 0, 3, 0, 3]], [[0, 0, 3, 0, 3, "3"]], [[1e7, 0, 3, 0, 3, 3]], [3]]
    ),
    st.lists(st.lists(st.floats(-2, 8), min_size=6, max_size=12), min_size=1, max_size=3),
    st.lists(st.lists(NUMBERS, min_size=6, max_size=8), max_size=2),
)
MASKS = st.one_of(
    st.fixed_dictionaries({}, optional={"size": SIZES, "counts": COUNTS, "more": NUMBERS}),
    st.fixed_dictionaries({"size": st.just([4, 5]), "counts": COUNTS}),
    RINGS,
    NUMBERS,
)
BOXES = st.one_of(st.just([0, 2, 1, 3]), st.just([]), st.lists(NUMBERS, max_size=5), NUMBERS)
EXTRAS = st.sampled_from(
    [{}, {"x": [1, {"y": "}]"}]}, {"note": 'a"b\\'}, {"näme": "é"}, {"t": [[], {}, [{}], "\t", None, 1e5]}]
)


@st.composite
def entries(draw: st.DrawFn, plain: dict[str, Any], fields: dict[str, st.SearchStrategy[Any]]) -> Any:
    """A plain entry, a few of whose fields are something else, missing, or beside others."""
    entry = dict(plain)
    for name in draw(st.lists(st.sampled_from(sorted(fields)), max_size=2)):
        if draw(st.booleans()):
            entry.pop(name, None)
        else:
            entry[name] = draw(fields[name])
    return draw(st.one_of(st.just({**draw(EXTRAS), **entry}), st.just(entry), st.just(entry), NUMBERS))


RESULTS = st.lists(
    entries(
        RESULT,
        {"image_id": NUMBERS, "category_id": NUMBERS, "score": NUMBERS, "segmentation": MASKS, "bbox": BOXES},
    ),
    max_size=6,
)
DRAWN = entries(
    TRUTH,
    {
        "id": NUMBERS, "image_id": NUMBERS, "category_id": NUMBERS, "segmentation": MASKS, "area": NUMBERS,
        "iscrowd": NUMBERS, "ignore": NUMBERS,
    },
)  # fmt: skip
IMAGES = entries(IMAGE, {"id": NUMBERS, "height": NUMBERS, "width": NUMBERS})
NAMED = entries(CLASSES[0], {"id": NUMBERS, "name": NUMBERS})
TRUTHS = st.builds(
    lambda drawn, images, classes: annotations(drawn, [IMAGE, *images], [CLASSES[1], *classes]),
    st.lists(DRAWN, max_size=5),
    st.lists(IMAGES, max_size=2),
    st.lists(NAMED, min_size=1, max_size=2),
)


@st.composite
def dumped(draw: st.DrawFn, content: st.SearchStrategy[Any]) -> bytes:
    """JSON text in one of the ways in which it is written, and sometimes not quite JSON."""
    layout = draw(
        st.sampled_from(
            [{}, {"indent": 1}, {"separators": (",", ":")}, {"ensure_ascii": False}, {"sort_keys": True}]
        )
    )
    text = json.dumps(draw(content), **layout).encode()
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        at = draw(st.integers(0, len(text)))
        upto = draw(st.integers(at, min(len(text), at + 3)))
        new = draw(
            st.one_of(
                st.sampled_from(
                    [b"", b",", b'"', b"\\", b"]", b"}", b" ", b"0", b"NaN", b"\xff", b"\\u0031"]
                ),
                st.binary(max_size=2),
            )
        )
        text = text[:at] + new + text[upto:]
    return text


# --- both ways -----------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(dumped(RESULTS), st.sampled_from([8, 60, 1 << 20]))
@example(b'[{"image_id":1,"image_id":2}]', 8)
@example(json.dumps([RESULT, RESULT]).encode()[:-1] + b",]", 8)
def test_results_are_the_same_with_and_without_the_kernels(tmp_path_factory, text, block):
    path = written(tmp_path_factory.mktemp("results") / "r.json", text)
    with mock.patch.object(stream, "_BLOCK", block), mock.patch.object(rows, "_ROOM", 2):
        fast, careful = read_both(path, sj.read_submission)
    assert fast == careful


@settings(max_examples=100, deadline=None)
@given(dumped(TRUTHS), st.sampled_from([8, 60, 1 << 20]))
def test_annotations_are_the_same_with_and_without_the_kernels(tmp_path_factory, text, block):
    path = written(tmp_path_factory.mktemp("truth") / "t.json", text)
    with mock.patch.object(stream, "_BLOCK", block), mock.patch.object(rows, "_ROOM", 2):
        fast, careful = read_both(path, sj.read_truth)
    assert fast == careful


@settings(max_examples=60, deadline=None)
@given(dumped(RESULTS), dumped(TRUTHS))
def test_damaged_files_are_refused_or_scored_and_never_break_anything(tmp_path_factory, results, truth):
    folder = tmp_path_factory.mktemp("damaged")
    paths = written(folder / "t.json", truth), written(folder / "r.json", results)
    outcome = segjudge("score", "coco", *paths, "--json", "--workers", "1")
    assert outcome.status in {0, 1, 3}
    if outcome.status == 3:
        assert outcome.json["error"]["kind"] == "truth"
    assert segjudge("check", "coco", paths[1], "--json").status in {0, 1}
    assert segjudge("check-truth", "coco", paths[0], "--json").status in {0, 3}


@pytest.mark.skipif(not kernels.COMPILED, reason="needs the compiled kernels")
def test_plain_files_are_taken_by_the_kernels_to_the_last_entry(tmp_path):
    careful = mock.Mock(side_effect=AssertionError)
    results = [{**RESULT, "image_id": number, "x": [{"y": "\\"}]} for number in range(9)]
    path = written(tmp_path / "r.json", results)
    with mock.patch.object(rows.Rows, "add", careful):
        opened = sj.read_submission(COCO, path)
        truth = sj.read_truth(COCO, written(tmp_path / "t.json", annotations([TRUTH, {**TRUTH, "id": 0}])))
    with mock.patch("segjudge.formats.coco.fields.drawing", careful):
        assert len(instances_of(opened)) == 9
        assert len(instances_of(truth)) == 2


# --- numbers and masks ---------------------------------------------------------------------------------------

DECIMALS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(0, 1).map(repr),
    st.floats(0, 1, width=32).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.from_regex(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(DECIMALS, min_size=1, max_size=20))
@example(["0.30000000000000004", "9007199254740993", "1e22", "1e23", "-0", "-0.0", "5e-324", "0.1e-17"])
@example(["9007199254740993.0", "0.9007199254740993", "0.12345678901234567", "1.7976931348623157e308"])
def test_numbers_are_those_of_python_to_the_last_bit(texts):
    head = '{"image_id":1,"category_id":1,"segmentation":{"size":[1,1],"counts":"1"},"score":'
    finite = [text for text in texts if math.isfinite(float(text))]
    text = f"{','.join(head + number + '}' for number in finite)}]".encode()
    whole, real = np.empty((30, kernels.INTEGERS), np.int64), np.empty((30, kernels.FLOATS))
    taken, _, state = kernels.scan_entries(memoryview(text), 0, 1 << 12, 0, whole, real)
    if kernels.COMPILED and finite:
        wanted = int(kernels.Field.IMAGE | kernels.Field.CLASS | kernels.Field.SCORE | kernels.Field.MASK)
        taken, _, state = kernels.scan_entries(memoryview(text), 0, wanted, wanted, whole, real)
        assert (taken, state) == (len(finite), kernels.CLOSED)
        expected = np.array([float(json.loads(number)) for number in finite])
        assert real[:taken, 0].tobytes() == expected.tobytes()


def test_a_score_between_two_floats_is_rounded_to_even(tmp_path):
    texts = [
        "9007199254740993e0",
        "0.50000000000000005551115123125782702",
        "0.500000000000000055511151231257827",
    ]
    body = ",".join(
        json.dumps({**RESULT, "score": 0}).replace('"score": 0', f'"score": {text}') for text in texts
    )
    opened = sj.read_submission(COCO, written(tmp_path / "r.json", f"[{body}]".encode()))
    assert instances_of(opened).confidences.tolist() == [float(text) for text in texts]


@pytest.mark.filterwarnings("ignore:__array__:DeprecationWarning")
@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.lists(st.floats(-8, 40).map(lambda x: round(x, 2)), min_size=6, max_size=24).filter(
            lambda r: len(r) % 2 == 0
        ),
        min_size=1,
        max_size=3,
    ),
    st.tuples(st.integers(1, 30), st.integers(1, 30)),
)
def test_polygons_are_drawn_as_pycocotools_draws_them(rings, size):
    text = json.dumps(rings).encode()
    mask = decoded([text], [kernels.Kind.RINGS], [size])
    if mask is None:
        return
    drawn = coco_mask.decode(coco_mask.merge(coco_mask.frPyObjects(rings, *size)))
    assert (mask.picture(0) == drawn.astype(bool)).all()
    ours = polygon_masks([rings], [size])
    assert all(
        getattr(mask, name).tolist() == getattr(ours, name).tolist()
        for name in ("starts", "stops", "extents")
    )


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(0, 40), st.integers(0, 40))
def test_counts_are_decoded_as_they_were_encoded(data, height, width):
    bits = data.draw(st.lists(st.booleans(), min_size=height * width, max_size=height * width))
    picture = np.array(bits, bool).reshape(height, width)
    masks = sj.Masks.from_dense([picture], "column")
    item = sj.CocoRle().encode(picture)
    if height and width:
        encoded = coco_mask.encode(np.asfortranarray(picture.astype(np.uint8)))
        assert sj.CocoRle().compress(masks)[0] == encoded["counts"].decode()
    signs = sj.CocoRle().compress(masks)[0]
    for kind, body in (
        (kernels.Kind.SIGNS, signs.encode()),
        (kernels.Kind.TEXT, json.dumps(signs)[1:-1].encode()),
        (kernels.Kind.LIST, json.dumps(item["counts"]).encode()),
    ):
        mask = decoded([body], [kind], [(height, width)])
        if mask is None:
            return
        for name in ("starts", "stops", "indptr", "areas", "extents"):
            assert getattr(mask, name).tolist() == getattr(masks, name).tolist(), name


@pytest.mark.skipif(not kernels.COMPILED, reason="needs the compiled kernels")
@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(st.integers(0, 3), st.integers(0, 40), st.integers(0, 3000), st.integers(0, 1 << 20)),
        max_size=40,
    ),
    st.integers(1, 1 << 20),
    st.booleans(),
)
@example([0, 5], 1, False)
@example([1 << 28, 1, 1 << 28], 1 << 20, False)
@example([1 << 20, 1 << 20], 1, False)
@example([0, 1 << 20, 0, 1 << 20, 0], 1 << 20, True)
def test_texts_of_any_counts_give_their_runs(counts, height, cut):
    height = max(height, (sum(counts) >> 20) + 1)  # neither side is longer than what is read
    width = max(1, -(-sum(counts) // height))
    if height * width > sum(counts) or not counts:
        counts = [*counts, *([0] if len(counts) % 2 else []), height * width - sum(counts)]
    values = [c - (counts[at - 2] if at > 2 else 0) for at, c in enumerate(counts)]
    text = "".join(signs_of(value) for value in values)
    whole = sj.CocoRle()
    if cut:
        text = text[:-1]
    try:
        expected = whole.decode({"size": [height, width], "counts": text})
    except MaskError:
        expected = None
    mask = decoded([text.replace("\\", "\\\\").encode()], [kernels.Kind.TEXT], [(height, width)], whole=False)
    if expected is None:
        assert mask is None
    elif mask is not None:
        for name in ("starts", "stops", "indptr", "areas", "extents"):
            assert getattr(mask, name).tolist() == getattr(expected, name).tolist(), name


def signs_of(value: int) -> str:
    """COCO's own way to write one number."""
    signs = ""
    more = True
    while more:
        bits = value & 31
        value >>= 5
        more = value != -1 if bits & 16 else value != 0
        signs += chr((bits | 32 if more else bits) + 48)
    return signs


def decoded(
    texts: list[bytes], kinds: list[int], sizes: list[tuple[int, int]], *, whole: bool = True
) -> sj.Masks | None:
    """The masks of texts as the kernel reads them, from room that grows; None without the kernel.

    Also None, unless `whole`, where the kernel leaves a mask to the careful reader.
    """
    if not kernels.COMPILED:
        return None
    ends = np.cumsum([len(text) for text in texts])
    begins = ends - np.array([len(text) for text in texts])
    count, done, room = len(texts), 0, 1
    indptr, areas = np.zeros(count + 1, np.int64), np.zeros(count, np.int64)
    extents, status = np.zeros((count, 4), np.int64), np.zeros(count, np.uint8)
    starts, stops = np.empty(0, np.int64), np.empty(0, np.int64)
    while done < count:
        starts, stops = np.resize(starts, room), np.resize(stops, room)
        done = kernels.read_segments(
            np.frombuffer(b"".join(texts), np.uint8), begins, ends, np.array(kinds, np.int64),
            np.array(sizes, np.int64), done, starts, stops, indptr, areas, extents, status,
        )  # fmt: skip
        room *= 2
    if status.any() and not whole:
        return None
    assert not status.any()
    runs = int(indptr[-1])
    return sj.Masks("column", starts[:runs], stops[:runs], indptr, np.array(sizes, np.int64), areas, extents)


@pytest.mark.parametrize("signs", ["ooooo?", "ooooo0", "ooooo_", "ooooo?ooooo_"])
def test_numbers_that_add_up_to_more_than_any_integer_holds_are_refused(signs):
    texts = [signs.encode() * 600_000, b"1" + b"o" * 3_000_000 + b"0"]
    size = (1 << 20, 1 << 20)
    assert decoded(texts, [kernels.Kind.TEXT] * 2, [size] * 2, whole=False) is None
    with pytest.raises(MaskError):
        sj.CocoRle().decode({"size": size, "counts": texts[0]})


def test_a_text_of_very_many_runs_is_read():
    counts = [1, 2] * 100_000
    mask = sj.CocoRle().decode({"size": [1000, 300], "counts": counts})
    text = sj.CocoRle().compress(mask)
    again = sj.CocoRle().decode({"size": [1000, 300], "counts": text[0]})
    assert again.starts.tolist() == mask.starts.tolist()
    assert again.extents.tolist() == mask.extents.tolist()
    read = decoded([text[0].encode()], [kernels.Kind.TEXT], [(1000, 300)])
    assert read is None or read.areas.tolist() == [200_000]


def test_the_kernels_refuse_arrays_that_would_lead_them_astray():
    if not kernels.COMPILED:
        pytest.skip("needs the compiled kernels")
    text, one = np.zeros(4, np.uint8), np.zeros(1, np.int64)
    good = {
        "text": text, "begins": one, "ends": one + 4, "kinds": one + 1, "shapes": np.ones((1, 2), np.int64),
        "first": 0, "starts": one, "stops": one, "indptr": np.zeros(2, np.int64), "areas": one,
        "extents": np.zeros((1, 4), np.int64), "status": np.zeros(1, np.uint8),
    }  # fmt: skip
    for name, value in {
        "begins": one - 1, "ends": one + 5, "kinds": np.zeros(2, np.int64), "first": 2, "stops": np.zeros(2, np.int64),
        "shapes": np.full((1, 2), -1, np.int64), "indptr": np.zeros(1, np.int64), "extents": np.zeros((1, 3), np.int64),
    }.items():  # fmt: skip
        with pytest.raises(ValueError):
            kernels.read_segments(*{**good, name: value}.values())
    whole, real = np.empty((1, kernels.INTEGERS), np.int64), np.empty((1, kernels.FLOATS))
    with pytest.raises(ValueError):
        kernels.scan_entries(memoryview(b"[]"), 3, 0, 0, whole, real)
    with pytest.raises(ValueError):
        kernels.scan_entries(memoryview(b"[]"), 0, 0, 0, whole[:, :3], real)


def test_masks_that_cannot_be_compressed_are_refused():
    with pytest.raises(MaskError):
        sj.CocoRle().compress(sj.Masks.from_dense([np.eye(3, dtype=bool)], "row"))


# --- results -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("missing-field", {"image_id": ...}),
        ("missing-field", {"category_id": ...}),
        ("missing-field", {"score": ...}),
        ("missing-field", {"segmentation": ...}),
        ("missing-field", {"segmentation": {"size": [4, 5]}}),
        ("missing-field", {"segmentation": {"counts": "d0"}}),
        ("bad-type", {"image_id": 1.5}),
        ("bad-type", {"category_id": "3"}),
        ("bad-type", {"category_id": True}),
        ("bad-type", {"category_id": -1}),
        ("bad-type", {"segmentation": "d0"}),
        ("bad-type", {"segmentation": TRUTH["segmentation"]}),
        ("bad-type", {"segmentation": {"size": [4, 5.0], "counts": "d0"}}),
        ("bad-type", {"segmentation": {"size": [4, 5], "counts": 20}}),
        ("bad-confidence", {"score": "0.5"}),
        ("bad-confidence", {"score": None}),
        ("bad-confidence", {"score": math.nan}),
        ("bad-confidence", {"score": math.inf}),
        ("bad-confidence", {"score": 10**400}),
        ("confidence-range", {"score": 1.25}),
        ("confidence-range", {"score": -3}),
        ("rle-wrong-total", {"segmentation": {"size": [4, 5], "counts": [2, 3]}}),
        ("rle-wrong-total", {"segmentation": {"size": [4, 5], "counts": [2, 3, 16]}}),
        ("rle-wrong-total", {"segmentation": {"size": [4, 5], "counts": ""}}),
        ("rle-bad-length", {"segmentation": {"size": [4, 5], "counts": [-1, 21]}}),
        ("rle-not-integer", {"segmentation": {"size": [4, 5], "counts": [1.5, 18.5]}}),
        ("rle-not-integer", {"segmentation": {"size": [4, 5], "counts": "d"}}),
        ("rle-not-integer", {"segmentation": {"size": [4, 5], "counts": "d\u20ac"}}),
        ("shape-mismatch", {"segmentation": {**RUNS, "size": [5, 4]}}),
        ("unknown-id", {"image_id": 2}),
        ("unknown-class", {"category_id": 4}),
    ],
)  # fmt: skip
def test_a_fault_of_a_result_is_told_with_its_entry(tmp_path, code, change):
    wrong = {name: value for name, value in {**RESULT, **change}.items() if value is not ...}
    results = written(tmp_path / "r.json", [RESULT, wrong, RESULT])
    truth = written(tmp_path / "t.json", annotations([TRUTH]))
    outcome = segjudge("check", "coco", results, "--truth", truth, "--json")
    assert outcome.json["totals"] == {code: 1}
    (finding,) = outcome.json["findings"]
    assert finding["where"]["entry"] == 1
    assert finding["where"]["row"] is None
    assert outcome.status == (0 if code == "confidence-range" else 1)


def test_all_faults_of_one_entry_are_told(tmp_path):
    path = written(tmp_path / "r.json", [{"image_id": 1, "score": "high", "segmentation": 3}])
    assert found(path) == {"missing-field": 1, "bad-confidence": 1, "bad-type": 1}


def test_a_box_in_the_first_result_is_wanted_of_all(tmp_path):
    boxless = seen(sj.read_submission(COCO, written(tmp_path / "a.json", [BOXED, RESULT, BOXED])))
    assert boxless.totals == {"missing-field": 1}
    assert "result 1" in boxless.findings[0]
    assert found(written(tmp_path / "b.json", [BOXED, {**BOXED, "bbox": [1, 2, 3]}])) == {"bad-type": 1}
    assert found(written(tmp_path / "c.json", [BOXED, {**BOXED, "bbox": []}])) == {"bad-type": 1}


def test_boxes_give_the_areas_only_if_the_first_result_has_one(tmp_path):
    boxed = instances_of(
        sj.read_submission(COCO, written(tmp_path / "a.json", [BOXED, {**BOXED, "bbox": [0, 0, 2.5, 3]}]))
    )
    assert boxed.areas is not None
    assert boxed.areas.tolist() == [3.0, 7.5]
    for first in (RESULT, {**RESULT, "bbox": []}):
        results = [first, BOXED, {**RESULT, "bbox": "none"}]
        opened = sj.read_submission(COCO, written(tmp_path / "b.json", results))
        assert opened.findings.diagnosis().ok
        assert instances_of(opened).areas is None


@pytest.mark.parametrize(
    ("code", "content"),
    [
        ("bad-json", b""),
        ("bad-json", b"{}"),
        ("bad-json", b"[" + json.dumps(RESULT).encode()),
        ("bad-json", json.dumps([RESULT]).encode()[:-1] + b",]"),
        ("bad-json", b"[] []"),
        ("bad-json", b"[{'image_id': 1}]"),
        ("bad-json", b"image_id,category_id\n"),
        ("bad-json", json.dumps([RESULT]).encode()[:-9]),
        ("bad-json", json.dumps([RESULT] * 3).encode().replace(b"}, {", b"}{")),
        ("not-utf8", json.dumps([RESULT]).encode("utf-16")),
        ("not-utf8", b'[{"image_id": "\xff"}]'),
        ("bad-type", b"[1]"),
        ("bad-type", b"[null]"),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_results_is_told(tmp_path, code, content):
    path = written(tmp_path / "r.json", content)
    assert found(path) == {code: 1}
    assert segjudge("check", "coco", path, "--json").status == 1


def test_results_may_be_packed_have_a_mark_before_them_or_come_through_a_pipe(tmp_path):
    text = json.dumps([RESULT]).encode()
    plain = seen(sj.read_submission(COCO, written(tmp_path / "r.json", text)))
    assert len(plain.image_ids) == 1
    assert seen(sj.read_submission(COCO, written(tmp_path / "m.json", b"\xef\xbb\xbf" + text))) == plain
    assert seen(sj.read_submission(COCO, written(tmp_path / "r.json.gz", gzip.compress(text)))) == plain
    with zipfile.ZipFile(tmp_path / "r.zip", "w") as archive:
        archive.writestr("results.json", text)
    assert seen(sj.read_submission(COCO, tmp_path / "r.zip")) == plain
    assert segjudge("check", "coco", "-", "--json", stdin=text).json["totals"] == {"sizes-unknown": 1}


def test_ids_are_text_and_a_number_is_its_digits(tmp_path):
    ids = [12, "0012", "12", "3e5", "é", -4]
    results = written(tmp_path / "r.json", [{**RESULT, "image_id": image} for image in ids])
    opened = sj.read_submission(COCO, results)
    assert set(opened.source.image_ids) == {"12", "0012", "3e5", "é", "-4"}
    got = instances_of(opened)
    named = {int(row): got.image_ids[place] for row, place in zip(got.rows, got.image, strict=True)}
    assert [named[row] for row in range(6)] == [str(image) for image in ids]


def test_rows_are_entries_in_file_order_also_when_images_alternate(tmp_path):
    results = [{**RESULT, "image_id": number % 3, "score": number / 10} for number in range(9)]
    got = instances_of(sj.read_submission(COCO, written(tmp_path / "r.json", results)))
    for image in range(3):
        assert got.rows[got.image == image].tolist() == [image, image + 3, image + 6]
    assert got.confidences.tolist() == [row / 10 for row in got.rows.tolist()]


def test_a_source_can_be_sent_to_another_process(tmp_path):
    results = [RESULT, {**RESULT, "image_id": "é"}]
    opened = sj.read_submission(COCO, written(tmp_path / "r.json", results))
    copy = pickle.loads(pickle.dumps(opened.source))
    copy.bind(sj.Images.of(copy.image_ids))
    assert copy.read(np.arange(2), None).instances.masks.areas.tolist() == [3, 3]


def test_at_most_twenty_of_a_kind_are_kept_and_all_are_counted(tmp_path):
    results = [{**RESULT, "score": 7, "image_id": number} for number in range(50)]
    diagnosis = sj.check(COCO, sj.read_submission(COCO, written(tmp_path / "r.json", results)))
    assert diagnosis.totals["confidence-range"] == 50
    assert sum(finding.code == "confidence-range" for finding in diagnosis.findings) == 20


# --- the truth -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("missing-field", {"id": ...}),
        ("missing-field", {"image_id": ...}),
        ("missing-field", {"category_id": ...}),
        ("missing-field", {"segmentation": ...}),
        ("missing-field", {"area": ...}),
        ("missing-field", {"segmentation": []}),
        ("bad-type", {"area": "9"}),
        ("bad-type", {"area": math.nan}),
        ("bad-type", {"iscrowd": 2}),
        ("bad-type", {"ignore": None}),
        ("bad-type", {"segmentation": [[0, 0, 3, 0]]}),
        ("bad-type", {"segmentation": [[0, 0, 3, 0, 3, math.inf]]}),
        ("rle-out-of-bounds", {"segmentation": [[0, 0, 3, 0, 3, 1e7]]}),
        ("rle-wrong-total", {"segmentation": {"size": [4, 5], "counts": "2"}}),
        ("shape-mismatch", {"segmentation": {**RUNS, "size": [5, 4]}}),
        ("duplicate-id", {"id": 7}),
        ("duplicate-id", {"id": "7"}),
        ("unknown-id", {"image_id": 2}),
        ("unknown-class", {"category_id": 2}),
    ],
)  # fmt: skip
def test_a_fault_of_an_annotation_is_told_with_its_entry(tmp_path, code, change):
    wrong = {name: value for name, value in {**TRUTH, "id": 8, **change}.items() if value is not ...}
    path = written(tmp_path / "t.json", annotations([TRUTH, wrong]))
    outcome = segjudge("check-truth", "coco", path, "--json")
    assert outcome.status == 3
    assert outcome.json["totals"] == {code: 1}
    assert outcome.json["findings"][0]["where"]["entry"] == 1
    results = written(tmp_path / "r.json", [])
    assert segjudge("score", "coco", path, results, "--json").json["error"]["kind"] == "truth"


@pytest.mark.parametrize(
    ("totals", "images", "classes"),
    [
        ({"duplicate-id": 1}, [IMAGE, {**IMAGE, "id": "1"}], CLASSES),
        ({"missing-field": 1}, [IMAGE, {"id": 2, "width": 5}], CLASSES),
        ({"shape-mismatch": 1}, [{**IMAGE, "height": 0}], CLASSES),
        ({"bad-type": 1}, [IMAGE, 5], CLASSES),
        ({"duplicate-id": 1}, [IMAGE], [*CLASSES, {"id": 3}]),
        ({"bad-type": 1}, [IMAGE], [*CLASSES, {"id": "9"}]),
        ({"missing-field": 1}, [IMAGE], [*CLASSES, {"name": "x"}]),
    ],
)
def test_faults_of_images_and_categories_are_told(tmp_path, totals, images, classes):
    assert found(written(tmp_path / "t.json", annotations([TRUTH], images, classes)), sj.read_truth) == totals


@pytest.mark.parametrize("name", ["images", "annotations", "categories"])
def test_a_truth_has_its_three_lists(tmp_path, name):
    content = {key: value for key, value in annotations([TRUTH]).items() if key != name}
    assert found(written(tmp_path / "t.json", content), sj.read_truth) == {"missing-field": 1}
    doubled = json.dumps(content)[:-1] + f', "{name}": [], "{name}": []}}'
    assert found(written(tmp_path / "d.json", doubled.encode()), sj.read_truth) == {"bad-json": 1}


def test_annotations_carry_their_areas_crowds_and_marks(tmp_path):
    crowd = {**TRUTH, "id": 0, "iscrowd": 1, "segmentation": RUNS, "area": 3}
    ignored = {**TRUTH, "id": 1, "ignore": True, "segmentation": TEXT}
    images = [{**IMAGE, "id": 10}, IMAGE, {**IMAGE, "id": 9}]
    path = written(tmp_path / "t.json", annotations([TRUTH, crowd, ignored], images))
    truth = sj.read_truth(COCO, path)
    assert truth.classes == {0: "cat", 3: "car"}
    assert truth.source.image_ids == ("1", "9", "10")
    got = instances_of(truth)
    assert got.areas.tolist() == [9.5, 3.0, 9.5]
    assert got.crowd.tolist() == [False, True, False]
    assert got.ignored.tolist() == [False, False, True]
    assert got.masks.areas.tolist() == [9, 3, 3]
    assert got.class_ids.tolist() == [3, 3, 3]


def test_lists_may_come_in_any_order(tmp_path):
    content = annotations([TRUTH])
    first = seen(sj.read_truth(COCO, written(tmp_path / "a.json", content)))
    turned = dict(reversed(content.items()))
    assert seen(sj.read_truth(COCO, written(tmp_path / "b.json", turned))) == first


def test_a_list_of_images_must_agree_with_the_truth(tmp_path):
    truth = written(tmp_path / "t.json", annotations([TRUTH]))
    listed = tmp_path / "images.csv"
    for rows_of, code in (
        ("1,5,4", "shape-mismatch"),
        ("1,4,5\n2,4,5", "missing-id"),
        ("2,4,5", "unknown-id"),
    ):
        listed.write_text(f"ImageId,Height,Width\n{rows_of}\n")
        outcome = segjudge("check-truth", "coco", truth, "--images", listed, "--json")
        assert code in outcome.json["totals"]
    listed.write_text("ImageId,Height,Width\n1,4,5\n")
    assert segjudge("check-truth", "coco", truth, "--images", listed, "--json").status == 0


# --- verbs ---------------------------------------------------------------------------------------------------


def test_the_sample_is_an_empty_list_that_scores_nothing(tmp_path):
    listed = tmp_path / "images.csv"
    listed.write_text("ImageId,Height,Width\n1,4,5\n")
    assert segjudge("sample", "coco", "--images", listed, "-o", tmp_path / "s.json").status == 0
    assert json.loads((tmp_path / "s.json").read_text()) == []
    truth = written(tmp_path / "t.json", annotations([TRUTH]))
    assert segjudge("score", "coco", truth, tmp_path / "s.json", "--json").json["score"] == 0


def test_results_decoded_to_pictures_and_encoded_again_are_the_same(tmp_path):
    results = [
        RESULT,
        {**RESULT, "category_id": 0, "segmentation": RUNS, "score": 1},
        {**RESULT, "image_id": "b c"},
    ]
    results.append({**RESULT, "segmentation": {"size": [4, 5], "counts": [20]}})
    path, listed = written(tmp_path / "r.json", results), tmp_path / "images.csv"
    listed.write_text("ImageId,Height,Width\n1,4,5\nb c,4,5\n")
    assert segjudge("decode", "coco", path, "--images", listed, "-o", tmp_path / "masks").status == 0
    assert segjudge("encode", "coco", tmp_path / "masks", "-o", tmp_path / "again.json.gz").status == 0
    before, after = (instances_of(sj.read_submission(COCO, p)) for p in (path, tmp_path / "again.json.gz"))
    assert [before.image_ids[at] for at in before.image] == [after.image_ids[at] for at in after.image]
    for name in ("class_ids", "confidences"):
        assert getattr(before, name).tolist() == getattr(after, name).tolist()
    assert before.masks.starts.tolist() == after.masks.starts.tolist()


def test_results_are_written_from_arrays(tmp_path):
    with sj.write_submission(COCO, tmp_path / "r.json") as out:
        out.add("139", np.ones((2, 4, 5), bool), class_ids=[3, 0], confidences=[0.25, 1])
        out.add('x"y', [], ())
        out.add("7.5", np.zeros((1, 4, 5), bool), class_ids=[1])
    read = json.loads((tmp_path / "r.json").read_text())
    assert [(r["image_id"], r["category_id"], r["score"]) for r in read] == [
        (139, 3, 0.25),
        (139, 0, 1),
        ("7.5", 1, 1),
    ]
    assert [int(coco_mask.area(r["segmentation"])) for r in read] == [20, 20, 0]


@pytest.mark.parametrize(
    "arguments", [("convert", "coco", "r.json", "o.csv"), ("make-data", "coco", "-o", "d"), ("demo", "coco")]
)
def test_verbs_that_coco_lacks_say_so(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "r.json", [])
    assert segjudge(*arguments).status == 2


def test_the_task_is_shown_with_its_settings():
    shown = segjudge("show", "coco", "--json").json
    assert shown["columns"] == ["image_id", "category_id", "score", "segmentation"]
    assert set(shown["settings"]) == {"thresholds", "recall_levels", "areas", "caps", "max_unpacked"}
