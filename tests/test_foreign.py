"""Code that others wrote agrees wherever it computes the same: pycocotools, stardist and scikit-learn."""

import importlib.util
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from PIL import Image as Picture
from pycocotools import mask as coco_masks
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from sklearn.metrics import f1_score, jaccard_score

import segjudge as sj
from tests import strategies
from tests.reference import files
from tests.reference.overlap import pairs_by_class, pairs_by_image
from tests.reference.scene import EVERY_CLASS, THRESHOLDS, WAD_CLASSES, Image, Scene, Thing
from tests.test_real_nuclei import matching

DECIMALS = [float(threshold) for threshold in THRESHOLDS]


def score(task_id, write, scene, by, **chosen):
    task = sj.load_task(task_id, [f"{name}={value}" for name, value in chosen.items()])
    with TemporaryDirectory() as folder:
        written = write(scene, Path(folder))
        return sj.score(
            task,
            sj.read_truth(task, written.truth),
            sj.read_submission(task, written.submission),
            images=sj.read_images(task, written.images),
            by=by,
        )


def dense(pixels, image):
    flat = np.zeros(image.height * image.width, np.uint8)
    flat[sorted(pixels)] = 1
    return flat.reshape(image.height, image.width)


# --- pycocotools: masks ----------------------------------------------------------------------------------------


def random_masks(rng, height, width):
    """Rectangles, noise and both, none without a pixel: (N, H, W)."""
    drawn = []
    for kind in rng.integers(0, 3, size=int(rng.integers(1, 9))):
        top, left = int(rng.integers(height)), int(rng.integers(width))
        mask = np.zeros((height, width), np.bool_)
        mask[top : top + int(rng.integers(1, height + 1)), left : left + int(rng.integers(1, width + 1))] = (
            True
        )
        if kind:
            noise = rng.random((height, width)) < rng.choice([0.1, 0.5, 0.9])
            mask = noise if kind == 1 else mask & noise
        mask[top, left] = True
        drawn.append(mask)
    return np.array(drawn)


def rles(masks):
    return coco_masks.encode(np.asfortranarray(masks.transpose(1, 2, 0).astype(np.uint8)))


@pytest.mark.parametrize("seed", range(10))
def test_texts_of_pycocotools_are_read_together_as_one_by_one(seed):
    rng = np.random.default_rng(seed)
    height, width = (int(side) for side in rng.integers(1, 90, size=2))
    drawn = random_masks(rng, height, width)
    objects, codec = rles(drawn), sj.CocoRle()
    together, alone = codec.decode(*objects), [codec.decode({**item}) for item in objects]
    one_by_one = [codec._decode(item) for item in objects]
    np.testing.assert_array_equal(together.dense(), drawn)
    for masks in (sj.Masks.concatenate(alone), sj.Masks.concatenate(one_by_one)):
        for name in ("starts", "stops", "indptr", "shapes", "areas", "extents"):
            np.testing.assert_array_equal(getattr(together, name), getattr(masks, name))


@pytest.mark.parametrize("counts", [b"", b"0", b"231x", "23", "23\u00e91", "2311", b"\\"])
def test_one_text_that_is_no_mask_among_others_is_told(counts):
    good = {"size": [2, 3], "counts": "231"}
    with pytest.raises(sj.MaskError):
        sj.CocoRle().decode(good, {"size": [2, 3], "counts": counts}, good)


@pytest.mark.parametrize("order", ["row", "column"])
@pytest.mark.parametrize("seed", range(25))
def test_areas_boxes_and_overlaps_are_those_of_pycocotools(seed, order):
    rng = np.random.default_rng(seed)
    height, width = (int(side) for side in rng.integers(1, 60, size=2))
    predictions, truths = random_masks(rng, height, width), random_masks(rng, height, width)
    ours, others = sj.Masks.from_dense(predictions, order), sj.Masks.from_dense(truths, order)
    overlaps = ours.overlaps(others)
    theirs = rles(predictions), rles(truths)
    assert ours.areas.tolist() == coco_masks.area(theirs[0]).tolist()
    assert ours.boxes.tolist() == coco_masks.toBbox(theirs[0]).tolist()
    assert np.array_equal(overlaps.iou(), coco_masks.iou(*theirs, [0] * len(truths)))
    share = np.zeros((len(predictions), len(truths)))
    share[overlaps.prediction, overlaps.truth] = overlaps.shared / ours.areas[overlaps.prediction]
    assert np.array_equal(share, coco_masks.iou(*theirs, [1] * len(truths)))


