"""A folder per image, as in the Data Science Bowl 2018: `<id>/images/<id>.png`, `<id>/masks/*.png`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segjudge.datasets.dataset import Dataset
from segjudge.datasets.folders import entries, pictures_in, wrong_folder
from segjudge.datasets.truths import open_truths
from segjudge.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from segjudge.task import Task

__all__ = ["open_mask_folders"]

# Where the folders of images may lie in a folder of both parts.
_TRAIN = (".", "stage1_train", "train")
_TEST = ("stage1_test", "test", ".", "stage1_train", "train")


def open_mask_folders(task: Task, folder: Path, need_truth: bool) -> Dataset | None:  # noqa: FBT001 - an `Opener`
    """The images that have a folder each; with truth those whose folder has one of masks, empty or not."""
    if not need_truth:
        for name in _TEST:
            found = _pictures(folder / name)
            if found:
                return Dataset(task.id, tuple(found), tuple(found), (), folder, tuple(found.values()))
        return None
    for name in _TRAIN:
        place = folder / name
        found = _pictures(place)
        ids = tuple(image for image in found if (place / image / "masks").is_dir())
        masks = tuple(path for image in ids for path in pictures_in(place / image / "masks"))
        if not masks:
            continue
        less = len(found) - len(ids)
        notes = (f"Images without a folder of masks, left out: {less:,}.",) if less else ()
        truths = open_truths(task, place, ids)
        return Dataset(task.id, ids, ids, notes, folder, tuple(found[image] for image in ids), masks, truths)
    raise wrong_folder(
        task, folder, "a folder for each image with images/<id>.png and masks/*.png in it", "Name the "
        "folder in which those of the images lie, such as stage1_train.",
    )  # fmt: skip


def _pictures(folder: Path) -> dict[str, Path]:
    """The picture of each image, which is named by its folder; raises UsageError where one has several."""
    found: dict[str, Path] = {}
    for place in entries(folder):
        pictures = pictures_in(place / "images")
        if len(pictures) > 1:
            raise UsageError(
                f"{place / 'images'} holds {len(pictures)} pictures.", "The folder of an image holds one."
            )
        if pictures:
            found[place.name] = pictures[0]
    return found
