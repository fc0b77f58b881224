"""The pipe: a task, a truth and a submission to findings and a score."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from segjudge.chunks import Reader, plan
from segjudge.contest import Contest
from segjudge.errors import SubmissionError, TruthError, UsageError
from segjudge.metrics.scores import Facts
from segjudge.result import Result
from segjudge.spread import outcomes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from segjudge.findings import Diagnosis
    from segjudge.images import Images
    from segjudge.loading import Submission, Truth
    from segjudge.metrics import Scores
    from segjudge.task import Task

__all__ = ["Result", "accept_truth", "check", "check_truth", "score"]


def check(
    task: Task,
    submission: Submission,
    *,
    truth: Truth | None = None,
    images: Images | None = None,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Diagnosis:
    """All that is wrong with a submission, in one pass; of the truth only ids and sizes are looked at.

    Raises TruthError if these are at fault.
    """
    submission = submission.afresh()
    truth = truth.afresh() if truth is not None else None
    contest = Contest.join(task, submission, truth, images)
    if truth is not None:
        _refuse_faulty(truth)
    if submission.source is not None:
        reader = Reader.of(contest, submission.findings.cap, with_truth=False)
        chunks = plan(contest, with_truth=False)
        for number, outcome in enumerate(
            outcomes(reader, chunks, workers, processes=submission.source.holds_gil), start=1
        ):
            submission.findings.absorb(outcome.submission)
            if progress is not None:
                progress(number, len(chunks))
    return submission.findings.diagnosis()


def accept_truth(task: Task, truth: Truth, images: Images | None = None) -> None:
    """Raise TruthError if ids or sizes of the truth are at fault; its masks are not looked at."""
    truth = truth.afresh()
    Contest.join(task, None, truth, images)
    _refuse_faulty(truth)


def check_truth(
    task: Task,
    truth: Truth,
    *,
    images: Images | None = None,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Diagnosis:
    """Every fault of the host's side, in one pass; nothing of it raises."""
    truth = truth.afresh()
    contest = Contest.join(task, None, truth, images)
    if truth.source is not None:
        reader = Reader.of(contest, truth.findings.cap, with_truth=True)
        chunks = plan(contest, with_truth=True)
        for number, outcome in enumerate(
            outcomes(reader, chunks, workers, processes=truth.source.holds_gil), start=1
        ):
            truth.findings.absorb(outcome.truth)
            if progress is not None:
                progress(number, len(chunks))
    return truth.findings.diagnosis()


def score(
    task: Task,
    truth: Truth,
    submission: Submission,
    *,
    images: Images | None = None,
    usage: str | None = None,
    by: Iterable[str] | None = None,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """The score of a submission, exactly as the page defines it, after the checks that `check` makes.

    `by` asks for parts: class, threshold, area, image; without it all that the task has are there. Raises
    SubmissionError with `.diagnosis` if anything refuses the submission, TruthError if the truth is at
    fault, UsageError for parts that the task lacks.
    """
    parts = _parts(task, by)
    truth, submission = truth.afresh(), submission.afresh()
    with ThreadPoolExecutor(2, "segjudge-digest") as digests:
        receipts = [digests.submit(side.digest) for side in (truth, submission)]
        contest = Contest.join(task, submission, truth, images, usage)
        if truth.source is None or not truth.findings.diagnosis().ok:
            _refuse_faulty(truth)
        run = _run(contest, workers, progress)
        _refuse_faulty(truth)
        diagnosis = submission.findings.diagnosis()
        hashes = [receipt.result() for receipt in receipts]
    if not diagnosis.ok:
        raise SubmissionError(_refusal(submission.label, diagnosis), diagnosis)
    facts = Facts(
        tuple(task.classes),
        np.flatnonzero(contest.scored),
        contest.images.clip_numbers(),
        contest.images.ids,
    )
    scores = _scores(task, run, facts, parts)
    return Result(
        task.id,
        scores.score,
        scores.points,
        scores.by_class,
        scores.by_threshold,
        {contest.row_id(*key): value for key, value in scores.by_image.items()},
        run.counts,
        diagnosis,
        truth.findings.diagnosis(),
        task.settings,
        {"segjudge": version("segjudge"), "task": task.digest, "truth": hashes[0], "submission": hashes[1]},
        parts,
        scores.by_area,
        scores.metrics,
    )


@dataclass(slots=True)
class _Run:
    tallies: list[Any]
    counts: dict[str, int]


def _run(contest: Contest, workers: int, progress: Callable[[int, int], None] | None) -> _Run:
    """All chunks of a contest: findings to both sides, tallies and counts."""
    truth, submission = contest.truth, contest.submission
    run = _Run([], {"images": int(contest.scored.sum()), "truths": 0, "ignored": 0, "predictions": 0})
    if truth is None or submission is None or truth.source is None or submission.source is None:
        return run
    reader = Reader.of(contest, submission.findings.cap, with_truth=True)
    chunks = plan(contest, with_truth=True)
    processes = truth.source.holds_gil or submission.source.holds_gil
    for number, outcome in enumerate(outcomes(reader, chunks, workers, processes=processes), start=1):
        submission.findings.absorb(outcome.submission)
        truth.findings.absorb(outcome.truth)
        if outcome.tally is not None:
            run.tallies.append(outcome.tally)
        for name in ("truths", "ignored", "predictions"):
            run.counts[name] += getattr(outcome, name)
        if progress is not None:
            progress(number, len(chunks))
    return run


def _scores(task: Task, run: _Run, facts: Facts, by: frozenset[str]) -> Scores:
    if not run.tallies:
        raise UsageError("No image is left to score.", "Check --usage, and that the truth is not empty.")
    return task.metric.score(type(run.tallies[0]).sum(run.tallies), facts, by)


def _parts(task: Task, by: Iterable[str] | None) -> frozenset[str]:
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


def _refuse_faulty(truth: Truth) -> None:
    diagnosis = truth.findings.diagnosis()
    if diagnosis.ok:
        return
    first = diagnosis.findings[0]
    raise TruthError(
        f"The truth {truth.label} is at fault ({diagnosis.errors} error{'s' if diagnosis.errors > 1 else ''}): {first}",
        diagnosis,
        "`segjudge check-truth` lists every fault.",
    )


def _refusal(label: str, diagnosis: Diagnosis) -> str:
    return (
        f"{label} is refused: {diagnosis.errors} error{'s' if diagnosis.errors > 1 else ''}, "
        f"the first being: {diagnosis.findings[0]}"
    )
