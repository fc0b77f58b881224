"""Generated data: the same seed the same bytes, the competitions' forms, truths without fault, figures as told."""

import hashlib
import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import segjudge as sj
from segjudge.data import TASKS, difficulty, imperfect, imperfect_mask, make, scenes

DOCS = Path(__file__).parent.parent / "docs"
SMALL = {"wad-2018": (226, 282), "badlad": (420, 300), "dsb-2018": (128, 160), "emoji": (96, 96)}
IMAGES = {"wad-2018": 6, "badlad": 2, "dsb-2018": 2, "emoji": 3}


def made(task_id, folder, seed=5, images=None, **options):
    count = images or IMAGES[task_id]
    make(task_id, folder, images=count, seed=seed, size=SMALL[task_id], **options)
    return folder


def files(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module", params=TASKS)
def task_set(request, tmp_path_factory):
    return request.param, made(request.param, tmp_path_factory.mktemp(request.param) / "set")


def truths(task_id, folder):
    return [folder / "truth.csv", folder / "annotations.json"] if task_id == "badlad" else [folder]


# ------------------------------------------------------------------------------------------------ seeds


def test_the_same_seed_writes_the_same_bytes(task_set, tmp_path):
    task_id, folder = task_set
    assert files(made(task_id, tmp_path / "again")) == files(folder)


def test_another_seed_writes_other_pictures(task_set, tmp_path):
    task_id, folder = task_set
    before, after = files(folder), files(made(task_id, tmp_path / "other", seed=6))
    pictures = {digest for name, digest in before.items() if name.endswith((".png", ".jpg"))}
    shared = pictures & set(after.values())
    assert not shared


@pytest.mark.parametrize("task_id", TASKS)
def test_more_images_leave_the_first_as_they_were(task_id):
    few = list(scenes(task_id, images=1, seed=4, size=SMALL[task_id]))
    more = list(scenes(task_id, images=2, seed=4, size=SMALL[task_id]))
    assert np.array_equal(few[0].picture, more[0].picture)
    assert np.array_equal(few[0].owner, more[0].owner)
    assert not np.array_equal(more[0].picture, more[1].picture)


# ------------------------------------------------------------------------------------------------ forms


def test_truths_are_without_fault_and_name_every_image(task_set):
    task_id, folder = task_set
    task = sj.load_task(task_id)
    for path in truths(task_id, folder):
        truth = sj.read_truth(task, path)
        assert sj.check_truth(task, truth).findings == ()
        assert truth.source is not None
        assert len(truth.source.image_ids) == IMAGES[task_id]


def test_streets_have_frames_label_maps_lists_and_a_table(tmp_path):
    folder = made("wad-2018", tmp_path / "set")
    names = sorted(path.stem for path in (folder / "train_color").glob("*.jpg"))
    assert len(names) == 6
    assert all(re.fullmatch(r"\d{6}_\d{9}_Camera_5", name) for name in names)
    assert sorted(path.name for path in (folder / "train_label").iterdir()) == [
        f"{n}_instanceIds.png" for n in names
    ]
    with Image.open(folder / "train_label" / f"{names[0]}_instanceIds.png") as picture:
        assert picture.mode == "I;16"
        assert picture.size == (282, 226)
        values = np.unique(np.asarray(picture))
    assert {17, 49} <= set(values.tolist())
    known = np.isin(values // 1000, [33, 34, 35, 36, 37, 38, 39, 40])
    assert (known | (values < 1000) | (values == 65535)).all()
    assert known.any()
    listed = sorted((folder / "train_video_list").iterdir())
    assert [path.name for path in listed] == [f"road01_cam_5_video_{n}_image_list_train.txt" for n in (1, 2)]
    line = listed[0].read_text(encoding="utf-8").splitlines()[0]
    assert re.fullmatch(r"road01_ins\\ColorImage\\.*\.jpg\troad01_ins\\Label\\.*_instanceIds\.png", line)
    images = sj.read_images(sj.load_task("wad-2018"), folder / "images.csv")
    assert sorted(images.ids) == names
    assert images.clips == ("road01_cam_5_video_1",) * 5 + ("road01_cam_5_video_2",)


def test_objects_of_a_clip_move_and_stay_of_their_class():
    first, second, *_ = scenes("wad-2018", images=3, seed=5, size=SMALL["wad-2018"])
    assert not np.array_equal(first.values, second.values)
    assert set(np.unique(first.class_ids)) & set(np.unique(second.class_ids))


@pytest.mark.parametrize("seed", range(3))
def test_instances_of_a_label_map_are_the_scene_s_objects(seed):
    scene = next(scenes("wad-2018", images=1, seed=seed, size=SMALL["wad-2018"]))
    inside = np.isin(scene.values // 1000, [33, 34, 35, 36, 38, 39, 40]) & (scene.values >= 1000)
    assert np.array_equal(inside, scene.owner > 0)
    for mask, class_id in scene.masks():
        values = np.unique(scene.values[mask])
        assert values.tolist() == [values[0]]
        assert values[0] // 1000 == class_id


def test_both_truths_of_pages_say_the_same(tmp_path):
    folder = made("badlad", tmp_path / "set")
    whole = json.loads((folder / "annotations.json").read_text(encoding="utf-8"))
    assert [page["id"] for page in whole["images"]] == [0, 1]
    assert [entry["id"] for entry in whole["categories"]] == [0, 1, 2, 3]
    assert all((folder / "images" / page["file_name"]).exists() for page in whole["images"])
    lines = (folder / "truth.csv").read_text(encoding="utf-8").splitlines()
    submission = folder.parent / "submission.csv"
    submission.write_text("\n".join(",".join(line.split(",")[:2]) for line in lines) + "\n", encoding="utf-8")
    task = sj.load_task("badlad")
    truth = sj.read_truth(task, folder / "annotations.json")
    assert sj.score(task, truth, sj.read_submission(task, submission)).score == 1.0


def test_nuclei_have_a_folder_each_with_masks_that_share_no_pixel(tmp_path):
    folder = made("dsb-2018", tmp_path / "set")
    for place in folder.iterdir():
        assert re.fullmatch("[0-9a-f]{64}", place.name)
        with Image.open(place / "images" / f"{place.name}.png") as picture:
            assert picture.mode == "RGBA"
            size = picture.size
            assert np.asarray(picture)[..., 3].min() == 255
        total = np.zeros(size[::-1], np.int64)
        for path in (place / "masks").iterdir():
            with Image.open(path) as mask:
                assert mask.mode == "L"
                pixels = np.asarray(mask)
            assert set(np.unique(pixels).tolist()) == {0, 255}
            total += pixels == 255
        assert total.max() == 1


def test_emoji_have_a_table_of_pictures_and_masks_of_two_values(tmp_path):
    folder = made("emoji", tmp_path / "set")
    header, *rows = (folder / "train.csv").read_text(encoding="utf-8").splitlines()
    assert header == "SampleID,Path,Mask"
    assert len(rows) == 3
    for row in rows:
        _, picture, mask = row.split(",")
        with Image.open(folder / picture) as image, Image.open(folder / mask) as truth:
            assert (image.mode, truth.mode, image.size) == ("RGB", "L", truth.size)
            assert set(np.unique(np.asarray(truth)).tolist()) == {0, 255}


# ----------------------------------------------------------------------------------------------- calls


def test_progress_counts_up_to_the_number_of_images(tmp_path):
    steps = []
    made("emoji", tmp_path / "set", progress=lambda done, total: steps.append((done, total)))
    assert steps == [(1, 3), (2, 3), (3, 3)]


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(sj.UsageError, match="not an empty folder"):
        make("emoji", tmp_path, images=1, seed=0)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("task_id", "options", "word"),
    [
        ("coco", {"images": 1, "seed": 0}, "no generator"),
        ("emoji", {"images": 0, "seed": 0}, "0 images"),
        ("emoji", {"images": 1, "seed": -1}, "seed"),
        ("emoji", {"images": 1, "seed": 0, "size": (8, 96)}, "8 rows"),
    ],
)
def test_what_no_scene_can_be_made_from_is_refused_before_anything_is_written(
    task_id, options, word, tmp_path
):
    with pytest.raises(sj.UsageError, match=word):
        make(task_id, tmp_path / "set", **options)
    assert not (tmp_path / "set").exists()


# --------------------------------------------------------------------------------------------- figures


def table_of(text):
    """The cells of a table in Markdown, numbers as numbers."""
    rows = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("| `")]
    return [[float(n) for n in re.findall(r"\d+(?:\.\d+)?", " ".join(row[1:]))] for row in rows]


def test_the_figures_of_the_docs_are_what_the_generators_make():
    spec = importlib.util.spec_from_file_location("generate_previews", DOCS / "generate_previews.py")
    previews = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(previews)
    page = (DOCS / "data.md").read_text(encoding="utf-8")
    told = table_of(page[page.index(previews.BEGIN) : page.index(previews.END)])
    found = table_of(previews.table())
    assert len(told) == len(TASKS)
    for row, again in zip(told, found, strict=True):
        assert row == pytest.approx(again, rel=0.03, abs=1), "run python docs/generate_previews.py"


def test_difficulty_counts_what_the_masks_show():
    figures = difficulty("dsb-2018", seed=3, images=1)
    scene = next(scenes("dsb-2018", images=1, seed=3))
    areas = [int(mask.sum()) for mask, _ in scene.masks()]
    assert figures["objects"] == len(areas)
    assert figures["median_area"] == np.median(areas)
    assert figures["classes"] == {0: 1.0}


@pytest.mark.parametrize("task_id", TASKS)
def test_previews_exist_and_are_small(task_id):
    assert 10_000 < (DOCS / "pictures" / f"{task_id}.png").stat().st_size <= 250_000


# ------------------------------------------------------------------------------------------- imperfect

discs = st.lists(
    st.tuples(st.integers(0, 39), st.integers(0, 39), st.integers(1, 12), st.sampled_from([3, 4])), max_size=6
)


def masks_of(places):
    down, across = np.mgrid[:40, :40]
    return [((down - y) ** 2 + (across - x) ** 2 <= r * r, class_id) for y, x, r, class_id in places]


@settings(deadline=None, max_examples=50)
@given(discs, st.integers(0, 1000), st.booleans())
def test_imperfect_predictions_are_of_the_image_and_never_empty(places, seed, disjoint):
    found = imperfect(
        np.random.default_rng(seed), masks_of(places), [3, 4], shape=(40, 40), disjoint=disjoint
    )
    for mask, class_id, confidence in found:
        assert mask.shape == (40, 40)
        assert mask.dtype == np.bool_
        assert mask.any()
        assert class_id in {3, 4}
        assert 0 < confidence < 1
    if disjoint and found:
        assert np.sum([mask for mask, _, _ in found], axis=0).max() == 1


def test_imperfect_predictions_score_well_but_not_perfectly():
    scene = next(scenes("emoji", images=1, seed=1))
    truth = [mask for mask, _ in scene.masks()]
    found = [
        (mask, confidence)
        for seed in range(30)
        for mask, _, confidence in imperfect(np.random.default_rng(seed), scene.masks(), [0])
    ]
    ious = np.array([max((mask & own).sum() / (mask | own).sum() for own in truth) for mask, _ in found])
    confidences = np.array([confidence for _, confidence in found])
    assert 0.7 < np.median(ious) < 1
    assert confidences[ious > 0.7].mean() > confidences[ious < 0.5].mean() + 0.2


def test_an_imperfect_mask_is_near_the_truth():
    scene = next(scenes("emoji", images=1, seed=1))
    mask = scene.owner > 0
    found = imperfect_mask(np.random.default_rng(0), mask)
    assert 0.6 < (found & mask).sum() / (found | mask).sum() < 1
