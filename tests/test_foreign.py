"""Foreign implementations agree wherever one of them computes the same."""

import warnings

import numpy as np
import pytest
from PIL import Image
from pycocotools import mask as coco_mask
from sklearn.metrics import f1_score, jaccard_score

import segjudge as sj
from segjudge.metrics.overlap import Overlap
from tests import strategies
from tests.reference import files


@pytest.fixture(scope="module")
def matching():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from stardist.matching import matching as function
    return function


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("order", ["row", "column"])
def test_areas_boxes_and_iou_are_those_of_pycocotools(seed, order):
    rng = np.random.default_rng(seed)
    height, width = rng.integers(1, 60, 2)
    sides = [rng.random((5, height, width)) < rng.random((5, 1, 1)) for _ in range(2)]
    ours = [sj.Masks.from_dense(side, order) for side in sides]
    theirs = [coco_mask.encode(np.asfortranarray(side.transpose(1, 2, 0).astype(np.uint8))) for side in sides]
    assert ours[0].areas.tolist() == coco_mask.area(theirs[0]).tolist()
    assert ours[0].boxes.tolist() == coco_mask.toBbox(theirs[0]).astype(int).tolist()
    expected = coco_mask.iou(theirs[0], theirs[1], [0] * 5)
    np.testing.assert_allclose(ours[0].overlaps(ours[1]).iou(), np.nan_to_num(expected), rtol=0, atol=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_coco_text_is_that_of_pycocotools(seed):
    rng = np.random.default_rng(seed)
    mask = rng.random(rng.integers(1, 200, 2)) < rng.choice([0.01, 0.5, 0.99])
    encoded = coco_mask.encode(np.asfortranarray(mask.astype(np.uint8)))
    assert (sj.CocoRle().decode(encoded).picture(0) == mask).all()
    plain = sj.CocoRle().encode(mask)
    assert coco_mask.frPyObjects(plain, *plain["size"])["counts"] == encoded["counts"]


@pytest.mark.parametrize("seed", range(12))
def test_hits_at_each_threshold_are_those_of_stardist(seed, matching, tmp_path):
    rng = np.random.default_rng(seed)
    shape = (40, 50)
    grid = (np.arange(shape[0])[:, None] // 8) * 10 + np.arange(shape[1])[None, :] // 7 + 1
    truth = np.where(rng.random(shape) < 0.9, grid, 0).astype(np.uint16)
    predicted = np.where(rng.random(shape) < 0.85, np.roll(grid, rng.integers(-3, 4, 2), (0, 1)), 0).astype(
        np.uint16
    )
    (tmp_path / "truth").mkdir()
    Image.fromarray(truth).save(tmp_path / "truth" / "a.png")
    task = sj.load_task("dsb-2018", ["strict=false"])
    with sj.write_submission(task, tmp_path / "s.csv") as out:
        out.add("a", predicted)
    result = sj.score(
        task,
        sj.read_truth(task, tmp_path / "truth"),
        sj.read_submission(task, tmp_path / "s.csv"),
        by=["threshold"],
    )
    for threshold, value in result.by_threshold.items():
        theirs = matching(truth.astype(int), predicted.astype(int), thresh=float(threshold))
        assert value == pytest.approx(theirs.accuracy, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_dice_and_iou_are_those_of_scikit_learn(seed, tmp_path):
    rng = np.random.default_rng(seed)
    truth, predicted = (rng.random((4, 13, 17)) < rng.uniform(0.2, 0.8) for _ in range(2))
    task = sj.load_task("badlad")
    assert isinstance(task.metric, Overlap)
    images = sj.Images.of(["p"], np.array([[13, 17]]))
    for name, masks in (("t.csv", truth), ("s.csv", predicted)):
        with sj.write_submission(task, tmp_path / name, images) as out:
            out.add("p", masks)
    for measure, foreign in (("dice", f1_score), ("iou", jaccard_score)):
        chosen = sj.load_task("badlad", [f"measure={measure}"])
        result = sj.score(
            chosen,
            sj.read_truth(chosen, tmp_path / "t.csv"),
            sj.read_submission(chosen, tmp_path / "s.csv"),
            images=images,
            by=["image"],
        )
        for class_id in range(4):
            expected = foreign(truth[class_id].ravel(), predicted[class_id].ravel())
            assert result.by_image[f"p_{class_id}"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("crowds", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_average_precision_is_that_of_pycocotools(seed, crowds, tmp_path, capsys):
    """Where the page's choices are set to COCO's own: its levels, at least the threshold, crowds by share."""
    rng = np.random.default_rng(seed)
    classes = (33, 36, 40)
    scene = strategies.random_scene(
        rng, n_images=6, classes=classes, ignored=classes if crowds else (), distinct_confidences=True
    )
    written = files.write_wad(scene, tmp_path)
    settings = ["recall=pycocotools", "strict=false", "ignore=crowd", "ignore_scope=class"]
    task = sj.load_task("wad-2018", settings)
    result = sj.score(
        task,
        sj.read_truth(task, written.truth),
        sj.read_submission(task, written.submission),
        images=sj.read_images(task, written.images),
    )
    expected = coco_average_precision(scene, classes)
    capsys.readouterr()  # pycocotools prints its progress
    assert result.score == pytest.approx(expected, abs=1e-12)


def coco_average_precision(scene, classes):
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    numbers = {image.id: number for number, image in enumerate(scene.images, start=1)}
    sizes = {image.id: (image.height, image.width) for image in scene.images}

    def encoded(thing):
        mask = np.zeros(sizes[thing.image], np.uint8)
        mask.ravel()[list(thing.pixels)] = 1
        return coco_mask.encode(np.asfortranarray(mask))

    truth = COCO()
    truth.dataset = {
        "info": {},
        "images": [
            {"id": numbers[image.id], "height": image.height, "width": image.width} for image in scene.images
        ],
        "categories": [{"id": class_id, "name": str(class_id)} for class_id in classes],
        "annotations": [
            {
                "id": number,
                "image_id": numbers[thing.image],
                "category_id": thing.class_id,
                "segmentation": encoded(thing),
                "area": len(thing.pixels),
                "bbox": [0, 0, 1, 1],
                "iscrowd": int(thing.ignored),
            }
            for number, thing in enumerate(scene.truths, start=1)
        ],
    }
    truth.createIndex()
    found = truth.loadRes(
        [
            {
                "image_id": numbers[thing.image],
                "category_id": thing.class_id,
                "segmentation": encoded(thing),
                "score": float(thing.confidence),
            }
            for thing in scene.predictions
        ]
    )
    run = COCOeval(truth, found, "segm")
    run.params.maxDets = [1, 10, 100_000]
    run.params.areaRng, run.params.areaRngLbl = [[0, 1e10]], ["all"]
    run.evaluate()
    run.accumulate()
    precision = run.eval["precision"][:, :, :, 0, -1]
    return precision[precision > -1].mean()
