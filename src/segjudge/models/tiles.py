"""Pictures of any size through a net in bounded memory: tiles that overlap, blended softly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["over_tiles"]

Floats = NDArray[np.float32]

_OVERLAP = 0.25  # of a tile, shared with its neighbour
_SPREAD = 0.125  # of a tile: the standard deviation of its weight, as in MONAI's sliding window


def over_tiles(inputs: Floats, run: Callable[[Floats], Floats], *, tile: int, stride: int) -> Floats:
    """(K, h, w) what `run` makes of (3, h, w), tile by tile; where tiles overlap the middle of each weighs most.

    `run` takes and gives (1, C, H, W) with sides that are multiples of `stride`. A picture smaller than a
    tile is one tile. Memory is that of the result and of one tile.
    """
    height, width = inputs.shape[1:]
    sides = [min(tile, -(-size // stride) * stride) for size in (height, width)]
    rows, columns = (_places(size, side) for size, side in zip((height, width), sides, strict=True))
    if len(rows) == len(columns) == 1:
        return _one(inputs, run, sides)
    weight = _bell(sides[0])[:, None] * _bell(sides[1])[None, :]
    total = np.zeros((height, width), np.float32)
    blended: Floats | None = None
    for top in rows:
        for left in columns:
            part = inputs[:, top : top + sides[0], left : left + sides[1]]
            said = _one(part, run, sides)
            if blended is None:
                blended = np.zeros((said.shape[0], height, width), np.float32)
            window = np.s_[top : top + said.shape[1], left : left + said.shape[2]]
            share = weight[: said.shape[1], : said.shape[2]]
            blended[:, window[0], window[1]] += said * share
            total[window] += share
    if blended is None:
        raise ValueError("a picture has at least one tile")
    blended /= total
    return blended


def _one(part: Floats, run: Callable[[Floats], Floats], sides: list[int]) -> Floats:
    """A tile through the net; one at the edge is filled up by its mirror image."""
    height, width = part.shape[1:]
    lacking = sides[0] - height, sides[1] - width
    if lacking != (0, 0):
        part = np.pad(part, ((0, 0), (0, lacking[0]), (0, lacking[1])), mode="symmetric")
    said: Floats = run(np.ascontiguousarray(part[None]))[0][:, :height, :width]
    return said


def _places(size: int, side: int) -> list[int]:
    """Where tiles begin along a side; the last ends on its end."""
    if size <= side:
        return [0]
    count = 1 + -(-(size - side) // max(1, int(side * (1 - _OVERLAP))))
    return [round(k * (size - side) / (count - 1)) for k in range(count)]


def _bell(side: int) -> Floats:
    away = (np.arange(side) - (side - 1) / 2) / (side * _SPREAD)
    return np.maximum(np.exp(-(away**2) / 2), 1e-3).astype(np.float32)
