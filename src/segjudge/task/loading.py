"""Task files: from a built-in id or a path to a task."""

from __future__ import annotations

import importlib
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segjudge.errors import TaskError, UsageError
from segjudge.metrics import METRICS, Metric
from segjudge.task.consistency import check_task
from segjudge.task.forms import ArchiveForm, ResultsForm, TableForm, TruthForm
from segjudge.task.model import Task
from segjudge.task.options import coerced, instance, no_strangers

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["builtin_ids", "load_task"]

VERSION = 1
_BUILTIN = Path(__file__).parents[1] / "tasks"  # never zipped; importlib.resources would load zipfile


def builtin_ids() -> list[str]:
    """The ids of the tasks that come with segjudge.

    >>> "wad-2018" in builtin_ids()
    True
    """
    return sorted(path.stem for path in _BUILTIN.glob("*.toml"))


def load_task(name: str | Path, settings: Iterable[str] = ()) -> Task:
    """The task with a built-in id, or of a TOML file; `settings` are `name=value` changes.

    Raises UsageError for an unknown id or a file that is not there, TaskError for a file at fault.

    >>> load_task("wad-2018").classes[33]
    'car'
    """
    text, place = _read(name)
    try:
        data = tomllib.loads(text, parse_float=Fraction)
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{place}: not valid TOML: {error}.") from None
    try:
        task = _built(data, text)
    except ValueError as error:
        raise TaskError(f"{place}: {error}.", "The docs show a task file with every option.") from None
    return task.with_settings(settings)


def _read(name: str | Path) -> tuple[str, str]:
    known = builtin_ids()
    if str(name) in known:
        return (_BUILTIN / f"{name}.toml").read_text("utf-8"), str(name)
    path = Path(name)
    if not path.is_file():
        raise UsageError(
            f"There is no task {str(name)!r}, built in or as a file.", f"Built in are: {', '.join(known)}."
        )
    try:
        return path.read_text("utf-8"), str(name)
    except UnicodeDecodeError:
        raise TaskError(f"{name}: not UTF-8 text.", "A task is a TOML file.") from None


def _built(data: dict[str, Any], text: str) -> Task:
    allowed = {"version", "id", "title", "classes", "ignored", "submission", "truth", "metric", "words"}
    no_strangers(data, allowed, "the file")
    if data.get("version") != VERSION:
        raise ValueError(f"version must be {VERSION}, it is {data.get('version')!r}")
    for name in ("submission", "truth", "metric"):
        if not isinstance(data.get(name), dict):
            raise ValueError(f"the table [{name}] is missing")  # noqa: TRY004 - every fault of a task file is one kind
    submission = dict(data["submission"])
    form = submission.pop("form", None)
    forms: dict[str, type[TableForm | ArchiveForm | ResultsForm]] = {
        "table": TableForm,
        "archive": ArchiveForm,
        "coco": ResultsForm,
    }
    if form not in forms:
        raise ValueError(f"[submission] form must be one of {', '.join(forms)}, it is {form!r}")
    options = dict(data["metric"])
    metric = _metric(options.pop("name", None))
    task = Task(
        id=coerced(data.get("id"), str),
        title=coerced(data.get("title"), str),
        classes={_class_id(key): coerced(value, str) for key, value in data.get("classes", {}).items()},
        ignored={_class_id(key): coerced(value, int) for key, value in data.get("ignored", {}).items()},
        submission=instance(forms[form], submission, "[submission]"),
        truth=instance(TruthForm, data["truth"], "[truth]"),
        metric=instance(metric, options, "[metric]"),
        words={key: coerced(value, str) for key, value in data.get("words", {}).items()},
        source=text,
    )
    strangers = set(task.words) - set(task.settings) - {"points"}
    if strangers:
        raise ValueError(f"[words] speaks of {sorted(strangers)}, which are no settings of this task")
    check_task(task)
    return task


def _metric(name: object) -> type[Metric]:
    place = METRICS.get(name, name) if isinstance(name, str) else ""
    if ":" in place:
        module, _, attribute = place.partition(":")
        try:
            found: type[Metric] = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise ValueError(f"[metric] name = {name!r} cannot be imported ({error})") from None
        return found
    raise ValueError(f"[metric] name must be one of {', '.join(METRICS)}, it is {name!r}")


def _class_id(key: str) -> int:
    if not key.isdigit() or len(key) > 9:
        raise ValueError(f"a class id is a whole number of at most nine digits, not {key!r}")
    return int(key)
