"""Task: everything that an evaluation page fixes, as frozen data; TOML to Task, strictly.

A task file has the tables `[classes]`, `[ignored]`, `[submission]`, `[truth]`, `[metric]` and `[words]`.
The fields of the dataclasses below are its options: an unknown key fails, and so does a missing one.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import tomllib
import types
from collections.abc import Mapping  # noqa: TC003 - read at run time: a field's type is its grammar
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from segjudge.errors import MaskError, TaskError, UsageError
from segjudge.matching import MOST_THRESHOLDS
from segjudge.metrics import METRICS, Metric, Overlap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segjudge.codecs import Rle

__all__ = ["ArchiveForm", "TableForm", "Task", "TruthForm", "builtin_ids", "decimal_text", "load_task"]

VERSION = 1
GIGABYTE = 1 << 30

Role = Literal["image", "image-class", "class", "confidence", "pixel-count", "runs", "file"]
Strictness = Literal["error", "warn"]

_MOST_DENOMINATOR = 10**6  # of a threshold: keeps every comparison within 64 bits
_ROLES = frozenset(get_args(Role))
_IMAGE_ROLES = frozenset({"image", "image-class"})


@dataclass(frozen=True, slots=True)
class TableForm:
    """A submission that is one table, a row per instance or per mask."""

    columns: Mapping[str, str]  # header name to role, in the file's order
    order: Literal["row", "column"]
    origin: Literal[0, 1]
    between: str
    after: str
    unsorted: Strictness
    overlapping: Literal["error", "allow"] | None = None
    missing: Literal["error", "empty"] | None = None
    max_unpacked: int = 8 * GIGABYTE

    settable = ("overlapping", "unsorted", "missing", "order", "origin", "max_unpacked")

    def column(self, role: str) -> str | None:
        """The header name of the column with this role."""
        return next((name for name, known in self.columns.items() if known == role), None)

    @property
    def rle(self) -> Rle:
        """The run-length dialect of the cells."""
        from segjudge.codecs import Rle  # noqa: PLC0415 - a task can be shown without numpy's weight

        return Rle(self.order, int(self.origin), self.between, self.after)


@dataclass(frozen=True, slots=True)
class ArchiveForm:
    """A submission that is a zip, a tar or a folder: a table that names pictures, and the pictures."""

    columns: Mapping[str, str]
    table: str  # file name of the table
    binarize: Literal["off", "128"]
    missing: Literal["error", "empty"]
    max_unpacked: int = 8 * GIGABYTE

    settable = ("missing", "binarize", "max_unpacked")

    def column(self, role: str) -> str | None:
        """The header name of the column with this role."""
        return next((name for name, known in self.columns.items() if known == role), None)


@dataclass(frozen=True, slots=True)
class TruthForm:
    """The forms in which a host may give the truth."""

    columns: Mapping[str, str]  # of a table; Height and Width may follow
    label_map: Literal["class-instance", "instance"] | None = None
    mask_folders: bool = False  # a folder per image with masks/*.png
    image_key: Literal["id", "file_name"] | None = None  # of COCO annotations

    settable = ("image_key",)


@dataclass(frozen=True, slots=True)
class Task:
    """One evaluation page as data. `settings` are all its choices, `words` the page's phrases for them."""

    id: str
    title: str
    classes: Mapping[int, str]
    ignored: Mapping[int, int]  # value of the truth to the class whose group it is; 0: every class
    submission: TableForm | ArchiveForm
    truth: TruthForm
    metric: Metric
    words: Mapping[str, str]
    source: str = field(default="", repr=False)  # the text of the file

    def __repr__(self) -> str:
        from segjudge.display import counted  # noqa: PLC0415 - needed in notebooks alone

        classes = (
            f"{len(self.classes)} class{'' if len(self.classes) == 1 else 'es'}, " if self.classes else ""
        )
        return f"Task({self.id}: {self.title!r}, {classes}{counted(len(self.settings), 'setting')})"

    def _repr_html_(self) -> str:
        from segjudge.display import task_html  # noqa: PLC0415 - needed in notebooks alone

        return task_html(
            {
                "task": self.id,
                "title": self.title,
                "classes": self.classes,
                "columns": list(self.submission.columns),
                "settings": self.settings,
                "choices": {name: self.choices(name) for name in self.settings},
                "words": self.words,
            }
        )

    @property
    def order(self) -> Literal["row", "column"]:
        """The order in which this task's masks are kept."""
        return self.submission.order if isinstance(self.submission, TableForm) else "row"

    @property
    def semantic(self) -> bool:
        """Whether a mask is all of a class in an image, not an instance of it."""
        return bool(self.classes) and isinstance(self.metric, Overlap)

    @property
    def joined(self) -> bool:
        """Whether one column names image and class together."""
        return "image-class" in self.submission.columns.values()

    @property
    def settings(self) -> dict[str, Any]:
        """All effective settings, by name."""
        values: dict[str, Any] = {}
        for owner, name in self._places().values():
            values[name] = _shown(getattr(owner, name))
        return values

    @property
    def digest(self) -> str:
        """SHA-256 of the task file's text and of the settings in force."""
        text = self.source + "\n" + repr(sorted(self.settings.items()))
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()

    def choices(self, name: str) -> str:
        """What a setting may be, in words."""
        owner, _ = self._places()[name]
        return _described(get_type_hints(type(owner))[name])

    def with_settings(self, pairs: Iterable[str]) -> Task:
        """The task with settings `name=value` changed; raises UsageError for one that it does not have.

        >>> load_task("dsb-2018").with_settings(["strict=false"]).settings["strict"]
        False
        """
        task = self
        for pair in pairs:
            name, equals, text = pair.partition("=")
            name = name.strip()
            if not equals:
                raise UsageError(f"--set {pair}: a setting is written name=value.")
            task = task._with(name, text.strip())
        return task

    def _places(self) -> dict[str, tuple[Any, str]]:
        """Where each setting lives; those that do not apply to this task are left out."""
        metric_names = [f.name for f in dataclasses.fields(self.metric)]  # type: ignore[arg-type]
        places: dict[str, tuple[Any, str]] = {}
        for owner, names in (
            (self.metric, metric_names),
            (self.submission, self.submission.settable),
            (self.truth, self.truth.settable),
        ):
            for name in names:
                if getattr(owner, name) is not None and name != "points":
                    places[name] = (owner, name)
        return places

    def _with(self, name: str, text: str) -> Task:
        places = self._places()
        if name not in places:
            raise UsageError(
                f"The task {self.id} has no setting {name!r}.", f"It has: {', '.join(sorted(places))}."
            )
        owner, _ = places[name]
        hint = get_type_hints(type(owner))[name]
        try:
            value = _coerced(_from_text(text, hint), hint)
        except ValueError as error:
            raise UsageError(f"--set {name}={text}: {error}.", f"It may be {_described(hint)}.") from None
        changed = dataclasses.replace(owner, **{name: value})
        part = next(p for p in ("metric", "submission", "truth") if getattr(self, p) is owner)
        task = dataclasses.replace(self, **{part: changed})
        _check(task)
        return task


