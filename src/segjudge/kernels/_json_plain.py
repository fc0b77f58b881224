"""What the kernels over COCO's JSON give, for an install without a compiler: nothing, always rightly.

The careful readers in `segjudge.formats.coco` say what a file means, one entry at a time. The compiled
kernels only spare them entries and masks that are plain; these here spare them none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from segjudge.kernels._words import ODD, UNREAD

__all__ = ["read_segments", "scan_entries"]

Integers = NDArray[np.int64]


def scan_entries(
    text: memoryview,
    at: int,
    wanted: int,
    required: int,
    whole: Integers | memoryview[int],
    real: NDArray[np.float64] | memoryview[float],
) -> tuple[int, int, int]:
    """How many entries of a JSON list were read from this place, the place behind them, and why no more.

    The place is that of an entry, or of white space before one. Fields outside `wanted` are passed over;
    an entry without those `required` is not plain.
    """
    del text, wanted, required, whole, real
    return 0, at, ODD


def read_segments(
    text: NDArray[np.uint8],
    begins: Integers,
    ends: Integers,
    kinds: Integers,
    shapes: Integers,
    first: int,
    starts: Integers,
    stops: Integers,
    indptr: Integers,
    areas: Integers,
    extents: Integers,
    status: NDArray[np.uint8],
) -> int:
    """The first mask whose runs found no room, or how many there are; from mask `first` on.

    The runs of each are written behind those of the mask before, with its area and extents as `Masks`
    has them, down the columns.
    """
    del text, begins, kinds, shapes, starts, stops
    indptr[first + 1 :] = indptr[first]
    areas[first:], extents[first:], status[first:] = 0, 0, UNREAD
    return len(ends)
