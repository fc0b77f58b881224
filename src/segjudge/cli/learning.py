"""The verbs that learn: train, predict, export."""

from __future__ import annotations

import math
import os
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from segjudge.cli import printing
from segjudge.cli.choices import (
    common,
    images_option,
    load,
    output_option,
    read_manifest,
    set_option,
    task_argument,
)
from segjudge.cli.running import INTERRUPTED, Output, finish
from segjudge.errors import MissingExtra, SubmissionError, UsageError
from segjudge.models.recipes import NETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segjudge.models.training import Progress

__all__ = ["export", "need_training", "predict", "train"]

_PRECISIONS = ("32-true", "16-mixed", "bf16-mixed")

threads_option = click.option(
    "--threads", type=click.IntRange(1), metavar="N", help="Processor threads; default: one for each core."
)


@click.command()
@task_argument
@click.argument("data")
@click.option("-o", "--output", "target", required=True, metavar="RUN", help="The run's folder.")
@click.option(
    "--minutes", type=click.FloatRange(0.1), metavar="M", help="Train for about so long, instead of steps."
)
@click.option(
    "--steps", type=click.IntRange(1), metavar="N", help="Train for so many steps; default: the recipe's."
)
@click.option(
    "--epochs",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    metavar="N",
    help="How often to take the metric.",
)
@click.option(
    "--init",
    default="builtin",
    show_default=True,
    metavar="WEIGHTS",
    help="builtin, scratch, a run, or a weights file.",
)
@click.option(
    "--net", type=click.Choice(NETS), default="small", show_default=True, help="Ours, or one of MONAI's."
)
@click.option(
    "--fold",
    default="0",
    show_default=True,
    metavar="N|all",
    help="The part kept for validation; all trains one model for each part.",
)
@click.option(
    "--folds",
    type=click.IntRange(2),
    default=4,
    show_default=True,
    metavar="N",
    help="Parts to split the data into.",
)
@click.option("--validation", type=click.IntRange(1), metavar="N", help="Validation images at most.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="Of weights, crops and the split.",
)
@click.option("--batch", type=click.IntRange(1), metavar="N", help="Crops a step; default: the recipe's.")
@click.option("--rate", type=click.FloatRange(0, min_open=True), metavar="R", help="Peak learning rate.")
@click.option("--resume", is_flag=True, help="Go on with a run that was broken off.")
@click.option(
    "--overfit", type=click.IntRange(1), metavar="N", help="Learn N images by heart: a check of the data."
)
@click.option(
    "--devices",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="How many GPUs, or processes without one.",
)
@click.option(
    "--precision",
    type=click.Choice(_PRECISIONS),
    default="32-true",
    show_default=True,
    help="The mixed ones are for GPUs.",
)
@click.option(
    "--workers",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="Processes that make crops.",
)
@threads_option
@set_option
@common
def train(
    *, task: str, data: str, target: str, fold: str, resume: bool, settings: tuple[str, ...], as_json: bool,
    quiet: bool, **options: Any,  # noqa: ANN401 - the plan's fields, which click has checked
) -> None:  # fmt: skip
    """Train a baseline on a competition's folder.

    DATA is the folder as the competition ships it, or as make-data writes it.
    """
    from pathlib import Path  # noqa: PLC0415

    need_training()
    output = Output(as_json, quiet)
    loaded = load(task, settings)
    from segjudge.models.folds import train_folds  # noqa: PLC0415
    from segjudge.models.runs import Plan  # noqa: PLC0415
    from segjudge.models.training import train as run  # noqa: PLC0415

    for name in ("minutes", "rate"):
        if options[name] and not math.isfinite(options[name]):
            raise UsageError(f"--{name} is {options[name]}.", "Give a number.")
    number = _fold(fold, options["folds"])
    if options["minutes"] and options["steps"]:
        raise UsageError("--minutes and --steps say two things.", "Give one of them.")
    if number is None and options["devices"] > 1:
        raise UsageError(
            "--fold all trains on one device.", "Train each fold by itself: --fold 0, --fold 1, …"
        )
    plan = Plan(task=loaded.id, fold=number or 0, **options)
    try:
        with _reporting(output) as report:
            if number is None:
                record = train_folds(loaded, Path(data), Path(target), plan, resume=resume, report=report)
            else:
                show = lambda progress: report(None, progress)  # noqa: E731 - a fold of one
                record = run(loaded, Path(data), Path(target), plan, resume=resume, report=show)
    except KeyboardInterrupt:
        if Path(target).exists():
            output.aside(
                f"Stopped; everything is kept in {target}. Go on with the same command and --resume."
            )
        else:
            output.aside(f"Stopped before the first step; there is no {target} yet.")
        finish(INTERRUPTED)
    if os.environ.get("LOCAL_RANK", "0") == "0":  # of several devices' processes one speaks for all
        printing.trained(target, record, output)


