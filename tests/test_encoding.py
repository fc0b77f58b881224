"""From masks to a submission and back: lossless, refused whole, and never a half-written file."""

import csv
import io
import tracemalloc
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

import segjudge as sj
from segjudge.encoding import open_masks, write_sample
from segjudge.encoding.encode import encode
from segjudge.findings import Collector
from tests.running import segjudge

TASKS = ("wad-2018", "badlad", "dsb-2018", "emoji")
WAD = (33, 34, 35, 36, 38, 39, 40)
IDS = ("img_a", "0012", "12", "3e5", "img_b_1", "Z", "a.b", "x_instanceIds", "é")
ENDING = {"emoji": "zip"}


def png(path, array, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    array = np.asarray(array)
    Image.fromarray(array.astype(np.uint8) * np.uint8(255) if array.dtype == bool else array).save(
        path, **options
    )


def npy(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, array)


def manifest(folder, shapes, usage=None):
    path = folder / "images.csv"
    rows = [[image, *shape, *([usage[image]] if usage else [])] for image, shape in shapes.items()]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["ImageId", "Height", "Width", *(["Usage"] if usage else [])], *rows])
    return path


def pictures(folder):
    """Every picture below a folder as an array, and the table of confidences as text."""
    return {
        str(path.relative_to(folder)): path.read_text()
        if path.suffix == ".csv"
        else np.asarray(Image.open(path))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def equal(first, second):
    return first.keys() == second.keys() and all(np.array_equal(first[k], second[k]) for k in first)


def codes(outcome):
    return set(outcome.json["totals"])


def advice(outcome):
    return " ".join(finding["advice"] for finding in outcome.json["findings"])


@pytest.fixture(params=TASKS)
def task(request):
    return sj.load_task(request.param)


# ------------------------------------------------------------------------------- each the other's inverse


@st.composite
def shapes(draw):
    side = st.one_of(st.just(1), st.integers(1, 9))
    ids = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=3, unique=True))
    return {image: (draw(side), draw(side)) for image in ids}


def masks(shape):
    return st.one_of(
        arrays.arrays(np.bool_, shape), st.just(np.zeros(shape, bool)), st.just(np.ones(shape, bool))
    )


@st.composite
def folders(draw, task_id):
    """Sizes of images, and the pictures that `decode` would write for a submission of the task."""
    sizes = draw(shapes())
    files = {}
    table = []
    for image, shape in sizes.items():
        if task_id == "emoji":
            files[f"{image}.png"] = draw(masks(shape))
        elif task_id == "badlad":
            files |= {f"{image}_{class_id}.png": draw(masks(shape)) for class_id in range(4)}
        elif task_id == "dsb-2018":
            labels = draw(arrays.arrays(np.uint16, shape, elements=st.integers(0, 4)))
            values = np.unique(labels[labels > 0])
            ending = "_instanceIds" if image.endswith("_instanceIds") else ""
            files[f"{image}{ending}.png"] = np.concatenate([[0], np.searchsorted(values, values) + 1])[
                np.searchsorted(np.concatenate([[0], values]), labels)
            ].astype(np.uint16)
        else:
            found = draw(st.lists(st.tuples(st.sampled_from(WAD), masks(shape)), max_size=3))
            for number, (class_id, mask) in enumerate(((c, m) for c, m in found if m.any()), start=1):
                name = f"{number:05d}_{class_id}.png"
                files[f"{image}/{name}"] = mask
                table.append((image, name, repr(draw(st.floats(0, 1)))))
    return sizes, files, table


