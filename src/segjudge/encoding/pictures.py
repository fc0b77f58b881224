"""From a submission back to pictures: what `encode` reads."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING
from unicodedata import normalize

import numpy as np

from segjudge.encoding.writer import png_of_mask
from segjudge.errors import UsageError
from segjudge.formats.archive.names import clean, left_behind
from segjudge.metrics import ImagePrecision

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from segjudge.contest import Contest
    from segjudge.instances import Instances
    from segjudge.task import Task

__all__ = ["write_pictures"]

_MOST_LABELS = 65_535
_UNSAFE = ("/", "\\", "\0")


def write_pictures(contest: Contest, folder: Path, progress: Callable[[int, int], None] | None = None) -> int:
    """Write every image's masks into the folder, in the form that `encode` reads; the number of files.

    emoji `<id>.png`; BaDLAD `<image>_<class>.png`; Data Science Bowl a label map `<id>.png`, or
    `<id>/masks/<n>.png` where masks share pixels; WAD and COCO `<id>/<n>_<class>.png` and
    `confidences.csv`.
    Raises UsageError if the folder holds something, or an id cannot be a file name.
    """
    if contest.submission is None or contest.submission.source is None:
        raise UsageError(
            "There is no submission to decode.", "Give it as a file: it is read twice, and a stream once."
        )
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(
            f"The folder {str(folder)!r} is not empty.", "Name a new one: nothing is written over."
        )
    _check_images(contest)
    folder.mkdir(parents=True, exist_ok=True)
    write = _writer(contest.task, folder)
    files = 0
    for place in range(contest.known):
        image = contest.images.ids[place]
        chunk = contest.submission.source.read(np.array([place]), None)
        height, width = contest.images.shapes[place].tolist()
        files += write.image(image, (height, width), chunk.instances)
        if progress is not None:
            progress(place + 1, contest.known)
    write.finish()
    return files


def _check_images(contest: Contest) -> None:
    """Nothing is written unless every id can be a file's name and every size is known."""
    for image, shape in zip(contest.images.ids, contest.images.shapes.tolist(), strict=True):
        if any(sign in image for sign in _UNSAFE) or clean(image) != normalize("NFC", image) or not image:
            raise UsageError(f"The id {image!r} cannot be a file name.")
        if left_behind(f"{image}.png"):
            raise UsageError(f"The id {image!r} is a name that archives leave out.")
        if shape[0] < 0:
            raise UsageError(f"The size of {image!r} is not known.", "Give Height and Width of every image.")


class _Writer:
    """One picture per image and class, or per image."""

    def __init__(self, task: Task, folder: Path) -> None:
        self.task = task
        self.folder = folder

    def image(self, image: str, shape: tuple[int, int], instances: Instances) -> int:
        semantic = self.task.semantic
        for class_id in self.task.classes if semantic else (0,):
            found = np.flatnonzero(instances.class_ids == class_id)
            picture = instances.masks.picture(int(found[0])) if len(found) else np.zeros(shape, np.bool_)
            name = f"{image}_{class_id}.png" if semantic else f"{image}.png"
            self.put(name, picture)
        return len(self.task.classes) if semantic else 1

    def put(self, name: str, mask: NDArray[np.bool_]) -> None:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(png_of_mask(np.ascontiguousarray(mask)))

    def finish(self) -> None:
        """What can only be written at the end."""


class _ObjectWriter(_Writer):
    """A label map per image; a picture per object where objects share pixels."""

    def image(self, image: str, shape: tuple[int, int], instances: Instances) -> int:
        from PIL import Image  # noqa: PLC0415 - tables need no pictures

        filled = instances[instances.masks.areas > 0]
        if (
            int(filled.masks.areas.sum()) > shape[0] * shape[1]
            or len(filled) > _MOST_LABELS
            or _share(filled)
        ):
            for number in range(len(filled)):
                self.put(f"{image}/masks/{number + 1:05d}.png", filled.masks.picture(number))
            return len(filled)
        labels = np.zeros(shape, np.uint16)
        for number in range(len(filled)):
            labels[filled.masks.picture(number)] = number + 1
        # encode takes a final _instanceIds off the name: an id that ends so needs another one
        suffix = "_instanceIds" if image.endswith("_instanceIds") else ""
        Image.fromarray(labels).save(self.folder / f"{image}{suffix}.png")
        return 1


class _ClassedWriter(_Writer):
    """A picture per instance, and one table of confidences."""

    def __init__(self, task: Task, folder: Path) -> None:
        super().__init__(task, folder)
        self.rows: list[tuple[str, str, str]] = []

    def image(self, image: str, shape: tuple[int, int], instances: Instances) -> int:  # noqa: ARG002 - as its sisters
        for number in range(len(instances)):
            name = f"{number + 1:05d}_{instances.class_ids[number]}"
            self.put(f"{image}/{name}.png", instances.masks.picture(number))
            self.rows.append((image, f"{name}.png", repr(float(instances.confidences[number]))))
        return len(instances)

    def finish(self) -> None:
        with (self.folder / "confidences.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("ImageId", "Mask", "Confidence"), *self.rows])


def _writer(task: Task, folder: Path) -> _Writer:
    if task.ranked:
        return _ClassedWriter(task, folder)
    return _ObjectWriter(task, folder) if isinstance(task.metric, ImagePrecision) else _Writer(task, folder)


def _share(instances: Instances) -> bool:
    from segjudge.chunks import shared_pixels  # noqa: PLC0415

    return len(shared_pixels(instances.masks, instances.image)) > 0
