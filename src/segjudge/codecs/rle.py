"""The run-length dialects of the pages: `start length` pairs in one order, from 0 or from 1.

`Rle` says which dialect; `read` takes cells in bulk and tells which are plain, `explain` says in words
what is wrong with one that is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segjudge import kernels
from segjudge.codecs.explaining import Explainer, Problem
from segjudge.errors import MaskError
from segjudge.masks import Masks, Order, mask_edges
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Rle", "Scratch"]

Integers = NDArray[np.int64]


class Scratch:
    """Memory for decoded runs that is used again and again; a set of masks lives until the next is read."""

    __slots__ = ("starts", "stops")

    def __init__(self) -> None:
        self.starts = np.empty(0, np.int64)
        self.stops = np.empty(0, np.int64)

    def reserve(self, runs: int) -> tuple[Integers, Integers]:
        """Room for so many starts and stops."""
        if runs > len(self.starts):
            self.starts = np.empty(runs + runs // 4, np.int64)
            self.stops = np.empty_like(self.starts)
        return self.starts, self.stops


@dataclass(frozen=True, slots=True)
class Rle:
    """A run-length dialect: `start length` pairs of pixels numbered in `order` from `origin`.

    `between` parts a start from its length. `after` closes each pair; without it pairs are parted by
    `between` too. WAD 2018 is `Rle("row", 0, after="|")` ("each pair delimited by `|`", "zero-indexed and
    numbered from left to right, then top to bottom"); BaDLAD is `Rle("column", 1)`.

    >>> mask = np.array([[0, 1, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0]], bool)
    >>> Rle("column", 1).encode(mask), Rle("row", 0, after="|").encode(mask)
    ('4 3 9 1', '1 1|5 1|9 2|')
    """

    order: Order = "column"
    origin: int = 1
    between: str = " "
    after: str = ""

    def __post_init__(self) -> None:
        if self.order not in {"row", "column"}:
            raise MaskError(f"The order is 'row' or 'column', not {self.order!r}.")
        if self.origin not in {0, 1}:
            raise MaskError(f"The first pixel is number 0 or 1, not {self.origin!r}.")
        for mark in (self.between, self.after or " "):
            if len(mark) != 1 or mark.isdigit() or not mark.isascii() or mark in '-+."\n\r':
                raise MaskError(f"A mark is one ASCII character that is no part of a number, not {mark!r}.")
        if self.between == self.after:
            raise MaskError("`between` and `after` must differ, or `after` be empty.")

    @property
    def marks(self) -> tuple[int, int]:
        """The bytes of `between` and `after` (0: none), as the kernels take them."""
        return ord(self.between), ord(self.after) if self.after else 0

    def encode(self, mask: NDArray[Any]) -> str:
        """The text of one mask (height, width) of two values; raises MaskError if there are more."""
        edges = mask_edges(np.asarray(mask), self.order)
        indptr = np.array([0, len(edges) // 2], np.int64)
        text, _ = kernels.format_runs(edges[::2], edges[1::2], indptr, self.origin, *self.marks)
        return text.tobytes().decode("ascii")

    def encode_masks(self, masks: Masks) -> list[str]:
        """The texts of masks; they are renumbered if they come in the other order."""
        masks = masks.reordered(self.order)
        begin = masks.indptr[0]
        runs = slice(begin, masks.indptr[-1])
        text, ends = kernels.format_runs(
            masks.starts[runs], masks.stops[runs], masks.indptr - begin, self.origin, *self.marks
        )
        whole = text.tobytes().decode("ascii")
        return [whole[a:b] for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]

    def decode(self, texts: Sequence[str], shape: tuple[int, int] | None = None) -> Masks:
        """The masks of cells, all of one shape (height, width); raises MaskError at the first that is none.

        Runs that are not sorted are sorted; runs that share pixels are an error.

        >>> Rle("column", 1).decode(["4 3 9 1"], shape=(3, 4)).dense().astype(int)[0].tolist()
        [[0, 1, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0]]
        """
        cells = [text.encode() for text in texts]
        ends = np.cumsum([len(cell) for cell in cells], dtype=np.int64)
        begins = ends - np.array([len(cell) for cell in cells], np.int64)
        shapes = np.tile(np.array(shape or (-1, -1), np.int64), (len(cells), 1))
        masks, status = self.read(np.frombuffer(b"".join(cells), np.uint8), begins, ends, shapes, Scratch())
        for place in np.flatnonzero(status & kernels.BAD).tolist():
            problem = next(self.explain(texts[place], shape))
            raise MaskError(f"Mask {place}: {problem.message}", problem.advice)
        return masks

    def read(
        self, text: NDArray[np.uint8], begins: Integers, ends: Integers, shapes: Integers, scratch: Scratch
    ) -> tuple[Masks, NDArray[np.uint8]]:
        """The masks of cells `text[begins[i]:ends[i]]` and the kernels' status of each.

        A cell with status BAD gets no runs; one with UNSORTED has been sorted. The masks live in the
        scratch, until it is used again.
        """
        known = shapes[:, 0] >= 0
        pixels = np.where(known, shapes[:, 0] * shapes[:, 1], -1)
        line = np.where(known, shapes[:, 1] if self.order == "row" else shapes[:, 0], 0)
        starts, stops = scratch.reserve(int(((ends - begins + 1) // 4).sum()))
        indptr, areas, extents, status = kernels.parse_runs(
            text, begins, ends, pixels, line, self.origin, *self.marks, starts, stops
        )
        runs = int(indptr[-1])
        masks = Masks(self.order, starts[:runs], stops[:runs], indptr, shapes, areas, extents)
        if (status & kernels.UNSORTED).any():
            masks, status = _sorted(masks, status)
        return masks, status

    def explain(
        self, cell: str, shape: tuple[int, int] | None = None, *, empty_rows: bool = True
    ) -> Iterator[Problem]:
        """All that is wrong with a cell, one problem of each kind, in the order in which people mend them.

        Nothing is given for a cell that is right; at least one problem for each that `read` calls BAD.
        `empty_rows` says whether this task writes an empty cell for an empty mask, or no row at all.
        """
        return self._words().problems(cell, shape, empty_rows=empty_rows)

    def unsorted(self, cell: str) -> Problem:
        """The problem of a cell whose runs are not in ascending order."""
        return self._words().unsorted(cell)

    def _words(self) -> Explainer:
        return Explainer(self.origin, self.between, self.after)


def _sorted(masks: Masks, status: NDArray[np.uint8]) -> tuple[Masks, NDArray[np.uint8]]:
    """Masks with disordered runs sorted and joined; those whose runs share pixels become BAD."""
    owner = np.repeat(np.arange(len(masks)), np.diff(masks.indptr))
    order = np.lexsort((masks.starts, owner))
    starts, stops = masks.starts[order], masks.stops[order]
    same = owner[1:] == owner[:-1]
    bad = np.unique(owner[1:][same & (starts[1:] < stops[:-1])])
    status = status.copy()
    status[bad] = kernels.BAD
    head = np.concatenate([[True], ~(same & (starts[1:] == stops[:-1]))])
    tail = np.concatenate([head[1:], [True]])
    kept = ~np.isin(owner, bad)
    begin, end = head & kept, tail & kept
    counts = np.bincount(owner[begin], minlength=len(masks))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    areas, extents = masks.areas.copy(), masks.extents.copy()
    areas[bad], extents[bad] = 0, 0
    return Masks(masks.order, starts[begin], stops[end], indptr, masks.shapes, areas, extents), status
