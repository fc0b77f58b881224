"""segjudge: check, score and explain submissions to image-segmentation competitions, exactly.

>>> import segjudge as sj
>>> sj.Rle(order="column", origin=1).decode(["4 3 9 1"], shape=(3, 4)).areas.tolist()
[4]
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all else here

if TYPE_CHECKING:
    from typing import Any

    from segjudge.codecs import CocoRle, Rle
    from segjudge.encoding import SubmissionWriter, write_submission
    from segjudge.errors import (
        ClusterError,
        MaskError,
        MissingExtra,
        SegjudgeError,
        SubmissionError,
        TaskError,
        TruthError,
        UsageError,
    )
    from segjudge.findings import Diagnosis, Finding
    from segjudge.images import Images
    from segjudge.instances import Instances
    from segjudge.loading import Submission, Truth, read_images, read_submission, read_truth
    from segjudge.masks import Masks, Overlaps
    from segjudge.result import Result
    from segjudge.scoring import check, check_truth, score
    from segjudge.streaming import Evaluator
    from segjudge.task import Task, load_task

__version__ = "0.1.0"

__all__ = [
    "ClusterError",
    "CocoRle",
    "Diagnosis",
    "Evaluator",
    "Finding",
    "Images",
    "Instances",
    "MaskError",
    "Masks",
    "MissingExtra",
    "Overlaps",
    "Result",
    "Rle",
    "SegjudgeError",
    "Submission",
    "SubmissionError",
    "SubmissionWriter",
    "Task",
    "TaskError",
    "Truth",
    "TruthError",
    "UsageError",
    "check",
    "check_truth",
    "load_task",
    "read_images",
    "read_submission",
    "read_truth",
    "score",
    "write_submission",
]

# Where each name lives; none is loaded at once: `segjudge --help` needs no numpy.
_LAZY = {
    "ClusterError": "errors",
    "CocoRle": "codecs",
    "Diagnosis": "findings",
    "Evaluator": "streaming",
    "Finding": "findings",
    "Images": "images",
    "Instances": "instances",
    "MaskError": "errors",
    "Masks": "masks",
    "MissingExtra": "errors",
    "Overlaps": "masks",
    "Result": "result",
    "Rle": "codecs",
    "SegjudgeError": "errors",
    "Submission": "loading",
    "SubmissionError": "errors",
    "SubmissionWriter": "encoding",
    "Task": "task",
    "TaskError": "errors",
    "Truth": "loading",
    "TruthError": "errors",
    "UsageError": "errors",
    "check": "scoring",
    "check_truth": "scoring",
    "load_task": "task",
    "read_images": "loading",
    "read_submission": "loading",
    "read_truth": "loading",
    "score": "scoring",
    "write_submission": "encoding",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any of the names above
    if name not in _LAZY:
        raise AttributeError(f"module 'segjudge' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"segjudge.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
