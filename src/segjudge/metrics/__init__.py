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

from segjudge.metrics.average_precision import AveragePrecision
from segjudge.metrics.detection import Detection
from segjudge.metrics.image_precision import ImagePrecision
from segjudge.metrics.overlap import Overlap
from segjudge.metrics.scores import Metric, Scores, Tally

__all__ = [
    "METRICS",
    "AveragePrecision",
    "Detection",
    "ImagePrecision",
    "Metric",
    "Overlap",
    "Scores",
    "Tally",
]

METRICS: dict[str, type[Metric]] = {
    "average-precision": AveragePrecision,
    "image-precision": ImagePrecision,
    "overlap": Overlap,
    "detection": Detection,
}
