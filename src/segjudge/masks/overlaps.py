"""Which masks meet, the whole pixels that they share, and what follows from these without rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjudge.integers import common, ragged
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

__all__ = ["Overlaps", "exceeding_bits", "grouped", "one_group"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """The pairs of a prediction and a truth that share pixels: K of N x M."""

    prediction: Integers  # (K,) place among the predictions
    truth: Integers  # (K,) place among the truths
    shared: Integers  # (K,) pixels in both
    prediction_areas: Integers  # (N,)
    truth_areas: Integers  # (M,)

    def __len__(self) -> int:
        return len(self.shared)

    def __getitem__(self, places: NDArray[np.bool_] | Integers) -> Overlaps:
        """These pairs alone."""
        return Overlaps(
            self.prediction[places],
            self.truth[places],
            self.shared[places],
            self.prediction_areas,
            self.truth_areas,
        )

    @property
    def unions(self) -> Integers:
        """(K,) pixels in one mask of the pair or in both."""
        return self.prediction_areas[self.prediction] + self.truth_areas[self.truth] - self.shared

    def exceeds(self, threshold: Fraction, *, strict: bool = True) -> NDArray[np.bool_]:
        """(K,) whether the IoU is greater than the threshold (not strict: at least it), in whole numbers.

        >>> from fractions import Fraction
        >>> from segjudge.masks import Masks
        >>> masks = Masks.from_dense(np.array([[[1, 1, 1, 1]], [[1, 1, 0, 0]]], bool))
        >>> pair = masks[0].overlaps(masks[1])
        >>> pair.exceeds(Fraction(1, 2)).tolist(), pair.exceeds(Fraction(1, 2), strict=False).tolist()
        ([False], [True])
        """
        return exceeding_bits(self.shared, self.unions, (threshold,), strict=strict) > 0

    def iou(self) -> NDArray[np.float64]:
        """(N, M) shared pixels over pixels in either, for display; decisions use `exceeds`."""
        table = np.zeros((len(self.prediction_areas), len(self.truth_areas)))
        table[self.prediction, self.truth] = self.shared / self.unions
        return table


def exceeding_bits(
    part: Integers, whole: Integers, thresholds: Sequence[Fraction], *, strict: bool
) -> NDArray[np.uint64]:
    """(K,) bit t is set where part/whole is greater than threshold t (not strict: at least it).

    Decided as `denominator * part > numerator * whole`. The denominators of a task are at most 10^6, and images
    have fewer than 2^42 pixels, so 64 bits hold both sides. Where the size of an image is not known, a mask may
    claim more: then Python's whole numbers decide.

    >>> from fractions import Fraction
    >>> exceeding_bits(np.array([9]), np.array([10]), [Fraction(1, 2), Fraction(9, 10)], strict=True).tolist()
    [1]
    """
    bits = np.zeros(len(part), np.uint64)
    most = max(int(part.max(initial=0)), int(whole.max(initial=0)))
    if most * max((threshold.denominator for threshold in thresholds), default=1) >= 1 << 63:
        part, whole = part.astype(np.object_), whole.astype(np.object_)
    for place, threshold in enumerate(thresholds):
        left, right = part * threshold.denominator, whole * threshold.numerator
        passed = left > right if strict else left >= right
        bits |= passed.astype(np.uint64) << np.uint64(place)
    return bits


def one_group(masks: int) -> tuple[Integers, Integers]:
    """The order and the bounds of masks that lie in one image."""
    return np.arange(masks, dtype=np.int64), np.array([0, masks], np.int64)


def grouped(first: Integers, second: Integers) -> tuple[tuple[Integers, Integers], tuple[Integers, Integers]]:
    """For both sides the order by group and the bounds of the groups that both have."""
    shared = common(first, second)
    sides = []
    for groups in (first, second):
        order = np.argsort(groups, kind="stable")
        ordered = groups[order]
        begins = np.searchsorted(ordered, shared, "left")
        ends = np.searchsorted(ordered, shared, "right")
        kept = order[ragged(begins, ends)]
        sides.append((kept, np.concatenate([[0], np.cumsum(ends - begins)]).astype(np.int64)))
    return sides[0], sides[1]
