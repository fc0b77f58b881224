"""Chunks over a cluster: a Dask scheduler, or any executor of `concurrent.futures`.

Each task carries all that it needs, so whichever worker takes it up, or takes it up again because another
one died, gives the same outcome. Outcomes are added up here in the chunks' order, as in a single process.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from segjudge import __version__
from segjudge.errors import ClusterError, MissingExtra, SegjudgeError
from segjudge.formats.copies import is_seen
from segjudge.formats.source import Divisible
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from segjudge.chunks import Outcome, Reader
    from segjudge.formats.opening import ByteFile

__all__ = ["Cluster", "connected", "outcomes"]

_AHEAD = 3  # tasks in flight for each worker thread
_UNKNOWN = 32  # tasks in flight where nobody says how many workers there are
_TIMEOUT = 20  # seconds to reach the scheduler
_RETRIES = 3  # of a task that failed, as when a file system stumbled

#: An address or a scheduler file, a `distributed.Client`, or any executor.
Cluster = Any


class _Pool(Protocol):
    def submit(self, work: Callable[..., Any], /, *arguments: Any) -> Any: ...  # noqa: ANN401


@dataclass(frozen=True, slots=True)
class Task:
    """One chunk of images, with all that it takes to score it somewhere else."""

    version: str
    reader: Reader
    numbers: NDArray[np.int64]  # the images' places among all
    scored: bool
    files: tuple[tuple[str, int], ...]  # path or URL, and size, of what is read where the task runs


def run(task: Task) -> Outcome | None:
    """The outcome of a task; None where a file is not there as the sender sees it.

    Raises ClusterError where another segjudge is installed than the sender's.
    """
    if task.version != __version__:
        raise ClusterError(
            f"A worker has segjudge {__version__}, this is {task.version}.",
            "Install one version everywhere.",
        )
    if not all(is_seen(name, size) for name, size in task.files):
        return None
    if not all(file.readable() for file in _files_of(task.reader)):
        return None
    return task.reader.run(np.arange(len(task.numbers)), scored=task.scored, numbers=task.numbers)


def outcomes(
    reader: Reader, chunks: Sequence[tuple[NDArray[np.int64], bool]], cluster: Cluster
) -> Iterator[Outcome]:
    """The outcome of each chunk, in order.

    Workers read the files by path; where they do not see them, the text of the masks is sent along. Raises
    ClusterError if the cluster cannot be reached or does not do its work, MissingExtra without Dask.
    """
    with _opened(cluster) as (pool, ahead):
        yield from _Sending(reader, pool).outcomes(chunks, ahead)


class _Sending:
    """The tasks of one score: sent, awaited, and where need be sent again or done here."""

    def __init__(self, reader: Reader, pool: _Pool) -> None:
        self._reader = reader
        self._pool = pool
        self._carried = False  # whether workers were seen not to see the files

    def outcomes(self, chunks: Sequence[tuple[NDArray[np.int64], bool]], ahead: int) -> Iterator[Outcome]:
        """The outcomes in the order of the chunks, with so many under way at once."""
        waiting: deque[tuple[Task, Any]] = deque()
        try:
            for places, scored in chunks:
                if len(waiting) >= ahead:
                    yield self._outcome(*waiting.popleft())
                waiting.append(self._sent(places, scored=scored))
            while waiting:
                yield self._outcome(*waiting.popleft())
        finally:
            for _, future in waiting:
                if future is not None:
                    future.cancel()

    def _sent(self, places: NDArray[np.int64], *, scored: bool) -> tuple[Task, Any]:
        part = self._reader.part(places, carried=self._carried)
        files = tuple(file.stamp for file in _files_of(part))
        task = Task(__version__, part, places, scored, files)
        return task, _submitted(self._pool, task)

    def _outcome(self, task: Task, future: Any) -> Outcome:  # noqa: ANN401 - a future of whichever library
        outcome = _result(task, future)
        if outcome is None:
            self._carried = True
            outcome = _result(*self._sent(task.numbers, scored=task.scored))
        if outcome is None:
            raise ClusterError("A worker does not take the text that is sent to it.", _ADVICE)
        return outcome


_ADVICE = "Look at the workers' logs: do they have segjudge, memory, and the files at the same path?"


def _result(task: Task, future: Any) -> Outcome | None:  # noqa: ANN401 - a future of whichever library
    """What the task gave; it is done here where the executor broke, as when its process was killed."""
    from concurrent.futures import BrokenExecutor, CancelledError  # noqa: PLC0415 - clusters alone

    if future is None:
        return run(task)
    try:
        outcome: Outcome | None = future.result()
    except SegjudgeError:
        raise
    except BrokenExecutor:
        return run(task)
    except CancelledError as error:
        raise ClusterError("The cluster has dropped the work.", _ADVICE) from error
    except Exception as error:  # whatever a worker, the network or pickle has raised
        raise ClusterError(f"A worker has failed ({type(error).__name__}: {error}).", _ADVICE) from error
    return outcome


def _submitted(pool: _Pool, task: Task) -> Any:  # noqa: ANN401 - a future of whichever library
    """The future; None where the executor has broken: then the work is done here."""
    from concurrent.futures import BrokenExecutor  # noqa: PLC0415 - clusters alone

    try:
        return pool.submit(run, task)
    except BrokenExecutor:
        return None


def _files_of(reader: Reader) -> list[ByteFile]:
    """The files that a reader's parts read from."""
    files: list[ByteFile] = []
    for side in (reader.submission, reader.truth):
        if isinstance(side, Divisible):
            files += side.files
    return files


class _Dask:
    """A Dask client as an executor: what a dead worker held is done again by another."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401 - distributed is an extra
        self._client = client

    def submit(self, work: Callable[..., Any], /, *arguments: Any) -> Any:  # noqa: ANN401 - see `_Pool`
        return self._client.submit(work, *arguments, pure=False, retries=_RETRIES)

    def ahead(self) -> int:
        threads = sum(self._client.nthreads().values())
        return _AHEAD * threads if threads else _UNKNOWN


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """A client of the scheduler at an address, or of the one that wrote this scheduler file; None for none.

    Raises ClusterError if nobody answers, MissingExtra without Dask.
    """
    if address is None:
        yield None
        return
    try:
        from distributed import Client  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("cluster", "Scoring on a cluster") from None
    named = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
    try:
        client = Client(**named, timeout=_TIMEOUT)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        raise ClusterError(
            f"There is no scheduler at {address!r} ({error}).",
            "Give the address that `dask scheduler` prints, such as tcp://10.0.0.1:8786.",
        ) from error
    try:
        yield client
    finally:
        client.close()  # type: ignore[no-untyped-call]


@contextmanager
def _opened(cluster: Cluster) -> Iterator[tuple[_Pool, int]]:
    """The cluster as an executor, and how many tasks it is given at a time."""
    from concurrent.futures import Executor  # noqa: PLC0415 - clusters alone

    if isinstance(cluster, Executor):
        yield cluster, _width(cluster)
    elif isinstance(cluster, str):
        with connected(cluster) as client, _opened(client) as opened:
            yield opened
    else:
        dask = _Dask(cluster)
        yield dask, dask.ahead()


def _width(executor: Executor) -> int:
    workers = getattr(executor, "_max_workers", None)
    return _AHEAD * workers if isinstance(workers, int) else _UNKNOWN
