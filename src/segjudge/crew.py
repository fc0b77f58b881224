"""The workers that share one piece of work: so many threads, or the calling thread alone.

Work that lets go of the interpreter's lock (kernels, reading, hashing) goes to a crew. One worker means
one thread: then nothing runs beside the caller, and what is handed in is done when it is asked for. A
program that is master of its process may allow doubles instead of threads where they serve better.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor
    from contextlib import AbstractContextManager

__all__ = ["Crew", "in_order"]

Given = TypeVar("Given")

_AHEAD = 3  # tasks in flight for each worker: what waits for its turn stays small


class Crew:
    """So many workers; threads are started when there is work for them.

    >>> with Crew(2) as crew:
    ...     list(crew.in_order(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """

    def __init__(self, workers: int = 1, *, doubles: bool = False) -> None:
        self.workers = workers
        self.doubles = doubles
        self._stopped = threading.Event()
        self._starting = threading.Lock()
        self._pool: Executor | None = None

    @classmethod
    def of(cls, workers: int | Crew) -> AbstractContextManager[Crew]:
        """A crew for as long as the block lasts; one that is given goes on behind it."""
        return nullcontext(workers) if isinstance(workers, Crew) else cls(workers)

    @property
    def stopped(self) -> bool:
        """Whether nobody wants the results any more."""
        return self._stopped.is_set()

    @property
    def pool(self) -> Executor:
        """The threads; tasks in them never wait for other tasks."""
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - one worker needs none

        with self._starting:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.workers, "segjudge")
            return self._pool

    def in_order(self, work: Callable[..., Given], items: Iterable[tuple[Any, ...]]) -> Iterator[Given]:
        """The results in the items' order, whoever is ready first; some tasks run ahead, never all."""
        if self.workers == 1:
            return (work(*item) for item in items)
        return in_order(self.pool, work, items, _AHEAD * self.workers)

    def rest(self) -> None:
        """Let the threads go, once they have done what was handed in, until there is work again."""
        with self._starting:
            if self._pool is not None:
                self._pool.shutdown()
                self._pool = None

    def close(self) -> None:
        """Let the workers go; what has not begun is not done any more."""
        self._stopped.set()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def in_order(
    pool: Executor, work: Callable[..., Given], items: Iterable[tuple[Any, ...]], ahead: int
) -> Iterator[Given]:
    """The results of an executor in the items' order, with so many tasks in flight."""
    behind = iter(items)
    waiting = deque(pool.submit(work, *item) for item in islice(behind, ahead))
    try:
        while waiting:
            result = waiting.popleft().result()
            waiting.extend(pool.submit(work, *item) for item in islice(behind, 1))
            yield result
    finally:
        for future in waiting:
            future.cancel()
