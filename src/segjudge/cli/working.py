"""How the judging verbs set to work: the crew, and what it does while the libraries load."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from segjudge.crew import Crew
from segjudge.doubles import POSSIBLE, Doubles

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from segjudge.formats.begun import Begun, Pass

__all__ = ["begun", "on_cluster", "side_by_side", "start", "worker_count"]

First = TypeVar("First")
Second = TypeVar("Second")

_SWITCH = 0.0002  # seconds: kernels come back for the interpreter's lock every few milliseconds


def start(workers: int | None) -> Crew:
    """A crew of as many workers as were asked for, else of one for each core."""
    # Nothing in judging multiplies matrices, whatever was said to other programs: numpy's threads for that
    # cost more than all of its start, and spin on the cores that have work.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    crew = Crew(worker_count(workers), doubles=POSSIBLE)
    if crew.workers > 1:
        sys.setswitchinterval(_SWITCH)
    return crew


def worker_count(workers: int | None) -> int:
    """How many workers: those asked for, else one for each core."""
    if workers is not None:
        return workers
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def begun(
    leaving: ExitStack, crew: Crew, task: str, truth: str, submission: str
) -> tuple[Begun | None, Begun | None, Crew]:
    """What is begun on both files while the libraries load, and the crew that opens them.

    A folder has time, and a crew of one begins with nothing. Doubles are let go when the verb leaves;
    they are at work in the place of others of the crew, of which one stays at least.
    """
    from segjudge.formats.begun import Begun  # noqa: PLC0415 - only a score begins so early

    files = [Path(path) for path in (truth, submission)]
    sides = [Begun(path) if path.is_file() else None for path in files]
    if crew.workers == 1:
        return sides[0], sides[1], crew
    passes = _coco_passes() if task == "coco" else (None, None)
    wanted = [
        (side, path, passing)
        for side, path, passing in zip(sides, files, passes, strict=True)
        if side is not None
    ]
    doubles = _sent(wanted, crew.workers - 1)
    if doubles is not None:
        leaving.callback(doubles.dismiss)
        left = max(1, crew.workers - doubles.count)
        return sides[0], sides[1], leaving.enter_context(Crew(left))
    for side, _, passing in wanted:
        side.begin(crew, passing)
    return sides[0], sides[1], crew


def _sent(wanted: list[tuple[Begun, Path, Pass[Any] | None]], most: int) -> Doubles | None:
    """So many doubles at most, who begin with the largest of the files."""
    wanted.sort(key=lambda item: -item[1].stat().st_size)
    doubles = Doubles.made([side.work(path, passing) for side, path, passing in wanted], most)
    if doubles is not None:
        for place, (side, _, _) in enumerate(wanted):
            side.expect(doubles, place)
    return doubles


def _coco_passes() -> tuple[Pass[Any], Pass[Any]]:
    from segjudge.formats.coco.instance_pass import pass_over_instances  # noqa: PLC0415 - other tasks have none
    from segjudge.formats.coco.result_pass import pass_over_results  # noqa: PLC0415

    return pass_over_instances, pass_over_results


def on_cluster(leaving: ExitStack, address: str | None) -> Any:  # noqa: ANN401 - distributed is an extra
    """A client of the cluster until the verb leaves; None where none was asked for."""
    if address is None:
        return None
    from segjudge.cluster import connected  # noqa: PLC0415 - few scores need one

    return leaving.enter_context(connected(address))


def side_by_side(
    crew: Crew, first: Callable[[], First], second: Callable[[], Second]
) -> tuple[First, Second]:
    """The results of both, at the same time where there is more than one worker."""
    if crew.workers == 1:
        return first(), second()
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - one worker needs none

    # These two send their work to the crew and wait: they are no workers themselves.
    with ThreadPoolExecutor(1, "segjudge-opening") as other:
        waiting = other.submit(second)
        return first(), waiting.result()
