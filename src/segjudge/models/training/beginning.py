"""From a folder and a plan to a run that is begun, gone on with, or refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from segjudge.errors import UsageError
from segjudge.models.runs import Plan, Run
from segjudge.models.training.trainer import Trainer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segjudge.models.training.state import Progress
    from segjudge.task import Task

__all__ = ["train"]


def train(
    task: Task,
    data: Path,
    folder: Path,
    plan: Plan,
    *,
    resume: bool = False,
    report: Callable[[Progress], None] | None = None,
) -> dict[str, Any]:
    """The record of a finished run: best epoch, tuned rules, and the metric on validation images.

    The folder holds everything afterwards (see `Run`). Ctrl-C ends after the step at hand, with the state
    saved; `resume` goes on from there, to the same weights on one thread. Raises UsageError for a folder
    that holds another run, TrainingError when the loss is no number any more.
    """
    run = Run(folder)
    if run.exists():
        plan = _continued(run, plan, resume=resume)
        if run.read().get("rules"):
            return run.read()
    elif resume and folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} holds no run to go on with.", "Leave --resume out to begin one.")
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder.", "Name one that does not exist yet.")
    return Trainer(task, data, run, plan, report or (lambda _: None)).run()


def _continued(run: Run, plan: Plan, *, resume: bool) -> Plan:
    begun = run.plan()
    if not resume:
        raise UsageError(f"{run.folder} holds a run already.", "Go on with --resume, or name another folder.")
    changed = begun.differences(plan)
    if changed:
        options = [_option(name, getattr(begun, name)) for name in changed]
        raise UsageError(
            f"The run in {run.folder} was begun with another {', '.join(changed)}.",
            f"Go on as it was begun, {', '.join(options)}; or begin another run.",
        )
    return replace(begun, threads=plan.threads, devices=plan.devices, workers=plan.workers)


def _option(name: str, value: object) -> str:
    if name == "task":
        return f"for {value}"
    return f"without --{name}" if value is None else f"with --{name} {value}"
