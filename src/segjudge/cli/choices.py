"""Options and arguments that several verbs share, and what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from segjudge.cli import printing
from segjudge.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segjudge.cli.running import Output
    from segjudge.findings import Collector
    from segjudge.images import Images
    from segjudge.task import Task

Verb = TypeVar("Verb", bound="Callable[..., Any]")


def options(*decorators: Callable[[Verb], Verb]) -> Callable[[Verb], Verb]:
    """Several click options as one decorator."""

    def decorate(verb: Verb) -> Verb:
        for decorator in reversed(decorators):
            verb = decorator(verb)
        return verb

    return decorate


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print exactly one JSON object on standard output."
)
quiet_option = click.option("--quiet", is_flag=True, help="Print nothing beside the result.")
common = options(json_option, quiet_option)
set_option = click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Change a setting of the task; repeatable."
)
images_option = click.option(
    "--images", "manifest", metavar="FILE", help="The images: ImageId,Height,Width[,Clip][,Usage]."
)
workers_option = click.option(
    "--workers",
    type=click.IntRange(1),
    default=None,
    metavar="N",
    help="Threads or processes; default: all cores.",
)
cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Share the work with a Dask cluster: its scheduler's address, or scheduler file.",
)
task_argument = click.argument("task")
submission_argument = click.argument("submission")
truth_argument = click.argument("truth")
output_option = click.option(
    "-o", "--output", "target", required=True, metavar="PATH", help="Where to write."
)


def load(task: str, settings: tuple[str, ...]) -> Task:
    """The task with the settings changed."""
    from segjudge.task import load_task  # noqa: PLC0415

    return load_task(task, settings)


def read_manifest(task: Task, manifest: str | None) -> Images | None:
    """The list of images, None where none is given."""
    if manifest is None:
        return None
    from segjudge.loading import read_images  # noqa: PLC0415

    return read_images(task, manifest)


def collector(output: Output, *, everything: bool) -> Collector:
    """Where findings go: kept within bounds, or printed as they come."""
    from segjudge.findings import Collector  # noqa: PLC0415

    if not everything:
        return Collector()
    return Collector(cap=None, sink=printing.stream(output))


def one_stdin(*paths: str | None) -> None:
    """Raise UsageError where standard input would be read twice."""
    if paths.count("-") > 1:
        raise UsageError("Standard input can be one file, not two.", "Give the others as paths.")


def existing_path(path: str) -> Path:
    """The path; raises UsageError if nothing is there."""
    from pathlib import Path  # noqa: PLC0415

    found = Path(path)
    if not found.exists():
        raise UsageError(
            f"There is no file or folder {path!r}.", "Check the spelling and the folder you are in."
        )
    return found
