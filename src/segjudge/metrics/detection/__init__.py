"""COCO's detection metric: average precision and recall over thresholds, classes, area ranges and caps."""

from __future__ import annotations

from segjudge.metrics.detection.metric import AreaRange, Curves, Detection
from segjudge.metrics.detection.tally import DetectionTally

__all__ = ["AreaRange", "Curves", "Detection", "DetectionTally"]
