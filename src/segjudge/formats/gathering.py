"""Many short stretches of a file brought into memory, those that lie close together by one read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["gathered"]

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]

_GAP = 4096  # stretches closer than this are read in one go


def gathered(
    read_into: Callable[[memoryview, int], object], begins: Integers, ends: Integers, room: Bytes
) -> tuple[Bytes, Integers]:
    """The bytes of these stretches, and how far from its place each now lies.

    They are in the room if it is large enough, else in a larger one. `read_into` fills a view from a place.

    >>> text = b"0123456789"
    >>> def read_into(view, begin):
    ...     view[:] = text[begin : begin + len(view)]
    >>> room, shift = gathered(read_into, np.array([7, 2]), np.array([9, 4]), np.empty(0, np.uint8))
    >>> room[7 + shift[0] : 9 + shift[0]].tobytes()
    b'78'
    """
    shift = np.zeros(len(begins), np.int64)
    if not len(begins):
        return room, shift
    order = np.argsort(begins, kind="stable")
    first, last = begins[order], ends[order]
    head = np.concatenate([[True], first[1:] - last[:-1] > _GAP])
    span_begins, span_ends = first[head], last[np.concatenate([head[1:], [True]])]
    at = np.concatenate([[0], np.cumsum(span_ends - span_begins)])
    if len(room) < at[-1]:
        room = np.empty(int(at[-1]) * 5 // 4, np.uint8)
    view = memoryview(room)  # type: ignore[arg-type]
    for begin, start, stop in zip(span_begins.tolist(), at[:-1].tolist(), at[1:].tolist(), strict=True):
        read_into(view[start:stop], begin)
    shift[order] = (at[:-1] - span_begins)[np.cumsum(head) - 1]
    return room, shift
