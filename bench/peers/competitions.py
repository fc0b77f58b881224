"""The competitions' CSV files: segjudge beside what people write themselves, in process and as whole processes."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from environment import OWN, Environment
from measuring import BenchError, Job, Timing, answering, by_turns, say, whole_process
from parts import CLOSE, Effort, Table, score_command, seconds_to_read
from workloads import Pair

HERE = Path(__file__).parent
IN_PROCESS, WHOLE = KINDS = ("in process", "whole process")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What people write themselves: a program that knows one thread, and times itself."""

    name: str
    script: str
    rounds: int  # of one run each, which gives both of its times


def tables(
    pair: Pair, sample: Pair | None, effort: Effort, peers: Environment, *, usual_rounds: int
) -> Iterable[Table]:
    """Two tables beside the usual pipeline, and two beside a notebook on a sample."""
    yield from beside(pair, usual(pair.task, usual_rounds), effort, peers)
    if sample is not None:
        notebook = Pipeline("notebook with whole arrays", "csv_dense.py", 1)
        yield from beside(sample, notebook, replace(effort, threads=(1,)), peers)


def usual(task: str, rounds: int) -> Pipeline:
    """Only WAD's does without pandas."""
    reader, script = ("csv", "csv_wad.py") if task == "wad-2018" else ("pandas", "csv_usual.py")
    return Pipeline(f"{reader} and numpy.fromstring, pycocotools' IoU", script, rounds)


def beside(pair: Pair, other: Pipeline, effort: Effort, peers: Environment) -> list[Table]:
    """segjudge beside one pipeline, of each kind a table; BenchError where their scores differ."""
    say(pair.title)
    unit = None if pair.sample else seconds_to_read(pair)
    jobs: dict[str, Job] = {}
    for threads in effort.threads:
        for kind, job in own_jobs(pair, threads, effort.repeats).items():
            jobs[f"segjudge, {threads} thread{'s' * (threads > 1)}, {kind}"] = job
    rounds = {name: effort.rounds * (2 if name.endswith(WHOLE) else 1) for name in jobs}
    files = [str(pair.truth), str(pair.submission)]
    command = [peers.python, "-W", "ignore", str(HERE / other.script), pair.task, *files]
    jobs[other.name] = answering(command, 1, own=False)
    timings = by_turns(jobs, rounds | {other.name: other.rounds}, effort.seed)
    note = same_score(timings, pair.title)
    shown = [Table(pair.title, pair, 0, of_kind(timings, kind), [], unit, kind=kind) for kind in KINDS]
    shown[0].notes.append(note)
    return shown


def own_jobs(pair: Pair, threads: int, repeats: int) -> dict[str, Job]:
    """segjudge by kind: from Python, where the first repetition is left out, and from the shell."""
    script = [OWN, str(HERE / "csv_segjudge.py"), pair.task, str(pair.truth), str(pair.submission)]
    return {
        IN_PROCESS: answering([*script, str(threads), str(repeats + 1)], threads, own=True),
        WHOLE: whole_process(score_command(pair, threads), threads, own=True),
    }


def of_kind(timings: dict[str, Timing], kind: str) -> dict[str, Timing]:
    """One table's rows: segjudge's timings of this kind, and the pipeline's, whose runs have both."""
    rows = {}
    for name, timing in timings.items():
        if not name.startswith("segjudge"):
            rows[name] = timing.whole() if kind == WHOLE else timing
        elif name.endswith(kind):
            rows[name.removesuffix(f", {kind}")] = timing
    return rows


def same_score(timings: dict[str, Timing], title: str) -> str:
    """How far the scores of all tools are apart; BenchError where that is more than rounding."""
    scores = {name: score_of(timing.answer) for name, timing in timings.items()}
    apart = max(scores.values()) - min(scores.values())
    if apart > CLOSE:
        raise BenchError(f"{title}: the scores differ: {scores}")
    return f"The scores agree to {apart:.0e}." if apart else "The scores are equal."


def score_of(answer: dict) -> float:
    """The score in the answer of a program that times itself, or of segjudge from the shell."""
    return json.loads(answer["out"])["score"] if "out" in answer else answer["score"]
