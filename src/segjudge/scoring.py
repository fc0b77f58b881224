"""The pipe: a task, a truth and a submission to findings and a score."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from segjudge import __version__
from segjudge.chunks import Reader, plan
from segjudge.contest import Contest
from segjudge.crew import Crew
from segjudge.errors import SubmissionError, TruthError, UsageError
from segjudge.loading import as_submission, as_truth
from segjudge.metrics.scores import Facts
from segjudge.records import dataclass
from segjudge.result import Result
from segjudge.spread import outcomes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from segjudge.cluster import Cluster
    from segjudge.findings import Collector, Diagnosis
    from segjudge.images import Images
    from segjudge.instances import Instances
    from segjudge.loading import Submission, Truth
    from segjudge.task import Task

__all__ = [
    "Result",
    "Run",
    "accept_truth",
    "check",
    "check_truth",
    "finished",
    "parts_of",
    "receipt_of",
    "refuse_faulty",
    "run_contest",
    "score",
]


def check(
    task: Task,
    submission: Submission | Instances,
    *,
    truth: Truth | Instances | None = None,
    images: Images | None = None,
    workers: int | Crew = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Diagnosis:
    """All that is wrong with a submission, in one pass; of the truth only ids and sizes are looked at.

    Raises TruthError if these are at fault.
    """
    submission = as_submission(task, submission)
    truth = as_truth(task, truth) if truth is not None else None
    contest = Contest.join(task, submission, truth, images)
    if truth is not None:
        refuse_faulty(truth.label, truth.findings.diagnosis())
    if submission.source is not None:
        reader = Reader.of(contest, submission.findings.cap, with_truth=False)
        with _unchanged(submission), Crew.of(workers) as crew:
            chunks = plan(contest, with_truth=False, workers=crew.workers)
            found = outcomes(reader, chunks, crew, processes=submission.source.holds_gil)
            for number, outcome in enumerate(found, start=1):
                submission.findings.absorb(outcome.submission)
                if progress is not None:
                    progress(number, len(chunks))
    return submission.findings.diagnosis()


def accept_truth(task: Task, truth: Truth, images: Images | None = None) -> None:
    """Raise TruthError if ids or sizes of the truth are at fault; its masks are not looked at."""
    truth = truth.afresh()
    Contest.join(task, None, truth, images)
    refuse_faulty(truth.label, truth.findings.diagnosis())


def check_truth(
    task: Task,
    truth: Truth | Instances,
    *,
    images: Images | None = None,
    workers: int | Crew = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Diagnosis:
    """Every fault of the host's side, in one pass; nothing of it raises."""
    truth = as_truth(task, truth)
    contest = Contest.join(task, None, truth, images)
    if truth.source is not None:
        reader = Reader.of(contest, truth.findings.cap, with_truth=True)
        with _unchanged(truth), Crew.of(workers) as crew:
            chunks = plan(contest, with_truth=True, workers=crew.workers)
            found = outcomes(reader, chunks, crew, processes=truth.source.holds_gil)
            for number, outcome in enumerate(found, start=1):
                truth.findings.absorb(outcome.truth)
                if progress is not None:
                    progress(number, len(chunks))
    return truth.findings.diagnosis()


