"""A picture as a net looks at it, and the size at which it looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

if TYPE_CHECKING:
    from segjudge.models.recipes import Recipe

__all__ = ["looked_at", "nearest", "working_shape"]

Bytes = NDArray[np.uint8]

_SAMPLE = 1 << 18  # values that percentiles are taken from


def working_shape(shape: tuple[int, int], side: int) -> tuple[int, int]:
    """The height and width at which a picture of this shape is looked at.

    >>> working_shape((2710, 3384), 846), working_shape((100, 80), 846)
    ((678, 846), (100, 80))
    """
    longer = max(shape)
    if not side or longer <= side:
        return shape
    return max(1, round(shape[0] * side / longer)), max(1, round(shape[1] * side / longer))


def looked_at(picture: Bytes, recipe: Recipe) -> Bytes:
    """The picture (h, w, 3) at its working size, its values stretched where the recipe says so."""
    shape = working_shape(picture.shape[:2], recipe.side)
    if shape != picture.shape[:2]:
        reduced = Image.fromarray(picture).resize(
            (shape[1], shape[0]), Image.Resampling.BILINEAR, reducing_gap=3
        )
        picture = np.asarray(reduced)
    return _stretched(picture) if recipe.reading == "percentiles" else picture


def _stretched(picture: Bytes) -> Bytes:
    """The picture with its darkest hundredth at 0 and all but its brightest five-hundredth below 255."""
    values = picture.ravel()
    low, high = np.percentile(values[:: max(1, len(values) // _SAMPLE)], [1, 99.8])
    table = (np.arange(256) - low) * (255 / max(high - low, 8))
    stretched: Bytes = np.clip(np.rint(table), 0, 255).astype(np.uint8)[picture]
    return stretched


def nearest(count: int, whole: int) -> NDArray[np.int64]:
    """(count,) the place, of `whole`, that lies under the middle of each of `count` equal parts.

    >>> nearest(2, 4).tolist(), nearest(4, 2).tolist()
    ([1, 3], [0, 0, 1, 1])
    """
    places: NDArray[np.int64] = ((2 * np.arange(count) + 1) * whole) // (2 * count)
    return places
