"""The words between kernels and those who call them: states, flags and columns; no numpy is needed for them."""

from __future__ import annotations

from enum import IntEnum, IntFlag

__all__ = [
    "BAD",
    "CLOSED",
    "FARTHEST",
    "FLOATS",
    "FULL",
    "INTEGERS",
    "MORE",
    "ODD",
    "OPEN",
    "QUOTED",
    "READ",
    "UNREAD",
    "UNSORTED",
    "WIDE",
    "Column",
    "Field",
    "Kind",
]

#: Of each cell of runs, as bits: runs not in ascending order, a last mark missing, no runs at all.
UNSORTED, OPEN, BAD = 1, 2, 4

#: Of a text, as bits: it holds a quote sign, it holds a byte that is no ASCII.
QUOTED, WIDE = 1, 2

#: Why `scan_entries` stopped: at the text's end, at an entry that is not plain, behind the list, for want of room.
MORE, ODD, CLOSED, FULL = 1, 2, 3, 4

#: How many pixels from the image's corner coordinates may lie, and how long its sides may be.
FARTHEST = 1 << 20

#: Of each mask: whether its runs stand there, or the careful reader is asked.
READ, UNREAD = 0, 1


class Kind(IntEnum):
    """How a mask is written."""

    TEXT = 1  # counts as COCO's compressed text, in JSON
    LIST = 2  # counts as a list of whole numbers
    RINGS = 3  # polygons
    SIGNS = 4  # counts as COCO's compressed text, with no sign escaped


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
