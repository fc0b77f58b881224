"""The kernels of COCO's detection metric in numpy and plain loops: the specification of `_detection.pyx`.

Floats occur here, unlike in the other kernels: the numbers are those of COCO's own program to the last bit,
so every division and comparison is made as it makes them. Bits are thresholds, the lowest bit the first.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from segjudge.kernels._plain import shared_pixels

__all__ = ["detection_curves", "detection_overlaps", "match_detections", "ranked_order"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Bits = NDArray[np.uint64]
Bytes = NDArray[np.uint8]

_TINY = 2.0**-52  # in the denominator of a precision, as COCO has it
_MANY = 1 << 53  # whole numbers up to here are floats, all of them
_LARGE = 1 << 61  # pixels: two areas of no more can be added


def ranked_order(first: Integers, second: Integers, confidences: Floats, rows: Integers) -> Integers:
    """The order by `first`, then `second`, then falling confidence, then `rows`, then place."""
    if not len(first) == len(second) == len(confidences) == len(rows):
        raise ValueError("arrays differ in length")
    if np.isnan(confidences).any():
        raise ValueError("a confidence is not a number")
    return np.lexsort((rows, -confidences, second, first)).astype(np.int64)


def detection_overlaps(
    starts: Integers,
    stops: Integers,
    indptr: Integers,
    boxes: Integers,
    areas: Integers,
    order: Integers,
    keys: Integers,
    truth_starts: Integers,
    truth_stops: Integers,
    truth_indptr: Integers,
    truth_boxes: Integers,
    truth_areas: Integers,
    truth_order: Integers,
    truth_keys: Integers,
    crowd: Bytes,
    least: float,
) -> tuple[Integers, Integers, Floats]:
    """(K,) place in `order`, truth and IoU of the pairs of one key whose IoU is `least` or more, and not 0.

    `keys` and `truth_keys` are those of the masks in the two orders, both ascending. Of a crowd it is the
    share of the prediction that lies in it.
    Pairs stand in the two orders.
    """
    _check_side(starts, stops, indptr, boxes, areas, order, keys)
    _check_side(truth_starts, truth_stops, truth_indptr, truth_boxes, truth_areas, truth_order, truth_keys)
    if len(crowd) != len(truth_areas):
        raise ValueError("arrays differ in length")
    pairs = []
    for place, (mask, key) in enumerate(zip(order.tolist(), keys.tolist(), strict=True)):
        mine = slice(indptr[mask], indptr[mask + 1])
        for truth in truth_order[
            np.searchsorted(truth_keys, key) : np.searchsorted(truth_keys, key, "right")
        ]:
            theirs = slice(truth_indptr[truth], truth_indptr[truth + 1])
            box, other = boxes[mask], truth_boxes[truth]
            meets = box[0] < other[1] and other[0] < box[1] and box[2] < other[3] and other[2] < box[3]
            if not meets or mine.start == mine.stop or theirs.start == theirs.stop:
                continue
            shared = shared_pixels(starts[mine], stops[mine], truth_starts[theirs], truth_stops[theirs])
            whole = areas[mask] if crowd[truth] else areas[mask] + truth_areas[truth] - shared
            if shared and shared / whole >= least:
                pairs.append((place, int(truth), shared / whole))
    columns = list(zip(*pairs, strict=True)) if pairs else [(), (), ()]
    return np.array(columns[0], np.int64), np.array(columns[1], np.int64), np.array(columns[2], np.float64)


def _check_side(
    starts: Integers,
    stops: Integers,
    indptr: Integers,
    boxes: Integers,
    areas: Integers,
    order: Integers,
    keys: Integers,
) -> None:
    count = len(indptr) - 1
    if (
        len(starts) != len(stops)
        or boxes.shape != (count, 4)
        or len(areas) != count
        or len(order) != len(keys)
    ):
        raise ValueError("arrays differ in length")
    if indptr[0] < 0 or indptr[-1] > len(starts):
        raise ValueError("indptr leaves the runs")
    if (np.diff(indptr) < 0).any():
        raise ValueError("indptr is not ascending")
    if ((areas < 0) | (areas > _LARGE)).any():
        raise ValueError("an area is negative, or larger than any")
    if ((boxes < 0) | (boxes > 2 * _LARGE)).any():
        raise ValueError("a box lies beyond all images")
    if len(order) and (order.min() < 0 or order.max() >= count):
        raise ValueError("order names a mask that is not there")
    if (np.diff(keys) < 0).any():
        raise ValueError("keys are not ascending")


def match_detections(
    predictions: Integers,
    truths: Integers,
    iou: Floats,
    thresholds: Floats,
    crowd: Bytes,
    outside: Bytes,
    apart: Bytes,
) -> tuple[Bits, Bits, Bits]:
    """Thresholds at which predictions hit, at which they are dropped, and at which truths are found: (N, A) each.

    Pairs stand in the order in which predictions choose, each prediction's in the order of the truths.
    `outside` (M, A) is 1 where a truth does not count in an area range, `apart` (N, A) where the area of a
    prediction lies outside. A prediction takes the free truth of greatest IoU, the last one of equals, and
    one that does not count only where no other is left; crowds stay free. It hits a truth that counts. It
    is dropped with one that does not, and where it lies outside itself and takes none.
    """
    _check_match(predictions, truths, iou, thresholds, crowd, outside, apart)
    n_predictions, ranges = apart.shape
    hits = np.zeros((n_predictions, ranges), np.uint64)
    dropped = np.zeros((n_predictions, ranges), np.uint64)
    found = np.zeros((len(crowd), ranges), np.uint64)
    pairs = list(zip(predictions.tolist(), truths.tolist(), iou.tolist(), strict=True))
    for part in range(ranges):
        for place, threshold in enumerate(thresholds.tolist()):
            taken: set[int] = set()
            for prediction, group in itertools.groupby(pairs, key=lambda pair: pair[0]):
                best, chosen = (True, threshold), -1
                for _, truth, value in group:
                    aside = bool(outside[truth, part])
                    if value < threshold or truth in taken:
                        continue
                    if chosen < 0 or (best[0] and not aside) or (best[0] == aside and value >= best[1]):
                        best, chosen = (aside, value), truth
                if chosen < 0:
                    continue
                bit = np.uint64(1) << np.uint64(place)
                (dropped if outside[chosen, part] else hits)[prediction, part] |= bit
                found[chosen, part] |= bit
                if not crowd[chosen]:
                    taken.add(chosen)
    everywhere = np.uint64((1 << len(thresholds)) - 1)
    dropped |= np.where(apart, everywhere & ~hits, np.uint64(0))
    return hits, dropped, found


def _check_match(
    predictions: Integers,
    truths: Integers,
    iou: Floats,
    thresholds: Floats,
    crowd: Bytes,
    outside: Bytes,
    apart: Bytes,
) -> None:
    if (
        not len(predictions) == len(truths) == len(iou)
        or len(crowd) != len(outside)
        or outside.shape[1] != apart.shape[1]
    ):
        raise ValueError("arrays differ in length")
    if not 0 < len(thresholds) <= 64:
        raise ValueError("1 to 64 thresholds")
    if len(predictions) and (
        min(predictions.min(), truths.min()) < 0
        or predictions.max() >= len(apart)
        or truths.max() >= len(crowd)
    ):
        raise ValueError("a pair names an instance that is not there")


def detection_curves(
    order: Integers,
    groups: Integers,
    confidences: Floats,
    ranks: Integers,
    hits: Bits | NDArray[np.uint16],
    dropped: Bits | NDArray[np.uint16],
    truths: Integers,
    levels: Floats,
    thresholds: int,
    caps: Integers,
    *,
    whole: bool,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Average precision (G, A, T), recall (G, A, T, M), and with `whole` precision and confidence (G, A, T, R).

    `order` goes through the predictions by group and, in each, from the most to the least confident. Those
    whose rank in their image is a cap or more are left out: of recalls for each of the `caps`, which ascend,
    of all else for the last. `truths` (G, A) are those that count; where
    there is none, all is -1. Precision at a recall level is the best one there or later, 0 beyond the last.
    """
    _check_curves(order, groups, confidences, ranks, hits, dropped, truths, levels, thresholds, caps)
    count, ranges = truths.shape
    shape = (count, ranges, thresholds)
    average, recall = np.full(shape, -1.0), np.full((*shape, len(caps)), -1.0)
    full = (*shape, len(levels)) if whole else (0, ranges, thresholds, len(levels))
    precision, confidence = np.full(full, -1.0), np.full(full, -1.0)
    kept = order[ranks[order] < caps[-1]]
    for group in range(count):
        mine = kept[groups[kept] == group]
        for part in range(ranges):
            for place in range(thresholds if truths[group, part] else 0):
                bit = hits.dtype.type(1) << hits.dtype.type(place)
                aside = (dropped[mine, part] & bit) != 0
                hit = ((hits[mine, part] & bit) != 0) & ~aside
                tp = np.cumsum(hit).astype(np.float64)
                if len(tp) and tp[-1] > truths[group, part]:
                    raise ValueError("there are more hits than truths")
                at, values = _curve(tp, np.cumsum(~hit & ~aside), truths[group, part], levels)
                at_level = (group, part, place)
                average[at_level] = sum(values.tolist()) / len(levels) if len(levels) else 0.0
                within = [np.count_nonzero(hit & (ranks[mine] < cap)) for cap in caps]
                recall[at_level] = np.array(within) / truths[group, part]
                if whole:
                    precision[at_level] = values
                    reached = confidences[mine[at]]
                    confidence[at_level] = np.concatenate([reached, np.zeros(len(levels) - len(reached))])
    return average, recall, precision, confidence


