"""Masks as runs, and the whole pixels that they share.

`Masks` holds many masks flat: no Python object per mask or run, and no dense picture unless asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from segjudge import kernels
from segjudge.errors import MaskError
from segjudge.integers import common
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

__all__ = ["Masks", "Order", "Overlaps", "exceeding_bits", "ragged"]

Order = Literal["row", "column"]
Integers = NDArray[np.int64]


def ragged(begins: Integers, ends: Integers) -> Integers:
    """The indices of all ranges `begins[i]:ends[i]`, one behind the other.

    >>> ragged(np.array([4, 9]), np.array([6, 10])).tolist()
    [4, 5, 9]
    """
    lengths = ends - begins
    total = int(lengths.sum())
    shift = np.repeat(begins - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) if total else 0
    return np.arange(total, dtype=np.int64) + shift


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
        parts = [_turned(self[place], order) for place in range(len(self))]
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
            sides = _one_group(len(self)), _one_group(len(other))
        else:
            sides = _grouped(*groups)
        bound = (least.numerator, least.denominator) if least is not None else (0, 1)
        pairs = kernels.overlap_pairs(
            self.starts, self.stops, self.indptr, self.extents, self.areas, *sides[0],
            other.starts, other.stops, other.indptr, other.extents, other.areas, *sides[1], *bound,
        )  # fmt: skip
        return Overlaps(pairs[:, 0], pairs[:, 1], pairs[:, 2], self.areas, other.areas)


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """The pairs of a prediction and a truth that share pixels: K of N x M."""

    prediction: Integers  # (K,) place among the predictions
    truth: Integers  # (K,) place among the truths
    shared: Integers  # (K,) pixels in both
    prediction_areas: Integers  # (N,)
    truth_areas: Integers  # (M,)

    def __len__(self) -> int:
        return len(self.shared)

    def __getitem__(self, places: NDArray[np.bool_] | Integers) -> Overlaps:
        """These pairs alone."""
        return Overlaps(
            self.prediction[places],
            self.truth[places],
            self.shared[places],
            self.prediction_areas,
            self.truth_areas,
        )

    @property
    def unions(self) -> Integers:
        """(K,) pixels in one mask of the pair or in both."""
        return self.prediction_areas[self.prediction] + self.truth_areas[self.truth] - self.shared

    def exceeds(self, threshold: Fraction, *, strict: bool = True) -> NDArray[np.bool_]:
        """(K,) whether the IoU is greater than the threshold (not strict: at least it), in whole numbers.

        >>> from fractions import Fraction
        >>> masks = Masks.from_dense(np.array([[[1, 1, 1, 1]], [[1, 1, 0, 0]]], bool))
        >>> pair = masks[0].overlaps(masks[1])
        >>> pair.exceeds(Fraction(1, 2)).tolist(), pair.exceeds(Fraction(1, 2), strict=False).tolist()
        ([False], [True])
        """
        return exceeding_bits(self.shared, self.unions, (threshold,), strict=strict) > 0

    def iou(self) -> NDArray[np.float64]:
        """(N, M) shared pixels over pixels in either, for display; decisions use `exceeds`."""
        table = np.zeros((len(self.prediction_areas), len(self.truth_areas)))
        table[self.prediction, self.truth] = self.shared / self.unions
        return table


def exceeding_bits(
    part: Integers, whole: Integers, thresholds: Sequence[Fraction], *, strict: bool
) -> NDArray[np.uint64]:
    """(K,) bit t is set where part/whole is greater than threshold t (not strict: at least it).

    Decided as `denominator * part > numerator * whole` in 64 bits; the denominators of a task are at most
    10^6, and images have fewer than 2^42 pixels, so nothing overflows.

    >>> from fractions import Fraction
    >>> exceeding_bits(np.array([9]), np.array([10]), [Fraction(1, 2), Fraction(9, 10)], strict=True).tolist()
    [1]
    """
    bits = np.zeros(len(part), np.uint64)
    for place, threshold in enumerate(thresholds):
        left, right = part * threshold.denominator, whole * threshold.numerator
        passed = left > right if strict else left >= right
        bits |= passed.astype(np.uint64) << np.uint64(place)
    return bits


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


def _one_group(masks: int) -> tuple[Integers, Integers]:
    """The order and the bounds of masks that lie in one image."""
    return np.arange(masks, dtype=np.int64), np.array([0, masks], np.int64)


def _grouped(
    first: Integers, second: Integers
) -> tuple[tuple[Integers, Integers], tuple[Integers, Integers]]:
    """For both sides the order by group and the bounds of the groups that both have."""
    shared = common(first, second)
    sides = []
    for groups in (first, second):
        order = np.argsort(groups, kind="stable")
        ordered = groups[order]
        begins = np.searchsorted(ordered, shared, "left")
        ends = np.searchsorted(ordered, shared, "right")
        kept = order[ragged(begins, ends)]
        sides.append((kept, np.concatenate([[0], np.cumsum(ends - begins)]).astype(np.int64)))
    return sides[0], sides[1]


def _turned(mask: Masks, order: Order) -> Masks:
    """One mask with its pixels numbered in the other order, its box alone being drawn."""
    height, width = (int(side) for side in mask.shapes[0])
    if height < 0:
        raise MaskError("The size of this mask's image is not known.", "Give its height and width.")
    if not mask.areas[0]:
        return Masks.empty(order, [(height, width)])
    line_length = width if mask.order == "row" else height
    other_length = height if mask.order == "row" else width
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
    return _merged_touching(order, starts + base, stops + base, mask.shapes)


def _split_at_lines(starts: Integers, stops: Integers, line: int) -> tuple[Integers, Integers]:
    """The runs cut wherever a line ends."""
    first, last = starts // line, (stops - 1) // line
    pieces = last - first + 1
    owner = np.repeat(np.arange(len(starts)), pieces)
    number = ragged(first, last + 1)
    return np.maximum(starts[owner], number * line), np.minimum(stops[owner], (number + 1) * line)


def _merged_touching(order: Order, starts: Integers, stops: Integers, shapes: Integers) -> Masks:
    head = np.concatenate([[True], starts[1:] != stops[:-1]])
    tail = np.concatenate([head[1:], [True]])
    indptr = np.array([0, int(head.sum())], np.int64)
    return Masks.from_runs(order, starts[head], stops[tail], indptr, shapes)
