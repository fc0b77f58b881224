"""From ranked hits to average precision, by the three rules of integration that the pages' field knows."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from segjudge.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segjudge.matching import Bits, Integers

__all__ = ["Ranking", "average_precisions", "group_counts", "group_members"]

RECALL_LEVELS = 101


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Predictions from the most to the least confident, and where the curve has its points."""

    hits: Bits  # (N,) in order
    dropped: Bits  # (N,)
    ends: Integers  # (P,) the last prediction of each level of confidence

    @classmethod
    def of(
        cls, confidences: NDArray[np.float64], hits: Bits, dropped: Bits, rows: Integers | None
    ) -> Ranking:
        """The ranking; with rows every row is a level of its own, else equal confidences enter together."""
        order = np.lexsort((hits if rows is None else rows, -confidences))
        ranked = confidences[order]
        if rows is None:
            ends = (
                np.flatnonzero(np.concatenate([ranked[1:] != ranked[:-1], [True]])) if len(order) else order
            )
        else:
            ends = np.arange(len(order))
        return cls(hits[order], dropped[order], ends)

    def points(self, threshold: int) -> tuple[Integers, Integers]:
        """True positives and predictions still in play, counted up to each point of the curve."""
        bit = np.uint64(threshold)
        hit = (self.hits >> bit & np.uint64(1)).astype(np.int64)
        kept = 1 - (self.dropped >> bit & np.uint64(1)).astype(np.int64)
        return np.cumsum(hit)[self.ends], np.cumsum(kept)[self.ends]


def average_precisions(
    ranking: Ranking, truths: int, thresholds: int, rule: Literal["101", "step-area", "pycocotools"]
) -> list[float]:
    """The average precision at each threshold of a class with so many truths (at least one)."""
    found = np.bitwise_or.reduce(ranking.hits) if len(ranking.hits) else np.uint64(0)
    result = []
    for threshold in range(thresholds):
        if not int(found) >> threshold & 1:
            result.append(0.0)
            continue
        tp, kept = ranking.points(threshold)
        result.append(RULES[rule](tp, kept, truths))
    return result


def interpolated(tp: Integers, kept: Integers, truths: int) -> float:
    """Mean over recalls 0, 0.01 … 1 of the best precision at that recall or a higher one.

    A recall is reached in whole numbers: 7 of 10 reaches 0.70.

    >>> interpolated(np.array([7]), np.array([7]), 10) == 71 / 101
    True
    """
    level = 100 * tp // truths
    best = np.zeros(RECALL_LEVELS)
    np.maximum.at(best, level, tp / np.maximum(kept, 1))
    envelope = np.maximum.accumulate(best[::-1])
    return math.fsum(envelope.tolist()) / RECALL_LEVELS


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
    places = np.searchsorted(recall, np.linspace(0.0, 1.0, RECALL_LEVELS), side="left")
    reached = places[places < len(envelope)]
    return math.fsum(envelope[reached].tolist()) / RECALL_LEVELS


RULES = {"101": interpolated, "step-area": step_area, "pycocotools": pycocotools}


def group_counts(part: Integers, class_ids: Integers) -> dict[tuple[int, int], int]:
    """How many there are of each pair of part and class."""
    return {pair: len(members) for pair, members in group_members(part, class_ids).items()}


def group_members(part: Integers, class_ids: Integers) -> dict[tuple[int, int], Integers]:
    """The places of the members of each pair of part and class."""
    if not len(part):
        return {}
    order = np.lexsort((class_ids, part))
    ordered = np.stack([part[order], class_ids[order]])
    heads = np.flatnonzero(np.concatenate([[True], (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)]))
    bounds = np.concatenate([heads, [len(order)]])
    return {
        (int(ordered[0, head]), int(ordered[1, head])): order[head:end]
        for head, end in itertools.pairwise(bounds)
    }
