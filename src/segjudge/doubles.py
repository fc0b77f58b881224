"""Doubles: copies of this process that share pieces of work with it.

Threads share the interpreter's lock: every call of a kernel gives it away and waits for it again, and what
is done beside the loading of a library slows that by as much as it gets done. A double shares nothing. It
is made by `fork`, needs no data sent, for it has what this process has, and leaves what it finds in memory
that both can see. That is safe while a process has one thread, those of its libraries counted; where it
cannot be, there are no doubles, and the work is done otherwise.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from array import array
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn, Self

from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["POSSIBLE", "Doubles", "Errand", "can_be_made"]

#: Whether processes of this system can have doubles at all.
POSSIBLE = hasattr(os, "fork") and hasattr(os, "memfd_create")

_THREADS = "/proc/self/task"  # holds a folder for each thread, whoever has started it
_LOOKS, _WHILE = 20, 0.0005  # how often to look for threads, and seconds between
_NUMBER = 2  # bytes of a number on the list of work
_MOST_WORKS = 16_000  # a pipe holds the list of so many, and of no more at once
_FILES, _SPARE = 3, 32  # open at once for each double, and left to the process for its work
_PAGE = 1 << 16  # what is left behind begins at multiples of this, the largest page of any Linux
_MAPPED = 1 << 20  # bytes of a result that is not copied: each that is mapped holds a file open
_WORD = array("q", [0, 0, 0])  # number of a work, and where its result begins and ends
_WORD_SIZE = _WORD.itemsize * len(_WORD)


class Errand:
    """What a double knows of who has sent it."""

    def __init__(self, sender: int) -> None:
        self._sender = sender

    @property
    def stopped(self) -> bool:
        """Whether nobody waits for the result any more."""
        return os.getppid() != self._sender


def can_be_made() -> bool:
    """Whether this process can have doubles now."""
    if not POSSIBLE or threading.active_count() > 1:
        return False
    for _ in range(_LOOKS):
        try:
            if len(os.listdir(_THREADS)) == 1:  # noqa: PTH208 - names alone
                return True
        except OSError:
            return False
        time.sleep(_WHILE)  # a thread that was joined is listed for a moment more
    return False


@dataclass(slots=True, eq=False)
class _Double:
    """One of them, seen by the sender."""

    process: int
    room: int  # a file in memory, to which it adds what it finds
    line: int  # a pipe by which it says so; nothing comes any more once it has gone

    def close(self) -> None:
        os.close(self.room)
        os.close(self.line)


class Doubles:
    """Copies of this process that share some pieces of work; made by `made`."""

    def __init__(self, doubles: list[_Double], works: _List) -> None:
        self.count = len(doubles)
        self._doubles = doubles  # those that have not been let go
        self._talking = list(doubles)  # those from which something may come
        self._works = works
        self._lock = threading.Lock()
        self._told: dict[int, tuple[int, int, int]] = {}  # where the results lie that nobody has fetched
        self._known: dict[int, Any] = {}  # results, None where a work came to nothing

    @classmethod
    def made(cls, works: Sequence[Callable[[Errand], Any]], most: int) -> Self | None:
        """So many at most who do the works from now on, in their order; None where there can be none.

        A work has neither input nor output, and what it gives must be picklable; what it raises is lost.
        """
        if not (can_be_made() and 0 < len(works) <= _MOST_WORKS):
            return None
        listed = _List.of(len(works))
        if listed is None:
            return None
        doubles, ends = list[_Double](), list[int]()
        # Where there are too many files or processes, those who are there are enough.
        with _uninterrupted(), suppress(OSError):
            for _ in range(min(most, len(works), listed.room_for_files() // _FILES)):
                doubles.append(_sent(works, listed, ends))
        for end in ends:
            os.close(end)
        if not doubles:
            listed.close()
        return cls(doubles, listed) if doubles else None

    def take(self) -> int | None:
        """The next work that nobody has begun with, which is the caller's from now on; None after the last."""
        number = self._works.next()
        if number is not None:
            self._known[number] = None
        return number

    def result(self, place: int) -> Any:  # noqa: ANN401 - whatever the work gives
        """What the work at this place of the list has given, when it is done.

        None where it came to nothing, and where nobody has begun with it: from then on nobody will.
        """
        with self._lock:
            self._listen(0)
            # Only what has not come is looked for on the list: who finds that empty meanwhile goes home.
            if self._doubles and not self._has_come(place) and self._works.take_back(place):
                self._known[place] = None
            while not self._has_come(place) and self._talking:
                self._listen(None)
            return self._fetched(place)

    def is_ready(self, place: int) -> bool:
        """Whether `result` need not wait."""
        with self._lock:
            self._listen(0)
            return self._has_come(place) or not self._talking

    def dismiss(self) -> None:
        """Let go of those who may still be at work."""
        with self._lock:
            for double in self._doubles:
                _end(double.process)
                double.close()
            if self._doubles:
                self._works.close()
            self._doubles, self._talking = [], []
            self._told.clear()

    def _has_come(self, place: int) -> bool:
        return place in self._told or place in self._known

    def _listen(self, wait: float | None) -> None:
        """Hear what doubles have done; wait so many milliseconds at most, None for as long as it takes."""
        import select  # noqa: PLC0415 - few processes have doubles

        if not self._talking:
            return
        asked = select.poll()
        for double in self._talking:
            asked.register(double.line, select.POLLIN)
        ready = {line for line, _ in asked.poll(wait)}
        for double in [double for double in self._talking if double.line in ready]:
            words = os.read(double.line, _WORD_SIZE)
            if len(words) < _WORD_SIZE:
                self._talking.remove(double)
                continue
            number, begin, end = memoryview(words).cast("q")
            self._told[number] = double.room, begin, end

    def _fetched(self, place: int) -> Any:  # noqa: ANN401
        if place not in self._known:
            self._known[place] = _read(*self._told.pop(place)) if place in self._told else None
        return self._known[place]