def _curve(tp: Floats, fp: Integers, truths: int, levels: Floats) -> tuple[Integers, Floats]:
    """Where each recall level is reached, as far as it is, and the best precision from there on, else 0."""
    precision = tp / (fp + tp + _TINY)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    at = np.searchsorted(tp / truths, levels, side="left")
    at = at[at < len(tp)]
    return at, np.concatenate([envelope[at], np.zeros(len(levels) - len(at))])


def _check_curves(
    order: Integers,
    groups: Integers,
    confidences: Floats,
    ranks: Integers,
    hits: Bits | NDArray[np.uint16],
    dropped: Bits | NDArray[np.uint16],
    truths: Integers,
    levels: Floats,
    thresholds: int,
    caps: Integers,
) -> None:
    count = len(groups)
    shape = (count, truths.shape[1])
    if not count == len(confidences) == len(ranks) or hits.shape != shape or dropped.shape != shape:
        raise ValueError("arrays differ in length")
    if not 0 < thresholds <= 64:
        raise ValueError("1 to 64 thresholds")
    if not len(caps):
        raise ValueError("there is at least one cap")
    if (np.diff(caps) < 0).any():
        raise ValueError("caps ascend")
    if len(order) and (order.min() < 0 or order.max() >= count):
        raise ValueError("order names a prediction that is not there")
    if not (np.diff(levels, prepend=0.0, append=1.0) >= 0).all():
        raise ValueError("recall levels ascend from 0 to 1")
    if ((truths < 0) | (truths > _MANY)).any():
        raise ValueError("a number of truths is negative, or no float")
    grouped = groups[order]
    if len(grouped) and (grouped[0] < 0 or grouped[-1] >= len(truths) or (np.diff(grouped) < 0).any()):
        raise ValueError("groups are not ascending, or not there")
