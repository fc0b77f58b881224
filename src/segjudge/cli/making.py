"""The verbs that make files: demo, make-data, sample, encode, decode, convert."""

from __future__ import annotations

import click

from segjudge.cli import printing
from segjudge.cli.choices import (
    collector,
    common,
    existing_path,
    images_option,
    load,
    output_option,
    read_manifest,
    set_option,
    submission_argument,
    task_argument,
    workers_option,
)
from segjudge.cli.learning import need_training
from segjudge.cli.running import Output, finish
from segjudge.errors import SubmissionError, UsageError
from segjudge.head_start import worker_count

__all__ = ["convert", "decode", "demo", "encode", "make_data", "sample"]


@click.command()
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
@click.option("--train", "training", is_flag=True, help="Train a model first, and let it predict.")
@common
def demo(
    *,
    task: str | None,
    target: str | None,
    count: int | None,
    seed: int,
    training: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Walk the road on generated data: make it, predict, check, score."""
    import tempfile  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    from segjudge.demo import IMAGES, travel, travel_by_training  # noqa: PLC0415

    output = Output(as_json, quiet)
    if training:
        need_training()
        if task is None:
            raise UsageError("--train wants to know for which task.", f"Name one of {', '.join(IMAGES)}.")
        folder = Path(target or f"segjudge-demo-{task}")
        with output.bar("") as bar:
            show = None if bar is None else (lambda what, done, total: bar(done, total, what))
            road = travel_by_training(task, folder, images=count, seed=seed, report=show)
        printing.road(road, output)
        return
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


@click.command()
@task_argument
@click.option("--images", "manifest", required=True, metavar="FILE", help="The images: ImageId,Height,Width.")
@output_option
@set_option
@common
def sample(
    *, task: str, manifest: str, target: str, settings: tuple[str, ...], as_json: bool, quiet: bool
) -> None:
    """Write a valid submission in which nothing is predicted."""
    from segjudge.encoding import write_sample  # noqa: PLC0415
    from segjudge.loading import read_images  # noqa: PLC0415

    loaded = load(task, settings)
    images = read_images(loaded, manifest)
    write_sample(loaded, target, images)
    printing.written(target, {"images": len(images)}, Output(as_json, quiet))


@click.command()
@task_argument
@click.argument("masks")
@output_option
@images_option
@set_option
@workers_option
@common
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
    loaded = load(task, settings)
    images = read_manifest(loaded, manifest)
    findings = collector(output, everything=False)
    folder = open_masks(loaded, existing_path(masks), images, findings)
    if folder is None:
        printing.diagnosis(findings.diagnosis(), output, streamed=False)
        finish(SubmissionError.exit_status)
    try:
        with output.progress("encoding") as progress:
            count = run(folder, target, images, findings, workers=worker_count(workers), progress=progress)
    except SubmissionError as error:
        printing.diagnosis(error.diagnosis, output, streamed=False)
        finish(error.exit_status)
    printing.written(target, {"images": count}, output, findings.diagnosis())


@click.command()
@task_argument
@submission_argument
@click.option("--images", "manifest", required=True, metavar="FILE", help="The images: ImageId,Height,Width.")
@output_option
@set_option
@common
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
    loaded = load(task, settings)
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


@click.command()
@task_argument
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@set_option
@common
def convert(
    *, task: str, source: str, target: str, settings: tuple[str, ...], as_json: bool, quiet: bool
) -> None:
    """Turn CSV into Parquet or back, sorted by image."""
    from pathlib import Path  # noqa: PLC0415

    from segjudge.formats.table.converting import convert_table  # noqa: PLC0415

    output = Output(as_json, quiet)
    try:
        with output.progress("converting") as progress:
            rows = convert_table(load(task, settings), source, Path(target), progress=progress)
    except SubmissionError as error:
        printing.diagnosis(error.diagnosis, output, streamed=False)
        finish(error.exit_status)
    printing.written(target, {"rows": rows}, output)


@click.command("make-data")
@task_argument
@click.option(
    "-o", "--output", "target", required=True, metavar="FOLDER", help="Where to write; a new folder."
)
@click.option(
    "--images", "count", type=click.IntRange(1), default=20, show_default=True, help="How many images."
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Another seed, other data."
)
@click.option(
    "--art",
    type=click.Choice(["drawn", "fonts"]),
    default="drawn",
    show_default=True,
    help="Whence emoji and letters come: drawn here, or out of installed fonts.",
)
@click.option(
    "--part",
    type=click.Choice(["all", "train", "test"]),
    default="all",
    show_default=True,
    help="Train and test share no picture, glyph or typeface.",
)
@common
def make_data(
    *, task: str, target: str, count: int, seed: int, art: str, part: str, as_json: bool, quiet: bool
) -> None:
    """Make a labelled set in the competition's own form, to try and to train on."""
    from pathlib import Path  # noqa: PLC0415

    from segjudge.data import make  # noqa: PLC0415

    output = Output(as_json, quiet)
    with output.progress("drawing") as progress:
        make(task, Path(target), images=count, seed=seed, art=art, part=part, progress=progress)
    printing.written(target, {"images": count}, output)