@pytest.mark.parametrize("seed", range(20))
def test_coco_text_is_that_of_pycocotools(seed):
    rng = np.random.default_rng(seed)
    mask = rng.random(rng.integers(1, 200, 2)) < rng.choice([0.01, 0.5, 0.99])
    (encoded,) = rles(mask[None])
    assert (sj.CocoRle().decode(encoded).picture(0) == mask).all()
    plain = sj.CocoRle().encode(mask)
    assert coco_masks.frPyObjects(plain, *plain["size"])["counts"] == encoded["counts"]


# --- pycocotools: average precision ---------------------------------------------------------------------------


def classes_of_region(region, scope):
    if scope == "any" or region.class_id == EVERY_CLASS:
        return WAD_CLASSES
    return (region.class_id,) if region.class_id in WAD_CLASSES else ()


def coco_of(scene, scope):
    """The scene as annotations, a region as a crowd of each class that it counts for, and results."""
    number = {image.id: place for place, image in enumerate(scene.images, start=1)}
    by_id = {image.id: image for image in scene.images}

    def entry(thing, class_id):
        (rle,) = rles(dense(thing.pixels, by_id[thing.image])[None])
        return {"image_id": number[thing.image], "category_id": class_id, "segmentation": rle}

    annotations = []
    for thing in scene.truths:
        for class_id in classes_of_region(thing, scope) if thing.ignored else (thing.class_id,):
            size = {"area": len(thing.pixels), "bbox": [0, 0, 1, 1], "iscrowd": int(thing.ignored)}
            annotations.append({**entry(thing, class_id), **size, "id": len(annotations) + 1})
    coco = COCO()
    coco.dataset = {
        "info": {},
        "images": [
            {"id": number[image.id], "height": image.height, "width": image.width} for image in scene.images
        ],
        "categories": [{"id": class_id} for class_id in WAD_CLASSES],
        "annotations": annotations,
    }
    coco.createIndex()
    results = [
        {**entry(thing, thing.class_id), "score": float(thing.confidence)} for thing in scene.predictions
    ]
    return coco, coco.loadRes(results)


def coco_average_precisions(scene, scope):
    """(threshold, class) average precisions, NaN for a class without truth."""
    evaluation = COCOeval(*coco_of(scene, scope), "segm")
    evaluation.params.iouThrs = np.array(DECIMALS)
    evaluation.params.maxDets = [10_000]
    evaluation.params.areaRng = [[0, 1e10]]
    evaluation.params.areaRngLbl = ["all"]
    evaluation.evaluate()
    evaluation.accumulate()
    precision = evaluation.eval["precision"][:, :, :, 0, 0]
    return np.where(precision[:, 0] < 0, np.nan, precision.mean(axis=1))


def agrees_with_cocoeval(scene, scope="any"):
    result = score(
        "wad-2018", files.write_wad, scene, ["class", "threshold"],
        recall="pycocotools", ties="file", strict="false", ignore="crowd", ignore_scope=scope,
    )  # fmt: skip
    theirs = coco_average_precisions(scene, scope)
    known = ~np.isnan(theirs[0])
    assert result.score == pytest.approx(theirs[:, known].mean(), abs=1e-12)
    assert 0 < result.score < 1
    by_threshold = [result.by_threshold[threshold] for threshold in THRESHOLDS]
    assert by_threshold == pytest.approx(theirs[:, known].mean(axis=1), abs=1e-12)
    for class_id, value, exists in zip(WAD_CLASSES, theirs.mean(axis=0), known, strict=True):
        assert result.by_class[class_id] == (pytest.approx(value, abs=1e-12) if exists else None)
    return result


