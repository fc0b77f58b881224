"""The verbs."""

from __future__ import annotations

import math
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from segjudge.cli import printing
from segjudge.cli.running import INTERRUPTED, Output, fail, finish
from segjudge.errors import SegjudgeError, SubmissionError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segjudge.findings import Collector
    from segjudge.images import Images
    from segjudge.task import Task

__all__ = ["app", "main"]

Verb = TypeVar("Verb", bound="Callable[..., Any]")


class _Group(click.Group):
    """The verbs in the order in which people meet them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.commands)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="segjudge", prog_name="segjudge")
def app() -> None:
    """Check and score submissions to image-segmentation competitions, exactly as the leaderboard would.

    TASK is the id of a built-in task (see `segjudge tasks`) or the path of a TOML file.
    """


def options(*decorators: Callable[[Verb], Verb]) -> Callable[[Verb], Verb]:
    """Several click options as one decorator."""

    def decorate(verb: Verb) -> Verb:
        for decorator in reversed(decorators):
            verb = decorator(verb)
        return verb

    return decorate


_json = click.option(
    "--json", "as_json", is_flag=True, help="Print exactly one JSON object on standard output."
)
_quiet = click.option("--quiet", is_flag=True, help="Print nothing beside the result.")
_common = options(_json, _quiet)
_set = click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Change a setting of the task; repeatable."
)
_images = click.option(
    "--images", "manifest", metavar="FILE", help="The images: ImageId,Height,Width[,Clip][,Usage]."
)
_workers = click.option(
    "--workers",
    type=click.IntRange(1),
    default=None,
    metavar="N",
    help="Threads or processes; default: all cores.",
)
_task = click.argument("task")
_submission = click.argument("submission")
_truth = click.argument("truth")


@app.command()
@click.argument("task", required=False)
@click.option(
    "-o", "--output", "target", metavar="FOLDER", help="Where to leave the files; default: segjudge-demo."
)
@click.option(
    "--images", "count", type=click.IntRange(1, 10_000), metavar="N", help="How many images to make."
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Another seed, other data."
)
@_common
def demo(
    *, task: str | None, target: str | None, count: int | None, seed: int, as_json: bool, quiet: bool
) -> None:
    """Walk the road on generated data: make it, predict, check, score."""
    import tempfile  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    from segjudge.demo import IMAGES, travel  # noqa: PLC0415

    output = Output(as_json, quiet)
    if task is not None:
        folder = Path(target or f"segjudge-demo-{task}")
        with output.progress(f"making {task}") as progress:
            road = travel(task, folder, images=count, seed=seed, progress=progress)
        printing.road(road, output)
        return
    with tempfile.TemporaryDirectory(prefix="segjudge-demo-") as temporary:
        base = Path(target) if target else Path(temporary)
        roads = []
        for name in IMAGES:
            with output.progress(f"making {name}") as progress:
                roads.append(travel(name, base / name, images=count, seed=seed, progress=progress))
        printing.roads(roads, output, kept=target)


@app.command()
@_common
def tasks(*, as_json: bool, quiet: bool) -> None:
    """List the built-in tasks."""
    from segjudge.task import builtin_ids, load_task  # noqa: PLC0415

    output = Output(as_json, quiet)
    known = [load_task(name) for name in builtin_ids()]
    if as_json:
        output.object({"tasks": [{"id": task.id, "title": task.title} for task in known]})
    for task in known:
        output.line(f"{task.id:10}  {task.title}")


@app.command()
@_task
@_set
@_common
def show(*, task: str, settings: tuple[str, ...], as_json: bool, quiet: bool) -> None:
    """Show every setting of a task beside the page's words."""
    from segjudge.task import load_task  # noqa: PLC0415

    printing.task(load_task(task, settings), Output(as_json, quiet))


@app.command()
@_common
def doctor(*, as_json: bool, quiet: bool) -> None:
    """Say which kernels and extras this installation has."""
    from segjudge.cli.doctor import examine  # noqa: PLC0415

    printing.doctor(examine(), Output(as_json, quiet))


@app.command()
@_task
@_submission
@click.option("--truth", metavar="TRUTH", help="Take ids and sizes of the images from the truth.")
@_images
@_set
@click.option("--all", "everything", is_flag=True, help="Print every finding, not twenty of each kind.")
@_workers
@_common
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
    from segjudge.loading import read_submission, read_truth  # noqa: PLC0415
    from segjudge.scoring import accept_truth  # noqa: PLC0415
    from segjudge.scoring import check as run  # noqa: PLC0415

    output = Output(as_json, quiet)
    _one_stdin(truth, submission, manifest)
    loaded = _load(task, settings)
    images = _read_images(loaded, manifest)
    findings = _findings(output, everything=everything)
    known = read_truth(loaded, truth) if truth is not None else None
    if known is not None:
        accept_truth(loaded, known, images)  # before a finding is streamed: an error is one object, too
    opened = read_submission(loaded, submission, findings=findings)
    with output.progress("checking") as progress:
        diagnosis = run(
            loaded, opened, truth=known, images=images, workers=_count(workers), progress=progress
        )
    printing.diagnosis(diagnosis, output, streamed=everything)
    finish(0 if diagnosis.ok else SubmissionError.exit_status)


