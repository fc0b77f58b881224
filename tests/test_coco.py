"""The task coco, from JSON files to the twelve numbers, equals pycocotools on the same files."""

import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools import mask as coco_masks
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

import segjudge as sj
from tests.coco_scenes import files, pycocotools, random_scene, scenes
from tests.reference.detection import Object, Scene
from tests.running import segjudge

NAMES = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")


def scored(paths, **options):
    task = sj.load_task("coco")
    return sj.score(task, sj.read_truth(task, paths[0]), sj.read_submission(task, paths[1]), **options)


def stats(evaluation):
    return [None if value == -1 else pytest.approx(value, abs=1e-12) for value in evaluation.stats.tolist()]


def twelve(paths):
    """The numbers of pycocotools for two files."""
    with redirect_stdout(io.StringIO()):
        known = COCO(str(paths[0]))
        evaluation = COCOeval(known, known.loadRes(str(paths[1])), "segm")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation


@settings(max_examples=120, deadline=None)
@given(scenes())
def test_files_give_the_twelve_numbers_of_pycocotools(scene):
    with TemporaryDirectory() as folder:
        result = scored(files(Path(folder), scene))
    assert list(result.metrics) == list(NAMES)
    assert list(result.metrics.values()) == stats(pycocotools(scene))
    assert result.score == result.metrics["AP"]
    assert list(result.by_class) == sorted(scene.classes)


@pytest.mark.parametrize("seed", range(6))
def test_larger_files_with_and_without_boxes_give_the_numbers_of_pycocotools(seed, tmp_path):
    scene = random_scene(seed, images=12, truths=6, predictions=130)
    for boxes in (True, False):
        result = scored(files(tmp_path, scene, boxes=boxes), workers=1 + seed % 2)
        assert list(result.metrics.values()) == stats(pycocotools(scene, boxes=boxes))


def test_the_first_annotation_may_have_the_id_0(tmp_path):
    scene = random_scene(1)
    assert scored(files(tmp_path, scene, first_id=0)).metrics == scored(files(tmp_path, scene)).metrics


@pytest.mark.filterwarnings("ignore:__array__:DeprecationWarning:pycocotools")
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_polygons_counts_and_crowds_give_the_numbers_of_pycocotools(seed):
    """Annotations as COCO has them: polygons of fractions, crowds as uncompressed counts."""
    rng = np.random.default_rng(seed)
    height, width = (int(side) for side in rng.integers(8, 40, 2))
    truth = {
        "images": [{"id": number, "height": height, "width": width} for number in (5, 40, 9)],
        "categories": [{"id": number, "name": f"class {number}"} for number in (3, 1)],
        "annotations": [],
    }
    results = []
    for number in range(int(rng.integers(1, 9))):
        image, class_id = int(rng.choice([5, 40, 9])), int(rng.choice([1, 3]))
        middle, reach = rng.uniform(0, 1, 2) * (width, height), rng.uniform(2, 12)
        angles = np.sort(rng.uniform(0, 2 * np.pi, 6))
        ring = np.stack([middle[0] + reach * np.cos(angles), middle[1] + reach * np.sin(angles)], axis=1)
        ring = np.round(ring.clip(0, (width, height)), 2)
        drawn = coco_masks.frPyObjects([ring.ravel().tolist()], height, width)
        mask = coco_masks.decode(drawn)[:, :, 0]
        crowd = bool(rng.random() < 0.3)
        segmentation = sj.CocoRle().encode(mask) if crowd else [ring.ravel().tolist()]
        truth["annotations"].append({
            "id": number + 1, "image_id": image, "category_id": class_id, "segmentation": segmentation,
            "area": float(mask.sum()) + float(rng.random()), "iscrowd": int(crowd), "bbox": [0, 0, 1, 1],
        })  # fmt: skip
        for _ in range(int(rng.integers(0, 4))):
            shifted = np.roll(mask, tuple(rng.integers(-1, 2, 2)), axis=(0, 1))
            code = coco_masks.encode(np.asfortranarray(shifted))
            results.append({
                "image_id": image, "category_id": class_id if rng.random() < 0.8 else 4 - class_id,
                "segmentation": {**code, "counts": code["counts"].decode()}, "score": round(float(rng.random()), 1),
            })  # fmt: skip
    if not results:
        return
    with TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("truth.json", "results.json")]
        for path, document in zip(paths, (truth, results), strict=True):
            path.write_text(json.dumps(document))
        result = scored(paths)
        evaluation = twelve(paths)
    assert list(result.metrics.values()) == stats(evaluation)