@pytest.mark.parametrize("seed", range(8))
def test_average_precision_is_that_of_cocoeval(seed):
    scene = strategies.random_scene(np.random.default_rng(seed), n_images=10, distinct_confidences=True)
    agrees_with_cocoeval(scene)


@pytest.mark.parametrize("scope", ["any", "class"])
@pytest.mark.parametrize("seed", range(8))
def test_ignored_regions_are_the_crowds_of_cocoeval(seed, scope):
    scene = strategies.random_scene(
        np.random.default_rng(100 + seed),
        n_images=20,
        ignored=strategies.WAD_IGNORED,
        distinct_confidences=True,
    )
    with_regions = agrees_with_cocoeval(scene, scope)
    bare = Scene(scene.images, tuple(thing for thing in scene.truths if not thing.ignored), scene.predictions)
    assert with_regions.counts["ignored"] > 0
    assert agrees_with_cocoeval(bare, scope).score != with_regions.score


@pytest.mark.parametrize("seed", range(4))
def test_ties_go_by_the_file_as_in_cocoeval(seed):
    """COCOeval takes the images in turn, so a file that does so too has its order of equal confidences."""
    scene = strategies.random_scene(np.random.default_rng(200 + seed), n_images=10, decimals=1)
    place = {image.id: place for place, image in enumerate(scene.images)}
    in_turn = sorted(scene.predictions, key=lambda thing: place[thing.image])
    ordered = Scene(scene.images, scene.truths, tuple(in_turn))
    by_file = agrees_with_cocoeval(ordered)
    free = score("wad-2018", files.write_wad, ordered, [], recall="pycocotools", strict="false")
    assert by_file.score != free.score


# --- the usual pipeline of bench/ ---------------------------------------------------------------------------------


