"""What no single option of a task can see: whether columns, metric and dialect fit together."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, get_args

from segjudge.errors import MaskError
from segjudge.matching import MOST_THRESHOLDS
from segjudge.task.forms import ArchiveForm, ResultsForm, Role, TableForm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from segjudge.metrics import Metric
    from segjudge.task.model import Task

__all__ = ["check_task"]

_MOST_DENOMINATOR = 10**6  # of a threshold: keeps every comparison within 64 bits
_ROLES = frozenset(get_args(Role))
_IMAGE_ROLES = frozenset({"image", "image-class"})


def check_task(task: Task) -> None:
    """Raise ValueError where two options contradict each other."""
    if isinstance(task.submission, ResultsForm):
        _check_results(task)
    else:
        for columns in (task.submission.columns, task.truth.columns):
            _check_columns(columns, "file" if isinstance(task.submission, ArchiveForm) else "runs")
    roles = set(task.submission.columns.values())
    lacking = task.metric.needs - roles - ({"image"} if "image-class" in roles else set())
    if lacking:
        raise ValueError(f"the metric needs a column with the role {min(lacking)}")
    if roles & {"image-class", "class"} and not task.classes and not isinstance(task.submission, ResultsForm):
        raise ValueError("[classes] is empty, but a column names classes")
    if "confidence" not in roles and task.submission.missing is None:
        raise ValueError("[submission] lacks missing: what to do with an image that has no row")
    if isinstance(task.submission, TableForm):
        _check_dialect(task.submission)
    _check_metric(task.metric)


def _check_results(task: Task) -> None:
    truth = task.truth
    if task.classes or task.ignored:
        raise ValueError("[classes] and [ignored] stand in the truth where the form is coco")
    if truth.columns or truth.label_map or truth.mask_folders or truth.image_key:
        raise ValueError("[truth] has no options where the form is coco: the truth is an annotations file")


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
