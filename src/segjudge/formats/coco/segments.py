"""Masks of COCO entries, decoded when their images are asked for: plain ones by the kernel, the others with care."""

from __future__ import annotations

import json
import threading
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segjudge import kernels
from segjudge.formats.coco import fields
from segjudge.formats.coco.fields import Fault
from segjudge.formats.coco.rows import SPILLED
from segjudge.formats.gathering import gathered
from segjudge.formats.opening import ByteFile, HeldBytes
from segjudge.kernels import UNREAD, Column, Kind
from segjudge.masks import Masks, ragged
from segjudge.records import dataclass

if TYPE_CHECKING:
    from array import array

__all__ = ["Segments"]

Integers = NDArray[np.int64]


@dataclass(slots=True, eq=False)
class _Scratch:
    """Memory that a thread uses again and again; masks live until its next are read."""

    text: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    starts: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    stops: Integers = field(default_factory=lambda: np.empty(0, np.int64))

    def reserve(self, runs: int) -> None:
        """Room for so many runs; those that are there stay."""
        if runs > len(self.starts):
            starts, stops = np.empty(runs + runs // 4, np.int64), np.empty(runs + runs // 4, np.int64)
            starts[: len(self.starts)], stops[: len(self.stops)] = self.starts, self.stops
            self.starts, self.stops = starts, stops


class Segments:
    """The masks of R entries, still in their files."""

    def __init__(self, file: ByteFile, spill: ByteFile | HeldBytes | None, whole: Integers) -> None:
        self.file = file
        self.spill = spill
        self.whole = whole
        self._local = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_local"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._local = threading.local()

    @property
    def files(self) -> tuple[ByteFile, ...]:
        """What the masks are read from; nothing where all their text is held."""
        inside = (self.whole[Column.COUNTS_BEGIN] < SPILLED).any()
        spilled = (self.spill,) if isinstance(self.spill, ByteFile) else ()
        return (self.file, *spilled) if inside else spilled

    def part(self, rows: Integers, *, carried: bool) -> Segments:
        """The masks of these rows; rewritten ones, or all if they are to be carried, with their text."""
        whole = self.whole[:, rows]
        held = np.flatnonzero((whole[Column.BEGIN] >= SPILLED) | carried)
        begins, ends = whole[Column.BEGIN, held], whole[Column.END, held]
        text, shift = gathered(self._read_into, begins, ends, np.empty(0, np.uint8))
        alone = HeldBytes(text[ragged(begins + shift, ends + shift)].tobytes())
        lengths = ends - begins
        whole[Column.BEGIN : Column.COUNTS_END + 1, held] += SPILLED + np.cumsum(lengths) - ends
        return Segments(self.file.absolute(), alone, whole)

    def costs(self) -> Integers:
        """(R,) bytes of text of each mask."""
        costs: Integers = self.whole[Column.COUNTS_END] - self.whole[Column.COUNTS_BEGIN]
        return costs

    def sizes(self, rows: Integers, shapes: Integers) -> Integers:
        """(N, 2) the size that each mask of these rows gives itself; of polygons that of the image."""
        own = np.stack([self.whole[Column.HEIGHT, rows], self.whole[Column.WIDTH, rows]], axis=1)
        drawn = self.whole[Column.KIND, rows] == Kind.RINGS
        sizes: Integers = np.where(drawn[:, None], shapes, own)
        return sizes

    def read(self, rows: Integers, sizes: Integers) -> tuple[Masks, list[tuple[int, Fault]]]:
        """The masks of these rows in column order, and what is wrong with which of them.

        A mask at fault is empty. The masks live until this thread reads the next ones.
        """
        scratch = self._scratch()
        text, begins, ends = self._texts(rows, scratch)
        kinds = self.whole[Column.KIND, rows]
        count = len(rows)
        lengths = ends - begins
        scratch.reserve(int((lengths // np.where(kinds == Kind.LIST, 4, 2) + 1).sum()))
        indptr, areas = np.zeros(count + 1, np.int64), np.empty(count, np.int64)
        extents, status = np.empty((count, 4), np.int64), np.empty(count, np.uint8)
        done = 0
        while done < count:
            done = kernels.read_segments(
                text, begins, ends, kinds, sizes, done, scratch.starts, scratch.stops, indptr, areas, extents,
                status,
            )  # fmt: skip
            if done < count:
                scratch.reserve(2 * len(scratch.starts) + 64)
        runs = int(indptr[-1])
        masks = Masks("column", scratch.starts[:runs], scratch.stops[:runs], indptr, sizes, areas, extents)
        unread = np.flatnonzero(status == UNREAD)
        return self._completed(masks, rows, unread) if len(unread) else (masks, [])

    def _scratch(self) -> _Scratch:
        if not hasattr(self._local, "scratch"):
            self._local.scratch = _Scratch()
        scratch: _Scratch = self._local.scratch
        return scratch

    def _texts(self, rows: Integers, scratch: _Scratch) -> tuple[NDArray[np.uint8], Integers, Integers]:
        """The counts of these rows in memory: bytes, begins and ends."""
        begins, ends = self.whole[Column.COUNTS_BEGIN, rows], self.whole[Column.COUNTS_END, rows]
        scratch.text, shift = gathered(self._read_into, begins, ends, scratch.text)
        return scratch.text, begins + shift, ends + shift

    def _read_into(self, view: memoryview, begin: int) -> None:
        if begin >= SPILLED and self.spill is not None:
            self.spill.read_into(view, begin - SPILLED)
        else:
            self.file.read_into(view, begin)

    def _text(self, row: int) -> bytes:
        """A mask as it stands in its file."""
        begin, end = int(self.whole[Column.BEGIN, row]), int(self.whole[Column.END, row])
        text = bytearray(end - begin)
        self._read_into(memoryview(text), begin)
        return bytes(text)

    def _completed(
        self, masks: Masks, rows: Integers, unread: Integers
    ) -> tuple[Masks, list[tuple[int, Fault]]]:
        """The masks with those that the kernel left out, as the careful reader has them."""
        faults: list[tuple[int, Fault]] = []
        parts, places = [masks], np.arange(len(masks))
        added = len(masks)
        for place in unread.tolist():
            try:
                mask = self._careful(int(rows[place]), masks.shapes[place])
            except Fault as fault:
                faults.append((place, fault.plain()))
                continue
            parts.append(mask)
            places[place] = added
            added += 1
        return (Masks.concatenate(parts, "column")[places] if added > len(masks) else masks), faults

    def _careful(self, row: int, size: Integers) -> Masks:
        drawn = fields.drawing({"segmentation": json.loads(self._text(row))}, "segmentation")
        if isinstance(drawn, Masks):
            return drawn
        for ring in drawn:
            _check_reach(ring)
        from segjudge.polygons import polygon_masks  # noqa: PLC0415 - the kernel draws most of them

        height, width = size.tolist()
        return polygon_masks([drawn], [(height, width)])


def _check_reach(ring: array[float]) -> None:
    from segjudge.polygons import within_reach  # noqa: PLC0415 - as above

    coordinates = np.array(ring, np.float64)
    strange = coordinates[~within_reach(coordinates)]
    if len(strange):
        raise fields.far_fault(float(strange[0]))
