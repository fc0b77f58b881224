"""COCO's annotation files as the truth of tasks with a mask for each image and class."""

from segjudge.formats.coco.annotations import Annotations
from segjudge.formats.coco.source import CocoTruthSource, open_coco_truth

__all__ = ["Annotations", "CocoTruthSource", "open_coco_truth"]
