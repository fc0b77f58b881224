"""One mask's runs with the pixels numbered in the other order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from segjudge import kernels
from segjudge.errors import MaskError
from segjudge.integers import ragged

if TYPE_CHECKING:
    from segjudge.masks.runs import Integers, Masks

__all__ = ["turned"]


def turned(mask: Masks) -> tuple[Integers, Integers]:
    """Starts and stops of one mask in the order that it is not in, its box alone being drawn.

    Raises MaskError where the size of its image is not known.
    """
    height, width = (int(side) for side in mask.shapes[0])
    if height < 0:
        raise MaskError("The size of this mask's image is not known.", "Give its height and width.")
    if not mask.areas[0]:
        return mask.starts, mask.stops
    line_length, other_length = (width, height) if mask.order == "row" else (height, width)
    first_line, end_line, first, last = (int(side) for side in mask.extents[0])
    lines, places = end_line - first_line, last - first
    box = np.zeros(lines * places + 1, np.int8)
    starts, stops = _split_at_lines(mask.starts, mask.stops, line_length)
    line = starts // line_length
    base = (line - first_line) * places - line * line_length - first
    np.add.at(box, starts + base, 1)
    np.add.at(box, stops + base, -1)
    picture = np.cumsum(box[:-1], dtype=np.int8).reshape(lines, places)
    edges = kernels.mask_edges(np.ascontiguousarray(picture.T).view(np.uint8), False)  # noqa: FBT003 - by row
    starts, stops = _split_at_lines(edges[::2], edges[1::2], lines)
    place = starts // lines
    base = (place + first) * other_length + first_line - place * lines
    return _merged_touching(starts + base, stops + base)


def _split_at_lines(starts: Integers, stops: Integers, line: int) -> tuple[Integers, Integers]:
    """The runs cut wherever a line ends."""
    first, last = starts // line, (stops - 1) // line
    pieces = last - first + 1
    owner = np.repeat(np.arange(len(starts)), pieces)
    number = ragged(first, last + 1)
    return np.maximum(starts[owner], number * line), np.minimum(stops[owner], (number + 1) * line)


def _merged_touching(starts: Integers, stops: Integers) -> tuple[Integers, Integers]:
    """The runs with those joined that touch."""
    head = np.concatenate([[True], starts[1:] != stops[:-1]])
    tail = np.concatenate([head[1:], [True]])
    return starts[head], stops[tail]