def with_ids(paths, ids):
    """The same two files with other ids of the images."""
    truth, results = (json.loads(path.read_text()) for path in paths)
    truth["images"] = [{**image, "id": ids[image["id"]]} for image in truth["images"]]
    for entry in (*truth["annotations"], *results):
        entry["image_id"] = ids[entry["image_id"]]
    for path, document in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(document))
    return paths


def tied(count=12):
    """Images of one object each, every other found, all with one confidence: their order is the score."""
    mask, other = frozenset(range(20)), frozenset(range(60, 80))
    images = tuple(range(1, count + 1))
    truths = tuple(Object(image, 1, mask, 20.0) for image in images)
    found = tuple(Object(image, 1, mask if image % 9 == 1 else other, 20.0, 0.5) for image in images)
    return Scene(images, (1,), 10, 10, truths, found)


@pytest.mark.parametrize(
    "ids",
    [lambda i: i, str, lambda i: f"{i:04}", lambda i: f"0{i}", lambda i: f"a{i}", lambda i: -i],
    ids=["numbers", "digits", "padded", "led by 0", "names", "below 0"],
)
def test_ties_between_images_go_by_the_ids_as_the_truth_has_them(tmp_path, ids):
    scene = tied()
    paths = with_ids(files(tmp_path, scene), {image: ids(image) for image in scene.images})
    assert list(scored(paths).metrics.values()) == stats(twelve(paths))


def test_the_order_of_tied_images_counts(tmp_path):
    scores = set()
    for name, ids in (("numbers", int), ("texts", str)):
        folder = tmp_path / name
        folder.mkdir()
        scene = tied()
        paths = with_ids(files(folder, scene), {image: ids(image) for image in scene.images})
        scores.add(scored(paths).score)
    assert len(scores) == 2


@settings(max_examples=30, deadline=None)
@given(scenes())
def test_images_with_texts_of_digits_as_ids_give_the_numbers_of_pycocotools(scene):
    if not scene.predictions:
        return
    with TemporaryDirectory() as folder:
        paths = with_ids(files(Path(folder), scene), {image: str(image) for image in scene.images})
        truth = json.loads(paths[0].read_text())
        for thing, entry in zip(scene.truths, truth["annotations"], strict=True):
            entry["area"] = 1e11 if thing.ignore else entry["area"]
            entry["ignore"] = 0
        paths[0].write_text(json.dumps(truth))
        assert list(scored(paths).metrics.values()) == stats(twelve(paths))


def test_an_evaluator_gives_what_files_give(tmp_path):
    scene = random_scene(5)
    whole = scored(files(tmp_path, scene))
    task = sj.load_task("coco")
    evaluator = sj.Evaluator(task)
    for image in scene.images:
        sides = []
        for things in (scene.truths, scene.predictions):
            mine = [thing for thing in things if thing.image == image]
            masks = np.zeros((len(mine), scene.width, scene.height), bool)
            for mask, thing in zip(masks, mine, strict=True):
                mask.reshape(-1)[sorted(thing.pixels)] = True
            sides.append(
                sj.Instances.from_masks(
                    masks.transpose(0, 2, 1),
                    class_ids=[thing.class_id for thing in mine],
                    confidences=[thing.confidence for thing in mine],
                    ignored=[thing.ignore for thing in mine],
                    crowd=[thing.crowd for thing in mine],
                    areas=[thing.area for thing in mine],
                    order=task.order,
                )
            )
        evaluator.update(image, *sides)
    result = evaluator.compute()
    assert result.metrics == whole.metrics
    assert result.by_image == whole.by_image
    assert result.by_area == whole.by_area
    assert result.counts == whole.counts


def test_the_command_line_prints_the_numbers_and_names_the_classes(tmp_path):
    scene = random_scene(2)
    paths = files(tmp_path, scene)
    told = segjudge("score", "coco", *paths, "--by", "class,area,threshold")
    assert told.status == 0
    for name in NAMES:
        assert f"\n{name}" in told.out
    assert "\n1 1 " in told.out  # class 1 is called 1
    assert "\nsmall" in told.out
    printed = segjudge("score", "coco", *paths, "--json", "--by", "area").json
    assert list(printed["metrics"]) == list(NAMES)
    assert list(printed["by_area"]) == ["all", "small", "medium", "large"]
    assert printed["score"] == printed["metrics"]["AP"]