def usual_pipeline():
    path = Path(__file__).parents[1] / "bench" / "peer_wad.py"
    spec = importlib.util.spec_from_file_location("segjudge_bench_peer_wad", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", range(8))
def test_the_usual_pipeline_gives_the_score_of_many_equal_confidences(seed, tmp_path):
    rng = np.random.default_rng(300 + seed)
    scene = strategies.random_scene(rng, n_images=10, ignored=strategies.WAD_IGNORED, decimals=1)
    shuffled = tuple(scene.predictions[place] for place in rng.permutation(len(scene.predictions)))
    written = files.write_wad(Scene(scene.images, scene.truths, shuffled), tmp_path)
    theirs, images, predictions = usual_pipeline().score(written.truth, written.submission)
    assert (images, predictions) == (len(scene.images), len(scene.predictions))
    assert score("wad-2018", files.write_wad, scene, []).score == pytest.approx(theirs, abs=1e-12)
    assert score("wad-2018", files.write_wad, scene, [], ties="file").score != pytest.approx(theirs, abs=1e-9)


# --- stardist: precision of an image ----------------------------------------------------------------------------


def label_map(things, image):
    labels = np.zeros(image.height * image.width, np.int32)
    for label, thing in enumerate(things, start=1):
        labels[sorted(thing.pixels)] = label
    return labels.reshape(image.height, image.width)


@pytest.mark.parametrize("seed", range(8))
def test_precision_at_a_threshold_is_the_accuracy_of_stardist(seed):
    scene = strategies.random_scene(
        np.random.default_rng(seed), n_images=10, classes=(1,), disjoint_predictions=True
    )
    result = score("dsb-2018", files.write_dsb, scene, ["threshold", "image"], strict="false")
    expected = defaultdict(list)
    for image in scene.images:
        truths, predictions = scene.truths_in(image.id), scene.predictions_in(image.id)
        if truths or predictions:
            stats = matching(label_map(truths, image), label_map(predictions, image), DECIMALS)
            accuracies = [float(other.accuracy) for other in stats]
        else:  # the setting empty=1; stardist calls it 0
            accuracies = [1.0] * len(THRESHOLDS)
        assert result.by_image[image.id] == pytest.approx(np.mean(accuracies), abs=1e-12)
        for threshold, accuracy in zip(THRESHOLDS, accuracies, strict=True):
            expected[threshold].append(accuracy)
    for threshold in THRESHOLDS:
        assert result.by_threshold[threshold] == pytest.approx(np.mean(expected[threshold]), abs=1e-12)
    assert result.score == pytest.approx(np.mean(list(expected.values())), abs=1e-12)
    assert 0 < result.by_threshold[Fraction(1, 2)] < 1


@pytest.mark.parametrize("seed", range(12))
def test_ragged_objects_that_touch_are_counted_as_by_stardist(seed, tmp_path):
    rng = np.random.default_rng(seed)
    shape = (40, 50)
    grid = (np.arange(shape[0])[:, None] // 8) * 10 + np.arange(shape[1])[None, :] // 7 + 1
    truth = np.where(rng.random(shape) < 0.9, grid, 0)
    moved = np.roll(grid, rng.integers(-3, 4, 2), (0, 1))
    predicted = np.where(rng.random(shape) < 0.85, moved, 0)
    (tmp_path / "truth").mkdir()
    Picture.fromarray(truth.astype(np.uint16)).save(tmp_path / "truth" / "a.png")
    task = sj.load_task("dsb-2018", ["strict=false"])
    with sj.write_submission(task, tmp_path / "s.csv") as out:
        out.add("a", predicted)
    sides = sj.read_truth(task, tmp_path / "truth"), sj.read_submission(task, tmp_path / "s.csv")
    result = sj.score(task, *sides, by=["threshold"])
    assert list(result.by_threshold.values()) == [s.accuracy for s in matching(truth, predicted, DECIMALS)]


@pytest.mark.parametrize("threshold", THRESHOLDS, ids=str)
def test_an_iou_that_is_the_threshold_counts_for_stardist_and_only_for_strict_false(threshold):
    image = Image("tie", 4, 5)
    whole = Thing("tie", 1, frozenset(range(20)))
    part = Thing("tie", 1, frozenset(range(int(20 * threshold))))
    scene = Scene((image,), (whole,), (part,))
    (theirs,) = matching(label_map([whole], image), label_map([part], image), [float(threshold)])
    at_least, greater = (
        score("dsb-2018", files.write_dsb, scene, ["threshold"], strict=strict).by_threshold[threshold]
        for strict in ("false", "true")
    )
    assert (theirs.tp, at_least, greater) == (1, 1.0, 0.0)


# --- scikit-learn: overlap --------------------------------------------------------------------------------------


def flat_pair(scene, row, ours, theirs):
    (image,) = (image for image in scene.images if row in {image.id, *(f"{image.id}_{c}" for c in range(4))})
    return dense(ours, image).ravel(), dense(theirs, image).ravel()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("task_id", "write", "pairs_of", "measure"),
    [
        ("badlad", files.write_badlad, pairs_by_class, f1_score),
        ("emoji", files.write_emoji, pairs_by_image, jaccard_score),
    ],
    ids=["dice", "iou"],
)
def test_overlap_is_that_of_scikit_learn(task_id, write, pairs_of, measure, seed):
    scene = strategies.random_scene(
        np.random.default_rng(seed), n_images=8, classes=(0, 1, 2, 3), disjoint_truths=False, max_instances=6
    )
    result = score(task_id, write, scene, ["image"])
    expected = {
        row: measure(*flat_pair(scene, row, ours, theirs), zero_division=1.0)
        for row, ours, theirs in pairs_of(scene)
    }
    assert dict(result.by_image) == pytest.approx(expected, abs=1e-12)
    assert result.score == pytest.approx(np.mean(list(expected.values())), abs=1e-12)
    assert len(set(expected.values())) > 3
