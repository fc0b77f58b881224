"""Chunks over threads, doubles or processes; results come in the chunks' order, whoever is ready first."""

from __future__ import annotations

import os
import pickle
from functools import partial
from typing import TYPE_CHECKING

from segjudge.crew import Crew, in_order
from segjudge.doubles import Doubles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from segjudge.chunks import Outcome, Reader
    from segjudge.doubles import Errand

    Chunk = tuple[NDArray[np.int64], bool]  # images, and whether they are scored

__all__ = ["outcomes"]

_AHEAD = 4  # chunks in flight for each worker process: what waits for its turn stays small

_reader: Reader | None = None


def outcomes(reader: Reader, chunks: Sequence[Chunk], crew: Crew, *, processes: bool) -> Iterator[Outcome]:
    """The outcome of each chunk, in order.

    Doubles serve best, where the crew may have them. Else threads do where the work is in kernels that let
    go of the interpreter's lock, and processes where it is not, as when pictures are decoded.
    """
    workers = min(crew.workers, len(chunks))

    def run(places: NDArray[np.int64], scored: bool) -> Outcome:  # noqa: FBT001 - as the chunks have it
        return reader.run(places, scored=scored)

    if workers > 1 and crew.doubles:
        crew.rest()
        apart = _Apart(reader) if processes else reader
        doubles = Doubles.made([partial(_done, apart, chunk) for chunk in chunks], workers - 1)
        if doubles is not None:
            yield from _shared(doubles, run, chunks)
            return
    if not processes or workers <= 1:
        yield from (crew if workers > 1 else Crew()).in_order(run, chunks)
        return
    import multiprocessing  # noqa: PLC0415 - threads need none of this
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415

    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start, (reader,)) as pool:
        yield from in_order(pool, _run, chunks, _AHEAD * workers)


class _Apart:
    """A reader for doubles of files that are read from where one stands: each opens them for itself.

    An open file that a double has from its process is one and the same, and stands at one place for both.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._process = os.getpid()

    def run(self, places: NDArray[np.int64], *, scored: bool) -> Outcome:
        if os.getpid() != self._process:
            self._reader, self._process = pickle.loads(pickle.dumps(self._reader)), os.getpid()  # noqa: S301 - our own
        return self._reader.run(places, scored=scored)


def _done(reader: Reader | _Apart, chunk: Chunk, _: Errand) -> Outcome:
    places, scored = chunk
    return reader.run(places, scored=scored)


def _shared(
    doubles: Doubles,
    run: Callable[[NDArray[np.int64], bool], Outcome],
    chunks: Sequence[Chunk],
) -> Iterator[Outcome]:
    """The outcomes of chunks of which doubles do some, and this process the others."""
    own: dict[int, Outcome] = {}
    given = 0

    def outcome(place: int) -> Outcome:
        # A double that went astray leaves its chunk to this process, which tells what is the matter.
        return own.pop(place) if place in own else doubles.result(place) or run(*chunks[place])

    try:
        while (number := doubles.take()) is not None:
            own[number] = run(*chunks[number])
            while given < len(chunks) and (given in own or doubles.is_ready(given)):
                yield outcome(given)
                given += 1
        for place in range(given, len(chunks)):
            yield outcome(place)
    finally:
        doubles.dismiss()


def _start(reader: Reader) -> None:
    global _reader  # noqa: PLW0603 - a worker process serves one reader for all its life
    _reader = reader


def _run(places: NDArray[np.int64], scored: bool) -> Outcome:  # noqa: FBT001 - called by position across processes
    if _reader is None:
        raise RuntimeError("a worker process was not given its reader")
    return _reader.run(places, scored=scored)
