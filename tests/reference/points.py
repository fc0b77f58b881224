"""The emoji page's points for a mean IoU."""

from __future__ import annotations

from fractions import Fraction


def emoji(m: Fraction) -> Fraction:
    """Points from 0 to 100: four bands, each closed below, linear inside, unrounded."""
    if not 0 <= m <= 1:
        raise ValueError(f"a mean IoU lies between 0 and 1, not at {m}")
    if m >= Fraction(3, 4):
        return Fraction(100)
    if m >= Fraction(1, 2):
        return 50 + 196 * (m - Fraction(1, 2))
    if m >= Fraction(1, 4):
        return 25 + 96 * (m - Fraction(1, 4))
    return 96 * m
