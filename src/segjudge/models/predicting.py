"""From pictures to a submission that has been checked, one picture in memory at a time."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from segjudge.datasets import open_dataset
from segjudge.encoding import refuse_path, write_submission
from segjudge.errors import UsageError
from segjudge.images import Images
from segjudge.loading import read_submission
from segjudge.models.alone import alone, clear
from segjudge.models.inference import outputs_of
from segjudge.models.rules import Prediction, predicted
from segjudge.models.trained import open_trained
from segjudge.records import dataclass
from segjudge.scoring import check

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from segjudge.datasets import Dataset
    from segjudge.findings import Diagnosis
    from segjudge.masks import Order
    from segjudge.models.trained import Trained
    from segjudge.task import Task

__all__ = ["Predicted", "predict", "predict_place"]


@dataclass(frozen=True, slots=True)
class Predicted:
    """A submission that was written, and what the check of it says."""

    images: int
    kept: int  # images that an earlier, broken-off run had predicted already
    diagnosis: Diagnosis


def predict(
    task: Task,
    runs: Sequence[Path],
    folder: Path,
    target: Path,
    *,
    images: Images | None = None,
    views: bool | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Predicted:
    """A submission for the pictures in a folder, written and then checked.

    Several runs are asked together and their answers averaged; the first one's rules decide. `images` says
    which pictures are wanted (those that count), else all are. What is done is kept beside the target until
    the end, so that a broken-off prediction goes on where it stopped. A file that is there already is
    replaced when the new one is whole and the check finds no error in it; until then it stays what it was.
    Raises UsageError while another process predicts the same target.
    """
    refuse_path(task, target)
    models = [model for run in runs for model in open_trained(task, run, threads=threads)]
    _refuse_strangers(models)
    dataset = open_dataset(task, folder, need_truth=False)
    places = _wanted(dataset, images)
    turned = models[0].recipe.views if views is None else views
    kept_in = target.with_name(f".{target.name}.predicting")
    with alone(kept_in, target):
        kept = _Kept(kept_in, target.name, _way(task, models, turned), task.order)
        with write_submission(task, kept.submission) as out:
            for number, place in enumerate(places):
                mark = dataset.picture_mark(place)
                one = kept.get(mark)
                if one is None:
                    one = predict_place(task, models, dataset, place, views=turned)
                    kept.put(mark, one)
                one.add_to(out, dataset.image_ids[place])
                if progress is not None:
                    progress(number + 1, len(places))
        diagnosis = check(task, read_submission(task, kept.submission), images=_manifest(dataset, places))
        if diagnosis.ok:
            kept.submission.replace(target)
            clear(kept_in)
    return Predicted(len(places), kept.found, diagnosis)


def predict_place(
    task: Task, models: Sequence[Trained], dataset: Dataset, place: int, *, views: bool
) -> Prediction:
    """What the models together predict for one image of a dataset; the first one's rules decide."""
    picture = dataset.picture(place)
    recipe = models[0].recipe
    outputs = outputs_of([model.runner for model in models], picture, recipe, views=views)
    # Rules were tuned on maps of 16 bits; the same ones here give the same masks.
    outputs = outputs.astype(np.float16).astype(np.float32)
    return predicted(task, outputs, picture.shape[:2], models[0].rules, recipe)


def _refuse_strangers(models: Sequence[Trained]) -> None:
    first = models[0]
    for model in models[1:]:
        if replace(model.recipe, rate=0, batch=0) != replace(first.recipe, rate=0, batch=0):
            raise UsageError(
                f"{model.name} and {first.name} look at pictures in different ways.",
                "Average runs of one recipe.",
            )


def _wanted(dataset: Dataset, images: Images | None) -> list[int]:
    if images is None:
        return list(range(len(dataset)))
    there = {image: place for place, image in enumerate(dataset.image_ids)}
    wanted = [image for image, counts in zip(images.ids, images.scored(None), strict=True) if counts]
    lacking = [image for image in wanted if image not in there]
    if lacking:
        raise UsageError(
            f"The folder has no picture of {lacking[0]!r}, which the list of images names.",
            f"{len(lacking)} of {len(wanted)} images are not there.",
        )
    return [there[image] for image in wanted]


def _manifest(dataset: Dataset, places: Sequence[int]) -> Images:
    ids = [dataset.image_ids[place] for place in places]
    return Images.of(ids, np.array([dataset.shape(place) for place in places], np.int64).reshape(-1, 2))


def _way(task: Task, models: Sequence[Trained], views: bool) -> str:  # noqa: FBT001
    """A hash of all that decides a prediction beside the picture."""
    parts = [task.digest, str(views), *(f"{model.name} {model.digest} {model.rules}" for model in models)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


class _Kept:
    """Predictions in a folder that one holds, all made in one way; those of another way are deleted."""

    def __init__(self, folder: Path, name: str, way: str, order: Order) -> None:
        self._order = order
        self._folder = folder
        self.found = 0
        self.submission = folder / name  # until it is whole and checked
        stamp = folder / "mark"
        if not stamp.is_file() or stamp.read_text("utf-8") != way:
            clear(folder)
            stamp.write_text(way, "utf-8")

    def get(self, mark: bytes) -> Prediction | None:
        """What was kept of an image; nothing where a system that went down left only a part."""
        path = self._path(mark)
        if not path.is_file():
            return None
        try:
            found = Prediction.load(path, self._order)
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile):
            return None
        self.found += 1
        return found

    def put(self, mark: bytes, prediction: Prediction) -> None:
        """Keep what was predicted."""
        prediction.save(self._path(mark))

    def _path(self, mark: bytes) -> Path:
        return self._folder / f"{mark.hex()}.npz"
