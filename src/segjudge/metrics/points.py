"""Points for a mean, in bands ("mean IoU >= 0.75 → 100 poäng", and so on down)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Band", "points_of"]

#: A mean this close to a limit is computed again as a fraction before it is placed.
_NEAR = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class Band:
    """From the mean `start` on: `points`, and `slope` more for each unit of the mean above it."""

    start: Fraction
    points: Fraction
    slope: Fraction


def points_of(bands: Sequence[Band], mean: float | None, exact: Callable[[], Fraction]) -> float | None:
    """The points of a mean, unrounded; None where the mean is undefined.

    A mean that equals a limit lands on its upper side, whatever the rounding of its sum.

    >>> bands = [Band(Fraction(0), Fraction(0), Fraction(96)), Band(Fraction(3, 4), Fraction(100), Fraction(0))]
    >>> points_of(bands, 0.7499999999999999, lambda: Fraction(3, 4)), points_of(bands, 0.5, lambda: Fraction(1, 2))
    (100.0, 48.0)
    """
    if mean is None:
        return None
    value = Fraction(mean)
    if any(abs(value - band.start) < _NEAR for band in bands):
        value = exact()
    band = max((band for band in bands if band.start <= value), key=lambda band: band.start)
    return float(band.points + band.slope * (value - band.start))
