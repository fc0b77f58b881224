"""Type made of strokes: a drawn alphabet whose letters hang from a headline, as Bengali's do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from segjudge.data.paint import Box, Sprite, circle, smooth
from segjudge.records import dataclass

__all__ = ["Type", "cast"]

Bytes = NDArray[np.uint8]
Strokes = Sequence[Sequence[float]]

# Bodies of letters, and signs above and below them: points of curves in a square that hangs from the headline.
_RING = circle(0.35, 0.6, 0.24, 0.28, corners=12).tolist()
_BODIES: tuple[Strokes, ...] = (
    ((0.8, 0.45), (0.35, 0.2), (0.1, 0.6), (0.45, 0.92), (0.8, 0.7)),
    ((0.15, 0.0), (0.2, 0.6), (0.5, 0.75), (0.8, 0.35)),
    ((0.8, 0.2), (0.1, 0.55), (0.8, 0.95)),
    ((0.1, 0.3), (0.45, 0.15), (0.55, 0.5), (0.2, 0.9), (0.7, 0.95)),
    (*_RING, _RING[0]),
)
_SIGNS: tuple[Strokes, ...] = (
    ((0.2, -0.02), (0.45, -0.26), (0.85, -0.05)),
    ((0.3, 1.02), (0.55, 1.22), (0.85, 1.08)),
    ((0.4, 1.14), (0.48, 1.14)),
)


@dataclass(frozen=True, slots=True)
class Type:
    """An alphabet at one size: coverages of letters as tall as a line, headline included."""

    size: int  # pixels from the letters' feet to the headline
    rise: int  # pixels above the headline
    letters: tuple[Bytes, ...]  # (rise + size + drop, width)
    gap: int  # pixels between words

    @property
    def tall(self) -> int:
        """Rows of a line's ink."""
        return int(self.letters[0].shape[0])

    def word(self, rng: np.random.Generator) -> Bytes:
        """The coverage of a word of one to eight letters."""
        count = min(1 + int(rng.poisson(2.6)), 8)
        return np.concatenate(
            [self.letters[place] for place in rng.integers(len(self.letters), size=count)], axis=1
        )

    def line(self, rng: np.random.Generator, width: int, fill: float = 1.0) -> tuple[Bytes, int]:
        """The coverage (tall, width) of a line that is full up to this share, and where its ink ends."""
        plane = np.zeros((self.tall, width), np.uint8)
        at = end = 0
        while True:
            word = self.word(rng)
            if at + word.shape[1] > width * fill and (at or fill < 1):
                break
            part = word[:, : width - at]
            plane[:, at : at + part.shape[1]] = part
            end = at + part.shape[1]
            at = end + self.gap
            if at >= width:
                break
        if fill >= 1 and end < width and end > width * 0.6:
            plane = _justified(plane, end, width)
            end = width
        return plane, end


def _justified(plane: Bytes, end: int, width: int) -> Bytes:
    """The line stretched at its gaps until it ends at the margin."""
    empty: NDArray[np.bool_] = np.logical_not(plane[:, :end].any(axis=0))
    gaps = np.flatnonzero(empty[1:] & ~empty[:-1]) + 1
    if len(gaps) == 0:
        return plane
    extra = np.full(len(gaps), (width - end) // len(gaps))
    extra[: (width - end) % len(gaps)] += 1
    return np.insert(plane[:, :end], np.repeat(gaps, extra), 0, axis=1)


def cast(
    rng: np.random.Generator, size: int, *, weight: float = 0.11, slant: float = 0.0, letters: int = 26
) -> Type:
    """An alphabet of this size in pixels; `weight` is the strokes' share of it."""
    rise, drop = max(2, round(size * 0.3)), max(2, round(size * 0.28))
    drawn = tuple(_letter(rng, size, rise, drop, weight, slant) for _ in range(letters))
    return Type(size, rise, drawn, max(2, round(size * 0.42)))


def _letter(rng: np.random.Generator, size: int, rise: int, drop: int, weight: float, slant: float) -> Bytes:
    wide = max(3, round(size * float(rng.uniform(0.45, 0.95))))
    sprite = Sprite(Box(0, 0, wide, rise + size + drop), 4)
    thick = max(0.9, weight * size)

    def draw(points: Strokes) -> None:
        place = np.array(points, np.float64)
        curve = smooth(place, closed=False) if len(place) > 2 else place
        curve = np.column_stack(
            [curve[:, 0] * wide + slant * size * (0.5 - curve[:, 1]), rise + curve[:, 1] * size]
        )
        sprite.line(curve, thick, (0, 0, 0))

    if rng.random() < 0.9:
        sprite.line(np.array([(-2.0, float(rise)), (wide + 2.0, float(rise))]), thick * 1.15, (0, 0, 0))
    if rng.random() < 0.7:
        draw([(0.82, 0.0), (0.82, 0.98)])
    draw(_BODIES[rng.integers(len(_BODIES))])
    extra = rng.random()
    if extra < 0.46:
        draw(_SIGNS[0 if extra < 0.2 else 1 if extra < 0.36 else 2])
    return sprite.done().alpha
