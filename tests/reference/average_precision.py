"""Interpolated average precision as the WAD page tells it, with every reading its silence allows."""

from __future__ import annotations

import math
from bisect import bisect_left
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypedDict

from tests.reference.scene import (
    EVERY_CLASS,
    THRESHOLDS,
    WAD_CLASSES,
    Scene,
    Thing,
    exceeds,
    iou,
    share,
    together,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Number: TypeAlias = Fraction | float
Recall: TypeAlias = Literal["101", "step-area", "pycocotools"]
Average: TypeAlias = Literal["pooled", "clip"]
Ignore: TypeAlias = Literal["iou", "crowd", "cityscapes"]
Scope: TypeAlias = Literal["any", "class"]
Ties: TypeAlias = Literal["free", "file"]
Absent: TypeAlias = Literal["left out", "zero"]


class Scores(TypedDict):
    score: Number | None
    by_class: dict[int, Number | None]
    by_threshold: dict[Fraction, Number | None]
    by_image: dict[str, Number | None]


class Verdict(NamedTuple):
    """A prediction that was not removed: where it stands in the file, how sure it was, and if it hit."""

    row: int
    confidence: Decimal
    hit: bool


class Point(NamedTuple):
    """The curve after some predictions: true and false positives so far."""

    tp: int
    fp: int


def mean(values: Iterable[Number | None]) -> Number | None:
    """The mean of the defined values, None if there are none."""
    defined = [value for value in values if value is not None]
    if not defined:
        return None
    if any(isinstance(value, float) for value in defined):
        return math.fsum(defined) / len(defined)
    return sum(defined, Fraction(0)) / len(defined)


# --- which predictions count, and which of them hit ---------------------------------------------------------


def removed(
    prediction: Thing,
    regions: Sequence[Thing],
    threshold: Fraction,
    *,
    strict: bool,
    ignore: Ignore,
    ignore_scope: Scope,
) -> bool:
    """Whether the ignored regions of its image take this prediction out of the evaluation."""
    if ignore_scope == "class":
        regions = [region for region in regions if region.class_id in {EVERY_CLASS, prediction.class_id}]
    if ignore == "cityscapes":
        return exceeds(share(prediction.pixels, together(regions)), threshold, strict=strict)
    for region in regions:
        value = (
            iou(prediction.pixels, region.pixels)
            if ignore == "iou"
            else share(prediction.pixels, region.pixels)
        )
        if exceeds(value, threshold, strict=strict):
            return True
    return False


def judge(
    predictions: Sequence[tuple[int, Thing]],
    truths: Sequence[Thing],
    regions: Sequence[Thing],
    threshold: Fraction,
    *,
    strict: bool,
    ignore: Ignore,
    ignore_scope: Scope,
) -> list[Verdict]:
    """The verdicts on one image's (row, prediction) pairs of one class at one threshold.

    The surest prediction chooses first: of the truths that it exceeds the threshold with and that are still
    free, the one of greatest IoU, then the earliest. Equal confidences choose in file order. With truths that
    are disjoint and a strict threshold of at least one half this makes no difference to the counts: a
    prediction then exceeds the threshold with one truth at most, so whoever of the equals is first, a truth
    is hit once and the others are false positives of the same confidence.
    """
    kept = [
        (row, prediction)
        for row, prediction in predictions
        if not removed(
            prediction, regions, threshold, strict=strict, ignore=ignore, ignore_scope=ignore_scope
        )
    ]
    kept.sort(key=lambda pair: (-Decimal(pair[1].confidence), pair[0]))
    free = list(range(len(truths)))
    verdicts = []
    for row, prediction in kept:
        best: int | None = None
        for number in free:
            value = iou(prediction.pixels, truths[number].pixels)
            if not exceeds(value, threshold, strict=strict):
                continue
            if best is None or value > iou(prediction.pixels, truths[best].pixels):
                best = number
        if best is not None:
            free.remove(best)
        verdicts.append(Verdict(row, Decimal(prediction.confidence), hit=best is not None))
    return verdicts


# --- from verdicts to one number ----------------------------------------------------------------------------


def curve(verdicts: Iterable[Verdict], ties: Ties) -> list[Point]:
    """The precision/recall curve's points, from the surest predictions to all of them.

    `free` sets a point only after each group of equal confidence, `file` after every row.
    """
    ranked = sorted(verdicts, key=lambda verdict: (-verdict.confidence, verdict.row))
    points = []
    tp = fp = 0
    for number, verdict in enumerate(ranked):
        if verdict.hit:
            tp += 1
        else:
            fp += 1
        last_of_equals = number + 1 == len(ranked) or ranked[number + 1].confidence != verdict.confidence
        if ties == "file" or last_of_equals:
            points.append(Point(tp, fp))
    return points


def interpolated(points: Sequence[Point], truths: int) -> Fraction:
    """The mean over recall 0, 0.01 … 1 of the best precision at that recall or beyond."""
    total = Fraction(0)
    for k in range(101):
        best = Fraction(0)
        for tp, fp in points:
            if Fraction(tp, truths) >= Fraction(k, 100):
                best = max(best, Fraction(tp, tp + fp))
        total += best
    return total / 101


def step_area(points: Sequence[Point], truths: int) -> Fraction:
    """Cityscapes' integral: raw precision times half the recall between a point's two neighbours."""
    lowest_first = list(reversed(points))
    precisions = [Fraction(tp, tp + fp) for tp, fp in lowest_first]
    recalls = [Fraction(tp, truths) for tp, _ in lowest_first]
    precisions.append(Fraction(1))  # the artificial last point
    recalls.append(Fraction(0))
    area = Fraction(0)
    for i, precision in enumerate(precisions):
        before = recalls[i - 1] if i > 0 else recalls[0]
        after = recalls[i + 1] if i + 1 < len(recalls) else Fraction(0)
        area += precision * (before - after) / 2
    return area


def pycocotools_precision(points: Sequence[Point], truths: int) -> float:
    """What COCOeval's accumulate and the mean of its summary make of the curve, in its own floats."""
    levels = [k * 0.01 for k in range(100)] + [1.0]  # numpy.linspace(0, 1, 101), digit for digit
    epsilon = 2.0**-52
    recalls = [tp / truths for tp, _ in points]
    precisions = [tp / (float(fp + tp) + epsilon) for tp, fp in points]
    for i in range(len(precisions) - 1, 0, -1):
        precisions[i - 1] = max(precisions[i - 1], precisions[i])
    found = []
    for level in levels:
        place = bisect_left(recalls, level)
        found.append(precisions[place] if place < len(precisions) else 0.0)
    return math.fsum(found) / len(found)


def area_under(points: Sequence[Point], truths: int, recall: Recall) -> Number:
    """One class's average precision at one threshold; `truths` is how many there were to find."""
    if recall == "101":
        return interpolated(points, truths)
    if recall == "step-area":
        return step_area(points, truths)
    return pycocotools_precision(points, truths)


# --- the score ----------------------------------------------------------------------------------------------


def average_precision(
    scene: Scene,
    *,
    thresholds: Sequence[Fraction] = THRESHOLDS,
    strict: bool = True,
    recall: Recall = "101",
    average: Average = "pooled",
    ignore: Ignore = "iou",
    ignore_scope: Scope = "any",
    ties: Ties = "free",
    absent_class: Absent = "left out",
    classes: Sequence[int] = WAD_CLASSES,
) -> Scores:
    """The score and its three breakdowns; Fractions, or floats with `recall="pycocotools"`."""
    nothing: Number = 0.0 if recall == "pycocotools" else Fraction(0)
    truths: dict[tuple[str, int], int] = {}
    verdicts: dict[tuple[str, int, Fraction], list[Verdict]] = {}
    for image in scene.images:
        rows = [(row, thing) for row, thing in enumerate(scene.predictions) if thing.image == image.id]
        regions = scene.ignored_in(image.id)
        for class_id in classes:
            ours = [thing for thing in scene.truths_in(image.id) if thing.class_id == class_id]
            theirs = [(row, thing) for row, thing in rows if thing.class_id == class_id]
            truths[image.id, class_id] = len(ours)
            for threshold in thresholds:
                verdicts[image.id, class_id, threshold] = judge(
                    theirs, ours, regions, threshold, strict=strict, ignore=ignore, ignore_scope=ignore_scope
                )

    def count(images: Sequence[str], class_id: int) -> int:
        return sum(truths[image, class_id] for image in images)

    def precision(images: Sequence[str], class_id: int, threshold: Fraction) -> Number | None:
        """Average precision over these images alone; None if the class has no truth in them."""
        if count(images, class_id) == 0:
            return None
        pooled = [verdict for image in images for verdict in verdicts[image, class_id, threshold]]
        return area_under(curve(pooled, ties), count(images, class_id), recall)

    def or_zero(value: Number | None) -> Number | None:
        return nothing if value is None and absent_class == "zero" else value

    everywhere = [image.id for image in scene.images]
    if average == "pooled":
        parts = [everywhere]
    else:
        clips = sorted({image.clip for image in scene.images})
        parts = [[image.id for image in scene.images if image.clip == clip] for clip in clips]
        parts = [part for part in parts if any(count(part, class_id) for class_id in classes)]

    table = {
        (number, class_id, threshold): precision(part, class_id, threshold)
        for number, part in enumerate(parts)
        for class_id in classes
        for threshold in thresholds
    }
    numbers = range(len(parts))

    def class_in_part(number: int, class_id: int) -> Number | None:
        return mean(table[number, class_id, threshold] for threshold in thresholds)

    return {
        "score": mean(mean(or_zero(class_in_part(n, class_id)) for class_id in classes) for n in numbers),
        "by_class": {
            class_id: or_zero(mean(class_in_part(n, class_id) for n in numbers)) for class_id in classes
        },
        "by_threshold": {
            threshold: mean(
                mean(or_zero(table[n, class_id, threshold]) for class_id in classes) for n in numbers
            )
            for threshold in thresholds
        },
        "by_image": {
            image: mean(
                mean(precision([image], class_id, threshold) for threshold in thresholds)
                for class_id in classes
            )
            for image in everywhere
        },
    }
