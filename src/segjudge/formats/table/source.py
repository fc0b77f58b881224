"""The instances of a table: cells of some images read from the file, decoded, and judged one by one."""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from segjudge import kernels
from segjudge.codecs import Rle, Scratch
from segjudge.findings import Collector, Where
from segjudge.formats.gathering import gathered
from segjudge.formats.opening import ByteFile, HeldBytes
from segjudge.formats.source import ByImage, Chunk
from segjudge.images import Images
from segjudge.instances import Instances
from segjudge.integers import among
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from segjudge.formats.table.index import Table
    from segjudge.masks import Masks

__all__ = ["TableSource", "sizes_of_rows"]

Integers = NDArray[np.int64]

_SPREADSHEET_LIMIT = 32_767  # characters that a spreadsheet's cell can hold
_ROW_COST = 64  # bytes of text that cost as much as what a row costs beside its runs


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """The cells of a chunk in memory."""

    text: NDArray[np.uint8]
    begins: Integers
    ends: Integers

    def cell(self, place: int) -> str:
        return self.text[self.begins[place] : self.ends[place]].tobytes().decode("utf-8", "replace")


class TableSource:
    """The masks of a table's rows. `empty` says whether a row without a pixel is an error."""

    holds_gil = False

    def __init__(
        self,
        table: Table,
        rle: Rle,
        *,
        runs_column: str,
        unsorted: Literal["error", "warn"],
        empty: Literal["error", "allow"],
        classed: bool = False,
        semantic: bool = False,
        ignored: Mapping[int, int] | None = None,
        shapes: Integers | None = None,
    ) -> None:
        self.table = table
        self.rle = rle
        self.runs_column = runs_column
        self.unsorted = unsorted
        self.empty = empty
        self.classed = classed
        self.semantic = semantic
        self.image_ids = table.image_ids
        self.shapes = sizes_of_rows(table)[0] if shapes is None else shapes
        # A value of the truth that is not evaluated, and the class whose group it is.
        self.ignored = dict(ignored or {})
        self._shapes = self.shapes
        self._by_image = ByImage(np.zeros(0, np.int64), np.zeros(1, np.int64))
        self._ids: tuple[str, ...] = ()
        self._local = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_local"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._local = threading.local()

    @property
    def files(self) -> tuple[ByteFile, ...]:
        """See `Divisible`."""
        file = self.table.text.file
        return (file,) if isinstance(file, ByteFile) else ()

    def weights(self) -> Integers:
        """Bytes of text of each image's masks."""
        sizes = self.table.ends - self.table.begins + _ROW_COST
        return np.bincount(self.table.image, weights=sizes, minlength=len(self.image_ids)).astype(np.int64)

    def bind(self, images: Images) -> None:
        """See `Source`."""
        self._by_image = ByImage.of(images.find(self.image_ids)[self.table.image], len(images))
        self._shapes = images.shapes
        self._ids = images.ids

    def read(self, places: Integers, cap: int | None) -> Chunk:
        """See `Source`. The masks live until this thread reads the next chunk."""
        chosen, image = self._by_image.of_images(places)
        cells = self._cells(chosen)
        scratch = self._scratch()
        masks, status = self.rle.read(
            cells.text, cells.begins, cells.ends, self._shapes[places[image]], scratch
        )
        findings = Collector(cap)
        judge = _Judge(self, cells, chosen, masks, status, findings)
        judge.all()
        class_ids = self.table.class_ids[chosen]
        ignored = among(class_ids, self.ignored)
        if ignored.any():
            class_ids = class_ids.copy()
            class_ids[ignored] = [self.ignored[value] for value in class_ids[ignored].tolist()]
        ids = tuple(self._ids[place] for place in places.tolist())
        return Chunk(
            Instances(
                ids, image, class_ids, self.table.confidences[chosen], ignored, self.table.rows[chosen], masks
            ),
            findings,
        )

    def part(self, places: Integers, *, carried: bool) -> TableSource:
        """See `Divisible`: the rows of these images, and the text of their cells if it is to be carried."""
        chosen, image = self._by_image.of_images(places)
        ids = tuple(self._ids[place] for place in places.tolist())
        table = dataclasses.replace(self.table.kept(chosen), image=image, image_ids=ids)
        if not carried:
            file = self.table.text.file
            if isinstance(file, ByteFile):
                text = dataclasses.replace(self.table.text, file=file.absolute())
                table = dataclasses.replace(table, text=text)
        else:
            cells = self._cells(chosen)
            text = dataclasses.replace(self.table.text, file=HeldBytes(cells.text.tobytes()))
            table = dataclasses.replace(table, text=text, begins=cells.begins, ends=cells.ends)
        part = TableSource(
            table,
            self.rle,
            runs_column=self.runs_column,
            unsorted=self.unsorted,
            empty=self.empty,
            classed=self.classed,
            semantic=self.semantic,
            ignored=self.ignored,
            shapes=self._shapes[places],
        )
        part.bind(Images.of(ids, part.shapes))
        return part

    def _scratch(self) -> Scratch:
        if not hasattr(self._local, "scratch"):
            self._local.scratch = Scratch()
            self._local.text = np.empty(0, np.uint8)
        scratch: Scratch = self._local.scratch
        return scratch

    def _cells(self, chosen: Integers) -> _Cells:
        """The cells of these rows, neighbours read together."""
        self._scratch()
        begins, ends = self.table.begins[chosen], self.table.ends[chosen]
        room, shift = gathered(self.table.text.file.read_into, begins, ends, self._local.text)
        self._local.text = room
        begins, ends = begins + shift, ends + shift
        return _Cells(room[: ends.max(initial=0)], begins, ends)


