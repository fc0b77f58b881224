"""Polygons to masks, pixel for pixel as pycocotools draws them.

The rule is pycocotools' `rleFrPoly`: "upsample and get discrete points densely along entire boundary",
then "get points along y-boundary and downsample". Coordinates become whole fifths of a pixel, each edge a
chain of points one fifth apart; wherever the chain steps across the middle of a pixel column, the column's
mask flips. Only those crossings are computed here, for all edges at once, so that an edge outside the image
costs nothing, however long.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjudge.errors import MaskError
from segjudge.kernels import FARTHEST
from segjudge.masks import Masks, ragged
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Rings", "Runs", "polygon_masks", "rasterise", "united"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_SCALE = 5  # points to a pixel
_MIDDLE = 2  # the point of a pixel's five behind which its middle lies
_BLOCK = 1 << 16  # crossings at a time: what the processor's cache holds


@dataclass(frozen=True, slots=True, eq=False)
class Rings:
    """R closed polygons, flat: the corners of ring r are `indptr[r]:indptr[r + 1]`, the last joins the first."""

    x: NDArray[np.int32]  # (P,) in fifths of a pixel, as `upsampled` gives them
    y: NDArray[np.int32]  # (P,)
    indptr: Integers  # (R + 1,)

    @classmethod
    def of(cls, rings: Sequence[Sequence[float]]) -> Rings:
        """Rings of the form x, y, x, y …; raises MaskError for one that is none."""
        for ring in rings:
            if len(ring) < 4 or len(ring) % 2:
                raise MaskError(f"A ring is x, y, x, y, …; this one holds {len(ring)} numbers.")
        flat = np.array(list(itertools.chain.from_iterable(rings)), np.float64)
        if not within_reach(flat).all():
            raise MaskError(f"A coordinate is no number, or farther than {FARTHEST} pixels from the image.")
        points = upsampled(flat)
        ends = np.cumsum([0, *(len(ring) // 2 for ring in rings)], dtype=np.int64)
        return cls(points[::2].copy(), points[1::2].copy(), ends)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, places: Integers) -> Rings:
        """The rings at these places."""
        begins, ends = self.indptr[places], self.indptr[places + 1]
        corners = ragged(begins, ends)
        indptr = np.concatenate([[0], np.cumsum(ends - begins)]).astype(np.int64)
        return Rings(self.x[corners], self.y[corners], indptr)

    def spans(self) -> Integers:
        """(R,) columns that the edges of each ring pass through, the image's border aside: what it costs."""
        if not len(self):
            return np.zeros(0, np.int64)
        passed = np.abs(self.x[_following(self.indptr)].astype(np.int64) - self.x)
        sums = np.concatenate([[0], np.cumsum(passed)])
        spans: Integers = (sums[self.indptr[1:]] - sums[self.indptr[:-1]]) // _SCALE
        return spans

    def runs(self, shapes: Integers) -> Runs:
        """The runs inside each ring, in images of the shapes (R, 2); no ring is joined with another."""
        parts = []
        for begin, end in self._blocks():
            corners = slice(int(self.indptr[begin]), int(self.indptr[end]))
            x, y = self.x[corners].astype(np.int64), self.y[corners].astype(np.int64)
            indptr = self.indptr[begin : end + 1] - self.indptr[begin]
            runs = _inside(x, y, indptr, shapes[begin:end])
            parts.append(Runs(runs.owner + begin, runs.starts, runs.stops))
        return Runs.joined(parts)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        number = np.cumsum(self.spans()) // _BLOCK
        bounds = np.concatenate([[0], np.flatnonzero(np.diff(number)) + 1, [len(self)]])
        return itertools.pairwise(bounds.tolist())


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Runs of pixels in column order, in no order among themselves, each with what it belongs to."""

    owner: Integers  # (K,)
    starts: Integers  # (K,) first pixel, from 0
    stops: Integers  # (K,) pixel behind the last

    @classmethod
    def joined(cls, parts: Sequence[Runs]) -> Runs:
        """The runs of all parts."""
        if not parts:
            none = np.zeros(0, np.int64)
            return cls(none, none, none)
        return cls(
            np.concatenate([part.owner for part in parts]),
            np.concatenate([part.starts for part in parts]),
            np.concatenate([part.stops for part in parts]),
        )


def rasterise(ring: Sequence[float], height: int, width: int) -> tuple[Integers, Integers]:
    """Starts and stops of the runs of a polygon x, y, x, y … in an image, the pixels numbered by columns.

    What lies outside the image is cut off as pycocotools does it. Raises MaskError where the numbers are
    no polygon, or farther than FARTHEST from the image.

    >>> starts, stops = rasterise([1, 1, 3, 1, 3, 3, 1, 3], height=4, width=5)
    >>> starts.tolist(), stops.tolist()
    ([5, 9], [7, 11])
    """
    masks = polygon_masks([[ring]], [(height, width)])
    return masks.starts, masks.stops


def polygon_masks(
    segmentations: Sequence[Sequence[Sequence[float]]], shapes: Sequence[tuple[int, int]]
) -> Masks:
    """The masks of segmentations, each a list of rings x, y, x, y … whose insides are joined; column order.

    `shapes` are the (height, width) of the image of each. Raises MaskError as `rasterise` does.

    >>> polygon_masks([[[0, 0, 2, 0, 2, 2, 0, 2], [1, 1, 3, 1, 3, 3, 1, 3]]], [(4, 4)]).areas.tolist()
    [7]
    """
    sizes = np.array(shapes, np.int64).reshape(-1, 2)
    if len(sizes) != len(segmentations) or (sizes < 0).any() or (sizes > FARTHEST).any():
        raise MaskError(f"Every segmentation has the size of its image, sides of 0 to {FARTHEST} pixels.")
    rings = Rings.of([ring for segmentation in segmentations for ring in segmentation])
    counts = np.array([len(segmentation) for segmentation in segmentations], np.int64)
    owner = np.repeat(np.arange(len(sizes)), counts)
    runs = rings.runs(sizes[owner])
    return united(Runs(owner[runs.owner], runs.starts, runs.stops), sizes)


def united(runs: Runs, shapes: Integers) -> Masks:
    """One mask for each shape: all pixels in any run that belongs to it, in column order."""
    filled = runs.stops > runs.starts
    if not filled.any():
        return Masks.empty("column", shapes.tolist())
    owner = runs.owner[filled]
    offset = _offsets(shapes)[owner]
    first = runs.starts[filled] + offset
    last = runs.stops[filled] + offset
    if (first[1:] < first[:-1]).any():
        order = np.argsort(first)
        first, last, owner, offset = first[order], last[order], owner[order], offset[order]
    reach = np.maximum.accumulate(last)
    head = np.concatenate([[True], first[1:] > reach[:-1]])
    tail = np.concatenate([head[1:], [True]])
    owner, offset = owner[head], offset[head]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(shapes)))]).astype(np.int64)
    return Masks.from_runs("column", first[head] - offset, reach[tail] - offset, indptr, shapes)


def within_reach(coordinates: Floats) -> NDArray[np.bool_]:
    """Which coordinates are numbers, and at most FARTHEST pixels from the image's corner."""
    return np.abs(coordinates) <= FARTHEST


