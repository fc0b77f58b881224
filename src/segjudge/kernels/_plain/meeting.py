"""Which masks share pixels, and which prediction has which truth."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Bits = NDArray[np.uint64]

_FAR = 1 << 62
_SIDE = 1 << 31
_SURE = 1 << 42  # pixels: below, two areas and a millionfold of both stay within 64 bits


# -------------------------------------------------------------------------------------------- overlaps


def _check_masks(starts: Integers, stops: Integers, indptr: Integers, boxes: Integers) -> None:
    if len(starts) != len(stops) or len(indptr) < 1 or boxes.shape != (len(indptr) - 1, 4):
        raise ValueError("arrays differ in length")
    if indptr[0] < 0 or indptr[-1] > len(starts):
        raise ValueError("indptr leaves the runs")
    if (np.diff(indptr) < 0).any():
        raise ValueError("indptr is not ascending")
    if ((boxes < 0) | (boxes > _FAR)).any():
        raise ValueError("a box lies beyond all images")


def _check_groups(order: Integers, groups: Integers, masks: int) -> None:
    if len(groups) < 1 or groups[0] < 0 or groups[-1] > len(order):
        raise ValueError("groups leave the order")
    if (np.diff(groups) < 0).any():
        raise ValueError("groups are not ascending")
    if len(order) and (order.min() < 0 or order.max() >= masks):
        raise ValueError("order names a mask that is not there")


def shared_pixels(a_starts: Integers, a_stops: Integers, b_starts: Integers, b_stops: Integers) -> int:
    """Pixels that two sorted, disjoint sets of runs share: of every run of a, what b covers up to its ends."""
    covered = np.concatenate([[0], np.cumsum(b_stops - b_starts)])

    def up_to(pixels: Integers) -> Integers:
        run = np.searchsorted(b_stops, pixels)
        inside = np.where(run < len(b_starts), pixels - b_starts[np.minimum(run, len(b_starts) - 1)], 0)
        counted: Integers = covered[run] + np.maximum(inside, 0)
        return counted

    return int((up_to(a_stops) - up_to(a_starts)).sum())


def _most_shared(box: Integers, boxes: Integers, area: int, areas: Integers) -> Integers:
    """No mask of this box and area shares more pixels with each of the others; 0 where boxes are apart."""
    lines = np.minimum(box[1], boxes[:, 1]) - np.maximum(box[0], boxes[:, 0])
    places = np.minimum(box[3], boxes[:, 3]) - np.maximum(box[2], boxes[:, 2])
    most: Integers = np.minimum(area, areas)
    # A line of unknown length is longer than any mask: then the places say nothing.
    told = (lines < _SIDE) & (places < _SIDE)
    most[told] = np.minimum(most[told], lines[told] * places[told])
    most[(lines <= 0) | (places <= 0)] = 0
    return most


def overlap_pairs(
    a_starts: Integers,
    a_stops: Integers,
    a_indptr: Integers,
    a_boxes: Integers,
    a_areas: Integers,
    a_order: Integers,
    a_groups: Integers,
    b_starts: Integers,
    b_stops: Integers,
    b_indptr: Integers,
    b_boxes: Integers,
    b_areas: Integers,
    b_order: Integers,
    b_groups: Integers,
    numerator: int,
    denominator: int,
) -> Integers:
    """(K, 3): a mask of a, a mask of b, and the pixels that they share, for all pairs that share any.

    Masks meet within their group only: group g of a is `a_order[a_groups[g]:a_groups[g + 1]]`. A pair whose
    areas and boxes alone keep its IoU below numerator/denominator is left out; others below it are not,
    nor is any pair with a mask larger than all images.
    """
    _check_masks(a_starts, a_stops, a_indptr, a_boxes)
    _check_masks(b_starts, b_stops, b_indptr, b_boxes)
    _check_groups(a_order, a_groups, len(a_indptr) - 1)
    _check_groups(b_order, b_groups, len(b_indptr) - 1)
    if len(a_areas) != len(a_boxes) or len(b_areas) != len(b_boxes):
        raise ValueError("arrays differ in length")
    if not (0 <= numerator <= denominator <= 1_000_000 and denominator):
        raise ValueError("the least IoU is a fraction of at most a million parts")
    if len(a_groups) != len(b_groups):
        raise ValueError("both sides have the same groups")
    pairs = []
    for group in range(len(a_groups) - 1):
        others = b_order[b_groups[group] : b_groups[group + 1]]
        others = others[b_indptr[others] < b_indptr[others + 1]]
        for a in a_order[a_groups[group] : a_groups[group + 1]]:
            if a_indptr[a] == a_indptr[a + 1]:
                continue
            most = _most_shared(a_boxes[a], b_boxes[others], a_areas[a], b_areas[others])
            reaches = denominator * most >= numerator * (a_areas[a] + b_areas[others] - most)
            meets = (most > 0) & (reaches | ((a_areas[a] | b_areas[others]) >= _SURE))
            mine = slice(a_indptr[a], a_indptr[a + 1])
            for b in others[meets]:
                theirs = slice(b_indptr[b], b_indptr[b + 1])
                shared = shared_pixels(a_starts[mine], a_stops[mine], b_starts[theirs], b_stops[theirs])
                if shared:
                    pairs.append((a, b, shared))
    return np.array(pairs, np.int64).reshape(-1, 3)


# -------------------------------------------------------------------------------------------- matching


def _check_pairs(
    predictions: Integers, truths: Integers, bits: Bits, n_predictions: int, n_truths: int
) -> None:
    if not len(predictions) == len(truths) == len(bits):
        raise ValueError("arrays differ in length")
    if len(predictions) and (
        min(predictions.min(), truths.min()) < 0
        or predictions.max() >= n_predictions
        or truths.max() >= n_truths
    ):
        raise ValueError("a pair names an instance that is not there")


def greedy_hits(
    predictions: Integers, truths: Integers, bits: Bits, n_predictions: int, n_truths: int
) -> tuple[Bits, Bits]:
    """Thresholds at which each prediction wins a truth and each truth is won, first pair first."""
    _check_pairs(predictions, truths, bits, n_predictions, n_truths)
    hits, taken = [0] * n_predictions, [0] * n_truths
    for p, t, wanted in zip(predictions.tolist(), truths.tolist(), bits.tolist(), strict=True):
        won = wanted & ~taken[t] & ~hits[p]
        hits[p] |= won
        taken[t] |= won
    return np.array(hits, np.uint64), np.array(taken, np.uint64)


def one_to_one(
    predictions: Integers, truths: Integers, bits: Bits, n_predictions: int, n_truths: int, thresholds: int
) -> tuple[Bits, Bits]:
    """The same for a largest one-to-one matching at each threshold; pairs are sorted by prediction."""
    _check_pairs(predictions, truths, bits, n_predictions, n_truths)
    if not 0 < thresholds <= 64:
        raise ValueError("1 to 64 thresholds")
    if (np.diff(predictions) < 0).any():
        raise ValueError("pairs are sorted by prediction")
    hits, taken = [0] * n_predictions, [0] * n_truths
    for level in range(thresholds):
        edges: dict[int, list[int]] = {}
        for p, t, wanted in zip(predictions.tolist(), truths.tolist(), bits.tolist(), strict=True):
            if wanted >> level & 1:
                edges.setdefault(p, []).append(t)
        for t, p in _largest_matching(edges).items():
            hits[p] |= 1 << level
            taken[t] |= 1 << level
    return np.array(hits, np.uint64), np.array(taken, np.uint64)


def _largest_matching(edges: dict[int, list[int]]) -> dict[int, int]:
    """Truth to prediction, by Kuhn's augmenting paths."""
    owner: dict[int, int] = {}
    for root, candidates in edges.items():
        seen: set[int] = set()
        path: list[tuple[int, Any]] = [(root, iter(candidates))]
        chosen: list[int] = []
        while path:
            truth = next((t for t in path[-1][1] if t not in seen), None)
            if truth is None:
                path.pop()
                del chosen[-1:]
                continue
            seen.add(truth)
            chosen.append(truth)
            if truth not in owner:
                owner.update(zip(chosen, [p for p, _ in path], strict=True))
                break
            path.append((owner[truth], iter(edges[owner[truth]])))
    return owner
