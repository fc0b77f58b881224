"""The index of a table: for each row its image, class, numbers, and where its runs lie in the file.

One pass over the file; what stays in memory is some seventy bytes a row, whatever the masks' size.
"""

from __future__ import annotations

import math
import re
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjudge import kernels
from segjudge.findings import Where
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from segjudge.crew import Crew
    from segjudge.findings import Collector
    from segjudge.formats.receipts import Receipt
    from segjudge.formats.table.text import Block, TextTable

__all__ = ["NONE", "Table", "build_index"]

Integers = NDArray[np.int64]

NONE = -1  # no class, no size, no count: told by a finding or not given
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SHOWN = 60


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """R rows of a table of masks. Numbers that could not be read are NONE (NaN for confidences)."""

    text: TextTable
    image_ids: tuple[str, ...]  # in order of first appearance
    image: Integers  # (R,) place in image_ids
    rows: Integers  # (R,) line of the file
    begins: Integers  # (R,) where the runs begin in the file, bytes
    ends: Integers  # (R,)
    class_ids: Integers  # (R,) 0 where the table has no class
    confidences: NDArray[np.float64]  # (R,)
    pixel_counts: Integers  # (R,)
    heights: Integers  # (R,)
    widths: Integers  # (R,)
    last_row: int  # line of the last record, however faulty
    open_ended: bool  # the last record is not closed by a line break

    def __len__(self) -> int:
        return len(self.rows)

    def kept(self, places: NDArray[np.bool_] | Integers) -> Table:
        """The rows at these places alone."""
        columns = (
            "image", "rows", "begins", "ends", "class_ids", "confidences", "pixel_counts", "heights", "widths"
        )  # fmt: skip
        chosen = {name: getattr(self, name)[places] for name in columns}
        return Table(self.text, self.image_ids, **chosen, last_row=self.last_row, open_ended=self.open_ended)


