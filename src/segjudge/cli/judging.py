"""The verbs that look at files: tasks, show, doctor, check, check-truth, score."""

from __future__ import annotations

import math
from contextlib import ExitStack

import click

from segjudge.cli import printing
from segjudge.cli.choices import (
    cluster_option,
    collector,
    common,
    images_option,
    load,
    one_stdin,
    read_manifest,
    set_option,
    submission_argument,
    task_argument,
    truth_argument,
    workers_option,
)
from segjudge.cli.running import Output, finish
from segjudge.cli.working import head_start, on_cluster, side_by_side
from segjudge.errors import SegjudgeError, SubmissionError, UsageError
from segjudge.head_start import Asked, HeadStart, crew_of

__all__ = ["check", "check_truth", "doctor", "score", "show", "tasks"]


@click.command()
@common
def tasks(*, as_json: bool, quiet: bool) -> None:
    """List the built-in tasks."""
    from segjudge.task import builtin_ids, load_task  # noqa: PLC0415

    output = Output(as_json, quiet)
    known = [load_task(name) for name in builtin_ids()]
    if as_json:
        output.object({"tasks": [{"id": task.id, "title": task.title} for task in known]})
    for task in known:
        output.line(f"{task.id:10}  {task.title}")


@click.command()
@task_argument
@set_option
@common
def show(*, task: str, settings: tuple[str, ...], as_json: bool, quiet: bool) -> None:
    """Show every setting of a task beside the page's words."""
    from segjudge.task import load_task  # noqa: PLC0415

    printing.task(load_task(task, settings), Output(as_json, quiet))


@click.command()
@common
def doctor(*, as_json: bool, quiet: bool) -> None:
    """Say which kernels and extras this installation has."""
    from segjudge.cli.doctor import examine  # noqa: PLC0415

    printing.doctor(examine(), Output(as_json, quiet))


@click.command()
@task_argument
@submission_argument
@click.option("--truth", metavar="TRUTH", help="Take ids and sizes of the images from the truth.")
@images_option
@set_option
@click.option("--all", "everything", is_flag=True, help="Print every finding, not twenty of each kind.")
@workers_option
@common
def check(
    *,
    task: str,
    submission: str,
    truth: str | None,
    manifest: str | None,
    settings: tuple[str, ...],
    everything: bool,
    workers: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say everything that is wrong with a submission, and how to mend it."""
    output = Output(as_json, quiet)
    one_stdin(truth, submission, manifest)
    crew = crew_of(workers)

    from segjudge.loading import read_submission, read_truth  # noqa: PLC0415
    from segjudge.scoring import accept_truth  # noqa: PLC0415
    from segjudge.scoring import check as run  # noqa: PLC0415

    loaded = load(task, settings)
    images = read_manifest(loaded, manifest)
    findings = collector(output, everything=everything)
    known = read_truth(loaded, truth, workers=crew) if truth is not None else None
    if known is not None:
        accept_truth(loaded, known, images)  # before a finding is streamed: an error is one object, too
    opened = read_submission(loaded, submission, findings=findings, workers=crew)
    with output.progress("checking") as progress:
        diagnosis = run(loaded, opened, truth=known, images=images, workers=crew, progress=progress)
    printing.diagnosis(diagnosis, output, streamed=everything)
    finish(0 if diagnosis.ok else SubmissionError.exit_status)


@click.command("check-truth")
@task_argument
@truth_argument
@images_option
@set_option
@click.option("--all", "everything", is_flag=True, help="Print every finding, not twenty of each kind.")
@workers_option
@common
def check_truth(
    *,
    task: str,
    truth: str,
    manifest: str | None,
    settings: tuple[str, ...],
    everything: bool,
    workers: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say every fault of the host's side: the truth and the list of images."""
    output = Output(as_json, quiet)
    one_stdin(truth, manifest)
    crew = crew_of(workers)

    from segjudge.loading import read_truth  # noqa: PLC0415
    from segjudge.scoring import check_truth as run  # noqa: PLC0415

    loaded = load(task, settings)
    images = read_manifest(loaded, manifest)
    opened = read_truth(loaded, truth, findings=collector(output, everything=everything), workers=crew)
    with output.progress("checking") as progress:
        diagnosis = run(loaded, opened, images=images, workers=crew, progress=progress)
    printing.diagnosis(diagnosis, output, streamed=everything)
    finish(0 if diagnosis.ok else SegjudgeError.exit_status)


@click.command()
@task_argument
@truth_argument
@submission_argument
@images_option
@click.option(
    "--usage", type=click.Choice(["Public", "Private", "Ignored"]), help="Score images of one usage."
)
@click.option(
    "--by", metavar="PARTS", default="", help="Also by class, threshold, area, image (comma-separated)."
)
@set_option
@workers_option
@cluster_option
@click.option("--fail-under", type=float, metavar="X", help="Exit with status 1 if the score is below X.")
@common
@click.pass_obj
def score(
    foreseen: HeadStart | None,
    *,
    task: str,
    truth: str,
    submission: str,
    manifest: str | None,
    usage: str | None,
    by: str,
    settings: tuple[str, ...],
    workers: int | None,
    cluster: str | None,
    fail_under: float | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Score a submission exactly as the page defines it, after checking it."""
    output = Output(as_json, quiet)
    one_stdin(truth, submission, manifest)
    if fail_under is not None and math.isnan(fail_under):
        raise UsageError("--fail-under wants a number, and nan is none.")
    with ExitStack() as leaving:
        ahead = head_start(leaving, foreseen, Asked(task, truth, submission, workers))

        from segjudge.loading import read_submission, read_truth  # noqa: PLC0415
        from segjudge.scoring import score as run  # noqa: PLC0415

        client = on_cluster(leaving, cluster)
        loaded = load(task, settings)
        images = read_manifest(loaded, manifest)
        known, opened = side_by_side(
            ahead.opening,
            lambda: read_truth(loaded, truth, workers=ahead.opening, begun=ahead.truth),
            lambda: read_submission(loaded, submission, workers=ahead.opening, begun=ahead.submission),
        )
        if ahead.opening is not ahead.crew:
            ahead.opening.rest()  # a process with threads has no doubles
        try:
            with output.progress("scoring") as progress:
                result = run(
                    loaded, known, opened,
                    images=images, usage=usage,
                    by=[part.strip() for part in by.split(",") if part.strip()],
                    workers=ahead.crew, cluster=client, progress=progress,
                )  # fmt: skip
        except SubmissionError as error:
            printing.refused(loaded, error, output)
            finish(error.exit_status)
    printing.result(result, loaded, output)
    if fail_under is not None and (result.score is None or result.score < fail_under):
        output.aside(f"segjudge: the score is below {fail_under}.")
        finish(1)