def score(
    task: Task,
    truth: Truth | Instances,
    submission: Submission | Instances,
    *,
    images: Images | None = None,
    usage: str | None = None,
    by: Iterable[str] | None = None,
    workers: int | Crew = 1,
    cluster: Cluster | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """The score of a submission, exactly as the page defines it, after the checks that `check` makes.

    Either side may be a file that was opened or `Instances` of arrays: the same masks, the same score.
    `by` asks for parts: class, threshold, area, image; without it all that the task has are there. The work
    goes to so many `workers` here, or to a `cluster`: the address of a Dask scheduler, a
    `distributed.Client` or any executor of `concurrent.futures`; the result is the same to the last bit. Raises
    SubmissionError with `.diagnosis` if anything refuses the submission, TruthError if the truth is at
    fault, UsageError for parts that the task lacks, ClusterError if the cluster does not do its work.
    """
    parts = parts_of(task, by)
    truth, submission = as_truth(task, truth), as_submission(task, submission)
    with _unchanged(truth, submission), Crew.of(workers) as crew:
        for side in (truth, submission):
            if side.receipt is not None:
                side.receipt.begin(crew)
        contest = Contest.join(task, submission, truth, images, usage)
        if truth.source is None or not truth.findings.diagnosis().ok:
            refuse_faulty(truth.label, truth.findings.diagnosis())
        run = run_contest(contest, crew, cluster, progress)
        refuse_faulty(truth.label, truth.findings.diagnosis())
        _refuse(submission.label, submission.findings.diagnosis())
        receipt = receipt_of(task, truth.digest(), submission.digest())
    classes = contest.classes or {}
    facts = Facts(
        tuple(classes),
        np.flatnonzero(contest.scored),
        contest.images.clip_numbers(),
        contest.images.ids,
        truth.quoted,
    )
    return finished(
        task, run, facts, parts, submission.label, submission.findings, truth.findings, receipt, classes
    )


@contextmanager
def _unchanged(*sides: Truth | Submission) -> Iterator[None]:
    """Raise UsageError at the end if a file has changed meanwhile: then nothing that was found can be trusted."""
    try:
        yield
    finally:
        for side in sides:
            side.refuse_changed()


def finished(
    task: Task,
    run: Run,
    facts: Facts,
    parts: frozenset[str],
    label: str,
    findings: Collector,
    truth_findings: Collector,
    receipt: Mapping[str, str],
    class_names: Mapping[int, str],
) -> Result:
    """The result of all that was tallied; raises SubmissionError if a finding refuses the submission."""
    diagnosis = findings.diagnosis()
    _refuse(label, diagnosis)
    if not run.tallies:
        raise UsageError("No image is left to score.", "Check --usage, and that the truth is not empty.")
    scores = task.metric.score(type(run.tallies[0]).sum(run.tallies), facts, parts)
    counts = run.counts[facts.images].sum(axis=0).tolist()
    return Result(
        task.id,
        scores.score,
        scores.points,
        scores.by_class,
        scores.by_threshold,
        {
            task.row_id(facts.ids[image], class_id): value
            for (image, class_id), value in scores.by_image.items()
        },
        {"images": len(facts.images), **dict(zip(("truths", "ignored", "predictions"), counts, strict=True))},
        diagnosis,
        truth_findings.diagnosis(),
        task.settings,
        receipt,
        parts,
        scores.by_area,
        scores.metrics,
        class_names,
    )


def receipt_of(task: Task, truth: str | None = None, submission: str | None = None) -> dict[str, str]:
    """What a score was made of; arrays have no hash."""
    receipt = {"segjudge": __version__, "task": task.digest, "truth": truth, "submission": submission}
    return {name: value for name, value in receipt.items() if value is not None}


@dataclass(slots=True, eq=False)
class Run:
    """What the chunks of a contest gave."""

    tallies: list[Any]
    counts: NDArray[np.int64]  # (images, 3) truths, ignored regions and predictions


def run_contest(
    contest: Contest,
    crew: Crew,
    cluster: Cluster | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """All chunks of a contest: findings to both sides, tallies and counts."""
    truth, submission = contest.truth, contest.submission
    run = Run([], np.zeros((len(contest.images), 3), np.int64))
    if truth is None or submission is None or truth.source is None or submission.source is None:
        return run
    reader = Reader.of(contest, submission.findings.cap, with_truth=True)
    chunks = plan(contest, with_truth=True, workers=crew.workers if cluster is None else 1)
    processes = truth.source.holds_gil or submission.source.holds_gil
    if cluster is None:
        found = outcomes(reader, chunks, crew, processes=processes)
    else:
        from segjudge.cluster import outcomes as on_cluster  # noqa: PLC0415 - few scores need one

        found = on_cluster(reader, chunks, cluster)
    for number, outcome in enumerate(found, start=1):
        submission.findings.absorb(outcome.submission)
        truth.findings.absorb(outcome.truth)
        if outcome.tally is not None:
            run.tallies.append(outcome.tally)
        if outcome.counts is not None:
            run.counts[chunks[number - 1][0]] = outcome.counts
        if progress is not None:
            progress(number, len(chunks))
    return run


def parts_of(task: Task, by: Iterable[str] | None) -> frozenset[str]:
    """The parts asked for, or all that the task has; raises UsageError for those that it lacks."""
    allowed = set(task.metric.breakdowns)
    if not task.classes and "class" not in task.metric.needs:
        allowed.discard("class")
    if by is None:
        return frozenset(allowed)
    parts = frozenset(by)
    for part in sorted(parts - allowed):
        raise UsageError(
            f"The task {task.id} has no score by {part!r}.", f"It has one by {', '.join(sorted(allowed))}."
        )
    return parts


def refuse_faulty(label: str, diagnosis: Diagnosis) -> None:
    """Raise TruthError if anything refuses the truth."""
    if diagnosis.ok:
        return
    first = diagnosis.findings[0]
    raise TruthError(
        f"The truth {label} is at fault ({diagnosis.errors} error{'s' if diagnosis.errors > 1 else ''}): {first}",
        diagnosis,
        "`segjudge check-truth` lists every fault.",
    )


def _refuse(label: str, diagnosis: Diagnosis) -> None:
    """Raise SubmissionError if anything refuses the submission."""
    if diagnosis.ok:
        return
    raise SubmissionError(
        f"{label} is refused: {diagnosis.errors} error{'s' if diagnosis.errors > 1 else ''}, "
        f"the first being: {diagnosis.findings[0]}",
        diagnosis,
    )
