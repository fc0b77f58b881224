"""Average precision from hits that are already decided, to the last bit: one loop for each part, class, threshold.

The numbers are floats as the fast code has them: counts are whole, a precision is one division, a sum is rounded
once. What `average_precision` says in fractions this says in bits.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LEVELS = [k * 0.01 for k in range(100)] + [1.0]  # numpy.linspace(0, 1, 101), digit for digit


class Hit(NamedTuple):
    """A prediction, and whether at each threshold it hits and whether it is dropped."""

    image: int
    class_id: int
    confidence: float
    row: int
    hits: Sequence[bool]
    dropped: Sequence[bool]


def averages(
    predictions: Sequence[Hit],
    truths: Sequence[tuple[int, int]],
    *,
    images: Sequence[int],
    clips: Mapping[int, int],
    classes: Sequence[int],
    thresholds: int,
    recall: str,
    average: str,
    ties: str,
    absent_class: str,
) -> dict[str, object]:
    """The score and its parts; `truths` are pairs of an image and a class."""
    numbers = range(thresholds)

    def area(part: Sequence[int], class_id: int, threshold: int) -> float | None:
        """The average precision of a class in some images; None where it has no truth."""
        count = sum(image in part and known == class_id for image, known in truths)
        mine = [hit for hit in predictions if hit.image in part and hit.class_id == class_id]
        points = _points(mine, threshold, ties)
        return RULES[recall](points, count) if count else None

    def of_class(part: Sequence[int], class_id: int) -> float | None:
        return _mean(area(part, class_id, threshold) for threshold in numbers)

    def of_part(part: Sequence[int], chosen: Iterable[int], *, zero: bool) -> float | None:
        found = [area(part, class_id, threshold) for class_id in classes for threshold in chosen]
        return _mean(0.0 if zero and value is None else value for value in found)

    zero = absent_class == "zero"
    everywhere = sorted(clips)
    parts = [everywhere]
    if average == "clip":
        named = sorted({clips[image] for image, _ in truths})
        parts = [[image for image in everywhere if clips[image] == clip] for clip in named]
    by_class = {class_id: _mean(of_class(part, class_id) for part in parts) for class_id in classes}
    return {
        "score": _mean(of_part(part, numbers, zero=zero) for part in parts),
        "by_class": {k: 0.0 if zero and value is None else value for k, value in by_class.items()},
        "by_threshold": [_mean(of_part(part, [t], zero=zero) for part in parts) for t in numbers],
        "by_image": {image: of_part([image], numbers, zero=False) for image in images},
    }


def _points(predictions: Sequence[Hit], threshold: int, ties: str) -> list[tuple[int, int]]:
    """True positives and predictions that are left, up to each point of the curve."""
    ranked = sorted(predictions, key=lambda hit: (-hit.confidence, hit.row))
    points, tp, kept = [], 0, 0
    for _, group in groupby(
        enumerate(ranked), lambda pair: pair[0] if ties == "file" else pair[1].confidence
    ):
        for _, hit in group:
            tp += hit.hits[threshold]
            kept += not hit.dropped[threshold]
        points.append((tp, kept))
    return points


def _interpolated(points: Sequence[tuple[int, int]], truths: int) -> float:
    best = [
        max((tp / kept for tp, kept in points if kept and 100 * tp >= k * truths), default=0.0)
        for k in range(101)
    ]
    return math.fsum(best) / 101


def _step_area(points: Sequence[tuple[int, int]], truths: int) -> float:
    curve = [(0, 1.0)] + [(tp, tp / kept) for tp, kept in points if kept]
    terms = [
        precision * (curve[min(place + 1, len(curve) - 1)][0] - curve[max(place - 1, 0)][0])
        for place, (_, precision) in enumerate(curve)
    ]
    return math.fsum(terms) / (2 * truths)


def _pycocotools(points: Sequence[tuple[int, int]], truths: int) -> float:
    recalls = [tp / truths for tp, _ in points]
    precisions = [tp / (kept + 2.0**-52) for tp, kept in points]
    places = [bisect_left(recalls, level) for level in LEVELS]
    return math.fsum(max(precisions[place:], default=0.0) for place in places) / 101


RULES = {"101": _interpolated, "step-area": _step_area, "pycocotools": _pycocotools}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
