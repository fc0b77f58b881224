"""Images, the things in them, and the two questions everything else asks: how much overlap, is it enough."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Pixels: TypeAlias = frozenset[int]
"""Pixel numbers from 0, left to right, then top to bottom, whatever a competition's file does."""

THRESHOLDS = tuple(Fraction(k, 20) for k in range(10, 20))
"""0.5 to 0.95 with a step of 0.05, exactly."""

EVERY_CLASS = 0
"""Class id of an ignored region that stands for every class (65535 in the WAD label maps)."""

RIDER = 37
"""Not evaluated; the class of the rider group, which no evaluated class equals."""

WAD_CLASSES = (33, 34, 35, 36, 38, 39, 40)
WAD_GROUPS = {161: 33, 162: 34, 163: 35, 164: 36, 165: RIDER, 166: 38, 167: 39, 168: 40, 65535: EVERY_CLASS}
"""Value of an ignored region in the WAD truth -> the class it belongs to."""


@dataclass(frozen=True)
class Image:
    id: str
    height: int
    width: int
    clip: str = ""


@dataclass(frozen=True)
class Thing:
    """One instance or region: of the truth (perhaps only to be ignored) or predicted."""

    image: str
    class_id: int
    pixels: Pixels
    confidence: str = "1"
    ignored: bool = False


@dataclass(frozen=True)
class Scene:
    """A whole test set; predictions stand in file order."""

    images: tuple[Image, ...]
    truths: tuple[Thing, ...]
    predictions: tuple[Thing, ...]

    def truths_in(self, image: str) -> list[Thing]:
        return [thing for thing in self.truths if thing.image == image and not thing.ignored]

    def ignored_in(self, image: str) -> list[Thing]:
        return [thing for thing in self.truths if thing.image == image and thing.ignored]

    def predictions_in(self, image: str) -> list[Thing]:
        return [thing for thing in self.predictions if thing.image == image]


@lru_cache(maxsize=65536)
def iou(one: Pixels, other: Pixels) -> Fraction:
    """Pixels of both over pixels of either; two empty masks overlap by 0."""
    either = len(one | other)
    return Fraction(len(one & other), either) if either else Fraction(0)


def share(part: Pixels, whole: Pixels) -> Fraction:
    """How much of `part` lies in `whole`; 0 for an empty part."""
    return Fraction(len(part & whole), len(part)) if part else Fraction(0)


def exceeds(value: Fraction, threshold: Fraction, *, strict: bool) -> bool:
    """Whether a value is "greater than" the threshold; `strict=False` lets equality pass."""
    return value > threshold if strict else value >= threshold


def together(things: Iterable[Thing]) -> Pixels:
    """Every pixel of any of the things."""
    return frozenset(pixel for thing in things for pixel in thing.pixels)
