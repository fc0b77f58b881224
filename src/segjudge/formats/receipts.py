"""Receipts: the SHA-256 of what a score was made from, worked out beside other work or while it is read."""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

    from segjudge.crew import Crew

    _Hash = hashlib._Hash  # noqa: SLF001 - its name where types are told, and nowhere else

__all__ = ["Receipt", "Running"]

_BLOCK = 1 << 22  # large, for between two blocks other threads may hold the interpreter's lock
_STRETCH = 4 * _BLOCK


class Receipt:
    """The hash of a file as it was given, or of a folder's files; worked out once, by whoever comes first.

    Three ways lead to it: `begin` sends the work to a crew, `running` lets a reader of the file add each
    block that it reads anyway, and `value` does the rest when nobody has.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._value: str | None = None
        self._ahead: _Ahead | None = None
        self._crew: Crew | None = None
        self._lock = threading.Lock()

    def begin(self, crew: Crew) -> None:
        """Have it worked out beside other work, where more than one worker is there."""
        with self._lock:
            if crew.workers > 1 and self._value is None and self._ahead is None and self._crew is None:
                self._crew = crew
                self._ahead = _Ahead(self.path, crew)

    def leave_to_reader(self, crew: Crew) -> None:
        """Leave it to who reads the file anyway, in a crew that may be stopped."""
        self._crew = crew

    def running(self, path: Path) -> Running | None:
        """A hash for who is about to read all of this file; None where that would not help."""
        with self._lock:
            wanted = self._value is None and self._ahead is None and path == self.path
            return Running(self, self._crew) if wanted else None

    def settle(self, value: str) -> None:
        """Take the hash that a reader has worked out."""
        with self._lock:
            self._value = value

    def value(self) -> str:
        """SHA-256 in hexadecimal; see `segjudge.formats.archive.digest` for folders."""
        with self._lock:
            if self._value is None and self._ahead is not None:
                self._value = self._ahead.value()
            if self._value is None:
                self._value = _digest(self.path)
            return self._value


class Running:
    """The hash of a file whose blocks come in order."""

    def __init__(self, receipt: Receipt, crew: Crew | None) -> None:
        self._receipt = receipt
        self._crew = crew
        self._hash = hashlib.sha256()
        self._size = 0

    def add(self, block: bytes | memoryview) -> None:
        """The bytes that follow those before."""
        if self._crew is not None and self._crew.stopped:
            raise _cancelled()
        self._hash.update(block)
        self._size += len(block)

    def finish(self, size: int) -> None:
        """Settle the receipt, if so many bytes have come: all of the file."""
        if self._size == size:
            self._receipt.settle(self._hash.hexdigest())


class _Ahead:
    """A crew's work on a receipt: a turn for each stretch of the file, behind whatever else is waiting.

    So a long file keeps no worker from work that others wait for.
    """

    def __init__(self, path: Path, crew: Crew) -> None:
        from concurrent.futures import Future  # noqa: PLC0415 - loaded where there is a crew of several

        self._path = path
        self._crew = crew
        self._hash = hashlib.sha256()
        self._done = 0
        self._future: Future[str] = Future()
        crew.pool.submit(self._turn)

    def _turn(self) -> None:
        try:
            if self._path.is_dir():
                self._future.set_result(_digest(self._path))
                return
            size = _add(self._hash, self._path, self._done, _STRETCH)
            self._done += size
            if size < _STRETCH:
                self._future.set_result(self._hash.hexdigest())
            else:
                self._crew.pool.submit(self._turn)
        except Exception as error:  # noqa: BLE001 - whoever asks for the value is told
            self._future.set_exception(error)

    def value(self) -> str | None:
        """The hash of it all; None where the crew was let go before."""
        return None if self._crew.stopped else self._future.result()


def _add(total: _Hash, path: Path, begin: int, most: int) -> int:
    """Add so many bytes of a file to a hash, from this place on; how many there were."""
    size = 0
    room = memoryview(bytearray(min(_BLOCK, most)))
    with path.open("rb", buffering=0) as file:
        file.seek(begin)
        while size < most and (count := file.readinto(room[: most - size])):
            total.update(room[:count])
            size += count
    return size


def _digest(path: Path) -> str:
    if path.is_dir():
        from segjudge.formats.archive import digest  # noqa: PLC0415 - most receipts are of single files

        return digest(path)
    total = hashlib.sha256()
    _add(total, path, 0, path.stat().st_size)
    return total.hexdigest()


def _cancelled() -> Exception:
    from concurrent.futures import CancelledError  # noqa: PLC0415 - loaded where there is a crew of several

    return CancelledError()
