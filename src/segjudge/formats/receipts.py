"""Receipts: the SHA-256 of what a score was made from, worked out beside other work or while it is read."""

from __future__ import annotations

import hashlib
import os
import threading
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from pathlib import Path

    from segjudge.crew import Crew


__all__ = ["Receipt", "Running", "Stoppable", "sha256_of", "sha256_of_mapped"]

_BLOCK = 1 << 22  # large, for between two blocks other threads may hold the interpreter's lock


class Stoppable(Protocol):
    """Those for whom something is worked out."""

    @property
    def stopped(self) -> bool:
        """Whether nobody wants it any more."""


class Receipt:
    """The hash of a file as it was given, or of a folder's files; worked out once, by whoever comes first.

    Four ways lead to it: `begin` sends the work to a crew, `expect` waits for what someone else works out,
    `running` lets a reader of the file add each block that it reads anyway, and `value` does the rest when
    nobody has.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp = _stamp(path)
        self._value: str | None = None
        self._later: Callable[[], str | None] | None = None
        self._readers: Stoppable | None = None
        self._lock = threading.Lock()

    def begin(self, crew: Crew) -> None:
        """Have it worked out beside other work, where more than one worker is there."""
        with self._lock:
            if crew.workers > 1 and self._value is None and self._later is None and self._readers is None:
                future = crew.pool.submit(sha256_of, self.path, crew)
                self._later = lambda: _result(future)

    def expect(self, later: Callable[[], str | None]) -> None:
        """Have it from someone who is at work; None then says that it came to nothing."""
        with self._lock:
            self._later = later

    def leave_to_reader(self, readers: Stoppable | None = None) -> None:
        """Leave it to who reads the file anyway, among some that may be stopped."""
        with self._lock:
            self._readers = readers
            self._later = None

    @property
    def outdated(self) -> bool:
        """Whether the file is another one, or was written to, since this receipt was made out."""
        now = _stamp(self.path)
        return now is not None and now != self._stamp

    def running(self, path: Path) -> Running | None:
        """A hash for who is about to read all of this file; None where that would not help."""
        with self._lock:
            wanted = self._value is None and self._later is None and path == self.path
            return Running(self, self._readers) if wanted else None

    def settle(self, value: str) -> None:
        """Take the hash that a reader has worked out."""
        with self._lock:
            self._value = value

    def value(self) -> str:
        """SHA-256 in hexadecimal; see `segjudge.formats.archive.digest` for folders."""
        with self._lock:
            if self._value is None and self._later is not None:
                self._value = self._later()
            if self._value is None:
                self._value = sha256_of(self.path)
            return self._value


class Running:
    """The hash of a file whose blocks come in order."""

    def __init__(self, receipt: Receipt, readers: Stoppable | None) -> None:
        self._receipt = receipt
        self._readers = readers
        self._hash = hashlib.sha256()
        self._size = 0

    def add(self, block: bytes | memoryview) -> None:
        """The bytes that follow those before."""
        if self._readers is not None and self._readers.stopped:
            raise _cancelled()
        self._hash.update(block)
        self._size += len(block)

    def finish(self, size: int) -> None:
        """Settle the receipt, if so many bytes have come: all of the file."""
        if self._size == size:
            self._receipt.settle(self._hash.hexdigest())


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """By what a file is known again; None for a folder, and where there is nothing any more."""
    try:
        found = path.stat()
    except OSError:
        return None
    return None if path.is_dir() else (found.st_ino, found.st_size, found.st_mtime_ns)


def sha256_of(path: Path, waiting: Stoppable | None = None) -> str:
    """SHA-256 of a file, or of a folder's files, in hexadecimal; for some who may be stopped meanwhile."""
    if path.is_dir():
        from segjudge.formats.archive import digest  # noqa: PLC0415 - most receipts are of single files

        return digest(path)
    total = hashlib.sha256()
    room = memoryview(bytearray(min(_BLOCK, path.stat().st_size + 1)))
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(room):
            if waiting is not None and waiting.stopped:
                raise _cancelled()
            total.update(room[:count])
    return total.hexdigest()


def sha256_of_mapped(path: Path, waiting: Stoppable) -> str:
    """SHA-256 of a plain file in hexadecimal, its bytes seen where the system keeps them.

    That spares a copy. But a file that somebody cuts meanwhile ends the process: this is for one that can
    be missed.
    """
    import mmap  # noqa: PLC0415 - few processes hash in this way

    total = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        for begin in range(0, size, _BLOCK):
            if waiting.stopped:
                raise _cancelled()
            count = min(_BLOCK, size - begin)
            with mmap.mmap(file.fileno(), count, access=mmap.ACCESS_READ, offset=begin) as window:
                total.update(window)
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