# ---------------------------------------------------------------------------------------------- loading


def builtin_ids() -> list[str]:
    """The ids of the tasks that come with segjudge.

    >>> "wad-2018" in builtin_ids()
    True
    """
    folder = resources.files("segjudge") / "tasks"
    return sorted(
        entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")
    )


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
        return (resources.files("segjudge") / "tasks" / f"{name}.toml").read_text("utf-8"), str(name)
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
    _no_strangers(data, allowed, "the file")
    if data.get("version") != VERSION:
        raise ValueError(f"version must be {VERSION}, it is {data.get('version')!r}")
    for name in ("submission", "truth", "metric"):
        if not isinstance(data.get(name), dict):
            raise ValueError(f"the table [{name}] is missing")  # noqa: TRY004 - every fault of a task file is one kind
    submission = dict(data["submission"])
    form = submission.pop("form", None)
    forms: dict[str, type[TableForm | ArchiveForm]] = {"table": TableForm, "archive": ArchiveForm}
    if form not in forms:
        raise ValueError(f"[submission] form must be one of {', '.join(forms)}, it is {form!r}")
    options = dict(data["metric"])
    metric = _metric(options.pop("name", None))
    task = Task(
        id=_coerced(data.get("id"), str),
        title=_coerced(data.get("title"), str),
        classes={_class_id(key): _coerced(value, str) for key, value in data.get("classes", {}).items()},
        ignored={_class_id(key): _coerced(value, int) for key, value in data.get("ignored", {}).items()},
        submission=_instance(forms[form], submission, "[submission]"),
        truth=_instance(TruthForm, data["truth"], "[truth]"),
        metric=_instance(metric, options, "[metric]"),
        words={key: _coerced(value, str) for key, value in data.get("words", {}).items()},
        source=text,
    )
    strangers = set(task.words) - set(task.settings) - {"points"}
    if strangers:
        raise ValueError(f"[words] speaks of {sorted(strangers)}, which are no settings of this task")
    _check(task)
    return task