@dataclass(frozen=True, slots=True, eq=False)
class _Judge:
    """Everything that can be wrong with the masks of a chunk's rows."""

    source: TableSource
    cells: _Cells
    chosen: Integers
    masks: Masks
    status: NDArray[np.uint8]
    findings: Collector

    def all(self) -> None:
        lengths = self.cells.ends - self.cells.begins
        faulty = np.flatnonzero(self.status)
        for place in faulty.tolist():
            self._cell(place, int(self.status[place]))
        for place in np.flatnonzero(lengths == _SPREADSHEET_LIMIT).tolist():
            self._add(
                "rle-truncated",
                place,
                "The cell holds exactly 32,767 characters, all that a spreadsheet's cell can.",
                "A spreadsheet has cut the mask: write the file from Python, and don't open and save it elsewhere.",
            )
        good = (self.status & kernels.BAD) == 0
        counts = self.source.table.pixel_counts[self.chosen]
        self._areas(good, counts)
        self._last_row(good, counts)

    def _areas(self, good: NDArray[np.bool_], counts: Integers) -> None:
        areas = self.masks.areas
        empty = good & (areas == 0)
        if self.source.empty == "error":
            for place in np.flatnonzero(empty | (counts == 0)).tolist():
                self._add(
                    "empty-mask",
                    place,
                    "The row has no runs." if empty[place] else "PixelCount is 0.",
                    "Leave out instances without a pixel; an image without any needs no row.",
                )
        wrong = good & (counts > 0) & (counts != areas) & ~(empty & (self.source.empty == "error"))
        for place in np.flatnonzero(wrong).tolist():
            self._add(
                "pixel-count-mismatch",
                place,
                f"PixelCount is {counts[place]}, the runs cover {areas[place]} pixels.",
                "Count after the last change to the mask (resizing, removing overlaps): int(mask.sum()).",
            )

    def _cell(self, place: int, status: int) -> None:
        if status & kernels.BAD:
            height, width = self.masks.shapes[place].tolist()
            for problem in self.source.rle.explain(
                self.cells.cell(place), (height, width), empty_rows=self.source.empty == "allow"
            ):
                self._add(*_with_place(problem, place))
            return
        if status & kernels.UNSORTED:
            problem = self.source.rle.unsorted(self.cells.cell(place))
            level: Literal["error", "warning"] = "error" if self.source.unsorted == "error" else "warning"
            self._add(problem.code, place, problem.message, problem.advice, level=level)
        if status & kernels.OPEN:
            after = self.source.rle.after
            self._add(
                "rle-bad-delimiter",
                place,
                f"The last run is not closed by `{after}`; it was read all the same.",
                f"Write `{after}` behind every run, the last one too.",
                level="warning",
            )

    def _last_row(self, good: NDArray[np.bool_], counts: Integers) -> None:
        """A last row without a line break that does not add up was cut."""
        table = self.source.table
        if not table.open_ended:
            return
        for place in np.flatnonzero(table.rows[self.chosen] == table.last_row).tolist():
            cut = not good[place] or (counts[place] > 0 and counts[place] != self.masks.areas[place])
            if cut:
                self._add(
                    "rle-truncated",
                    place,
                    "The file ends inside this row: it has no line break, and its runs are not whole.",
                    "Was the upload or the disk full, or the file not closed? Write it again.",
                )

    def _add(
        self,
        code: str,
        place: int,
        message: str,
        advice: str,
        *,
        level: Literal["error", "warning"] = "error",
    ) -> None:
        if not self.findings.wants(code):
            self.findings.count(code, level=level)
            return
        table = self.source.table
        row = self.chosen[place]
        class_id = int(table.class_ids[row])
        image = table.image_ids[table.image[row]]
        where = Where(
            file=table.text.label,
            row=int(table.rows[row]),
            column=self.source.runs_column,
            image=f"{image}_{class_id}" if self.source.semantic and class_id >= 0 else image,
            class_=str(class_id) if self.source.classed and class_id >= 0 else None,
        )
        self.findings.add(code, where, message, advice, level=level)


def _with_place(problem: tuple[str, str, str], place: int) -> tuple[str, int, str, str]:
    code, message, advice = problem
    return code, place, message, advice


def sizes_of_rows(table: Table) -> tuple[Integers, Integers]:
    """Each image's size as the rows give it, and the rows that give another one than the first did."""
    shapes = np.full((len(table.image_ids), 2), -1, np.int64)
    given = np.flatnonzero((table.heights >= 0) & (table.widths >= 0))
    sizes = np.stack([table.heights[given], table.widths[given]], axis=1)
    shapes[table.image[given[::-1]]] = sizes[::-1]  # the first row of an image is written last
    unequal = given[(sizes != shapes[table.image[given]]).any(axis=1)]
    return shapes, unequal