class _List:
    """The numbers of the works that nobody has begun with, in a pipe: who reads one has that work."""

    def __init__(self, out: int, back: int) -> None:
        self._out = out
        self._back = back

    @classmethod
    def of(cls, count: int) -> Self | None:
        """A list of so many; None where there is no pipe, or one too small: who has many gets small ones."""
        numbers = array("H", range(count)).tobytes()
        try:
            made = cls(*os.pipe())
        except OSError:
            return None
        with suppress(BlockingIOError):
            os.set_blocking(made._out, False)
            os.set_blocking(made._back, False)
            if os.write(made._back, numbers) == len(numbers):
                return made
        made.close()
        return None

    def room_for_files(self) -> int:
        """How many more files this process may open, less what it needs itself; pipes have the next numbers."""
        most = os.sysconf("SC_OPEN_MAX")
        return sys.maxsize if most < 0 else max(0, most - self._back - _SPARE)

    def next(self) -> int | None:
        return next(self._read(1), None)

    def take_back(self, place: int) -> bool:
        """Take a work off the list; False where somebody has it."""
        waiting = list(self._read(_MOST_WORKS))
        os.write(self._back, array("H", (number for number in waiting if number != place)).tobytes())
        return place in waiting

    def _read(self, most: int) -> Iterator[int]:
        try:
            return iter(memoryview(os.read(self._out, _NUMBER * most)).cast("H"))
        except BlockingIOError:
            return iter(())

    def close(self) -> None:
        os.close(self._out)
        os.close(self._back)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C comes later: a copy that met it would go on with all that its process does then."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _sent(works: Sequence[Callable[[Errand], Any]], listed: _List, ends: list[int]) -> _Double:
    """One more, whose own end of its line joins those of the others; raises OSError where there can be none."""
    sender = os.getpid()
    with ExitStack() as undone:
        undone.callback(os.close, room := os.memfd_create("segjudge"))
        line, end = os.pipe()
        undone.callback(os.close, line)
        undone.callback(os.close, end)
        process = os.fork()
        if process == 0:
            for other in (*ends, line):  # who could hear a line himself would never find that nobody does
                os.close(other)
            _live(works, listed, room, end, Errand(sender))
        undone.pop_all()
    ends.append(end)
    return _Double(process, room, line)


def _live(
    works: Sequence[Callable[[Errand], Any]], listed: _List, room: int, line: int, errand: Errand
) -> NoReturn:
    """All that a double does."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in 1, 2:  # whoever reads the sender's output must not have to wait for this process
            os.dup2(nowhere, stream)
        begin = 0
        while (number := listed.next()) is not None and not errand.stopped:
            end = _write(works[number](errand), room, begin)
            os.write(line, array("q", [number, begin, end]).tobytes())
            begin = -(-end // _PAGE) * _PAGE
    finally:
        os._exit(0)


def _write(found: object, room: int, begin: int) -> int:
    """Leave what was found behind, large buffers as they are; where it ends."""
    import pickle  # noqa: PLC0415 - the sender loads it when it has time

    buffers: list[pickle.PickleBuffer] = []
    parts: list[bytes | memoryview] = [pickle.dumps(found, 5, buffer_callback=buffers.append)]
    parts += [buffer.raw() for buffer in buffers]
    with open(room, "wb", closefd=False) as file:
        file.seek(begin)
        file.write(array("q", [len(parts), *map(len, parts)]).tobytes())
        file.writelines(parts)
        return file.tell()


def _read(room: int, begin: int, end: int) -> Any:  # noqa: ANN401 - whatever was found
    """What `_write` has left behind; buffers of a large result lie where they were written."""
    import mmap  # noqa: PLC0415 - few processes have doubles
    import pickle  # noqa: PLC0415

    size = end - begin
    whole = memoryview(
        os.pread(room, size, begin)
        if size < _MAPPED
        else mmap.mmap(room, size, prot=mmap.PROT_READ, offset=begin)
    )
    count = whole[:8].cast("q")[0]
    at = 8 * (count + 1)
    parts = []
    for size in whole[8:at].cast("q"):
        parts.append(whole[at : at + size])
        at += size
    return pickle.loads(parts[0], buffers=parts[1:])  # noqa: S301 - written by a copy of this process


def _end(process: int) -> None:
    """Make sure that a process is gone."""
    try:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    except (ProcessLookupError, ChildProcessError):  # whoever started this one has children taken away unseen
        return
