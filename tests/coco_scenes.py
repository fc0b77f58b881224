"""Scenes for the detection metric, as segjudge and as pycocotools see them."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st
from pycocotools import mask as coco_masks
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from segjudge import Instances, Masks
from segjudge.metrics import Detection
from segjudge.metrics.detection import AreaRange
from segjudge.metrics.scores import Facts
from tests.reference.detection import CAPS, RANGES, Object, Scene

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DETECTION = Detection(
    thresholds=tuple(Fraction(k, 20) for k in range(10, 20)),
    recall_levels=101,
    areas=tuple(AreaRange(name, Fraction(low), Fraction(high)) for name, (low, high) in RANGES.items()),
    caps=CAPS,
)

AREAS = (0.0, 9.0, 1023.999, 1024.0, 1024.001, 9215.0, 9216.0, 9216.5, 1e10, 1e10 + 1)
"""On, just below and just above each edge of the area ranges."""

BOXES = ((32.0, 32.0), (31.999, 32.0), (96.0, 96.0), (96.0, 96.01), (0.0, 7.0), (3.0, 3.0))
CONFIDENCES = (0.5, 0.9, 0.9, 0.1, 1.0, 0.0, -1.5)


# --- drawn ---------------------------------------------------------------------------------------------------


@st.composite
def pixels(draw, height, width, near=()):
    """A rectangle, scattered pixels, nothing, or one of the masks around with a pixel more or less."""
    kind = draw(st.sampled_from(["box", "box", "scattered", "near", "near", "same"]))
    if kind in ("near", "same") and near:
        chosen = draw(st.sampled_from(near))
        return chosen if kind == "same" else chosen ^ {draw(st.integers(0, height * width - 1))}
    if kind == "scattered":
        return draw(st.frozensets(st.integers(0, height * width - 1)))
    top, left = draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))
    bottom, right = draw(st.integers(top, height - 1)), draw(st.integers(left, width - 1))
    return frozenset(x * height + y for x in range(left, right + 1) for y in range(top, bottom + 1))


@st.composite
def scenes(draw):
    """A few small images with ties, crowds, ignored annotations and areas on the edges."""
    height, width = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    images = tuple(draw(st.lists(st.sampled_from([3, 9, 10, 0, 101]), min_size=1, max_size=3, unique=True)))
    classes = tuple(draw(st.lists(st.sampled_from([1, 2, 17]), min_size=1, max_size=2, unique=True)))
    where = st.tuples(st.sampled_from(images), st.sampled_from(classes))
    truths, predictions = [], []
    for image, class_id in draw(st.lists(where, max_size=6)):
        mask = draw(pixels(height, width, [t.pixels for t in truths if t.image == image]))
        area = draw(st.sampled_from([float(len(mask)), *AREAS]))
        crowd = draw(st.booleans()) and draw(st.booleans())
        ignore = draw(st.booleans()) and draw(st.booleans())
        truths.append(Object(image, class_id, mask, area, crowd=crowd, ignore=ignore))
    boxes = draw(st.booleans())
    for image, class_id in draw(st.lists(where, max_size=8)):
        mask = draw(pixels(height, width, [t.pixels for t in truths if t.image == image]))
        wide, high = draw(st.sampled_from(BOXES)) if boxes else (float(len(mask)), 1.0)
        confidence = draw(st.sampled_from(CONFIDENCES))
        predictions.append(Object(image, class_id, mask, wide * high, confidence))
    return Scene(images, classes, height, width, tuple(truths), tuple(predictions))


def random_scene(seed, images=6, truths=4, predictions=12, side=24):
    """A larger scene of noisy boxes; with many predictions for an image the cap of 100 counts."""
    rng = np.random.default_rng(seed)

    def box():
        y, x = rng.integers(0, side - 3, 2)
        tall, wide = rng.integers(2, 13, 2)
        return {(c, r) for c in range(x, min(x + wide, side)) for r in range(y, min(y + tall, side))}

    ids = [int(i) for i in rng.choice(200, images, replace=False)]
    known, guessed = [], []
    for image in ids:
        drawn = [(int(rng.choice([1, 2, 5])), box()) for _ in range(rng.integers(0, truths + 1))]
        for class_id, cells in drawn:
            area = float(rng.choice([len(cells), 900, 1024, 5000, 9216, 20000]))
            flags = rng.random(2) < 0.12
            known.append(
                Object(
                    image, class_id, _numbers(cells, side), area, crowd=bool(flags[0]), ignore=bool(flags[1])
                )
            )
        for _ in range(rng.integers(predictions // 2, predictions + 1)):
            class_id, cells = int(rng.choice([1, 2, 5])), box()
            if drawn and rng.random() < 0.7:
                class_id, cells = drawn[rng.integers(len(drawn))]
                shift = rng.integers(0, 2, 2)
                cells = {(c + shift[0], r + shift[1]) for c, r in cells}
                cells = {(c, r) for c, r in cells if c < side and r < side}
            confidence = float(np.round(rng.random(), int(rng.choice([1, 2, 9]))))
            guessed.append(
                Object(
                    image,
                    class_id,
                    _numbers(cells, side),
                    float(rng.choice([400, 1024, 3000, 9216, 1e5])),
                    confidence,
                )
            )
    rng.shuffle(guessed)
    return Scene(tuple(ids), (1, 2, 5, 7), side, side, tuple(known), tuple(guessed))


def _numbers(cells, height):
    return frozenset(int(column * height + row) for column, row in cells)


# --- as segjudge sees them -----------------------------------------------------------------------------------


def instances(things: Sequence[Object], scene: Scene, images: Sequence[int]) -> Instances:
    """The things of these images, in file order; their areas come along."""
    place = {image: number for number, image in enumerate(images)}
    rows = [number for number, thing in enumerate(things) if thing.image in place]
    chosen = [things[row] for row in rows]
    masks = [dense(thing, scene) for thing in chosen]
    return Instances.of(
        [str(image) for image in images],
        np.array([place[thing.image] for thing in chosen], np.int64),
        Masks.from_dense(masks, "column"),
        class_ids=np.array([thing.class_id for thing in chosen], np.int64),
        confidences=np.array([thing.confidence for thing in chosen], float),
        ignored=np.array([thing.ignore for thing in chosen], bool),
        rows=np.array(rows, np.int64),
        areas=np.array([thing.area for thing in chosen], float),
        crowd=np.array([thing.crowd for thing in chosen], bool),
    )


def dense(thing: Object, scene: Scene) -> np.ndarray:
    flat = np.zeros(scene.height * scene.width, bool)
    flat[sorted(thing.pixels)] = True
    return flat.reshape(scene.width, scene.height).T


def facts(scene: Scene) -> Facts:
    count = len(scene.images)
    return Facts(tuple(sorted(scene.classes)), np.arange(count), None, tuple(map(str, scene.images)))


def tally(scene: Scene, metric: Detection = DETECTION):
    """The tally of all images at once."""
    return metric.tally(
        instances(scene.truths, scene, scene.images),
        instances(scene.predictions, scene, scene.images),
        np.arange(len(scene.images)),
    )


# --- as pycocotools sees them --------------------------------------------------------------------------------


def documents(scene: Scene, *, boxes: bool = True, first_id: int = 1):
    """The annotations and the results as COCO's files have them; an area beyond every range is `ignore`."""
    annotations = [
        {
            "id": number,
            "image_id": thing.image,
            "category_id": thing.class_id,
            "segmentation": _rle(thing, scene),
            "area": 1e11 if thing.ignore else thing.area,
            "iscrowd": int(thing.crowd),
            "bbox": [0, 0, 1, 1],
        }
        for number, thing in enumerate(scene.truths, start=first_id)
    ]
    results = [
        {
            "image_id": thing.image,
            "category_id": thing.class_id,
            "segmentation": _rle(thing, scene),
            "score": thing.confidence,
            **({"bbox": [0.0, 0.0, thing.area, 1.0]} if boxes else {}),
        }
        for thing in scene.predictions
    ]
    truth = {
        "images": [{"id": image, "height": scene.height, "width": scene.width} for image in scene.images],
        "categories": [{"id": number, "name": str(number)} for number in scene.classes],
        "annotations": annotations,
    }
    return truth, results


