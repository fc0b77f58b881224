"""A table as text: its header, its separators, and its records in blocks of whole lines."""

from __future__ import annotations

import csv
import dataclasses
import io
import sys
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from segjudge import kernels
from segjudge.crew import Crew
from segjudge.findings import Where
from segjudge.formats.opening import ByteFile, HeldBytes
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from segjudge.findings import Collector
    from segjudge.formats.opening import Workspace
    from segjudge.formats.receipts import Receipt

__all__ = [
    "Block",
    "QuotedText",
    "TextTable",
    "not_utf8",
    "open_text",
    "read_small",
    "record_text",
    "rewritten",
    "rewritten_table",
    "write_records",
]

_BLOCK = 1 << 22
_MARGIN = 1 << 16  # read beyond a piece at once, for its last record mostly ends there
_ROOM_FOR_TAIL = 1 << 20  # bytes behind a piece into which the rest of its last record is read
_LONGEST_LINE = 1 << 28
_BOM = b"\xef\xbb\xbf"
_UNIT, _RECORD = 0x1F, 0x1E  # separators of rewritten tables: they occur in no text that people write
_WIDE = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class QuotedText(Exception):  # noqa: N818 - a signal, not a fault
    """The text holds a quote sign: it has to go the careful way."""


@dataclass(frozen=True, slots=True, eq=False)
class TextTable:
    """Where the records of a table lie, and how they are cut."""

    file: ByteFile | HeldBytes
    label: str
    header: tuple[str, ...]
    first: int  # offset of the first record behind the header
    separator: int = ord(",")
    terminator: int = ord("\n")
    numbered: bool = False  # each record starts with a field that holds its line number

    @property
    def shift(self) -> int:
        """How many fields stand in front of the table's own."""
        return int(self.numbered)

    def blocks(
        self, findings: Collector, crew: Crew | None = None, receipt: Receipt | None = None
    ) -> Iterator[Block]:
        """The records, some megabytes at a time; raises QuotedText at the first quote sign.

        Pieces of the file are cut into records by the crew, each byte read once. Who works alone adds them
        to the receipt on the way.
        """
        size, row = self.file.size, 2
        path = self.file.path if isinstance(self.file, ByteFile) else None
        running = receipt.running(path) if receipt is not None and path is not None else None
        if running is not None:
            running.add(self.file.read(self.first, 0))
        # Buffers go round: fresh memory for each piece would cost as much as cutting it into records.
        rooms: deque[bytearray] = deque()
        places = ((begin, min(begin + _BLOCK, size), rooms) for begin in range(self.first, size, _BLOCK))
        for piece in (crew or Crew()).in_order(self._piece, places):
            if running is not None:
                running.add(piece.own)
            if piece.flags & kernels.QUOTED and not self.numbered:
                raise QuotedText
            if piece.flags & kernels.WIDE:
                self._check_text(piece.block.text.tobytes(), row, findings)
            if len(piece.block.starts):
                yield dataclasses.replace(piece.block, row=row)
                row += len(piece.block.starts)
            if piece.endless:
                self._too_long(findings, row)
                return
            rooms.append(piece.room)
        if running is not None:
            running.finish(size)

    def _piece(self, begin: int, end: int, rooms: deque[bytearray]) -> _Piece:
        """The records that begin between these places of the file, the last one to its end."""
        room = rooms.popleft() if rooms else bytearray(_BLOCK + _ROOM_FOR_TAIL)
        lead = int(begin > self.first)  # the byte before says whether a record begins at once
        nominal = lead + end - begin
        size = self.file.read_into(memoryview(room)[: nominal + _MARGIN], begin - lead)
        own, mark = memoryview(room)[lead : min(nominal, size)], bytes([self.terminator])
        start = room.find(mark, 0, min(nominal - 1, size)) + 1 if lead else 0
        if (lead and not start) or start >= size:
            return _Piece(room, own, self._block(b"", 0, 0, begin)[0])
        data = room
        stop = data.find(mark, nominal - 1, size) + 1 if size > nominal else size
        step = _MARGIN
        while not stop and size - start <= _LONGEST_LINE:
            if size + step > len(data):  # a very long record: it gets a room of its own
                data = data[:size] + bytearray(2 * size + step)
            more = self.file.read_into(memoryview(data)[size : size + step], begin - lead + size)
            stop = data.find(mark, size, size + more) + 1 if more else size
            size, step = size + more, 4 * step
        endless = not stop
        if endless:  # what stands before that line is a table all the same
            stop = max(data.rfind(mark, start, nominal) + 1, start)
        return _Piece(room, own, *self._block(data, start, stop, begin - lead + start), endless=endless)

    def _block(self, data: bytes | bytearray, start: int, stop: int, offset: int) -> tuple[Block, int]:
        text = np.frombuffer(data, np.uint8)[start:stop]
        fields = len(self.header) + self.shift
        starts, ends, found, flags = kernels.index_records(text, self.separator, self.terminator, fields)
        return Block(text, offset, 0, starts, ends, found), flags

    def ends_with_newline(self) -> bool:
        """Whether the last record is closed."""
        return self.file.read(1, max(self.file.size - 1, 0)) in {b"\n", b"\r"}

    def _check_text(self, data: bytes, row: int, findings: Collector) -> None:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = row + data.count(b"\n", 0, error.start)
            not_utf8(
                findings, Where(file=self.label, row=line), f"the byte {data[error.start]:#04x} is no UTF-8"
            )

    def _too_long(self, findings: Collector, row: int) -> None:
        findings.add(
            "bad-field-count",
            Where(file=self.label, row=row),
            f"A line is longer than {_LONGEST_LINE >> 20} MiB.",
            "Rows end with a line break; is this file a table?",
        )


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some whole records: their bytes, where they lie in the file, and where their fields end.

    The bytes are there until the next block is asked for.
    """

    text: NDArray[np.uint8]
    offset: int  # of the block in the file
    row: int  # line of the first record
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    found: NDArray[np.int64]

    def cell(self, record: int, column: int) -> str:
        """The text of one field."""
        begin, end = self.begins(column)[record], self.ends[record, column]
        return self.text[begin:end].tobytes().decode("utf-8", "replace")

    def begins(self, column: int) -> NDArray[np.int64]:
        """Where this field of each record begins."""
        return self.starts if column == 0 else self.ends[:, column - 1] + 1


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """What a worker has found in a piece of the file; which line it begins at, nobody knows yet."""

    room: bytearray  # where it was read into
    own: memoryview  # the bytes of the piece itself
    block: Block
    flags: int = 0
    endless: bool = False  # a line that is no line of a table


def open_text(file: ByteFile, label: str, findings: Collector) -> TextTable | None:
    """The table in a text file; None when a finding says why there is none.

    Raises QuotedText when the header itself is quoted.
    """
    data = file.read(1 << 16, 0)
    where = Where(file=label, row=1)
    wide = _WIDE.get(data[:2]) or ("UTF-16 or binary" if b"\0" in data[:200] else None)
    if wide:
        not_utf8(findings, Where(file=label), f"it looks like {wide}")
        return None
    if not data.strip():
        findings.add("bad-header", where, "The file is empty.", "Write the header line, then the rows.")
        return None
    skip = len(_BOM) if data.startswith(_BOM) else 0
    end = data.find(b"\n", skip)
    line = data[skip : end if end >= 0 else len(data)]
    if b'"' in line:
        raise QuotedText
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        not_utf8(findings, where, "the header line is no UTF-8")
        return None
    header = tuple(name.strip() for name in text.rstrip("\r").split(","))
    first = end + 1 if end >= 0 else file.size
    return TextTable(file, label, header, first)


def rewritten(path: Path, label: str, findings: Collector, workspace: Workspace) -> TextTable | None:
    """The table of a file with quoting, cut by the csv module and written anew without it."""
    csv.field_size_limit(sys.maxsize)
    with path.open("r", encoding="utf-8-sig", newline="", errors="strict") as file:
        reader = csv.reader(file, strict=True)
        try:
            header = next(reader, [])
            return write_records(header, _numbered(reader), label, workspace)
        except UnicodeDecodeError as error:
            not_utf8(findings, Where(file=label, row=reader.line_num + 1), str(error.reason))
        except csv.Error as error:
            findings.add(
                "bad-field-count",
                Where(file=label, row=max(reader.line_num, 1)),
                f"The quoting is broken: {error}.",
                "Write the file with a CSV library, or without quotes.",
            )
    return None


def _numbered(reader: Iterable[list[str]]) -> Iterator[tuple[int, Sequence[str]]]:
    line = reader.line_num + 1  # type: ignore[attr-defined]
    for record in reader:
        yield line, record
        line = reader.line_num + 1  # type: ignore[attr-defined]


def write_records(
    header: Sequence[str], records: Iterable[tuple[int, Sequence[str]]], label: str, workspace: Workspace
) -> TextTable:
    """A table of numbered records as a temporary file that needs no quoting."""
    target = workspace.new_file()
    with target.open("wb", buffering=1 << 20) as out:
        for number, record in records:
            out.write(record_text(number, record))
    return rewritten_table(ByteFile(target), header, label)


def record_text(number: int, record: Sequence[str]) -> bytes:
    """A record of a rewritten table, with its line in front."""
    cells = [cell.translate(_TAME) for cell in record]
    return f"{number}\x1f{chr(_UNIT).join(cells)}\x1e".encode()


def rewritten_table(file: ByteFile, header: Sequence[str], label: str) -> TextTable:
    """The table in a file of such records."""
    names = tuple(name.strip() for name in header)
    return TextTable(file, label, names, 0, _UNIT, _RECORD, numbered=True)


_TAME = {_UNIT: "\ufffd", _RECORD: "\ufffd"}


def not_utf8(findings: Collector, where: Where, reason: str) -> None:
    """Add the finding of a file that is no UTF-8 text."""
    findings.add(
        "not-utf8",
        where,
        f"The file is not UTF-8 text: {reason}.",
        "Save it as CSV in UTF-8 (in Python: open(path, 'w', encoding='utf-8')).",
    )


def read_small(
    data: bytes, label: str, findings: Collector, member: str | None = None
) -> list[tuple[int, list[str]]]:
    """The rows of a small table, each with its line; a finding and an empty list where it is no text."""
    if data[:2] in _WIDE or b"\0" in data[:200]:
        not_utf8(findings, Where(file=label, member=member), "it looks like UTF-16 or binary")
        return []
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        not_utf8(
            findings, Where(file=label, member=member, row=row), f"byte {data[error.start]:#04x} is no UTF-8"
        )
        return []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        rows.extend((line, list(record)) for line, record in _numbered(reader) if any(record))
    except csv.Error as error:
        findings.add(
            "bad-field-count",
            Where(file=label, member=member, row=reader.line_num),
            f"The quoting is broken: {error}.",
        )
        return []
    return rows
