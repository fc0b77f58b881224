"""Chunks over threads or processes; the results come in the chunks' order, whoever is ready first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segjudge.crew import Crew, in_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from segjudge.chunks import Outcome, Reader

__all__ = ["outcomes"]

_AHEAD = 4  # chunks in flight for each worker process: what waits for its turn stays small

_reader: Reader | None = None


def outcomes(
    reader: Reader, chunks: Sequence[tuple[NDArray[np.int64], bool]], crew: Crew, *, processes: bool
) -> Iterator[Outcome]:
    """The outcome of each chunk, in order.

    Threads serve where the work is in kernels that let go of the interpreter's lock; processes where it
    is not, as when pictures are decoded.
    """
    workers = min(crew.workers, len(chunks))
    if not processes or workers <= 1:
        alone = crew if workers > 1 else Crew()
        yield from alone.in_order(lambda places, scored: reader.run(places, scored=scored), chunks)
        return
    import multiprocessing  # noqa: PLC0415 - threads need none of this
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415

    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start, (reader,)) as pool:
        yield from in_order(pool, _run, chunks, _AHEAD * workers)


def _start(reader: Reader) -> None:
    global _reader  # noqa: PLW0603 - a worker process serves one reader for all its life
    _reader = reader


def _run(places: NDArray[np.int64], scored: bool) -> Outcome:  # noqa: FBT001 - called by position across processes
    if _reader is None:
        raise RuntimeError("a worker process was not given its reader")
    return _reader.run(places, scored=scored)