def files(folder: Path, scene: Scene, *, boxes: bool = True, first_id: int = 1) -> tuple[Path, Path]:
    """The annotations and the results as JSON files, `ignore` being a flag of its own."""
    truth, results = documents(scene, boxes=boxes, first_id=first_id)
    for thing, annotation in zip(scene.truths, truth["annotations"], strict=True):
        annotation.update(area=thing.area, ignore=int(thing.ignore))
    paths = folder / "annotations.json", folder / "results.json"
    for path, document in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(document, default=bytes.decode))
    return paths


def _rle(thing, scene):
    return coco_masks.encode(np.asfortranarray(dense(thing, scene).astype(np.uint8)))


def pycocotools(scene: Scene, *, boxes: bool = True, first_id: int = 1) -> COCOeval:
    """pycocotools' evaluation, with everything that it keeps."""
    truth, results = documents(scene, boxes=boxes, first_id=first_id)
    with redirect_stdout(io.StringIO()):
        known = COCO()
        known.dataset = truth
        known.createIndex()
        if results:
            found = known.loadRes(results)
        else:  # loadRes looks at the first result
            found = COCO()
            found.dataset = {**truth, "annotations": []}
            found.createIndex()
        evaluation = COCOeval(known, found, "segm")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation


def matches_of(evaluation: COCOeval) -> dict[tuple[int, int, int], tuple[list, list, list]]:
    """By image, class and area range: for each result (confidence, hits, dropped) as bits over thresholds."""
    table = {}
    ranges = [tuple(map(float, area)) for area in evaluation.params.areaRng]
    for found in evaluation.evalImgs:
        if found is None:
            continue
        matched, dropped = found["dtMatches"] != 0, np.asarray(found["dtIgnore"], bool)
        key = found["image_id"], found["category_id"], ranges.index(tuple(map(float, found["aRng"])))
        table[tuple(map(int, key))] = (found["dtScores"], _bits(matched & ~dropped), _bits(dropped))
    return table


def _bits(table):
    weights = 1 << np.arange(len(table))
    return (table * weights[:, None]).sum(axis=0).tolist()


def matches_in(kept, scene: Scene) -> dict[tuple[int, int, int], tuple[list, list, list]]:
    """The same of a tally, without the images and classes that have no result."""
    table = {}
    for part in range(len(RANGES)):
        for place, image in enumerate(scene.images):
            for class_id in scene.classes:
                mine = np.flatnonzero((kept.image == place) & (kept.class_ids == class_id))
                mine = mine[np.argsort(kept.ranks[mine])]
                if len(mine):
                    table[image, class_id, part] = (
                        kept.confidences[mine].tolist(),
                        kept.hits[mine, part].tolist(),
                        kept.dropped[mine, part].tolist(),
                    )
    return table