def upsampled(coordinates: Floats) -> NDArray[np.int32]:
    """Coordinates in whole fifths of a pixel: `(int)(5 * xy + .5)` in C, cut towards zero.

    >>> upsampled(np.array([0.1, 0.09, -0.3, 2.0])).tolist()
    [1, 0, -1, 10]
    """
    return (_SCALE * coordinates + 0.5).astype(np.int32)


def _offsets(shapes: Integers) -> Integers:
    """Numbers that set the pixels of each mask apart from those of the next by at least one."""
    ends = np.cumsum(shapes[:, 0] * shapes[:, 1] + 1)
    return np.concatenate([[0], ends[:-1]]).astype(np.int64)


def _following(indptr: Integers) -> Integers:
    """The corner behind each corner of its ring."""
    following = np.arange(1, indptr[-1] + 1)
    filled = indptr[1:] > indptr[:-1]
    following[indptr[1:][filled] - 1] = indptr[:-1][filled]
    return following


@dataclass(frozen=True, slots=True, eq=False)
class _Edges:
    """E edges that cross the middle of a pixel column of their image; from (x, y) to (to_x, to_y)."""

    x: Integers
    y: Integers
    to_x: Integers
    to_y: Integers
    first: Integers  # first column crossed
    counts: Integers  # columns crossed
    heights: Integers  # of the image
    offsets: Integers  # number of the image's first pixel

    def chosen(self, places: NDArray[np.bool_], turned: NDArray[np.bool_]) -> _Edges:
        """The edges at these places, some of them with their ends exchanged."""
        turn = turned[places]
        x, y, to_x, to_y = self.x[places], self.y[places], self.to_x[places], self.to_y[places]
        return _Edges(
            np.where(turn, to_x, x),
            np.where(turn, to_y, y),
            np.where(turn, x, to_x),
            np.where(turn, y, to_y),
            self.first[places],
            self.counts[places],
            self.heights[places],
            self.offsets[places],
        )

    def steps(self) -> Integers:
        """0, 1, 2 … for the crossings of each edge."""
        return ragged(np.zeros(len(self.counts), np.int64), self.counts)

    def pixels(self, steps: Integers, points: Integers) -> Integers:
        """The pixel at which each crossing flips its column: the first whose middle is not above the point."""
        heights = np.repeat(self.heights, self.counts)
        line = np.clip((points + _MIDDLE) // _SCALE, 0, heights)
        top = np.repeat(self.offsets + self.first * self.heights, self.counts)
        pixels: Integers = top + steps * heights + line
        return pixels


def _inside(x: Integers, y: Integers, indptr: Integers, shapes: Integers) -> Runs:
    """The runs inside rings: between the first and second, third and fourth … crossing of each.

    A closed ring crosses every line an even number of times, so that crossings pair up.
    """
    ring = np.repeat(np.arange(len(shapes)), np.diff(indptr))
    following = _following(indptr)
    to_x, to_y = x[following], y[following]
    # The chain steps over the middle of column c between its points 5c + 2 and 5c + 3.
    first = np.maximum((np.minimum(x, to_x) + (_SCALE - 1 - _MIDDLE)) // _SCALE, 0)
    last = np.minimum((np.maximum(x, to_x) - (_MIDDLE + 1)) // _SCALE, shapes[ring, 1] - 1)
    offsets = _offsets(shapes)
    kept = last >= first
    edges = _Edges(
        x[kept], y[kept], to_x[kept], to_y[kept], first[kept], (last - first + 1)[kept],
        shapes[ring[kept], 0], offsets[ring[kept]],
    )  # fmt: skip
    level = np.abs(edges.x - edges.to_x) >= np.abs(edges.y - edges.to_y)
    pixels = np.concatenate(
        [
            _level(edges.chosen(level, edges.x > edges.to_x)),
            _steep(edges.chosen(~level, edges.y > edges.to_y)),
        ]
    )
    pixels.sort()
    crossings = np.bincount(ring[kept], weights=edges.counts, minlength=len(shapes)).astype(np.int64)
    owner = np.repeat(np.arange(len(shapes)), crossings // 2)
    return Runs(owner, pixels[::2] - offsets[owner], pixels[1::2] - offsets[owner])


def _level(edges: _Edges) -> Integers:
    """Crossings of edges with a point in every fifth of a column: `v = (int)(ys + s * t + .5)`.

    Of the two points at a crossing the upper one counts.
    """
    slope = (edges.to_y - edges.y) / (edges.to_x - edges.x)
    begin = edges.first * _SCALE + _MIDDLE - edges.x + (slope < 0)
    steps = edges.steps()
    t = np.repeat(begin, edges.counts) + steps * _SCALE
    points = np.repeat(edges.y, edges.counts) + np.repeat(slope, edges.counts) * t + 0.5
    return edges.pixels(steps, points.astype(np.int64))


def _steep(edges: _Edges) -> Integers:
    """Crossings of edges with a point in every fifth of a line: `u = (int)(xs + s * t + .5)`.

    The upper point at a crossing is the last one on the near side; dividing finds it up to one point,
    and the points themselves decide.
    """
    slope = np.repeat((edges.to_x - edges.x) / (edges.to_y - edges.y), edges.counts)
    steps = edges.steps()
    begin = np.repeat(edges.x, edges.counts).astype(np.float64)
    beyond = (np.repeat(edges.first, edges.counts) + steps) * _SCALE + (_MIDDLE + 1)
    falling = slope < 0
    guess = np.floor((beyond - 0.5 - begin) / slope)
    near = (begin + slope * guess + 0.5 >= beyond) == falling
    next_near = (begin + slope * (guess + 1) + 0.5 >= beyond) == falling
    points = np.repeat(edges.y, edges.counts) + guess.astype(np.int64) - 1 + near + next_near
    return edges.pixels(steps, points)
