"""Average precision of many curves in numpy and plain loops: the specification of `_precision.pyx`.

Counts are whole numbers; the first float is a precision, and sums are rounded once. Bits are thresholds, the
lowest bit the first.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["average_precisions"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Bits = NDArray[np.uint64]

LEVELS = 101
_MANY = 1 << 52  # twice as many are still a float, and a hundred times as many still a whole number


def average_precisions(
    order: Integers,
    groups: Integers,
    confidences: Floats,
    hits: Bits,
    dropped: Bits,
    truths: Integers,
    thresholds: int,
    rule: str,
    *,
    apart: bool,
) -> Floats:
    """(G, T) average precision of each group at each threshold, 0 where the group has no truth.

    `order` goes through the predictions from the most to the least confident, those of all groups together;
    a prediction of group -1 is in none. A curve has a point behind each run of equal confidence, or `apart`
    behind every prediction. What is dropped hits nothing. `rule` is one of "101", "step-area" and
    "pycocotools".
    """
    _check(order, groups, confidences, hits, dropped, truths, thresholds, rule)
    average = np.zeros((len(truths), thresholds))
    for group in np.flatnonzero(truths):
        mine = order[groups[order] == group]
        ends = _ends(confidences[mine], apart=apart)
        for threshold in range(thresholds):
            bit = np.uint64(1) << np.uint64(threshold)
            left = (dropped[mine] & bit) == 0
            tp = np.cumsum(left & ((hits[mine] & bit) != 0))
            if not len(tp) or not tp[-1]:
                continue
            if tp[-1] > truths[group]:
                raise ValueError("there are more hits than truths")
            average[group, threshold] = RULES[rule](tp[ends], np.cumsum(left)[ends], int(truths[group]))
    return average


def interpolated(tp: Integers, kept: Integers, truths: int) -> float:
    """Mean over recalls 0, 0.01 … 1 of the best precision at that recall or a higher one.

    A recall is reached in whole numbers: 7 of 10 reaches 0.70.

    >>> interpolated(np.array([7]), np.array([7]), 10) == 71 / 101
    True
    """
    level = 100 * tp // truths
    best = np.zeros(LEVELS)
    np.maximum.at(best, level, tp / np.maximum(kept, 1))
    envelope = np.maximum.accumulate(best[::-1])
    return math.fsum(envelope.tolist()) / LEVELS


def step_area(tp: Integers, kept: Integers, truths: int) -> float:
    """The integral of Cityscapes: raw precision, times half the recall between the neighbouring points.

    An artificial point of precision 1 stands at recall 0, in front of the most confident prediction.

    >>> step_area(np.array([0, 1]), np.array([1, 2]), 1)
    0.25
    """
    valid = kept > 0
    found = np.concatenate([[0], tp[valid]])
    precision = np.concatenate([[1.0], tp[valid] / kept[valid]])
    before = np.concatenate([[0], found[:-1]])
    behind = np.concatenate([found[1:], found[-1:]])
    return math.fsum((precision * (behind - before)).tolist()) / (2 * truths)


def pycocotools(tp: Integers, kept: Integers, truths: int) -> float:
    """COCO's own floats: recall levels of `linspace`, precision with a tiny number in the denominator."""
    recall = tp / truths
    precision = tp / (kept + np.spacing(1))
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    places = np.searchsorted(recall, np.linspace(0.0, 1.0, LEVELS), side="left")
    reached = places[places < len(envelope)]
    return math.fsum(envelope[reached].tolist()) / LEVELS


RULES = {"101": interpolated, "step-area": step_area, "pycocotools": pycocotools}


def _ends(confidences: Floats, *, apart: bool) -> Integers:
    """The last prediction of each point of a curve."""
    if apart or not len(confidences):
        return np.arange(len(confidences))
    return np.flatnonzero(np.concatenate([confidences[1:] != confidences[:-1], [True]]))


def _check(
    order: Integers,
    groups: Integers,
    confidences: Floats,
    hits: Bits,
    dropped: Bits,
    truths: Integers,
    thresholds: int,
    rule: str,
) -> None:
    count = len(groups)
    if not count == len(confidences) == len(hits) == len(dropped):
        raise ValueError("arrays differ in length")
    if not 0 < thresholds <= 64:
        raise ValueError("1 to 64 thresholds")
    if rule not in RULES:
        raise ValueError("there is no such rule")
    if len(order) and (order.min() < 0 or order.max() >= count):
        raise ValueError("order names a prediction that is not there")
    chosen = groups[order]
    if len(chosen) and (chosen.min() < -1 or chosen.max() >= len(truths)):
        raise ValueError("a group is not there")
    if ((truths < 0) | (truths > _MANY)).any():
        raise ValueError("a number of truths is negative, or no float")
