"""COCO's files: annotations as the truth of semantic tasks and of instances, and lists of results."""

from segjudge.formats.coco.annotations import Annotations
from segjudge.formats.coco.entry_source import EntrySource
from segjudge.formats.coco.instances import open_coco_instances
from segjudge.formats.coco.results import open_coco_results
from segjudge.formats.coco.source import CocoTruthSource, open_coco_truth

__all__ = [
    "Annotations",
    "CocoTruthSource",
    "EntrySource",
    "open_coco_instances",
    "open_coco_results",
    "open_coco_truth",
]
