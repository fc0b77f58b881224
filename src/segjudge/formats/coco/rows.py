"""The entries of a COCO list as columns of numbers: most from the kernel, the others written down by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from segjudge import kernels
from segjudge.formats.opening import ByteFile
from segjudge.kernels import Column, Field

if TYPE_CHECKING:
    from pathlib import Path

    from segjudge.formats.coco.fields import Written
    from segjudge.formats.opening import Workspace

__all__ = ["SPILLED", "Keys", "Row", "Rows", "Spill", "places_of"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Places from here on are those of the spill, less this.
SPILLED = 1 << 60

_ROOM = 1 << 13  # entries that the kernel takes in one go
_MOST_DIGITS = 18  # of an id that the kernel reads
_TEXTS = 1 << 61  # codes from here on are those of ids that are no plain numbers


class Keys:
    """A number for every id: its own where it is one, as most are, and another where it is a text."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._texts: list[str] = []

    def code(self, key: str) -> int:
        """The number of an id."""
        digits = key.removeprefix("-")
        if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS and str(int(key)) == key:
            return int(key)
        code = self._codes.setdefault(key, _TEXTS + len(self._texts))
        if code == _TEXTS + len(self._texts):
            self._texts.append(key)
        return code

    def text(self, code: int) -> str:
        """The id of a number."""
        return self._texts[code - _TEXTS] if code >= _TEXTS else str(code)


def places_of(codes: Integers) -> tuple[Integers, Integers]:
    """The codes that occur, ascending, and of each code given its place among them."""
    if not len(codes):
        return codes, codes
    head = np.concatenate([[True], codes[1:] != codes[:-1]])  # files go image by image, as a rule
    known, place = np.unique(codes[head], return_inverse=True)
    return known, place[np.cumsum(head) - 1]


@dataclass(frozen=True, slots=True)
class Row:
    """What one entry says, as its list needs it."""

    number: int = 0  # code of its own id
    image: int = 0  # code of its image's id
    class_id: int = 0
    score: float = 0.0
    area: float = 0.0
    box: float = 0.0  # area of its box
    flags: int = 0
    height: int = 0
    width: int = 0
    mask: Written | None = None


class Spill:
    """A temporary file of masks that were rewritten plainly; to be used in a `with` statement."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._file: IO[bytes] | None = None
        self._size = 0
        self._path: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def keep(self, text: bytes) -> int:
        """Write a mask down; where it begins."""
        if self._file is None:
            self._path = self._workspace.new_file()
            self._file = self._path.open("wb")
        self._file.write(text)
        begin = self._size
        self._size += len(text)
        return begin

    def read_back(self) -> ByteFile | None:
        """The file to read, once all has been written; None where nothing was."""
        if self._file is None or self._path is None:
            return None
        self._file.flush()
        return ByteFile(self._path)


@dataclass(slots=True)
class Rows:
    """The rows of one list while they come in."""

    wanted: Field
    required: Field
    spill: Spill
    entries: list[Integers] = field(default_factory=list)
    whole: list[Integers] = field(default_factory=list)
    real: list[Floats] = field(default_factory=list)
    _room: tuple[Integers, Floats] | None = None
    _waiting: list[tuple[int, list[int], list[float]]] = field(default_factory=list)

    def scan(self, text: memoryview, at: int, gone: int, entry: int) -> tuple[int, int, int]:
        """See `stream.Scan`."""
        if self._room is None:
            self._room = (
                np.empty((_ROOM, kernels.INTEGERS), np.int64),
                np.empty((_ROOM, kernels.FLOATS), np.float64),
            )
        whole, real = self._room
        taken, at, state = kernels.scan_entries(text, at, int(self.wanted), int(self.required), whole, real)
        if taken:
            self._settle()
            rows = whole[:taken].copy()
            rows[:, Column.BEGIN : Column.COUNTS_END + 1] += gone
            self.entries.append(np.arange(entry, entry + taken))
            self.whole.append(rows)
            self.real.append(real[:taken].copy())
        return taken, at, state

    def add(self, entry: int, row: Row) -> None:
        """Keep what the careful reader found."""
        whole = [0] * kernels.INTEGERS
        mask, size = row.mask, (row.height, row.width)
        if mask is not None:
            begin = SPILLED + self.spill.keep(mask.text)
            whole[Column.KIND], whole[Column.BEGIN], whole[Column.END] = (
                mask.kind,
                begin,
                begin + len(mask.text),
            )
            whole[Column.COUNTS_BEGIN] = begin + mask.counts_begin
            whole[Column.COUNTS_END] = begin + mask.counts_end
            size = mask.size
        whole[Column.HEIGHT], whole[Column.WIDTH] = size
        whole[Column.NUMBER], whole[Column.IMAGE], whole[Column.CLASS] = row.number, row.image, row.class_id
        whole[Column.FLAGS] = row.flags
        self._waiting.append((entry, whole, [row.score, row.area, row.box]))

    def _settle(self) -> None:
        """The rows that came one by one as arrays, before others follow."""
        if self._waiting:
            entries, whole, real = zip(*self._waiting, strict=True)
            self.entries.append(np.array(entries, np.int64))
            self.whole.append(np.array(whole, np.int64))
            self.real.append(np.array(real, np.float64))
            self._waiting.clear()

    def columns(self) -> tuple[Integers, Integers, Floats]:
        """The entries' numbers (R,), and whole numbers and floats with a row for each column of the tables."""
        self._settle()
        whole = np.concatenate([np.empty((0, kernels.INTEGERS), np.int64), *self.whole])
        real = np.concatenate([np.empty((0, kernels.FLOATS)), *self.real])
        entries = np.concatenate([np.empty(0, np.int64), *self.entries])
        self.entries.clear()
        self.whole.clear()
        self.real.clear()
        return entries, np.ascontiguousarray(whole.T), np.ascontiguousarray(real.T)
