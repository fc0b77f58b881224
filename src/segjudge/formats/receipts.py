"""Receipts: the SHA-256 of what a score was made from, worked out beside other work or while it is read."""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

    from segjudge.crew import Crew


__all__ = ["Receipt", "Running"]

_BLOCK = 1 << 22  # large, for between two blocks other threads may hold the interpreter's lock


class Receipt:
    """The hash of a file as it was given, or of a folder's files; worked out once, by whoever comes first.

    Three ways lead to it: `begin` sends the work to a crew, `running` lets a reader of the file add each
    block that it reads anyway, and `value` does the rest when nobody has.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._value: str | None = None
        self._future: Future[str] | None = None
        self._crew: Crew | None = None
        self._lock = threading.Lock()

    def begin(self, crew: Crew) -> None:
        """Have it worked out beside other work, where more than one worker is there."""
        with self._lock:
            if crew.workers > 1 and self._value is None and self._future is None and self._crew is None:
                self._crew = crew
                self._future = crew.pool.submit(_digest, self.path, crew)

    def leave_to_reader(self, crew: Crew) -> None:
        """Leave it to who reads the file anyway, in a crew that may be stopped."""
        self._crew = crew

    def running(self, path: Path) -> Running | None:
        """A hash for who is about to read all of this file; None where that would not help."""
        with self._lock:
            wanted = self._value is None and self._future is None and path == self.path
            return Running(self, self._crew) if wanted else None

    def settle(self, value: str) -> None:
        """Take the hash that a reader has worked out."""
        with self._lock:
            self._value = value

    def value(self) -> str:
        """SHA-256 in hexadecimal; see `segjudge.formats.archive.digest` for folders."""
        with self._lock:
            if self._value is None and self._future is not None:
                self._value = _result(self._future)
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


def _digest(path: Path, crew: Crew | None = None) -> str:
    if path.is_dir():
        from segjudge.formats.archive import digest  # noqa: PLC0415 - most receipts are of single files

        return digest(path)
    total = hashlib.sha256()
    room = memoryview(bytearray(min(_BLOCK, path.stat().st_size + 1)))
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(room):
            if crew is not None and crew.stopped:
                raise _cancelled()
            total.update(room[:count])
    return total.hexdigest()


def _result(future: Future[str]) -> str | None:
    """What a crew has worked out; None where it was let go before."""
    from concurrent.futures import CancelledError  # noqa: PLC0415 - loaded where there is a crew of several

    try:
        return future.result()
    except CancelledError:
        return None


def _cancelled() -> Exception:
    from concurrent.futures import CancelledError  # noqa: PLC0415 - loaded where there is a crew of several

    return CancelledError()
