"""A head start: a score begins on its files while the libraries load, and before the command line is read.

Reading the command line needs click, and scoring needs numpy; both take their time, in which a second core
may well read files. `foreseen` looks at the arguments without click, and so understands the plainest form
alone; whatever else stands there waits. The command itself then takes over what was foreseen rightly, and
lets go of all else.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from segjudge.crew import Crew
from segjudge.doubles import POSSIBLE, Doubles
from segjudge.formats.begun import Begun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segjudge.formats.begun import Pass

__all__ = ["Asked", "HeadStart", "crew_of", "foreseen", "worker_count"]

_SWITCH = 0.0002  # seconds: kernels come back for the interpreter's lock every few milliseconds


def crew_of(workers: int | None) -> Crew:
    """A crew of as many workers as were asked for, else of one for each core; numpy is not loaded yet."""
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


class Asked(NamedTuple):
    """What a score is asked for, as far as a head start goes."""

    task: str
    truth: str
    submission: str
    workers: int | None


class HeadStart:
    """A crew, what is begun on both files, and the crew that opens them; over when it is closed.

    A folder has time, and a crew of one begins with nothing. Doubles are at work in the place of others of
    the crew, of which one is left at least to open the files.
    """

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self._leaving = ExitStack()
        self.crew = self.opening = self._leaving.enter_context(crew_of(asked.workers))
        files = [Path(path) for path in (asked.truth, asked.submission)]
        self.truth, self.submission = (
            Begun(path) if str(path) != "-" and path.is_file() else None for path in files
        )
        if self.crew.workers > 1:
            self._begin(files)

    def _begin(self, files: Sequence[Path]) -> None:
        sides = zip((self.truth, self.submission), files, _passes(self.asked.task), strict=True)
        wanted = [(side, path, passing) for side, path, passing in sides if side is not None]
        wanted.sort(key=lambda item: -item[1].stat().st_size)  # what takes longest comes first
        doubles = Doubles.made(
            [side.work(path, passing) for side, path, passing in wanted], self.crew.workers - 1
        )
        if doubles is None:
            for side, _, passing in wanted:
                side.begin(self.crew, passing)
            return
        self._leaving.callback(doubles.dismiss)
        for place, (side, _, _) in enumerate(wanted):
            side.expect(doubles, place)
        self.opening = self._leaving.enter_context(Crew(max(1, self.crew.workers - doubles.count)))

    def close(self) -> None:
        """Let go of all who may still be at work."""
        self._leaving.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _passes(task: str) -> tuple[Pass[Any] | None, Pass[Any] | None]:
    """The passes over truth and submission that need no numpy."""
    if task != "coco":
        return None, None
    from segjudge.formats.coco.instance_pass import pass_over_instances  # noqa: PLC0415 - other tasks have none
    from segjudge.formats.coco.result_pass import pass_over_results  # noqa: PLC0415

    return pass_over_instances, pass_over_results


def foreseen(arguments: Sequence[str]) -> HeadStart | None:
    """A head start with what the arguments say, if they are a score's in the plainest form.

    That is `score TASK TRUTH SUBMISSION`, with options behind.
    """
    if len(arguments) < 4 or arguments[0] != "score" or any(word.startswith("-") for word in arguments[1:4]):
        return None
    task, truth, submission, *options = arguments[1:]
    workers = _workers(options)
    if worker_count(workers) == 1 or not (os.path.isfile(truth) and os.path.isfile(submission)):  # noqa: PTH113
        return None
    try:
        return HeadStart(Asked(task, truth, submission, workers))
    except (OSError, RuntimeError):  # of files and of threads: the command will find it, too, and tells
        return None


def _workers(options: Sequence[str]) -> int | None:
    """How many workers the options ask for, as far as that is plain; 1, with which nothing begins, where not."""
    named = [place for place, word in enumerate(options) if word.startswith("--workers")]
    if not named:
        return None
    value = "".join(options[named[0] + 1 : named[0] + 2]) if options[named[0]] == "--workers" else ""
    return int(value) if len(named) == 1 and value.isascii() and value.isdigit() and len(value) < 6 else 1