@app.command("check-truth")
@_task
@_truth
@_images
@_set
@click.option("--all", "everything", is_flag=True, help="Print every finding, not twenty of each kind.")
@_workers
@_common
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
    from segjudge.loading import read_truth  # noqa: PLC0415
    from segjudge.scoring import check_truth as run  # noqa: PLC0415

    output = Output(as_json, quiet)
    _one_stdin(truth, manifest)
    loaded = _load(task, settings)
    images = _read_images(loaded, manifest)
    opened = read_truth(loaded, truth, findings=_findings(output, everything=everything))
    with output.progress("checking") as progress:
        diagnosis = run(loaded, opened, images=images, workers=_count(workers), progress=progress)
    printing.diagnosis(diagnosis, output, streamed=everything)
    finish(0 if diagnosis.ok else SegjudgeError.exit_status)


@app.command()
@_task
@_truth
@_submission
@_images
@click.option(
    "--usage", type=click.Choice(["Public", "Private", "Ignored"]), help="Score images of one usage."
)
@click.option("--by", metavar="PARTS", default="", help="Also by class, threshold, image (comma-separated).")
@_set
@_workers
@click.option("--fail-under", type=float, metavar="X", help="Exit with status 1 if the score is below X.")
@_common
def score(
    *,
    task: str,
    truth: str,
    submission: str,
    manifest: str | None,
    usage: str | None,
    by: str,
    settings: tuple[str, ...],
    workers: int | None,
    fail_under: float | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Score a submission exactly as the page defines it, after checking it."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    from segjudge.loading import read_submission, read_truth  # noqa: PLC0415
    from segjudge.scoring import score as run  # noqa: PLC0415

    output = Output(as_json, quiet)
    _one_stdin(truth, submission, manifest)
    if fail_under is not None and math.isnan(fail_under):
        raise UsageError("--fail-under wants a number, and nan is none.")
    loaded = _load(task, settings)
    images = _read_images(loaded, manifest)
    with ThreadPoolExecutor(min(2, _count(workers))) as readers:
        both = readers.submit(read_truth, loaded, truth), readers.submit(read_submission, loaded, submission)
        known, opened = both[0].result(), both[1].result()
    try:
        with output.progress("scoring") as progress:
            result = run(
                loaded, known, opened,
                images=images, usage=usage, by=[part.strip() for part in by.split(",") if part.strip()],
                workers=_count(workers), progress=progress,
            )  # fmt: skip
    except SubmissionError as error:
        printing.refused(loaded, error, output)
        finish(error.exit_status)
    printing.result(result, loaded, output)
    if fail_under is not None and (result.score is None or result.score < fail_under):
        output.aside(f"segjudge: the score is below {fail_under}.")
        finish(1)


_output = click.option("-o", "--output", "target", required=True, metavar="PATH", help="Where to write.")


@app.command()
@_task
@click.option("--images", "manifest", required=True, metavar="FILE", help="The images: ImageId,Height,Width.")
@_output
@_set
@_common
def sample(
    *, task: str, manifest: str, target: str, settings: tuple[str, ...], as_json: bool, quiet: bool
) -> None:
    """Write a valid submission in which nothing is predicted."""
    from segjudge.encoding import write_sample  # noqa: PLC0415
    from segjudge.loading import read_images  # noqa: PLC0415

    loaded = _load(task, settings)
    images = read_images(loaded, manifest)
    write_sample(loaded, target, images)
    printing.written(target, {"images": len(images)}, Output(as_json, quiet))


@app.command()
@_task
@click.argument("masks")
@_output
@_images
@_set
@_workers
@_common
def encode(
    *,
    task: str,
    masks: str,
    target: str,
    manifest: str | None,
    settings: tuple[str, ...],
    workers: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Turn a folder of masks into a submission."""
    from segjudge.encoding import open_masks  # noqa: PLC0415
    from segjudge.encoding.encode import encode as run  # noqa: PLC0415

    output = Output(as_json, quiet)
    loaded = _load(task, settings)
    images = _read_images(loaded, manifest)
    findings = _findings(output, everything=False)
    folder = open_masks(loaded, _existing(masks), images, findings)
    if folder is None:
        printing.diagnosis(findings.diagnosis(), output, streamed=False)
        finish(SubmissionError.exit_status)
    try:
        with output.progress("encoding") as progress:
            count = run(folder, target, images, findings, workers=_count(workers), progress=progress)
    except SubmissionError as error:
        printing.diagnosis(error.diagnosis, output, streamed=False)
        finish(error.exit_status)
    printing.written(target, {"images": count}, output, findings.diagnosis())


@app.command()
@_task
@_submission
@click.option("--images", "manifest", required=True, metavar="FILE", help="The images: ImageId,Height,Width.")
@_output
@_set
@_common
def decode(
    *,
    task: str,
    submission: str,
    manifest: str,
    target: str,
    settings: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Turn a submission back into pictures."""
    from pathlib import Path  # noqa: PLC0415

    from segjudge.contest import Contest  # noqa: PLC0415
    from segjudge.encoding import write_pictures  # noqa: PLC0415
    from segjudge.loading import read_images, read_submission  # noqa: PLC0415
    from segjudge.scoring import check as run  # noqa: PLC0415

    output = Output(as_json, quiet)
    loaded = _load(task, settings)
    images = read_images(loaded, manifest)
    opened = read_submission(loaded, submission)
    diagnosis = run(loaded, opened, images=images)
    if not diagnosis.ok:
        printing.diagnosis(diagnosis, output, streamed=False)
        finish(SubmissionError.exit_status)
    contest = Contest.join(loaded, opened.afresh(), None, images)
    with output.progress("decoding") as progress:
        count = write_pictures(contest, Path(target), progress)
    printing.written(target, {"pictures": count}, output)


@app.command()
@_task
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@_set
@_common
def convert(
    *, task: str, source: str, target: str, settings: tuple[str, ...], as_json: bool, quiet: bool
) -> None:
    """Turn CSV into Parquet or back, sorted by image."""
    from pathlib import Path  # noqa: PLC0415

    from segjudge.formats.table.converting import convert_table  # noqa: PLC0415

    output = Output(as_json, quiet)
    try:
        with output.progress("converting") as progress:
            rows = convert_table(_load(task, settings), source, Path(target), progress=progress)
    except SubmissionError as error:
        printing.diagnosis(error.diagnosis, output, streamed=False)
        finish(error.exit_status)
    printing.written(target, {"rows": rows}, output)


@app.command("make-data")
@_task
@click.option(
    "-o", "--output", "target", required=True, metavar="FOLDER", help="Where to write; a new folder."
)
@click.option(
    "--images", "count", type=click.IntRange(1), default=20, show_default=True, help="How many images."
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Another seed, other data."
)
@_common
def make_data(*, task: str, target: str, count: int, seed: int, as_json: bool, quiet: bool) -> None:
    """Make a labelled set in the competition's own form, to try and to train on."""
    from pathlib import Path  # noqa: PLC0415

    from segjudge.data import make  # noqa: PLC0415

    output = Output(as_json, quiet)
    with output.progress("drawing") as progress:
        make(task, Path(target), images=count, seed=seed, progress=progress)
    printing.written(target, {"images": count}, output)


def _one_stdin(*paths: str | None) -> None:
    if paths.count("-") > 1:
        raise UsageError("Standard input can be one file, not two.", "Give the others as paths.")


def _existing(path: str) -> Path:
    from pathlib import Path  # noqa: PLC0415

    found = Path(path)
    if not found.exists():
        raise UsageError(
            f"There is no file or folder {path!r}.", "Check the spelling and the folder you are in."
        )
    return found


def _load(task: str, settings: tuple[str, ...]) -> Task:
    from segjudge.task import load_task  # noqa: PLC0415

    return load_task(task, settings)


def _read_images(task: Task, manifest: str | None) -> Images | None:
    from segjudge.loading import read_images  # noqa: PLC0415

    return None if manifest is None else read_images(task, manifest)


def _findings(output: Output, *, everything: bool) -> Collector:
    from segjudge.findings import Collector  # noqa: PLC0415

    if not everything:
        return Collector()
    return Collector(cap=None, sink=printing.stream(output))


def _count(workers: int | None) -> int:
    return (
        workers
        if workers is not None
        else len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else 1
    )


def main() -> None:
    """The entry point: every way out has its status, and no way shows a traceback."""
    output = Output(as_json="--json" in sys.argv)
    try:
        app(standalone_mode=False)
    except click.exceptions.Exit as leave:
        finish(leave.exit_code)
    except click.ClickException as error:
        _misused(error, output)
    except SegjudgeError as error:
        fail(error, output)
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("segjudge: interrupted.\n")
        finish(INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        finish(0)
    except OSError as error:
        fail(UsageError(f"{error.filename or 'A file'} cannot be read: {error.strerror or error}."), output)
    except Exception as error:  # the last resort: people get a sentence, never a traceback
        if os.environ.get("SEGJUDGE_DEBUG"):
            raise
        fail(_internal(error), output)


def _misused(error: click.ClickException, output: Output) -> NoReturn:
    if output.as_json:
        message = error.format_message()
        output.object({"error": {"kind": "usage", "message": message, "advice": "See segjudge --help."}})
    error.show(sys.stderr)
    finish(UsageError.exit_status)


def _internal(error: Exception) -> SegjudgeError:
    return SegjudgeError(
        f"This is a fault of segjudge itself ({type(error).__name__}: {error}).",
        "Please report it; SEGJUDGE_DEBUG=1 in the environment shows where it arose.",
    )