def save(folder, files, table, task_id):
    folder.mkdir()
    for name, array in files.items():
        png(folder / name, array)
    if task_id == "wad-2018":
        with (folder / "confidences.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("ImageId", "Mask", "Confidence"), *table])


@pytest.mark.parametrize("task_id", TASKS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_decode_after_encode_gives_the_same_pictures_and_encode_after_decode_the_same_bytes(task_id, data):
    sizes, files, table = data.draw(folders(task_id))
    with TemporaryDirectory() as name:
        folder = Path(name)
        save(folder / "masks", files, table, task_id)
        images = manifest(folder, sizes)
        first, second = (folder / f"{n}.{ENDING.get(task_id, 'csv')}" for n in ("first", "second"))
        made = segjudge("encode", task_id, folder / "masks", "--images", images, "-o", first, "--json")
        assert made.status == 0, made
        checked = segjudge("check", task_id, first, "--images", images, "--json")
        assert checked.status == 0, checked
        assert checked.json["findings"] == []
        decoded = segjudge("decode", task_id, first, "--images", images, "-o", folder / "again", "--json")
        assert decoded.status == 0, decoded
        assert equal(pictures(folder / "masks"), pictures(folder / "again"))
        segjudge("encode", task_id, folder / "again", "--images", images, "-o", second)
        assert first.read_bytes() == second.read_bytes()


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_overlapping_objects_come_back_where_the_task_allows_them(data):
    shape = data.draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    stack = [m for m in data.draw(st.lists(masks(shape), min_size=1, max_size=3)) if m.any()]
    task = sj.load_task("dsb-2018", ["overlapping=allow"])
    with TemporaryDirectory() as name:
        folder = Path(name)
        images = manifest(folder, {"a": shape})
        with sj.write_submission(task, folder / "first.csv") as out:
            out.add("a", stack)
        common = ("--images", images, "--set", "overlapping=allow", "-o")
        decoded = segjudge("decode", "dsb-2018", folder / "first.csv", *common, folder / "masks")
        assert decoded.status == 0, decoded
        assert segjudge("encode", "dsb-2018", folder / "masks", *common, folder / "second.csv").status == 0
        assert (folder / "first.csv").read_bytes() == (folder / "second.csv").read_bytes()


# --------------------------------------------------------------------------------------- forms of folders

SQUARE = np.array([[0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]], bool)
DOT = np.array([[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]], bool)
LABELS = SQUARE * 3 + DOT * 300


@pytest.fixture
def wanted(tmp_path):
    """The submission of SQUARE and DOT as two nuclei of the image `a`."""
    path = tmp_path / "wanted.csv"
    with sj.write_submission(sj.load_task("dsb-2018"), path) as out:
        out.add("a", [SQUARE, DOT])
    return path.read_bytes()


def write_tiff(path):
    path.parent.mkdir(parents=True)
    Image.fromarray(LABELS.astype(np.int32)).save(path)


FORMS = {
    "16-bit label map": lambda f: png(f / "a.png", LABELS.astype(np.uint16)),
    "8-bit label map": lambda f: png(f / "a.png", (SQUARE * 3 + DOT * 9).astype(np.uint8)),
    "32-bit TIFF": lambda f: write_tiff(f / "a.tif"),
    "_instanceIds": lambda f: png(f / "deep" / "er" / "a_instanceIds.png", LABELS.astype(np.uint16)),
    "label map in numpy": lambda f: npy(f / "a.npy", LABELS.astype(np.int64)),
    "masks": lambda f: (png(f / "a/masks/1.png", SQUARE), png(f / "a/masks/2.png", DOT)),
    "masks in numpy": lambda f: (npy(f / "a/masks/1.npy", SQUARE), npy(f / "a/masks/2.npy", DOT * 1.0)),
    "stage 1 of the competition": lambda f: (
        png(f / "a/images/a.png", np.zeros((3, 4, 3), np.uint8)),
        png(f / "a/masks/1.png", SQUARE),
        png(f / "a/masks/2.png", DOT),
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("packed", [False, True])
def test_every_form_of_a_folder_gives_the_same_submission(form, packed, wanted, tmp_path):
    folder = tmp_path / "masks"
    FORMS[form](folder)
    if packed:
        with zipfile.ZipFile(tmp_path / "masks.zip", "w") as archive:
            for path in folder.rglob("*.*"):
                archive.write(path, path.relative_to(tmp_path))
        folder = tmp_path / "masks.zip"
    outcome = segjudge("encode", "dsb-2018", folder, "-o", tmp_path / "out.csv", "--json")
    assert outcome.status == 0, outcome
    assert outcome.json["images"] == 1
    assert (tmp_path / "out.csv").read_bytes() == wanted


@pytest.mark.parametrize("folder", ["", "Camera 5/", "road_33/deep/"])
def test_wad_label_maps_may_lie_in_folders_and_end_in_a_number(folder, tmp_path):
    labels = (SQUARE * 33_001 + DOT * 255).astype(np.uint16)
    png(tmp_path / "masks" / f"{folder}170908_Camera_5_instanceIds.png", labels)
    png(tmp_path / "masks" / f"{folder}170908_Camera_33.png", labels)
    images = manifest(tmp_path, {"170908_Camera_5": (3, 4), "170908_Camera_33": (3, 4)})
    out = tmp_path / "out.csv"
    outcome = segjudge("encode", "wad-2018", tmp_path / "masks", "--images", images, "-o", out, "--json")
    assert outcome.status == 0, outcome
    assert out.read_text().splitlines()[1:] == [
        "170908_Camera_5,33,1,4,1 2|5 2|",
        "170908_Camera_33,33,1,4,1 2|5 2|",
    ]


def test_confidences_are_1_where_the_table_names_none(tmp_path):
    png(tmp_path / "m/a/1_33.png", SQUARE)
    png(tmp_path / "m/a/2_36.png", DOT)
    (tmp_path / "m/confidences.csv").write_text("\ufeffImageId,Mask,Confidence\r\na,2_36.png,5e-1\r\n")
    assert segjudge("encode", "wad-2018", tmp_path / "m", "-o", tmp_path / "o.csv").status == 0
    assert (tmp_path / "o.csv").read_text().splitlines()[1:] == ["a,33,1,4,1 2|5 2|", "a,36,0.5,1,11 1|"]


def test_ids_are_compared_in_unicode_normal_form(tmp_path):
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    png(tmp_path / "m" / f"{composed}.png", SQUARE)
    images = manifest(tmp_path, {decomposed: (3, 4)})
    out = tmp_path / "o.zip"
    assert segjudge("encode", "emoji", tmp_path / "m", "--images", images, "-o", out).status == 0
    assert segjudge("check", "emoji", out, "--images", images).status == 0


# ----------------------------------------------------------------------------------------------- refusals


def refused(task_id, folder, tmp_path, shapes=None, usage=None):
    """The outcome of an encode that must leave nothing and keep what was there."""
    out = tmp_path / f"out.{ENDING.get(task_id, 'csv')}"
    out.write_bytes(b"as it was")
    before = sorted(tmp_path.iterdir())
    images = ("--images", manifest(tmp_path, shapes, usage)) if shapes else ()
    outcome = segjudge("encode", task_id, folder, *images, "-o", out, "--json")
    assert outcome.status == 1, outcome
    assert out.read_bytes() == b"as it was"
    assert set(tmp_path.iterdir()) - set(before) <= {tmp_path / "images.csv"}
    return outcome


NOT_BINARY = {
    "0 and 1": SQUARE.astype(np.uint8),
    "grey": SQUARE.astype(np.uint8) * 128,
    "colours": np.stack([SQUARE, DOT, DOT], axis=2).astype(np.uint8) * 255,
}


@pytest.mark.parametrize("kind", NOT_BINARY)
def test_a_picture_that_is_not_binary_is_refused(kind, tmp_path):
    png(tmp_path / "m/a.png", NOT_BINARY[kind])
    assert codes(refused("emoji", tmp_path / "m", tmp_path)) == {"mask-not-binary"}


def test_black_and_white_colours_are_a_mask(tmp_path):
    png(tmp_path / "m/a.png", np.stack([SQUARE] * 3, axis=2).astype(np.uint8) * 255)
    assert segjudge("encode", "emoji", tmp_path / "m", "-o", tmp_path / "o.zip").status == 0


@pytest.mark.parametrize(
    ("array", "code"),
    [
        (SQUARE * 0.7, "mask-not-binary"),
        (SQUARE[None], "mask-not-binary"),
        (np.array([["0", "1"]]), "mask-not-binary"),
        (np.array([[np.nan, 1.0]]), "mask-not-binary"),
    ],
)
def test_a_numpy_file_that_is_not_binary_is_refused(array, code, tmp_path):
    npy(tmp_path / "m/a.npy", array)
    assert codes(refused("emoji", tmp_path / "m", tmp_path)) == {code}


@pytest.mark.parametrize("array", [SQUARE * 1.5, SQUARE * -1, np.full((3, 4), 1 << 31)])
def test_a_numpy_label_map_of_other_than_whole_numbers_is_refused(array, tmp_path):
    npy(tmp_path / "m/a.npy", array)
    assert codes(refused("dsb-2018", tmp_path / "m", tmp_path)) == {"bad-image-mode"}


def test_a_damaged_numpy_file_is_refused(tmp_path):
    npy(tmp_path / "m/a.npy", SQUARE)
    data = (tmp_path / "m/a.npy").read_bytes()
    (tmp_path / "m/a.npy").write_bytes(data[:-4])
    (tmp_path / "m/b.npy").write_bytes(data.replace(b"(3, 4), ", b"(3000000, 4000000000), "))
    outcome = refused("emoji", tmp_path / "m", tmp_path)
    assert outcome.json["totals"] == {"mask-not-binary": 2}


@pytest.mark.parametrize("task_id", TASKS)
def test_swapped_sizes_are_named_as_such(task_id, tmp_path):
    name = {"emoji": "a.png", "badlad": "a_0.png", "dsb-2018": "a.png", "wad-2018": "a/1_33.png"}[task_id]
    labels = task_id == "dsb-2018"
    png(tmp_path / "m" / name, SQUARE.T.astype(np.uint8) if labels else np.ascontiguousarray(SQUARE.T))
    outcome = refused(task_id, tmp_path / "m", tmp_path, {"a": (3, 4)})
    assert codes(outcome) == {"shape-mismatch"}
    assert "swapped" in outcome.json["findings"][0]["message"]


@pytest.mark.parametrize(
    ("task_id", "names"),
    [
        ("badlad", ("a_0.png", "a_1.png")),
        ("wad-2018", ("a/1_33.png", "a/2_33.png")),
        ("dsb-2018", ("a/masks/1.png", "a/masks/2.png")),
    ],
)
def test_masks_of_one_image_have_one_size_even_if_nobody_knows_it(task_id, names, tmp_path):
    for name, mask in zip(names, (SQUARE, DOT[:2]), strict=True):
        png(tmp_path / "m" / name, mask)
    assert codes(refused(task_id, tmp_path / "m", tmp_path)) == {"shape-mismatch"}


@pytest.mark.parametrize(
    ("task_id", "name"),
    [
        ("emoji", "Image_01.png"),
        ("badlad", "Image_01_0.png"),
        ("dsb-2018", "Image_01.png"),
        ("dsb-2018", "Image_01/masks/1.png"),
        ("wad-2018", "Image_01/1_33.png"),
        ("wad-2018", "Image_01.png"),
    ],
)
def test_an_unknown_id_names_the_nearest(task_id, name, tmp_path):
    png(tmp_path / "m" / name, SQUARE.astype(np.uint8) * np.uint8(255))
    outcome = refused(task_id, tmp_path / "m", tmp_path, {"image_01": (3, 4), "other": (3, 4)})
    assert "unknown-id" in codes(outcome)
    assert "'image_01'" in advice(outcome)


def test_a_hundred_unknown_ids_are_counted_and_twenty_told(tmp_path):
    for number in range(100):
        png(tmp_path / "m" / f"no{number}.png", SQUARE)
    outcome = refused("emoji", tmp_path / "m", tmp_path, {"a": (3, 4)})
    assert outcome.json["totals"] == {"unknown-id": 100, "missing-id": 1}
    assert len(outcome.json["findings"]) == 21


@pytest.mark.parametrize(
    ("task_id", "name"),
    [("badlad", "a.png"), ("badlad", "a_4.png"), ("badlad", "a_00.png"), ("wad-2018", "a/1_99.png")],
)
def test_a_name_that_fits_no_mask_is_told_how_masks_are_named(task_id, name, tmp_path):
    png(tmp_path / "m" / name, SQUARE)
    outcome = refused(task_id, tmp_path / "m", tmp_path)
    assert codes(outcome) == {"unknown-id"}
    assert "_<class>.png" in advice(outcome)


@pytest.mark.parametrize(
    ("task_id", "names"),
    [
        ("emoji", ("a.png", "deep/a.png")),
        ("badlad", ("a_2.png", "deep/a_2.png")),
        ("dsb-2018", ("a.png", "deep/a_instanceIds.png")),
        ("dsb-2018", ("a.png", "a/masks/1.png")),
        ("dsb-2018", ("a/masks/1.png", "b/a/masks/1.png")),
        ("wad-2018", ("a/1_33.png", "z/a.png")),
        ("wad-2018", ("a/1_33.png", "b/a/1_33.png")),
    ],
)
def test_two_masks_for_one_place_are_refused(task_id, names, tmp_path):
    for name in names:
        png(tmp_path / "m" / name, DOT)
    assert codes(refused(task_id, tmp_path / "m", tmp_path)) == {"duplicate-id"}


def test_nuclei_that_share_pixels_are_refused_with_their_files(tmp_path):
    png(tmp_path / "m/a/masks/1.png", SQUARE)
    png(tmp_path / "m/a/masks/2.png", SQUARE)
    outcome = refused("dsb-2018", tmp_path / "m", tmp_path)
    assert codes(outcome) == {"masks-overlap"}
    assert "1.png" in outcome.json["findings"][0]["message"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a,1_33.png,1_0\n", "bad-confidence"),
        ("a,1_33.png,nan\n", "bad-confidence"),
        ("a,1_33.png,1e999\n", "bad-confidence"),
        ("a,1_33.png\n", "bad-field-count"),
        ("a,9_33.png,0.5\n", "missing-file"),
        ("a,1_33.png,0.5\na,1_33.png,0.6\n", "duplicate-id"),
    ],
)
def test_a_table_of_confidences_that_is_wrong_is_refused(text, code, tmp_path):
    png(tmp_path / "m/a/1_33.png", SQUARE)
    (tmp_path / "m/confidences.csv").write_text("ImageId,Mask,Confidence\n" + text)
    assert codes(refused("wad-2018", tmp_path / "m", tmp_path)) == {code}


def test_an_empty_folder_is_refused(task, tmp_path):
    (tmp_path / "m").mkdir()
    assert codes(refused(task.id, tmp_path / "m", tmp_path)) == {"missing-file"}


def test_wrong_names_and_wrong_pictures_are_told_in_one_pass(tmp_path):
    png(tmp_path / "m/a.png", SQUARE.astype(np.uint8))
    png(tmp_path / "m/b.png", SQUARE)
    outcome = refused("emoji", tmp_path / "m", tmp_path, {"a": (3, 4), "c": (3, 4)})
    assert codes(outcome) == {"mask-not-binary", "unknown-id", "missing-id"}


def test_an_ignored_image_needs_no_mask(tmp_path):
    png(tmp_path / "m/a.png", SQUARE)
    images = manifest(tmp_path, {"a": (3, 4), "b": (3, 4)}, {"a": "Public", "b": "Ignored"})
    outcome = segjudge("encode", "emoji", tmp_path / "m", "--images", images, "-o", tmp_path / "o.zip")
    assert outcome.status == 0, outcome


@pytest.mark.parametrize("image", ["a/b", "..", "C:x", "._x", "a\\b"])
def test_decode_writes_nothing_if_an_id_cannot_be_a_file(image, tmp_path):
    with sj.write_submission(sj.load_task("dsb-2018"), tmp_path / "s.csv") as out:
        out.add("good", LABELS)
        out.add(image, LABELS)
    images = manifest(tmp_path, {"good": (3, 4), image: (3, 4)})
    outcome = segjudge(
        "decode", "dsb-2018", tmp_path / "s.csv", "--images", images, "-o", tmp_path / "out", "--json"
    )
    assert outcome.status == 2, outcome
    assert not (tmp_path / "out").exists()


def test_decode_writes_over_nothing(tmp_path):
    with sj.write_submission(sj.load_task("dsb-2018"), tmp_path / "s.csv") as out:
        out.add("a", LABELS)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_text("mine")
    images = manifest(tmp_path, {"a": (3, 4)})
    arguments = ("decode", "dsb-2018", tmp_path / "s.csv", "--images", images, "-o", tmp_path / "out")
    assert segjudge(*arguments).status == 2
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


# ------------------------------------------------------------------------------------------------ workers


@pytest.mark.parametrize("task_id", ["dsb-2018", "emoji"])
def test_two_workers_write_the_same_bytes(task_id, tmp_path):
    rng = np.random.default_rng(3)
    for number in range(70):
        shape = rng.integers(1, 12, 2)
        values = rng.integers(0, 2 if task_id == "emoji" else 5, shape)
        png(
            tmp_path / "m" / f"{number:03}.png", values > 0 if task_id == "emoji" else values.astype(np.uint8)
        )
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        for path in sorted((tmp_path / "m").iterdir()):
            archive.write(path, path.name)
    task, written = sj.load_task(task_id), []
    for workers in (1, 2):
        findings = Collector()
        folder = open_masks(task, tmp_path / ("m.zip" if workers > 1 else "m"), None, findings)
        out = tmp_path / f"{workers}.{ENDING.get(task_id, 'csv')}"
        assert encode(folder, out, None, findings, workers=workers) == 70
        written.append(out.read_bytes())
    assert written[0] == written[1]


def test_two_workers_find_the_same_faults(tmp_path):
    for number in range(66):
        png(tmp_path / "m" / f"{number:03}.png", SQUARE.astype(np.uint8) * (7 if number % 9 == 0 else 255))
    told = []
    for workers in (1, 2):
        findings = Collector()
        folder = open_masks(sj.load_task("emoji"), tmp_path / "m", None, findings)
        with pytest.raises(sj.SubmissionError) as caught:
            encode(folder, tmp_path / "o.zip", None, findings, workers=workers)
        told.append(caught.value.diagnosis.to_json())
    assert told[0] == told[1]
    assert not (tmp_path / "o.zip").exists()


# -------------------------------------------------------------------------------------------- the sample


def test_the_sample_passes_check_and_scores(task, tmp_path):
    sizes = {"a": (3, 4), "0012": (1, 5), "b_1": (6, 1)}
    images = manifest(tmp_path, sizes)
    path = tmp_path / f"sample.{ENDING.get(task.id, 'csv')}"
    assert segjudge("sample", task.id, "--images", images, "-o", path).status == 0
    checked = segjudge("check", task.id, path, "--images", images, "--json")
    assert (checked.status, checked.json["findings"]) == (0, [])
    truth = tmp_path / "truth"
    truth.mkdir()
    if task.id == "emoji":
        for image, shape in sizes.items():
            png(truth / f"{image}.png", np.ones(shape, bool))
        rows = [f"{image},{image}.png" for image in sizes]
        (truth / "train.csv").write_text("\n".join(["SampleID,Mask", *rows]))
    elif task.id == "badlad":
        rows = [f"{image}_{class_id},1 1" for image in sizes for class_id in range(4)]
        (truth / "truth.csv").write_text("\n".join(["Id,Predicted", *rows]))
    else:
        for image, shape in sizes.items():
            png(truth / f"{image}.png", np.full(shape, 33_001, np.uint16))
    known = truth / "truth.csv" if task.id == "badlad" else truth
    scored = segjudge("score", task.id, known, path, "--images", images, "--json")
    assert (scored.status, scored.json.get("score")) == (0, 0), scored


def test_a_sample_of_pictures_needs_sizes_and_leaves_nothing_without(tmp_path):
    with pytest.raises(sj.UsageError, match="size"):
        write_sample(sj.load_task("emoji"), tmp_path / "s.zip", sj.Images.of(["a"]))
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------ in Python


class Tensor:
    """All that a tensor on the CPU promises."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype) if dtype else self.values


def written(task_id, path, *arguments, images=None, **options):
    with sj.write_submission(sj.load_task(task_id), path, images) as out:
        out.add(*arguments, **options)
    return path.read_bytes()


STACK = np.stack([SQUARE, DOT])
MASKS = sj.Masks.from_dense(STACK, "row")


def instances(count=2, classes=(33, 36), confidences=(0.5, 1.0)):
    return sj.Instances.of(
        ("a",),
        np.zeros(count, np.int64),
        MASKS,
        class_ids=np.array(classes),
        confidences=np.array(confidences),
    )


WAYS = {
    "an array": (STACK, (33, 36), (0.5, 1)),
    "bytes of 0 and 255": (STACK.astype(np.uint8) * 255, (33, 36), (0.5, 1)),
    "a list": (list(STACK), [33, 36], [0.5, 1]),
    "tensors": (Tensor(STACK), Tensor([33, 36]), Tensor([0.5, 1.0])),
    "a list of tensors": ([Tensor(SQUARE), Tensor(DOT)], Tensor([33.0, 36.0]), Tensor([0.5, 1.0])),
    "a generator": ((mask for mask in STACK), (33, 36), iter((0.5, 1))),
    "masks by row": (MASKS, (33, 36), (0.5, 1)),
    "masks by column": (MASKS.reordered("column"), (33, 36), (0.5, 1)),
    "instances": (instances(), None, None),
    "a label map": (SQUARE * 33_001 + DOT * 36_000, None, (0.5, 1)),
    "a label map as a tensor": (Tensor(SQUARE * 1 + DOT * 2), Tensor([33, 36]), (0.5, 1)),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_give_instances_writes_the_same_rows(way, tmp_path):
    masks, class_ids, confidences = WAYS[way]
    if way == "a generator":
        masks, confidences = (mask for mask in STACK), iter((0.5, 1))
    text = written("wad-2018", tmp_path / "o.csv", "a", masks, class_ids, confidences).decode()
    assert text.splitlines() == [
        "ImageId,LabelId,Confidence,PixelCount,EncodedPixels",
        "a,33,0.5,4,1 2|5 2|",
        "a,36,1,1,11 1|",
    ]


@pytest.mark.parametrize(
    "masks",
    [STACK, list(STACK), Tensor(STACK), MASKS, instances(), LABELS, Tensor(LABELS.astype(np.uint16))],
    ids=["array", "list", "tensor", "masks", "instances", "label map", "label tensor"],
)
def test_every_way_to_give_nuclei_writes_the_same_rows(masks, wanted, tmp_path):
    assert written("dsb-2018", tmp_path / "o.csv", "a", masks) == wanted


NOTHING = np.zeros_like(SQUARE)


@pytest.mark.parametrize(
    "masks",
    [
        {0: SQUARE, 2: DOT},
        {np.int64(2): Tensor(DOT), np.int64(0): Tensor(SQUARE)},
        {0: MASKS[0], 2: MASKS[1]},
        np.stack([SQUARE, NOTHING, DOT, NOTHING]),
        Tensor(np.stack([SQUARE, NOTHING, DOT, NOTHING])),
        [SQUARE, NOTHING, DOT, NOTHING],
        instances(classes=(0, 2)),
    ],
    ids=["mapping", "mapping of tensors", "mapping of masks", "array", "tensor", "list", "instances"],
)
def test_every_way_to_give_classes_writes_the_same_rows(masks, tmp_path):
    text = written("badlad", tmp_path / "o.csv", "a", masks).decode()
    assert text.splitlines() == ["Id,Predicted", "a_0,4 2 7 2", "a_1,", "a_2,12 1", "a_3,"]


@pytest.mark.parametrize(
    "mask",
    [SQUARE, Tensor(SQUARE), SQUARE[None], SQUARE.tolist(), SQUARE * 255, MASKS[0], instances()[:1]],
    ids=["array", "tensor", "one channel", "lists", "255", "masks", "instances"],
)
def test_every_way_to_give_one_mask_writes_the_same_picture(mask, tmp_path):
    data = written("emoji", tmp_path / "o.zip", "a", mask)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.read("submission.csv").decode() == "SampleID,PredictedMask\na,predictions/a_mask.png\n"
        picture = np.asarray(Image.open(io.BytesIO(archive.read("predictions/a_mask.png"))))
    assert np.array_equal(picture, SQUARE * 255)


def test_the_same_masks_are_the_same_bytes(task, tmp_path):
    masks = {"emoji": SQUARE, "badlad": {1: SQUARE}}.get(task.id, STACK)
    more = ((33, 36),) if task.id == "wad-2018" else ()
    endings = ("zip",) if task.id == "emoji" else ("csv", "csv.gz")
    for ending in endings:
        first, second = (
            written(task.id, tmp_path / f"{n}.{ending}", "a", masks, *more) for n in ("one", "two")
        )
        assert first == second


def test_instances_without_a_pixel_get_no_row(tmp_path):
    text = written("wad-2018", tmp_path / "w.csv", "a", [NOTHING, DOT], (33, 36)).decode()
    assert text.splitlines()[1:] == ["a,36,1,1,11 1|"]
    for masks in ([], [NOTHING, NOTHING], np.zeros((3, 4), np.uint8), np.zeros((0, 3, 4), bool)):
        assert written("dsb-2018", tmp_path / "d.csv", "a", masks).decode().splitlines()[1:] == ["a,"]
    assert written("wad-2018", tmp_path / "w.csv", "a", []).decode().count("\n") == 1


def test_images_that_were_never_added_are_images_without_anything(task, tmp_path):
    images = sj.Images.of(["a", "b"], np.array([[3, 4], [2, 5]]))
    path = tmp_path / f"o.{ENDING.get(task.id, 'csv')}"
    with sj.write_submission(task, path, images):
        pass
    found = manifest(tmp_path, {"a": (3, 4), "b": (2, 5)})
    checked = segjudge("check", task.id, path, "--images", found, "--json")
    assert (checked.status, checked.json["findings"]) == (0, [])


def test_ids_that_make_one_file_name_stay_two_pictures(tmp_path):
    ids = ["a/b", "a_b", "A_b", "..", "C:z", "C_z"]
    task = sj.load_task("emoji")
    with sj.write_submission(task, tmp_path / "o.zip") as out:
        for image in ids:
            out.add(image, SQUARE)
    with zipfile.ZipFile(tmp_path / "o.zip") as archive:
        names = archive.namelist()
    assert len({name.casefold() for name in names}) == len(ids) + 1
    assert sj.check(task, sj.read_submission(task, tmp_path / "o.zip")).codes() <= {"sizes-unknown"}


# Masks that must not pass: what is given, and a word of the message.
WRONG = {
    "probabilities": ("dsb-2018", (SQUARE * 0.7,), "label map"),
    "probabilities of instances": ("dsb-2018", (STACK * 0.7,), "0 and 1"),
    "probabilities of one": ("emoji", (SQUARE * 0.7,), "0 and 1"),
    "negative labels": ("dsb-2018", (SQUARE * -1,), "from 0"),
    "labels beyond 31 bits": ("dsb-2018", (SQUARE.astype(np.int64) << 31,), "from 0"),
    "a batch": ("dsb-2018", (STACK[None],), "shape"),
    "shared pixels": ("dsb-2018", ([SQUARE, SQUARE],), "share"),
    "no classes": ("wad-2018", (STACK,), "class"),
    "a strange class": ("wad-2018", (STACK, (33, 37)), "37"),
    "half a class": ("wad-2018", (STACK, (33, 36.5)), "whole"),
    "fewer classes": ("wad-2018", (STACK, (33,)), "2 masks"),
    "fewer confidences": ("wad-2018", (STACK, (33, 33), (1,)), "1 confidences"),
    "no number": ("wad-2018", (STACK, (33, 33), (1, float("nan"))), "finite"),
    "a word": ("wad-2018", (STACK, (33, 33), (1, "high")), "number"),
    "three masks for four classes": ("badlad", (np.stack([SQUARE] * 3),), "4 classes"),
    "a class that is none": ("badlad", ({7: SQUARE},), "7"),
    "a class by its name": ("badlad", ({"table": SQUARE},), "whole"),
    "a class twice": ("badlad", (instances(classes=(2, 2)),), "two masks"),
    "two for one": ("emoji", (MASKS,), "2 came"),
    "nothing": ("emoji", (np.zeros((0, 0), bool),), "0 rows"),
    "a wrong size": ("emoji", (DOT[:2],), "2 rows x 4 columns"),
    "a turned picture": ("emoji", (SQUARE.T,), "swapped"),
    "a turned nucleus": ("dsb-2018", ([SQUARE.T],), "swapped"),
    "a turned class": ("badlad", ({1: SQUARE.T},), "swapped"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_failing_add_writes_no_row_and_the_next_one_works(case, tmp_path):
    task_id, given_masks, word = WRONG[case]
    images = sj.Images.of(["a"], np.array([[3, 4]]))
    right = {"emoji": (SQUARE,), "badlad": ({},), "dsb-2018": (STACK,), "wad-2018": (STACK, (33, 36))}[
        task_id
    ]
    path = tmp_path / f"o.{ENDING.get(task_id, 'csv')}"
    wanted = written(task_id, path, "a", *right)
    with sj.write_submission(sj.load_task(task_id), path, images) as out:
        with pytest.raises(sj.MaskError, match=word):
            out.add("a", *given_masks)
        out.add("a", *right)
    assert path.read_bytes() == wanted


def interrupted(task, path, error):
    with sj.write_submission(task, path) as out:
        out.add("a", SQUARE if task.id == "emoji" else STACK)
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, MemoryError, SystemExit])
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "zip"])
def test_whatever_ends_the_block_leaves_no_file_and_keeps_an_older_one(error, ending, tmp_path):
    task = sj.load_task("emoji" if ending == "zip" else "dsb-2018")
    old = tmp_path / f"old.{ending}"
    old.write_bytes(b"as it was")
    for path in (old, tmp_path / f"new.{ending}"):
        with pytest.raises(error):
            interrupted(task, path, error)
    assert list(tmp_path.iterdir()) == [old]
    assert old.read_bytes() == b"as it was"


def test_an_absent_picture_of_unknown_size_leaves_no_file(tmp_path):
    images = sj.Images.of(["a"])
    with (
        pytest.raises(sj.MaskError, match="size"),
        sj.write_submission(sj.load_task("emoji"), tmp_path / "o.zip", images),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_file_appears_only_when_the_block_ends(tmp_path):
    path = tmp_path / "o.csv"
    with sj.write_submission(sj.load_task("dsb-2018"), path) as out:
        out.add("a", STACK)
        assert not path.exists()
    assert path.exists()
    with pytest.raises(sj.UsageError, match="with"):
        out.add("b", STACK)


def test_an_image_is_added_once_and_must_be_known(tmp_path):
    images = sj.Images.of(["image_01"], np.array([[3, 4]]))
    with sj.write_submission(sj.load_task("dsb-2018"), tmp_path / "o.csv", images) as out:
        with pytest.raises(sj.MaskError, match="'image_01'"):
            out.add("Image_01", STACK)
        out.add("image_01", STACK)
        with pytest.raises(sj.MaskError, match="before"):
            out.add("image_01", STACK)


@pytest.mark.parametrize(
    ("task_id", "name"),
    [("dsb-2018", "s.parquet"), ("dsb-2018", "s.zip"), ("emoji", "s.csv"), ("dsb-2018", "none/s.csv")],
)
def test_a_path_that_would_lie_about_the_file_is_refused(task_id, name, tmp_path):
    with pytest.raises(sj.UsageError), sj.write_submission(sj.load_task(task_id), tmp_path / name):
        pass
    assert list(tmp_path.iterdir()) == []


def test_instances_of_several_images_are_refused(tmp_path):
    both = sj.Instances.of(("a", "b"), np.array([0, 1]), MASKS, class_ids=np.array([33, 36]))
    with (
        sj.write_submission(sj.load_task("wad-2018"), tmp_path / "o.csv") as out,
        pytest.raises(sj.MaskError, match="several images"),
    ):
        out.add("a", both)


def test_confidences_come_back_to_the_last_bit(tmp_path):
    values = np.random.default_rng(1).random(50).astype(np.float32)
    written("wad-2018", tmp_path / "o.csv", "a", [DOT] * 50, [33] * 50, values)
    rows = list(csv.reader((tmp_path / "o.csv").read_text().splitlines()))[1:]
    assert [float(row[2]) for row in rows] == values.astype(float).tolist()


# --------------------------------------------------------------------------------------------- big pictures


def test_one_picture_of_a_street_needs_little_more_memory_than_itself(tmp_path):
    mask = np.zeros((2710, 3384), bool)
    mask[1000:1400, 500:2500] = True
    with sj.write_submission(sj.load_task("wad-2018"), tmp_path / "o.csv") as out:
        tracemalloc.start()
        try:
            out.add("a", mask[None], [33])
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 3 * mask.size


def test_masks_of_50_000_pixels_a_side_are_never_drawn(tmp_path):
    side = 50_000
    starts = np.arange(0, side * side, side * 100, dtype=np.int64)
    tall = sj.Masks.from_runs("row", starts, starts + 7, np.array([0, len(starts)]), np.array([[side, side]]))
    images = sj.Images.of(["a"], np.array([[side, side]]))
    with sj.write_submission(sj.load_task("wad-2018"), tmp_path / "o.csv", images) as out:
        tracemalloc.start()
        try:
            out.add("a", tall, [33])
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 1 << 20
    row = next(csv.reader((tmp_path / "o.csv").read_text().splitlines()[1:]))
    assert row[3] == str(7 * len(starts))
    assert row[4].endswith(f"{starts[-1]} 7|")