@dataclass(slots=True, eq=False)
class _Building:
    """The columns of an index while blocks come in."""

    text: TextTable
    places: Mapping[str, int]  # role to position in the record
    findings: Collector
    ids: dict[str, int] = field(default_factory=dict)
    parts: list[dict[str, NDArray[np.int64] | NDArray[np.float64]]] = field(default_factory=list)
    last_row: int = 1
    last_short: bool = False  # the last record has fewer fields than the header

    def add(self, block: Block) -> None:
        """Index the records of the next block of the file."""
        good = self._well_formed(block)
        if not len(good):
            return
        shift = self.text.shift
        rows = block.row + good
        if shift:
            rows, _ = kernels.parse_integers(block.text, block.starts[good], block.ends[good, 0])
        begins = {role: block.begins(at + shift)[good] for role, at in self.places.items()}
        ends = {role: block.ends[good, at + shift] for role, at in self.places.items()}
        cells = _Cells(block.text, begins, ends, rows, self)
        image, class_ids = self._images(cells)
        part: dict[str, NDArray[np.int64] | NDArray[np.float64]] = {
            "image": image,
            "rows": rows,
            "begins": begins["runs"] + block.offset,
            "ends": ends["runs"] + block.offset,
            "class_ids": class_ids,
            "confidences": cells.confidences(),
            "pixel_counts": cells.counts("pixel-count"),
            "heights": cells.counts("height"),
            "widths": cells.counts("width"),
        }
        self.parts.append(part)

    def _well_formed(self, block: Block) -> Integers:
        """The records with the right number of fields; blank ones are passed over, others found fault with."""
        fields = len(self.text.header) + self.text.shift
        blank = (block.found == 1 + self.text.shift) & (
            block.ends[:, self.text.shift] <= block.begins(self.text.shift)
        )
        filled = np.flatnonzero(~blank)
        if len(filled):
            self.last_row = self._row_of(block, int(filled[-1]))
            self.last_short = bool(block.found[filled[-1]] < fields)
        for record in np.flatnonzero(~blank & (block.found != fields)).tolist():
            self._miscounted(block, record, int(block.found[record]) - self.text.shift)
        return np.flatnonzero(~blank & (block.found == fields))

    def _row_of(self, block: Block, record: int) -> int:
        return int(block.cell(record, 0)) if self.text.numbered else block.row + record

    def _miscounted(self, block: Block, record: int, count: int) -> None:
        if not self.findings.wants("bad-field-count"):
            self.findings.count("bad-field-count")
            return
        wanted = len(self.text.header)
        end = block.ends[record, -1]
        start = block.starts[record]
        line = block.text[start : min(end, start + _SHOWN)].tobytes().decode("utf-8", "replace")
        more = (
            "Were two rows glued together, their line break lost?" if count > wanted else "Was the row cut?"
        )
        self.findings.add(
            "bad-field-count",
            Where(file=self.text.label, row=self._row_of(block, record)),
            f"The row has {count} fields, the header names {wanted}: {_clean(line)!r}.",
            more,
        )

    def _images(self, cells: _Cells) -> tuple[Integers, Integers]:
        """The image of each row, and its class."""
        if "image-class" not in self.places:
            return self._numbered(cells.runs_of_equal("image")), cells.classes()
        names, places = cells.runs_of_equal("image-class")
        split = [name.rpartition("_") for name in names]
        whole = [image if mark else name for name, (image, mark, _) in zip(names, split, strict=True)]
        classes = [
            int(tail) if mark and tail.isascii() and tail.isdigit() and len(tail) < 10 else NONE
            for _, mark, tail in split
        ]
        return self._numbered((whole, places)), np.array(classes, np.int64)[places]

    def _numbered(self, runs: tuple[Sequence[str], Integers]) -> Integers:
        names, places = runs
        numbers = [self.ids.setdefault(name, len(self.ids)) for name in names]
        return np.array(numbers, np.int64)[places]

    def finished(self) -> Table:
        """The index of all blocks."""
        columns = {
            name: np.concatenate([part[name] for part in self.parts])
            if self.parts
            else np.zeros(0, np.float64 if name == "confidences" else np.int64)
            for name in (
                "image", "rows", "begins", "ends", "class_ids", "confidences", "pixel_counts", "heights", "widths"
            )
        }  # fmt: skip
        open_ended = not self.text.numbered and not self.text.ends_with_newline()
        if open_ended and self.last_short:
            self.findings.add(
                "rle-truncated",
                Where(file=self.text.label, row=self.last_row),
                "The file ends inside this row: it has no line break, and fields are missing.",
                "Was the upload or the disk full, or the file not closed? Write it again.",
            )
        return Table(
            self.text,
            tuple(self.ids),
            **columns,  # type: ignore[arg-type]
            last_row=self.last_row,
            open_ended=open_ended,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """The cells of the well-formed records of a block, by role."""

    text: NDArray[np.uint8]
    begins: Mapping[str, Integers]
    ends: Mapping[str, Integers]
    rows: Integers
    building: _Building

    def cell(self, role: str, record: int) -> str:
        return (
            self.text[self.begins[role][record] : self.ends[role][record]]
            .tobytes()
            .decode("utf-8", "replace")
        )

    def runs_of_equal(self, role: str) -> tuple[list[str], Integers]:
        """The texts of a column without repeats of the row before, and for each row the place of its text."""
        equal = kernels.equal_to_previous(self.text, *self._ranges(role))
        fresh = np.flatnonzero(equal == 0)
        names = [self.cell(role, record) for record in fresh.tolist()]
        return names, np.cumsum(equal == 0) - 1

    def _ranges(self, role: str) -> tuple[Integers, Integers]:
        return np.ascontiguousarray(self.begins[role]), np.ascontiguousarray(self.ends[role])

    def classes(self) -> Integers:
        if "class" not in self.begins:
            return np.zeros(len(self.rows), np.int64)
        values, valid = kernels.parse_integers(self.text, *self._ranges("class"))
        unread = np.flatnonzero((valid == 0) | (values > 10**9))
        values[unread] = NONE
        for record in unread.tolist():
            text = self.cell("class", record)
            if (
                text.strip() or self.cell("runs", record).strip()
            ):  # else the row names an image without instances
                self._fault(
                    "unknown-class",
                    "class",
                    record,
                    f"{_clean(text)!r} is no class id.",
                    "Ids are whole numbers.",
                )
            else:
                values[record] = NONE - 1
        return values

    def counts(self, role: str) -> Integers:
        if role not in self.begins:
            return np.full(len(self.rows), NONE, np.int64)
        values, valid = kernels.parse_integers(self.text, *self._ranges(role))
        values[valid == 0] = NONE
        code = "pixel-count-mismatch" if role == "pixel-count" else "shape-mismatch"
        for record in np.flatnonzero(valid == 0).tolist():
            text = self.cell(role, record)
            if role != "pixel-count" and not text.strip():
                continue
            advice = "Write the number of pixels of the mask in plain digits. Were two columns swapped?"
            if role != "pixel-count":
                advice = "Write the image's height and width in pixels."
            self._fault(code, role, record, f"{_clean(text)!r} is no number of pixels.", advice)
        return values

    def confidences(self) -> NDArray[np.float64]:
        if "confidence" not in self.begins:
            return np.ones(len(self.rows))
        values, valid = kernels.parse_decimals(self.text, *self._ranges("confidence"))
        for record in np.flatnonzero(valid == 0).tolist():
            text = self.cell("confidence", record).strip(" ")
            value = float(text) if _DECIMAL.fullmatch(text) else math.nan
            values[record] = value
            if not math.isfinite(value):
                values[record] = math.nan
                self._fault(
                    "bad-confidence",
                    "confidence",
                    record,
                    f"{_clean(text)!r} is no finite decimal number.",
                    "Write a number between 0 and 1, such as 0.87; remove or repair rows whose model gave NaN.",
                )
        self._outside(values)
        return values

    def _outside(self, values: NDArray[np.float64]) -> None:
        for record in np.flatnonzero((values < 0) | (values > 1)).tolist():
            self._fault(
                "confidence-range",
                "confidence",
                record,
                f"The confidence {values[record]} lies outside 0 to 1.",
                "It is ranked as it stands. Are these logits, or percentages?",
                level="warning",
            )

    def _fault(
        self, code: str, role: str, record: int, message: str, advice: str, *, level: str = "error"
    ) -> None:
        findings = self.building.findings
        header = self.building.text.header
        if not findings.wants(code):
            findings.count(code, level=level)  # type: ignore[arg-type]
            return
        image_role = "image" if "image" in self.begins else "image-class"
        row_id = self.cell(image_role, record)
        repeated = row_id.strip() == header[self.building.places[image_role]] and level == "error"
        where = Where(
            file=self.building.text.label,
            row=int(self.rows[record]),
            column=header[self.building.places[role]],
            image=row_id,
        )
        if repeated:
            message += " The header line stands here again."
            advice = "Two files were joined: write the header once, at the top."
        findings.add(code, where, message, advice, level=level)  # type: ignore[arg-type]


def build_index(
    text: TextTable,
    roles: Mapping[str, str],
    findings: Collector,
    crew: Crew | None = None,
    receipt: Receipt | None = None,
) -> Table:
    """The index of a table whose header names are all in `roles` (name to role) or without meaning.

    Raises QuotedText where the table has to be rewritten first.
    """
    places = {roles[name]: place for place, name in enumerate(text.header) if name in roles}
    building = _Building(text, places, findings)
    for block in text.blocks(findings, crew, receipt):
        building.add(block)
    return building.finished()


def _clean(text: str) -> str:
    """Foreign text as a message may show it."""
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return "".join(char if char.isprintable() else "�" for char in shown)
