"""The metrics: each keeps a tally of whole numbers that adds, and turns it into a score at the end.

| name | class | pages |
|---|---|---|
| `average-precision` | `AveragePrecision` | WAD 2018 |
| `image-precision` | `ImagePrecision` | Data Science Bowl 2018 |
| `overlap` | `Overlap` (Dice or IoU) | BaDLAD, emoji |
| `detection` | `Detection` | COCO |

A metric is a frozen dataclass: its fields are the options of `[metric]` in a task file. A metric from
another package is named by its import path, `name = "package.module:Class"`.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from segjudge.metrics.scores import Metric, Scores, Tally

if TYPE_CHECKING:
    from segjudge.metrics.average_precision import AveragePrecision
    from segjudge.metrics.detection import Detection
    from segjudge.metrics.image_precision import ImagePrecision
    from segjudge.metrics.overlap import Overlap

__all__ = [
    "METRICS",
    "AveragePrecision",
    "Detection",
    "ImagePrecision",
    "Metric",
    "Overlap",
    "Scores",
    "Tally",
    "is_metric",
]

#: Where each metric lives; a score loads only its own.
METRICS = {
    "average-precision": "segjudge.metrics.average_precision:AveragePrecision",
    "image-precision": "segjudge.metrics.image_precision:ImagePrecision",
    "overlap": "segjudge.metrics.overlap:Overlap",
    "detection": "segjudge.metrics.detection:Detection",
}
_PLACES = {place.partition(":")[2]: place.partition(":")[0] for place in METRICS.values()}


def is_metric(metric: Metric, name: str) -> bool:
    """Whether a metric is of the class with this name in task files; loads nothing to find out.

    >>> from segjudge.task import load_task
    >>> is_metric(load_task("badlad").metric, "overlap"), is_metric(load_task("badlad").metric, "detection")
    (True, False)
    """
    module, _, attribute = METRICS[name].partition(":")
    return module in sys.modules and isinstance(metric, getattr(sys.modules[module], attribute))


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any of the classes above
    if name not in _PLACES:
        raise AttributeError(f"module 'segjudge.metrics' has no attribute {name!r}")
    value = getattr(importlib.import_module(_PLACES[name]), name)
    globals()[name] = value
    return value
