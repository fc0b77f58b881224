"""The average precision of every class in every part of a competition: all of it, a clip, an image."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import NDArray

from segjudge import kernels
from segjudge.integers import among, distinct
from segjudge.metrics.scores import mean
from segjudge.records import dataclass

if TYPE_CHECKING:
    from segjudge.matching import Bits, Integers

__all__ = ["Averages", "Groups", "Ranking"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Predictions from the most to the least confident, sorted once for every way of grouping them."""

    order: Integers  # (N,) places of the predictions
    confidences: Floats  # (N,)
    hits: Bits  # (N,)
    dropped: Bits  # (N,)
    apart: bool  # whether each is a point of the curve, else equal confidences enter together

    @classmethod
    def of(cls, confidences: Floats, hits: Bits, dropped: Bits, rows: Integers | None) -> Self:
        """The ranking; with rows those decide between equal confidences, and every row is a point."""
        # Without rows it makes no difference which of the equal ones comes first.
        order = np.argsort(-confidences) if rows is None else np.lexsort((rows, -confidences))
        return cls(order.astype(np.int64, copy=False), confidences, hits, dropped, rows is not None)

    def average_precisions(
        self,
        groups: Integers,
        truths: Integers,
        thresholds: int,
        rule: Literal["101", "step-area", "pycocotools"],
    ) -> Floats:
        """(G, T) average precision of groups with so many truths; predictions of group -1 are in none."""
        return kernels.average_precisions(
            self.order,
            groups,
            self.confidences,
            self.hits,
            self.dropped,
            truths,
            thresholds,
            rule,
            apart=self.apart,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The pairs of a part and a class that have truth, by part and then by class."""

    parts: Integers  # (P,) ascending
    bounds: Integers  # (P + 1,) the groups of part i are bounds[i] to bounds[i + 1]
    class_ids: Integers  # (G,)
    truths: Integers  # (G,) how many there are
    members: Integers  # (N,) the group of each prediction, -1 if it is in none

    @classmethod
    def of(
        cls,
        image: Integers,
        class_ids: Integers,
        truth_image: Integers,
        truth_class_ids: Integers,
        part_of: Integers | None,
        classes: tuple[int, ...],
    ) -> Self:
        """The groups of those classes; without `part_of`, the part of each image, there is one part, 0."""
        keys, truth_keys = class_ids, truth_class_ids
        parts = np.zeros(1, np.int64)
        if part_of is not None:
            truth_part = part_of[truth_image]
            parts = distinct(truth_part)
            keys, truth_keys = part_of[image] << 32 | keys, truth_part << 32 | truth_keys
        ordered = np.sort(truth_keys[among(truth_class_ids, classes)])
        heads = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
        known = ordered[heads]
        members = np.minimum(np.searchsorted(known, keys), max(len(known) - 1, 0))
        found = known[members] == keys if len(known) else np.zeros(len(keys), np.bool_)
        bounds = np.append(np.searchsorted(known >> 32, parts), len(known))
        return cls(
            parts,
            bounds,
            known & 0xFFFFFFFF,
            np.diff(heads, append=len(ordered)),
            np.where(found, members, -1),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """The average precision by threshold of every class that has truth in a part.

    With `classes`, so many, a class without truth counts as 0 in every part.
    """

    groups: Groups
    values: Floats  # (G, T)
    classes: int | None = None

    def of_parts(self) -> dict[int, float]:
        """The mean over classes and thresholds in each part; parts without any class are left out."""
        thresholds = self.values.shape[1]
        flat = self.values.ravel().tolist()
        return {
            part: math.fsum(flat[begin * thresholds : end * thresholds]) / (count * thresholds)
            for part, begin, end, count in self._parts()
        }

    def of_thresholds(self) -> list[float | None]:
        """For each threshold the mean over parts of the means over classes."""
        parts = self._parts()
        return [
            mean(math.fsum(column[begin:end]) / count for _, begin, end, count in parts)
            for column in self.values.T.tolist()
        ]

    def of_classes(self) -> dict[int, float]:
        """For each class with truth the mean over its parts of the means over thresholds."""
        alone: dict[int, list[float]] = {}
        for class_id, row in zip(self.groups.class_ids.tolist(), self.values.tolist(), strict=True):
            alone.setdefault(class_id, []).append(math.fsum(row) / len(row))
        return {class_id: math.fsum(rows) / len(rows) for class_id, rows in alone.items()}

    def _parts(self) -> list[tuple[int, int, int, int]]:
        """Each part, its groups' bounds, and how many classes count in it."""
        bounds = itertools.pairwise(self.groups.bounds.tolist())
        listed = [
            (part, begin, end, end - begin if self.classes is None else self.classes)
            for part, (begin, end) in zip(self.groups.parts.tolist(), bounds, strict=True)
        ]
        return [entry for entry in listed if entry[3]]