@click.command()
@task_argument
@click.argument("run")
@click.argument("pictures")
@output_option
@click.option("--ensemble", multiple=True, metavar="RUN", help="Another run to average with; repeatable.")
@click.option(
    "--tta/--no-tta", default=None, help="Average over the picture turned over; default: the run's."
)
@images_option
@threads_option
@set_option
@common
def predict(
    *, task: str, run: str, pictures: str, target: str, ensemble: tuple[str, ...], tta: bool | None,
    manifest: str | None, threads: int | None, settings: tuple[str, ...], as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Predict the masks of a folder's images and write a submission.

    RUN is the folder that train wrote, or a file that export wrote. The submission is checked before the
    command ends well; one that was broken off goes on where it stopped.
    """
    from pathlib import Path  # noqa: PLC0415

    _need("predict", "Predicting", "skimage", "scipy")
    from segjudge.models.predicting import predict as run_prediction  # noqa: PLC0415

    if target == "-":
        raise UsageError("A prediction cannot go to standard output.", "Name a file: -o submission.csv")
    output = Output(as_json, quiet)
    loaded = load(task, settings)
    runs = [Path(path) for path in (run, *ensemble)]
    images = read_manifest(loaded, manifest)
    try:
        with output.progress("predicting") as progress:
            done = run_prediction(
                loaded, runs, Path(pictures), Path(target), images=images, views=tta, threads=threads,
                progress=progress,
            )  # fmt: skip
    except KeyboardInterrupt:
        output.aside("Stopped; what was predicted is kept. Go on with the same command.")
        finish(INTERRUPTED)
    if not done.diagnosis.ok:
        printing.diagnosis(done.diagnosis, output, streamed=False)
        finish(SubmissionError.exit_status)
    printing.written(target, {"images": done.images}, output, done.diagnosis)


@click.command()
@click.argument("run")
@click.option("-o", "--output", "target", required=True, metavar="MODEL.onnx", help="The file to write.")
@common
def export(*, run: str, target: str, as_json: bool, quiet: bool) -> None:
    """Write a run as an ONNX file, with which predict needs no torch."""
    from pathlib import Path  # noqa: PLC0415

    _need("export", "Exporting to ONNX", "torch", "onnx", "onnxscript", "safetensors")
    from segjudge.models.exporting import export_run  # noqa: PLC0415

    export_run(Path(run), Path(target))
    printing.written(target, {"bytes": Path(target).stat().st_size}, Output(as_json, quiet))


def need_training() -> None:
    """Raise MissingExtra unless everything is installed that training needs."""
    _need("train", "Training", "torch", "monai", "lightning_fabric", "safetensors", "skimage")


def _need(extra: str, purpose: str, *modules: str) -> None:
    """Raise MissingExtra unless all modules are installed; nothing is imported yet."""
    if any(find_spec(module) is None for module in modules):
        raise MissingExtra(extra, purpose)


def _fold(text: str, folds: int) -> int | None:
    """The number of the fold; None for all of them."""
    if text == "all":
        return None
    if not text.isdigit() or int(text) >= folds:
        raise UsageError(f"There is no fold {text!r} of {folds}.", f"Folds are 0 to {folds - 1}, or all.")
    return int(text)


@contextmanager
def _reporting(output: Output) -> Iterator[Callable[[int | None, Progress], None]]:
    """What shows a run's progress: a bar where someone looks on, and a line for each epoch."""
    with output.bar("training") as bar:

        def report(fold: int | None, progress: Progress) -> None:
            begin = "" if fold is None else f"fold {fold}: "
            if progress.note:
                output.aside(
                    f"{begin}starting from {progress.note}"
                    if _is_init(progress.note)
                    else begin + progress.note
                )
            elif progress.epoch is not None:
                output.aside(begin + _epoch_line(progress))
            elif bar is not None:
                bar(progress.step, progress.steps, f"{begin}loss {progress.loss:.3f}")

        yield report


def _is_init(note: str) -> bool:
    return "weights" in note


def _epoch_line(progress: Progress) -> str:
    row = progress.epoch or {}
    metric = "none yet" if row["metric"] is None else f"{row['metric']:.4f}"
    left = "" if not progress.remaining else f", about {_duration(progress.remaining)} left"
    done = f"epoch {row['epoch']}, step {row['step']} of {progress.steps}"
    return f"{done}: loss {row['loss']:.4f}, metric {metric}{left}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
