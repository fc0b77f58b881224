"""Masks as runs, and the whole pixels that they share.

`Masks` holds many masks flat: no Python object per mask or run, and no dense picture unless asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from segjudge import kernels
from segjudge.errors import MaskError
from segjudge.integers import ragged
from segjudge.masks.overlaps import Overlaps, grouped, one_group
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

__all__ = ["Masks", "Order", "mask_edges"]

Order = Literal["row", "column"]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Masks:
    """N masks as sorted, disjoint, not touching runs of the pixels numbered in one order.

    Equal masks are equal arrays. The order is a property of the data: two sets of masks must agree in it
    before they can be overlapped.

    >>> masks = Masks.from_dense(np.array([[[0, 1], [1, 1]]], bool), order="row")
    >>> masks.starts.tolist(), masks.stops.tolist(), masks.areas.tolist(), masks.boxes.tolist()
    ([1], [4], [3], [[0, 0, 2, 2]])
    """

    order: Order
    starts: Integers  # (R,) first pixel of each run, counted from 0
    stops: Integers  # (R,) pixel behind each run
    indptr: Integers  # (N + 1,) the runs of mask i are indptr[i]:indptr[i + 1]
    shapes: Integers  # (N, 2) height and width in pixels; -1 where unknown
    areas: Integers  # (N,) pixels
    extents: Integers  # (N, 4) first line, line behind the last, first place in a line, place behind the last

    @classmethod
    def from_runs(
        cls, order: Order, starts: Integers, stops: Integers, indptr: Integers, shapes: Integers
    ) -> Masks:
        """Masks of runs that are sorted and disjoint already; areas and extents are derived."""
        lengths = stops - starts
        sums = np.concatenate([[0], np.cumsum(lengths)])
        areas = sums[indptr[1:]] - sums[indptr[:-1]]
        width = shapes[:, 1] if order == "row" else shapes[:, 0]
        return cls(order, starts, stops, indptr, shapes, areas, _extents(starts, stops, indptr, width))

    @classmethod
    def from_dense(cls, masks: NDArray[Any] | Sequence[NDArray[Any]], order: Order = "row") -> Masks:
        """Masks of boolean pictures (N, H, W), or of a list of (H, W) pictures of several sizes."""
        starts, stops, counts, shapes = [], [], [0], []
        for mask in masks:
            edges = mask_edges(np.asarray(mask), order)
            starts.append(edges[::2])
            stops.append(edges[1::2])
            counts.append(len(edges) // 2)
            shapes.append(np.shape(mask))
        return cls.from_runs(
            order,
            _joined(starts),
            _joined(stops),
            np.cumsum(counts, dtype=np.int64),
            np.array(shapes, np.int64).reshape(-1, 2),
        )

    @classmethod
    def empty(cls, order: Order = "row", shapes: Sequence[tuple[int, int]] = ()) -> Masks:
        """Masks without a pixel, one for each shape."""
        none = np.zeros(0, np.int64)
        sizes = np.array(shapes, np.int64).reshape(-1, 2)
        return cls.from_runs(order, none, none, np.zeros(len(sizes) + 1, np.int64), sizes)

    @classmethod
    def concatenate(cls, parts: Iterable[Masks], order: Order = "row") -> Masks:
        """All masks of all parts, which must agree in their order."""
        parts = [part for part in parts if len(part)]
        if not parts:
            return cls.empty(order)
        if {part.order for part in parts} != {parts[0].order}:
            raise MaskError("Masks of different orders cannot stand in one set.", "Decode them in one order.")
        offsets = np.cumsum([0, *(len(part.starts) for part in parts)])
        indptr = [part.indptr[:-1] - part.indptr[0] + at for part, at in zip(parts, offsets, strict=False)]
        return cls(
            parts[0].order,
            _joined([part.starts for part in parts]),
            _joined([part.stops for part in parts]),
            np.concatenate([*indptr, offsets[-1:]]).astype(np.int64),
            np.concatenate([part.shapes for part in parts]),
            _joined([part.areas for part in parts]),
            np.concatenate([part.extents for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __repr__(self) -> str:
        runs = int(self.indptr[-1] - self.indptr[0]) if len(self) else 0
        return f"Masks({len(self)} masks in {self.order} order, {runs} runs, {int(self.areas.sum())} pixels)"

    def _repr_html_(self) -> str:
        from segjudge.display import MOST_PIXELS, masks_html  # noqa: PLC0415 - needed in notebooks alone

        first = []
        for place in range(min(len(self), 4)):
            height, width = map(int, self.shapes[place])
            drawn = min(height, width) > 0 and height * width <= MOST_PIXELS
            picture = self.picture(place) if drawn else None
            box = self[place].boxes[0].tolist()
            first.append((place, (height, width), int(self.areas[place]), box, picture))
        return masks_html(repr(self)[len("Masks(") : -1], first, len(self) - len(first))

    def __getitem__(self, places: int | slice | Integers | NDArray[np.bool_]) -> Masks:
        """The masks at these places, as a set of its own."""
        chosen = np.atleast_1d(np.arange(len(self))[places])
        begins, ends = self.indptr[chosen], self.indptr[chosen + 1]
        runs = ragged(begins, ends)
        return Masks(
            self.order,
            self.starts[runs],
            self.stops[runs],
            np.concatenate([[0], np.cumsum(ends - begins)]).astype(np.int64),
            self.shapes[chosen],
            self.areas[chosen],
            self.extents[chosen],
        )

    @property
    def boxes(self) -> Integers:
        """(N, 4) x, y, width and height of each mask in pixels; zeros for an empty mask."""
        line, line_end, place, place_end = self.extents.T
        if self.order == "row":
            return np.stack([place, line, place_end - place, line_end - line], axis=1)
        return np.stack([line, place, line_end - line, place_end - place], axis=1)

    def dense(self) -> NDArray[np.bool_]:
        """(N, H, W) pictures; all masks must have one known shape."""
        if not len(self):
            return np.zeros((0, 0, 0), np.bool_)
        if self.shapes[0, 0] < 0 or (self.shapes != self.shapes[0]).any():
            raise MaskError(
                "Masks of several or unknown sizes do not fit one array.", "Ask for `picture(i)` one by one."
            )
        return np.stack([self.picture(place) for place in range(len(self))])

    def picture(self, place: int) -> NDArray[np.bool_]:
        """(H, W) picture of one mask."""
        height, width = (int(side) for side in self.shapes[place])
        if height < 0:
            raise MaskError("The size of this mask's image is not known.", "Give its height and width.")
        begin, end = self.indptr[place], self.indptr[place + 1]
        flips = np.zeros(height * width + 1, np.int8)
        flips[self.starts[begin:end]] = 1
        flips[self.stops[begin:end]] -= 1
        flat = np.cumsum(flips[:-1], dtype=np.int8).astype(np.bool_)
        return flat.reshape(height, width) if self.order == "row" else flat.reshape(width, height).T

    def reordered(self, order: Order) -> Masks:
        """The same masks with the pixels numbered in the other order."""
        if order == self.order or not len(self):
            return self if order == self.order else Masks.empty(order)
        from segjudge.masks.turning import turned  # noqa: PLC0415 - few scores turn a mask

        parts = []
        for place in range(len(self)):
            mask = self[place]
            starts, stops = turned(mask)
            indptr = np.array([0, len(starts)], np.int64)
            parts.append(Masks.from_runs(order, starts, stops, indptr, mask.shapes))
        return Masks.concatenate(parts, order)

    def overlaps(
        self,
        other: Masks,
        groups: tuple[Integers, Integers] | None = None,
        *,
        least: Fraction | None = None,
    ) -> Overlaps:
        """The pairs of masks that share pixels, and how many.

        `self` are the predictions, `other` the truths. Without groups all masks lie in one image; with
        them, `groups[0][i]` and `groups[1][j]` must be equal for masks i and j to meet at all. Who looks
        only at pairs with an IoU of at least `least` says so: then others may be left out, which saves time.
        """
        if len(self) and len(other) and self.order != other.order:
            raise MaskError(
                f"Masks in {self.order} order cannot meet masks in {other.order} order.",
                "Decode both in one order.",
            )
        if groups is None:
            if _differ(np.concatenate([self.shapes, other.shapes])):
                raise MaskError(
                    "Masks of images of different sizes do not overlap.", "Compare one image at a time."
                )
            sides = one_group(len(self)), one_group(len(other))
        else:
            sides = grouped(*groups)
        bound = (least.numerator, least.denominator) if least is not None else (0, 1)
        pairs = kernels.overlap_pairs(
            self.starts, self.stops, self.indptr, self.extents, self.areas, *sides[0],
            other.starts, other.stops, other.indptr, other.extents, other.areas, *sides[1], *bound,
        )  # fmt: skip
        return Overlaps(pairs[:, 0], pairs[:, 1], pairs[:, 2], self.areas, other.areas)


def mask_edges(mask: NDArray[Any], order: Order) -> Integers:
    """Start, stop, start, stop … of the runs of a mask of two values, 0 or False being the background.

    Raises MaskError if the mask is not (height, width) or holds more than 0 and 1 (or 0 and 255).
    """
    if mask.ndim != 2:
        raise MaskError(
            f"A mask has two axes, this one has {mask.ndim}.", "Give an array of (height, width)."
        )
    if mask.dtype != np.bool_:
        mask = _two_valued(mask)
    by_column = order == "column"
    if mask.flags.f_contiguous:  # its columns lie in memory as rows do elsewhere
        mask, by_column = mask.T, not by_column
    return kernels.mask_edges(np.ascontiguousarray(mask).view(np.uint8), by_column)


def _two_valued(mask: NDArray[Any]) -> NDArray[Any]:
    """The mask as booleans, or as it is where it holds bytes of 0 and 1."""
    if mask.dtype == np.uint8 and mask.max(initial=0) <= 1:
        return mask
    foreground: NDArray[np.bool_] = mask != 0
    if mask.dtype.kind in "iuf":
        top = mask.max(initial=1)
        if top in (1, 255) and np.array_equal(mask == top, foreground):
            return foreground
    values = np.unique(mask[foreground])
    if len(values) > 1 or (len(values) == 1 and values[0] not in (1, 255)):
        found = ", ".join(str(value) for value in values[:5])
        raise MaskError(
            f"A mask holds 0 and 1, or 0 and 255; this one also holds {found}.",
            "Make it binary first, such as with `probabilities > 0.5`.",
        )
    return foreground


def _joined(parts: Sequence[Integers]) -> Integers:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _extents(starts: Integers, stops: Integers, indptr: Integers, line: Integers) -> Integers:
    """First line, line behind the last, first place in a line and place behind the last, of each mask."""
    extents = np.zeros((len(indptr) - 1, 4), np.int64)
    counts = np.diff(indptr)
    filled = np.flatnonzero(counts)
    if not len(filled):
        return extents
    # Without a size, all pixels lie on one line of no known end.
    width = np.repeat(np.where(line > 0, line, 1 << 62), counts)
    first_line, last_line = starts // width, (stops - 1) // width
    crosses = first_line != last_line
    first = np.where(crosses, 0, starts - first_line * width)
    last = np.where(crosses, width, stops - first_line * width)
    heads = indptr[:-1][filled]
    extents[filled] = np.stack(
        [
            np.minimum.reduceat(first_line, heads),
            np.maximum.reduceat(last_line, heads) + 1,
            np.minimum.reduceat(first, heads),
            np.maximum.reduceat(last, heads),
        ],
        axis=1,
    )
    return extents


def _differ(shapes: Integers) -> bool:
    """Whether two of the shapes that are known differ."""
    known = shapes[shapes[:, 0] >= 0]
    return bool((known != known[:1]).any())
