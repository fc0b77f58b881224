"""Dice or IoU of one mask against one mask, and points for the mean (BaDLAD, emoji)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from segjudge.metrics.points import Band, points_of
from segjudge.metrics.scores import Facts, Scores, Tally, mean
from segjudge.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segjudge.instances import Instances
    from segjudge.matching import Integers

__all__ = ["Overlap", "OverlapTally"]


@dataclass(frozen=True, slots=True, eq=False)
class OverlapTally(Tally):
    """A line for each mask of the truth: its image, its class, and three areas in pixels."""

    image: Integers  # (N,)
    class_ids: Integers  # (N,)
    shared: Integers  # (N,)
    truth: Integers  # (N,)
    predicted: Integers  # (N,)

    tables: ClassVar[tuple[tuple[str, ...], ...]] = (("image", "class_ids", "shared", "truth", "predicted"),)


@dataclass(frozen=True, slots=True)
class Overlap:
    """Twice the shared pixels over both areas (`dice`), or shared pixels over the union (`iou`)."""

    measure: Literal["dice", "iou"]
    average: Literal["row", "pixels"]
    empty: Literal["1", "0", "skip"]
    points: tuple[Band, ...] = ()

    breakdowns: ClassVar[frozenset[str]] = frozenset({"class", "image"})
    needs: ClassVar[frozenset[str]] = frozenset({"image"})

    def tally(self, truths: Instances, predictions: Instances, images: Integers) -> OverlapTally:
        """Areas of every truth and of the prediction for its image and class, 0 where there is none."""
        wanted = truths.image << 32 | truths.class_ids
        given = predictions.image << 32 | predictions.class_ids
        overlaps = predictions.masks.overlaps(truths.masks, (given, wanted))
        shared = np.zeros(len(truths), np.int64)
        shared[overlaps.truth] = overlaps.shared
        predicted = np.zeros(len(truths), np.int64)
        order = np.argsort(wanted)
        place = np.searchsorted(wanted[order], given)
        place = order[np.minimum(place, len(order) - 1)] if len(order) else np.zeros(len(given), np.int64)
        known = wanted[place] == given if len(order) else np.zeros(len(given), np.bool_)
        predicted[place[known]] = predictions.masks.areas[known]
        return OverlapTally(
            images[truths.image], truths.class_ids, shared, truths.masks.areas.copy(), predicted
        )

    def score(self, tally: OverlapTally, facts: Facts, by: frozenset[str]) -> Scores:
        """The mean over rows, or one ratio over all pixels."""
        parts, wholes = self._ratio(tally.shared, tally.truth, tally.predicted)
        everything = np.ones(len(parts), np.bool_)
        score = self._average(parts, wholes, everything)
        by_image = {}
        if "image" in by:
            values = self._rows(parts, wholes)
            keys = zip(tally.image.tolist(), tally.class_ids.tolist(), strict=True)
            by_image = {
                (image, class_id if facts.classes else -1): value
                for (image, class_id), value in sorted(
                    zip(keys, values, strict=True), key=lambda pair: pair[0]
                )
            }
        return Scores(
            score,
            points_of(self.points, score, lambda: self._exact(parts, wholes)) if self.points else None,
            by_class={c: self._average(parts, wholes, tally.class_ids == c) for c in facts.classes}
            if "class" in by
            else {},
            by_image=by_image,
        )

    def _ratio(self, shared: Integers, truth: Integers, predicted: Integers) -> tuple[Integers, Integers]:
        if self.measure == "dice":
            return 2 * shared, truth + predicted
        return shared, truth + predicted - shared

    def _rows(self, parts: Integers, wholes: Integers) -> list[float | None]:
        empty = None if self.empty == "skip" else float(self.empty)
        ratios = (parts / np.maximum(wholes, 1)).tolist()
        return [ratio if whole else empty for ratio, whole in zip(ratios, wholes.tolist(), strict=True)]

    def _average(self, parts: Integers, wholes: Integers, chosen: NDArray[np.bool_]) -> float | None:
        if self.average == "pixels":
            part, whole = int(parts[chosen].sum()), int(wholes[chosen].sum())
            return part / whole if whole else None
        return mean(value for value in self._rows(parts[chosen], wholes[chosen]) if value is not None)

    def _exact(self, parts: Integers, wholes: Integers) -> Fraction:
        """The score as a fraction, for the few that lie beside a limit of the points."""
        if self.average == "pixels":
            return Fraction(int(parts.sum()), int(wholes.sum()))
        filled = wholes > 0
        ratios = [
            Fraction(part, whole)
            for part, whole in zip(parts[filled].tolist(), wholes[filled].tolist(), strict=True)
        ]
        empty = int((~filled).sum())
        rows = len(ratios) if self.empty == "skip" else len(parts)
        return (sum(ratios, Fraction(0)) + (empty if self.empty == "1" else 0)) / rows
