"""Programs measured by turns, in random order, on as many CPUs as they may use."""

import contextlib
import json
import os
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

sys.path.append(str(Path(__file__).parents[1]))
import child

Job = Callable[[], dict]  # one process: its answer, with `seconds` as a list and maybe `peak`


class BenchError(Exception):
    """A measurement that cannot be made, in words for the person who asked for it."""


@dataclass(slots=True)
class Timing:
    """What all rounds of one job gave."""

    rounds: list[list[float]] = field(default_factory=list)  # seconds of the repetitions of each round
    peak: int = 0  # bytes
    answer: dict = field(default_factory=dict)
    processes: list[list[float]] = field(default_factory=list)  # the same from their start to their end

    def whole(self) -> "Timing":
        """The same runs as whole processes."""
        return replace(self, rounds=self.processes)

    @property
    def seconds(self) -> float:
        return median(value for values in self.rounds for value in values)

    @property
    def spread(self) -> tuple[float, float] | None:
        """The least and the most; None of a single run."""
        every = [value for values in self.rounds for value in values]
        return (min(every), max(every)) if len(every) > 1 else None

    def ratio_to(self, other: "Timing") -> float:
        """How many times as long as the other, round by round; the median. Of medians, where one ran less often."""
        if len(self.rounds) != len(other.rounds):
            return self.seconds / other.seconds
        pairs = zip(self.rounds, other.rounds, strict=True)
        return median(median(own) / median(others) for own, others in pairs)


def by_turns(jobs: dict[str, Job], rounds: dict[str, int] | int, seed: int) -> dict[str, Timing]:
    """Each round runs every job once, in an order of its own; slow jobs may have fewer rounds."""
    rng = random.Random(seed)
    timings = {name: Timing() for name in jobs}
    wanted = {name: rounds if isinstance(rounds, int) else rounds[name] for name in jobs}
    for number in range(max(wanted.values())):
        order = [name for name in jobs if wanted[name] > number]
        rng.shuffle(order)
        for name in order:
            answer = jobs[name]()
            timing = timings[name]
            timing.rounds.append(answer["seconds"])
            timing.processes.append(answer.get("process", []))
            timing.peak = max(timing.peak, answer.get("peak") or 0)
            timing.answer = answer
            say(f"  round {number + 1}, {name}: {median(answer['seconds']) * 1e3:,.1f} ms")
    return timings


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


@contextlib.contextmanager
def cpus(count: int):
    """What is started meanwhile runs on so many CPUs, and its libraries start as many threads."""
    names = ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, str(count)))
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if allowed:
        os.sched_setaffinity(0, sorted(allowed)[-count:])
    try:
        yield
    finally:
        if allowed:
            os.sched_setaffinity(0, allowed)
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


@contextlib.contextmanager
def _without_own_path():
    """Peers are not shown segjudge's PYTHONPATH."""
    path = os.environ.pop("PYTHONPATH", None)
    try:
        yield
    finally:
        if path is not None:
            os.environ["PYTHONPATH"] = path


def run(command: list[str], threads: int, *, own: bool) -> child.Cost:
    """One process; BenchError where it fails."""
    with cpus(threads), contextlib.nullcontext() if own else _without_own_path():
        cost = child.run(command)
    if cost.status != 0:
        words = (cost.err.strip() or cost.out.strip()).splitlines()[-1:] or ["no words"]
        raise BenchError(f"status {cost.status}: {words[0][-300:]}")
    return cost


@dataclass(slots=True)
class Clock:
    """What counts as time: that of the wall, or on a machine that is not quiet that of the CPU."""

    cpu: bool = False

    def of(self, cost: child.Cost) -> float:
        """Seconds of a whole process."""
        return cost.cpu if self.cpu else cost.wall


clock = Clock()


def answering(command: list[str], threads: int, *, own: bool) -> Job:
    """A job that times itself and prints JSON with lists of `seconds` and `cpu`; its `process` is timed, too."""

    def job() -> dict:
        cost = run(command, threads, own=own)
        try:
            answer = json.loads(cost.out)
        except ValueError as error:
            raise BenchError(f"it printed {cost.out.strip()[-300:]!r}, no JSON") from error
        seconds = answer["cpu"] if clock.cpu else answer["seconds"]
        return answer | {"seconds": seconds, "process": [clock.of(cost)]}

    return job


def whole_process(command: list[str], threads: int, *, own: bool) -> Job:
    """A job whose time is its process's, from start to end."""

    def job() -> dict:
        cost = run(command, threads, own=own)
        return {"seconds": [clock.of(cost)], "peak": cost.peak, "out": cost.out}

    return job


def usable(jobs: dict[str, Job]) -> tuple[dict[str, Job], dict[str, dict], dict[str, str]]:
    """The jobs that work, what each answered once, and why the others do not."""
    working, answers, refused = {}, {}, {}
    for name, job in jobs.items():
        try:
            answers[name] = job()
        except BenchError as error:
            refused[name] = str(error)
        else:
            working[name] = job
    return working, answers, refused
