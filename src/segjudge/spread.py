"""Chunks over threads or processes; the results come in the chunks' order, whoever is ready first."""

from __future__ import annotations

import multiprocessing
from collections import deque
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from segjudge.chunks import Outcome, Reader

__all__ = ["outcomes"]

_AHEAD = 4  # chunks in flight for each worker: what waits for its turn stays small

_reader: Reader | None = None


def outcomes(
    reader: Reader, chunks: Sequence[tuple[NDArray[np.int64], bool]], workers: int, *, processes: bool
) -> Iterator[Outcome]:
    """The outcome of each chunk, in order.

    Threads serve where the work is in kernels that let go of the interpreter's lock; processes where it
    is not, as when pictures are decoded.
    """
    if workers <= 1 or len(chunks) <= 1:
        for places, scored in chunks:
            yield reader.run(places, scored=scored)
        return
    workers = min(workers, len(chunks))
    if processes:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, context, _start, (reader,)) as pool:
            yield from _in_order(pool, _run, chunks, workers)
    else:
        with ThreadPoolExecutor(workers, "segjudge") as pool:
            yield from _in_order(
                pool, lambda places, scored: reader.run(places, scored=scored), chunks, workers
            )


def _in_order(
    pool: Executor, work: Callable[..., Outcome], chunks: Sequence[tuple[Any, bool]], workers: int
) -> Iterator[Outcome]:
    waiting = deque(pool.submit(work, *chunk) for chunk in chunks[: _AHEAD * workers])
    behind = iter(chunks[_AHEAD * workers :])
    try:
        while waiting:
            outcome = waiting.popleft().result()
            following = next(behind, None)
            if following is not None:
                waiting.append(pool.submit(work, *following))
            yield outcome
    finally:
        for future in waiting:
            future.cancel()


def _start(reader: Reader) -> None:
    global _reader  # noqa: PLW0603 - a worker process serves one reader for all its life
    _reader = reader


def _run(places: NDArray[np.int64], scored: bool) -> Outcome:  # noqa: FBT001 - called by position across processes
    if _reader is None:
        raise RuntimeError("a worker process was not given its reader")
    return _reader.run(places, scored=scored)
