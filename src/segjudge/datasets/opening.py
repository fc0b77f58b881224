"""From a task and a folder to a dataset: by what the task's truth is like, then by what lies there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segjudge.datasets.dataset import Dataset
from segjudge.datasets.folders import by_stem, pictures_in, wrong_folder
from segjudge.datasets.frames import open_frames
from segjudge.datasets.mask_folders import open_mask_folders
from segjudge.datasets.pages import open_pages
from segjudge.datasets.samples import open_samples
from segjudge.errors import UsageError
from segjudge.task import ArchiveForm

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segjudge.task import Task

    #: Opens one form of folder; None where the folder has not that form and no truth is needed.
    Opener = Callable[[Task, Path, bool], Dataset | None]

__all__ = ["open_dataset"]

# Where pictures may lie in a folder of nothing else.
_PLAIN = (".", "test", "images")


def open_dataset(task: Task, folder: Path, *, need_truth: bool) -> Dataset:
    """The images of a folder as the competition ships it or `make-data` writes it.

    Without `need_truth` no truth is read, the part for prediction is taken where the folder has both, and
    a plain folder of pictures will do, whose names less the ending are the ids. Raises UsageError for
    another folder, with what was looked for and what was found, and TruthError for a truth at fault.
    """
    opener = _opener(task)
    if not folder.is_dir():
        raise wrong_folder(task, folder, "a folder")
    dataset = opener(task, folder, need_truth)
    if dataset is None:
        dataset = _plain(task, folder)
    return dataset


def _opener(task: Task) -> Opener:
    if isinstance(task.submission, ArchiveForm):
        return open_samples
    if task.truth.mask_folders:
        return open_mask_folders
    if task.truth.label_map == "class-instance":
        return open_frames
    if task.semantic:
        return open_pages
    raise UsageError(
        f"Folders of the task {task.id} cannot be opened.",
        "It takes label maps of classes and instances, a folder of masks per image, semantic masks, or "
        "a table that names pictures and masks.",
    )


def _plain(task: Task, folder: Path) -> Dataset:
    for name in _PLAIN:
        found = by_stem(pictures_in(folder / name))
        if found:
            ids = tuple(found)
            return Dataset(task.id, ids, ids, (), folder, tuple(found.values()))
    raise wrong_folder(task, folder, "pictures (.png, .jpg), in the folder itself, in test or in images")
