"""Who matched whom at which threshold: bitmasks, one bit a threshold, decided in whole numbers.

`claim` is the rule of the average-precision pages, `one_to_one` that of the image-precision pages, `drop`
the ignore rule. All start from `Overlaps` and know nothing of files or scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from segjudge import kernels
from segjudge.masks import Masks, exceeding_bits, ragged
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from segjudge.instances import Instances
    from segjudge.masks import Overlaps

__all__ = ["MOST_THRESHOLDS", "Matches", "claim", "dropped_bits", "one_to_one"]

Integers = NDArray[np.int64]
Bits = NDArray[np.uint64]

MOST_THRESHOLDS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """For each prediction and each truth the thresholds, as bits, at which it found a partner."""

    hits: Bits  # (N,) of the predictions
    found: Bits  # (M,) of the truths


def claim(
    overlaps: Overlaps, predictions: Instances, dropped: Bits, thresholds: Sequence[Fraction], *, strict: bool
) -> Matches:
    """Each truth goes to the most confident prediction whose IoU with it exceeds the threshold.

    "If there are multiple predicted instances matched to a ground truth instance, the predicted instance
    that is larger than the IoU threshold and has the largest confidence is considered as the true
    positive, and remaining predicted instances are false positives." (WAD 2018)

    Where the page's thresholds leave no choice (truths that share no pixels, IoU above one half) this is
    all. Elsewhere a prediction takes the free truth of greatest IoU; predictions of equal confidence go by
    greatest IoU and then by their pixels, never by their place in the file.
    """
    bits = exceeding_bits(overlaps.shared, overlaps.unions, thresholds, strict=strict)
    bits &= ~dropped[overlaps.prediction]
    able = np.flatnonzero(bits)
    prediction, truth, bits = overlaps.prediction[able], overlaps.truth[able], bits[able]
    confidence = predictions.confidences[prediction]
    if _each_once(prediction):
        order: Integers = np.lexsort((truth, -confidence))
    else:
        order = _order_of_choice(overlaps, able, confidence, predictions.masks)
    hits, found = kernels.greedy_hits(
        prediction[order], truth[order], bits[order], len(predictions), len(overlaps.truth_areas)
    )
    return Matches(hits, found)


def one_to_one(overlaps: Overlaps, thresholds: Sequence[Fraction], *, strict: bool) -> Matches:
    """A largest one-to-one matching of predictions and truths at each threshold.

    "A true positive is counted when a single predicted object matches a ground truth object with an IoU
    above the threshold." (Data Science Bowl 2018)
    """
    bits = exceeding_bits(overlaps.shared, overlaps.unions, thresholds, strict=strict)
    able = np.flatnonzero(bits)
    prediction, truth, bits = overlaps.prediction[able], overlaps.truth[able], bits[able]
    predictions, truths = len(overlaps.prediction_areas), len(overlaps.truth_areas)
    if _each_once(prediction) and _each_once(truth):
        hits, found = np.zeros(predictions, np.uint64), np.zeros(truths, np.uint64)
        hits[prediction] = bits
        found[truth] = bits
        return Matches(hits, found)
    order = np.lexsort((truth, prediction))
    hits, found = kernels.one_to_one(
        prediction[order], truth[order], bits[order], predictions, truths, len(thresholds)
    )
    return Matches(hits, found)


def dropped_bits(
    overlaps: Overlaps,
    rule: Literal["iou", "crowd", "cityscapes"],
    regions: Masks,
    predictions: Masks,
    thresholds: Sequence[Fraction],
    *,
    strict: bool,
) -> Bits:
    """The thresholds at which each prediction is removed because of ignored regions.

    `overlaps` are those of predictions and regions that count for them. `iou`: "If IoU between a predicted
    instance and ignoring labels is larger than the IoU threshold, this predicted instance is removed from
    the evaluation." (WAD 2018). `crowd`: the share of the prediction that lies in one region; `cityscapes`:
    the share that lies in all regions together.
    """
    dropped = np.zeros(len(predictions), np.uint64)
    if not len(overlaps):
        return dropped
    if rule == "cityscapes":
        touched, shared = _shared_with_any(overlaps, regions, predictions)
        bits = exceeding_bits(shared, predictions.areas[touched], thresholds, strict=strict)
        dropped[touched] = bits
        return dropped
    whole = overlaps.unions if rule == "iou" else overlaps.prediction_areas[overlaps.prediction]
    bits = exceeding_bits(overlaps.shared, whole, thresholds, strict=strict)
    np.bitwise_or.at(dropped, overlaps.prediction, bits)
    return dropped


def _each_once(places: Integers) -> bool:
    ordered = np.sort(places)
    return not (ordered[1:] == ordered[:-1]).any()


def _order_of_choice(
    overlaps: Overlaps, able: Integers, confidence: NDArray[np.float64], masks: Masks
) -> Integers:
    """Pairs by confidence, then greatest IoU, then the masks' pixels: no trace of the file's order."""
    prediction, truth = overlaps.prediction[able], overlaps.truth[able]
    shared, union = overlaps.shared[able].tolist(), overlaps.unions[able].tolist()
    iou = [part / whole for part, whole in zip(shared, union, strict=True)]  # equal ratios round equally
    best: dict[int, float] = {}
    for p, value in zip(prediction.tolist(), iou, strict=True):
        best[p] = max(best.get(p, 0.0), value)
    content = {p: _content(masks, p) for p in best}
    keys = [
        (-c, -best[p], content[p], p, -value, t)
        for c, p, value, t in zip(confidence.tolist(), prediction.tolist(), iou, truth.tolist(), strict=True)
    ]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


def _content(masks: Masks, place: int) -> bytes:
    runs = slice(masks.indptr[place], masks.indptr[place + 1])
    return masks.starts[runs].tobytes() + masks.stops[runs].tobytes()


def _shared_with_any(overlaps: Overlaps, regions: Masks, predictions: Masks) -> tuple[Integers, Integers]:
    """Predictions that touch regions, and the pixels of each that lie in at least one of them."""
    order = np.argsort(overlaps.prediction, kind="stable")
    touched, first = np.unique(overlaps.prediction[order], return_index=True)
    bounds = np.concatenate([first, [len(order)]])
    shared = np.zeros(len(touched), np.int64)
    for place, prediction in enumerate(touched.tolist()):
        mine = order[bounds[place] : bounds[place + 1]]
        if len(mine) == 1:
            shared[place] = overlaps.shared[mine[0]]
            continue
        union = _united(regions, overlaps.truth[mine])
        shared[place] = predictions[[prediction]].overlaps(union).shared.sum()  # type: ignore[index]
    return touched, shared


def _united(masks: Masks, places: Integers) -> Masks:
    """One mask of the pixels that lie in any of these masks."""
    runs = ragged(masks.indptr[places], masks.indptr[places + 1])
    starts, stops = masks.starts[runs], masks.stops[runs]
    order = np.argsort(starts, kind="stable")
    starts, reach = starts[order], np.maximum.accumulate(stops[order])
    head = np.concatenate([[True], starts[1:] > reach[:-1]])
    tail = np.concatenate([head[1:], [True]])
    indptr = np.array([0, int(head.sum())], np.int64)
    return Masks.from_runs(masks.order, starts[head], reach[tail], indptr, masks.shapes[places[:1]])