def _metric(name: object) -> type[Metric]:
    if isinstance(name, str) and ":" in name:
        module, _, attribute = name.partition(":")
        try:
            found: type[Metric] = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise ValueError(f"[metric] name = {name!r} cannot be imported ({error})") from None
        return found
    if name not in METRICS:
        raise ValueError(f"[metric] name must be one of {', '.join(METRICS)}, it is {name!r}")
    return METRICS[str(name)]


def _instance(kind: type[Any], options: dict[str, Any], where: str) -> Any:  # noqa: ANN401
    """A dataclass of these options, every one known, needed ones there, and each of its type."""
    known = {f.name: f for f in dataclasses.fields(kind)}
    _no_strangers(options, set(known), where)
    hints = get_type_hints(kind)
    values = {}
    for name, option in options.items():
        try:
            values[name] = _coerced(option, hints[name])
        except ValueError as error:
            raise ValueError(f"{where} {name}: {error}; it may be {_described(hints[name])}") from None
    missing = [
        name
        for name, f in known.items()
        if name not in values
        and f.default is dataclasses.MISSING
        and f.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ValueError(f"{where} lacks {', '.join(missing)}: a choice is never left to a default")
    return kind(**values)


def _no_strangers(options: Mapping[str, Any], known: set[str], where: str) -> None:
    strangers = sorted(set(options) - known)
    if strangers:
        raise ValueError(
            f"{where} has the unknown key {strangers[0]!r}; known are {', '.join(sorted(known))}"
        )


def _class_id(key: str) -> int:
    if not key.isdigit() or len(key) > 9:
        raise ValueError(f"a class id is a whole number of at most nine digits, not {key!r}")
    return int(key)


def _check(task: Task) -> None:
    """What no single option can see."""
    for columns in (task.submission.columns, task.truth.columns):
        _check_columns(columns, "file" if isinstance(task.submission, ArchiveForm) else "runs")
    roles = set(task.submission.columns.values())
    lacking = task.metric.needs - roles - ({"image"} if "image-class" in roles else set())
    if lacking:
        raise ValueError(f"the metric needs a column with the role {min(lacking)}")
    if roles & {"image-class", "class"} and not task.classes:
        raise ValueError("[classes] is empty, but a column names classes")
    if "confidence" not in roles and task.submission.missing is None:
        raise ValueError("[submission] lacks missing: what to do with an image that has no row")
    if isinstance(task.submission, TableForm):
        _check_dialect(task.submission)
    _check_metric(task.metric)


def _check_columns(columns: Mapping[str, str], content: str) -> None:
    used = list(columns.values())
    unknown = sorted(set(used) - _ROLES)
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no role of a column; roles are {', '.join(sorted(_ROLES))}")
    if len(set(used)) != len(used):
        raise ValueError("two columns have one role")
    if len(_IMAGE_ROLES & set(used)) != 1:
        raise ValueError("exactly one column says which image: the role image or image-class")
    if content not in used:
        raise ValueError(f"a column with the role {content} is missing")


def _check_dialect(form: TableForm) -> None:
    try:
        _ = form.rle
    except MaskError as error:
        raise ValueError(str(error)) from None


def _check_metric(metric: Metric) -> None:
    thresholds = getattr(metric, "thresholds", (Fraction(1, 2),))
    if not 0 < len(thresholds) <= MOST_THRESHOLDS or len(set(thresholds)) != len(thresholds):
        raise ValueError(f"thresholds are 1 to {MOST_THRESHOLDS} different numbers")
    if any(not 0 <= t < 1 or t.denominator > _MOST_DENOMINATOR for t in thresholds):
        raise ValueError("a threshold lies in [0, 1) and has at most six decimals")
    bands = getattr(metric, "points", ())
    if bands and min(band.start for band in bands) > 0:
        raise ValueError("[[metric.points]] has no band from 0")


# ------------------------------------------------------------------------------------------------ types


def _coerced(value: Any, hint: Any) -> Any:  # noqa: ANN401, PLR0911, PLR0912, C901 - a few lines a kind of type
    """The value as its type wants it; raises ValueError where it does not fit."""
    origin = get_origin(hint)
    if origin in {Union, types.UnionType}:
        return (
            None if value is None else _coerced(value, next(a for a in get_args(hint) if a is not type(None)))
        )
    if origin is Literal:
        allowed = get_args(hint)
        if not isinstance(value, bool):
            if value in allowed:
                return value
            if str(value) in allowed:
                return str(value)
        raise ValueError(f"it is {value!r}")
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise ValueError("it is not a list")
        return tuple(_coerced(item, get_args(hint)[0]) for item in value)
    if origin is not None:
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise ValueError("it is not a table of texts")
        return dict(value)
    if hint is Fraction:
        if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
            raise ValueError(f"it is {value!r}")
        return Fraction(value)
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise ValueError("it is not a table")
        return _instance(hint, {("start" if k == "from" else k): v for k, v in value.items()}, "the table")  # type: ignore[arg-type]
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise ValueError(f"it is {value!r}")
    return value


def _from_text(text: str, hint: Any) -> Any:  # noqa: ANN401
    """A `--set` value as TOML would have given it."""
    if hint is bool:
        if text.lower() not in {"true", "false"}:
            raise ValueError("it is neither true nor false")
        return text.lower() == "true"
    if hint is int:
        if not text.isdigit():
            raise ValueError("it is not a whole number")
        return int(text)
    if get_origin(hint) is tuple:
        raise ValueError("it is a list, which only a task file can give")
    args = get_args(hint)
    if get_origin(hint) is Literal and all(isinstance(a, int) for a in args):
        return int(text) if text.isdigit() else text
    return text


def _described(hint: Any) -> str:  # noqa: ANN401
    origin = get_origin(hint)
    if origin in {Union, types.UnionType}:
        return _described(next(a for a in get_args(hint) if a is not type(None)))
    if origin is Literal:
        return ", ".join(map(str, get_args(hint)))
    if origin is tuple:
        return "a list of numbers"
    names = {bool: "true, false", int: "a whole number", str: "a text", Fraction: "a number"}
    return names.get(hint, "a table")


def _shown(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, tuple):
        return [decimal_text(item) for item in value]
    return value


def decimal_text(value: Fraction) -> str:
    """The shortest decimal of a threshold.

    >>> decimal_text(Fraction(11, 20)), decimal_text(Fraction(1, 3))
    ('0.55', '1/3')
    """
    number = repr(float(value))
    return number if Fraction(number) == value else str(value)
