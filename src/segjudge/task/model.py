"""The task itself: its parts, its settings, and how one is changed."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping  # noqa: TC003 - read at run time: a field's type is its grammar
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from segjudge.errors import UsageError
from segjudge.metrics import Metric, is_metric
from segjudge.records import dataclass
from segjudge.task.consistency import check_task
from segjudge.task.forms import ArchiveForm, ResultsForm, TableForm, TruthForm
from segjudge.task.options import coerced, described, from_text, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Task"]


@dataclass(frozen=True, slots=True)
class Task:
    """One evaluation page as data. `settings` are all its choices, `words` the page's phrases for them."""

    id: str
    title: str
    classes: Mapping[int, str]
    ignored: Mapping[int, int]  # value of the truth to the class whose group it is; 0: every class
    submission: TableForm | ArchiveForm | ResultsForm
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
        return "row" if isinstance(self.submission, ArchiveForm) else self.submission.order

    @property
    def semantic(self) -> bool:
        """Whether a mask is all of a class in an image, not an instance of it."""
        return bool(self.classes) and is_metric(self.metric, "overlap")

    @property
    def ranked(self) -> bool:
        """Whether predictions have confidences; an image without any then needs no row."""
        return "confidence" in self.metric.needs

    @property
    def joined(self) -> bool:
        """Whether one column names image and class together."""
        return "image-class" in self.submission.columns.values()

    @property
    def settings(self) -> dict[str, Any]:
        """All effective settings, by name."""
        values: dict[str, Any] = {}
        for owner, name in self._places().values():
            values[name] = shown(getattr(owner, name))
        return values

    @property
    def digest(self) -> str:
        """SHA-256 of the task file's text and of the settings in force."""
        text = self.source + "\n" + repr(sorted(self.settings.items()))
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()

    def row_id(self, image_id: str, class_id: int) -> str:
        """The id of a row as a submission writes it."""
        return f"{image_id}_{class_id}" if self.semantic else image_id

    def choices(self, name: str) -> str:
        """What a setting may be, in words."""
        owner, _ = self._places()[name]
        return described(get_type_hints(type(owner))[name])

    def with_settings(self, pairs: Iterable[str]) -> Task:
        """The task with settings `name=value` changed; raises UsageError for one that it does not have.

        >>> from segjudge.task import load_task
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
            value = coerced(from_text(text, hint), hint)
        except ValueError as error:
            raise UsageError(f"--set {name}={text}: {error}.", f"It may be {described(hint)}.") from None
        changed = dataclasses.replace(owner, **{name: value})
        part = next(p for p in ("metric", "submission", "truth") if getattr(self, p) is owner)
        task = dataclasses.replace(self, **{part: changed})
        check_task(task)
        return task
