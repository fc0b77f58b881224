"""What the kernels over COCO's JSON give, for an install without a compiler: nothing, always rightly.

The careful readers in `segjudge.formats.coco` say what a file means, one entry at a time. The compiled
kernels only spare them entries and masks that are plain; these here spare them none.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CLOSED",
    "FLOATS",
    "FULL",
    "INTEGERS",
    "MORE",
    "ODD",
    "READ",
    "UNREAD",
    "Column",
    "Field",
    "Kind",
    "read_segments",
    "scan_entries",
]

Integers = NDArray[np.int64]

#: Why `scan_entries` stopped: at the text's end, at an entry that is not plain, behind the list, for want of room.
MORE, ODD, CLOSED, FULL = 1, 2, 3, 4

#: Of each mask: whether its runs stand there, or the careful reader is asked.
READ, UNREAD = 0, 1


class Kind(IntEnum):
    """How a mask is written."""

    TEXT = 1  # counts as COCO's compressed text
    LIST = 2  # counts as a list of whole numbers
    RINGS = 3  # polygons


class Column(IntEnum):
    """Columns of the table of whole numbers; places count from the text's begin."""

    KIND = 0  # of the mask
    BEGIN = 1  # of `segmentation`
    END = 2
    COUNTS_BEGIN = 3  # of what lies between the quotes of a text; of the list, brackets and all
    COUNTS_END = 4
    HEIGHT = 5  # of `size`, or of an image
    WIDTH = 6
    NUMBER = 7  # `id`
    IMAGE = 8  # `image_id`
    CLASS = 9  # `category_id`
    FLAGS = 10  # of `Field`


INTEGERS, FLOATS = len(Column), 3  # the floats are score, area, and the product of a box's sides


class Field(IntFlag):
    """Fields that an entry has; of the last two what they say."""

    ID = 1
    IMAGE = 2
    CLASS = 4
    SCORE = 8
    AREA = 16
    BOX = 32
    MASK = 64
    CROWD = 128
    IGNORE = 256
    HEIGHT = 512
    WIDTH = 1024
    IS_CROWD = 2048
    IS_IGNORED = 4096


def scan_entries(
    text: memoryview, at: int, wanted: int, required: int, whole: Integers, real: NDArray[np.float64]
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
