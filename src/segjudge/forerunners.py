"""Work that is done ahead, by copies of this process, while this one loads its libraries.

Threads would share the interpreter's lock with the loading, and slow it by as much as they get done. A copy
shares nothing. It is made by `fork`, which is safe while a process has one thread and has loaded nothing
that keeps threads of its own; what it finds comes back through memory that both can see. Where that cannot
be, nobody is sent, and the work is done in its turn.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from array import array
from typing import TYPE_CHECKING, Any, NoReturn, Self

from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Errand", "Forerunners"]

_THREADED = "numpy"  # its linear algebra keeps threads that a copy would lack
_DONE = b"."


class Errand:
    """What a forerunner knows of who has sent it."""

    def __init__(self, sender: int) -> None:
        self._sender = sender

    @property
    def stopped(self) -> bool:
        """Whether nobody waits for the result any more."""
        return os.getppid() != self._sender


@dataclass(frozen=True, slots=True, eq=False)
class _Post:
    """Where a piece of work is left when it is done."""

    room: int  # a file in memory
    bell: int  # the end of a pipe at which the sender waits
    rope: int  # its other end, of which nothing comes any more once all forerunners have gone

    @classmethod
    def put_up(cls) -> Self:
        return cls(os.memfd_create("segjudge"), *os.pipe())


class Forerunners:
    """Copies of this process that share some pieces of work; made by `sent`."""

    def __init__(self, processes: list[int], posts: list[_Post], list_of_work: int, back_to_it: int) -> None:
        self.count = len(processes)
        self._processes = processes
        self._posts: list[_Post | None] = [*posts]
        self._found: list[Any] = [None] * len(posts)
        self._list = list_of_work
        self._back = back_to_it
        self._lock = threading.Lock()

    @classmethod
    def sent(cls, works: Sequence[Callable[[Errand], Any]], most: int) -> Self | None:
        """So many at most who do the works from now on, in their order; None where nobody can be sent.

        A work has neither input nor output, and what it gives must be picklable; what it raises is lost.
        """
        alone = threading.active_count() == 1 and _THREADED not in sys.modules
        if not (alone and works and most > 0 and hasattr(os, "fork") and hasattr(os, "memfd_create")):
            return None
        sender, processes = os.getpid(), list[int]()
        try:
            posts = [_Post.put_up() for _ in works]
            # Whoever is the first to take a number from this pipe does that work, the sender himself included.
            list_of_work, back_to_it = os.pipe()
            os.set_blocking(list_of_work, False)
            os.write(back_to_it, bytes(range(len(works))))
            for _ in range(min(most, len(works))):
                processes.append(os.fork())
                if processes[-1] == 0:
                    _run(works, posts, list_of_work, Errand(sender))
        except OSError:  # too many files or processes: those who are under way are enough, or nobody is
            if not processes:
                return None
        for post in posts:
            os.close(post.rope)
        return cls(processes, posts, list_of_work, back_to_it)

    def result(self, place: int) -> Any:  # noqa: ANN401 - whatever the work gives
        """What the work at this place of the list has given, when it is done.

        None where it came to nothing, and where nobody has begun with it: from then on nobody will.
        """
        with self._lock:
            post = self._posts[place]
            if post is not None:
                if not self._taken_back(place) and os.read(post.bell, 1) == _DONE:
                    self._found[place] = _fetched(post.room)
                self._take_down(place)
            return self._found[place]

    def dismiss(self) -> None:
        """Let go of those who may still be at work."""
        with self._lock:
            for place in range(len(self._posts)):
                self._take_down(place)
            for process in self._processes:
                _end(process)
            if self._processes:
                os.close(self._list)
                os.close(self._back)
            self._processes = []

    def _taken_back(self, place: int) -> bool:
        """Take a work off the list; False where somebody has taken it."""
        waiting = _numbers(self._list, len(self._posts))
        os.write(self._back, bytes(number for number in waiting if number != place))
        return place in waiting

    def _take_down(self, place: int) -> None:
        post = self._posts[place]
        if post is not None:
            os.close(post.room)
            os.close(post.bell)
            self._posts[place] = None


def _run(
    works: Sequence[Callable[[Errand], Any]], posts: Sequence[_Post], list_of_work: int, errand: Errand
) -> NoReturn:
    """All that a copy does."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):  # whoever reads the sender's output must not have to wait for this process
            os.dup2(nowhere, stream)
        while number := _numbers(list_of_work, 1):
            post = posts[number[0]]
            _leave_there(works[number[0]](errand), post.room)
            os.write(post.rope, _DONE)
    finally:
        os._exit(0)


def _numbers(list_of_work: int, most: int) -> bytes:
    """The next works of the list, which are off it then."""
    try:
        return os.read(list_of_work, most)
    except BlockingIOError:
        return b""


def _leave_there(found: object, room: int) -> None:
    """Write what was found, large buffers as they are."""
    import pickle  # noqa: PLC0415 - the sender loads it when it has time

    buffers: list[pickle.PickleBuffer] = []
    parts: list[bytes | memoryview] = [pickle.dumps(found, 5, buffer_callback=buffers.append)]
    parts += [buffer.raw() for buffer in buffers]
    with os.fdopen(room, "wb") as file:
        file.write(array("q", [len(parts), *map(len, parts)]).tobytes())
        for part in parts:
            file.write(part)


def _fetched(room: int) -> Any:  # noqa: ANN401 - whatever was found
    """What `_leave_there` has written; its buffers lie where they were written."""
    import mmap  # noqa: PLC0415 - few processes send somebody
    import pickle  # noqa: PLC0415

    whole = memoryview(mmap.mmap(room, 0, prot=mmap.PROT_READ))
    count = whole[:8].cast("q")[0]
    begin = 8 * (count + 1)
    parts = []
    for size in whole[8:begin].cast("q"):
        parts.append(whole[begin : begin + size])
        begin += size
    return pickle.loads(parts[0], buffers=parts[1:])  # noqa: S301 - written by a copy of this process


def _end(process: int) -> None:
    """Make sure that a process is gone."""
    try:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    except (ProcessLookupError, ChildProcessError):  # whoever started this one has children taken away unseen
        return
