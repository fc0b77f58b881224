"""The entries of a COCO list as columns of numbers: most from the kernel, the others written down by hand.

While entries come in, nothing here needs numpy: a pass over a file may begin before that is loaded.
"""

from __future__ import annotations

from array import array
from pickle import PickleBuffer
from typing import IO, TYPE_CHECKING, Any, Self

from segjudge import kernels
from segjudge.formats.opening import ByteFile
from segjudge.kernels import FLOATS, INTEGERS, Column, Field
from segjudge.records import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from segjudge.formats.coco.fields import Written
    from segjudge.formats.opening import Workspace

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["SPILLED", "Keys", "Row", "Rows", "Spill"]

#: Places from here on are those of the spill, less this.
SPILLED = 1 << 60

_ROOM = 1 << 13  # entries that the kernel takes in one go
_WHOLE, _REAL = 8 * INTEGERS, 8 * FLOATS  # bytes of a row in each of the two tables
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


@dataclass(frozen=True, slots=True, eq=False)
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


@dataclass(slots=True, eq=False)
class _Piece:
    """Rows of entries that follow each other, as the bytes of two tables."""

    first: int  # number of the first entry
    shift: int  # to be added to places
    whole: bytes | memoryview
    real: bytes | memoryview

    def __reduce__(self) -> tuple[Any, ...]:
        """Both tables stay where they are until somebody has taken them over."""
        return _Piece, (self.first, self.shift, PickleBuffer(self.whole), PickleBuffer(self.real))


class Rows:
    """The rows of one list while they come in."""

    def __init__(self, wanted: Field, required: Field, spill: Spill) -> None:
        self.wanted = wanted
        self.required = required
        self.spill = spill
        self._pieces: list[_Piece] = []
        self._waiting: list[tuple[int, array[int], array[float]]] = []
        self._whole = bytearray()
        self._real = bytearray()

    def scan(self, text: memoryview, at: int, gone: int, entry: int) -> tuple[int, int, int]:
        """See `stream.Scan`."""
        if not self._whole:
            self._whole, self._real = bytearray(_ROOM * _WHOLE), bytearray(_ROOM * _REAL)
        whole = memoryview(self._whole).cast("q", (_ROOM, INTEGERS))
        real = memoryview(self._real).cast("d", (_ROOM, FLOATS))
        taken, at, state = kernels.scan_entries(text, at, int(self.wanted), int(self.required), whole, real)
        if taken:
            self._settle()
            kept = bytes(memoryview(self._whole)[: taken * _WHOLE])
            self._pieces.append(_Piece(entry, gone, kept, bytes(memoryview(self._real)[: taken * _REAL])))
        return taken, at, state

    def add(self, entry: int, row: Row) -> None:
        """Keep what the careful reader found."""
        whole = array("q", [0] * INTEGERS)
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
        self._waiting.append((entry, whole, array("d", [row.score, row.area, row.box])))

    def _settle(self) -> None:
        """The rows that came one by one as pieces, before others follow."""
        for entry, whole, real in self._waiting:
            self._pieces.append(_Piece(entry, 0, whole.tobytes(), real.tobytes()))
        self._waiting.clear()

    def first_flags(self) -> Field:
        """What the first entry that was kept has; nothing if there is none."""
        self._settle()
        if not self._pieces:
            return Field(0)
        return Field(memoryview(self._pieces[0].whole).cast("q")[Column.FLAGS])

    def columns(self) -> tuple[Integers, Integers, Floats]:
        """The entries' numbers (R,), and whole numbers and floats with a row for each column of the tables."""
        import numpy as np  # noqa: PLC0415 - the pass itself does without

        self._settle()
        bounds = np.cumsum([0, *(len(piece.whole) // _WHOLE for piece in self._pieces)])
        count = int(bounds[-1])
        entries = np.empty(count, np.int64)
        whole, real = np.empty((INTEGERS, count), np.int64), np.empty((FLOATS, count), np.float64)
        for piece, begin, end in zip(self._pieces, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            entries[begin:end] = np.arange(piece.first, piece.first + end - begin)
            whole[:, begin:end] = np.frombuffer(piece.whole, np.int64).reshape(-1, INTEGERS).T
            whole[Column.BEGIN : Column.COUNTS_END + 1, begin:end] += piece.shift
            real[:, begin:end] = np.frombuffer(piece.real, np.float64).reshape(-1, FLOATS).T
        self._pieces.clear()
        return entries, whole, real
