"""Validation by the competition's own scorer: predictions are written as a submission and scored as one."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from segjudge.encoding import write_submission
from segjudge.loading import read_images, read_submission, read_truth
from segjudge.models.rules import predicted
from segjudge.records import dataclass
from segjudge.scoring import score
from segjudge.task import ArchiveForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from segjudge.datasets import Dataset
    from segjudge.images import Images
    from segjudge.loading import Truth
    from segjudge.models.recipes import Recipe
    from segjudge.models.rules import Rules
    from segjudge.scoring import Result
    from segjudge.task import Task

__all__ = ["Judge", "Said", "submission_name", "write_manifest"]


@dataclass(frozen=True, slots=True)
class Said:
    """What a net said about an image, kept small."""

    image: str
    shape: tuple[int, int]
    outputs: NDArray[np.float16]  # (K, h, w)


class Judge:
    """Scores predictions of some images of a folder as the leaderboard would."""

    def __init__(self, task: Task, recipe: Recipe, data: Path, manifest: Path) -> None:
        self._task = task
        self._recipe = recipe
        self._truth: Truth = read_truth(task, data)
        self._images: Images = read_images(task, manifest)

    def judge(self, said: Sequence[Said], rules: Rules) -> Result:
        """The result of these predictions, which must be of all the images that count."""
        by = [part for part in ("class",) if self._task.classes and part in self._task.metric.breakdowns]
        with tempfile.TemporaryDirectory(prefix="segjudge-") as folder:
            path = Path(folder, submission_name(self._task))
            with write_submission(self._task, path) as out:
                for one in said:
                    outputs = one.outputs.astype(np.float32)
                    predicted(self._task, outputs, one.shape, rules, self._recipe).add_to(out, one.image)
            submission = read_submission(self._task, path)
            return score(self._task, self._truth.afresh(), submission, images=self._images, by=by)


def submission_name(task: Task) -> str:
    """A file name that a submission of this task may have."""
    return "submission.zip" if isinstance(task.submission, ArchiveForm) else "submission.csv"


def write_manifest(path: Path, dataset: Dataset, validation: Sequence[int]) -> None:
    """Write the list of a dataset's images, those of validation Public and all others Ignored."""
    chosen = set(validation)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["ImageId", "Height", "Width", "Clip", "Usage"])
        for place, image in enumerate(dataset.image_ids):
            usage = "Public" if place in chosen else "Ignored"
            writer.writerow([image, *dataset.shape(place), dataset.groups[place], usage])
