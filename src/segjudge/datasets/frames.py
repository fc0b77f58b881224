r"""Frames of street scenes: `train_color`, `train_label`, and lists that say which frames are one clip.

The lists of WAD 2018 have a line `road01_ins\ColorImage\…\x.jpg<TAB>road01_ins\Label\…\x_instanceIds.png`
for each frame, with Windows' paths, and name some that are not there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from segjudge.datasets.dataset import Dataset
from segjudge.datasets.folders import by_stem, entries, pictures_in, wrong_folder
from segjudge.datasets.truths import open_truths
from segjudge.loading import read_images

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from segjudge.task import Task

__all__ = ["open_frames"]

_SUFFIX = "_instanceIds"
_TAKEN = re.compile(r"(\d{6}_\d{6})\d{3}(?=_Camera_\d+$)")
_PAUSE = timedelta(seconds=10)  # without a frame for so long, another clip begins


def open_frames(task: Task, folder: Path, need_truth: bool) -> Dataset | None:  # noqa: FBT001 - an `Opener`
    """The frames in `train_color`, with truth those that have a label map; without it those in `test`, if any."""
    if not need_truth:
        found = by_stem(pictures_in(folder / "test") or pictures_in(folder / "train_color"))
        if not found:
            return None
        groups, notes = _groups(task, folder, list(found), told=False)
        return Dataset(task.id, tuple(found), groups, notes, folder, tuple(found.values()))
    found = by_stem(pictures_in(folder / "train_color"))
    maps = {
        path.stem.removesuffix(_SUFFIX): path
        for path in entries(folder / "train_label")
        if path.suffix.lower() in {".png", ".tif", ".tiff"}
    }
    ids = [image for image in found if image in maps]
    if not ids:
        raise wrong_folder(
            task,
            folder,
            f"the folders train_color with pictures (.jpg) and train_label with their label maps "
            f"(*{_SUFFIX}.png)",
            "Name the folder that holds both; a picture x.jpg belongs to x_instanceIds.png."
            if found and maps
            else "",
        )
    groups, notes = _groups(task, folder, ids, told=True)
    notes += _left_out(len(found) - len(ids), len(maps) - len(ids))
    truths = open_truths(task, folder / "train_label", ids)
    return Dataset(
        task.id,
        tuple(ids),
        groups,
        notes,
        folder,
        tuple(found[image] for image in ids),
        tuple(maps[image] for image in ids),
        truths,
    )


def _left_out(pictures: int, maps: int) -> tuple[str, ...]:
    notes = []
    if pictures:
        notes.append(f"Pictures without a label map, left out: {pictures:,}.")
    if maps:
        notes.append(f"Label maps without a picture, left out: {maps:,}.")
    return tuple(notes)


def _groups(
    task: Task, folder: Path, ids: Sequence[str], *, told: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The clip of each image, from images.csv, else from the lists, else from its name; and what to tell."""
    clips, notes = _clips_of_table(task, folder), []
    if not clips:
        clips, absent = _clips_of_lists(folder, set(ids))
        if absent:
            notes.append(f"Images that the lists name and that are not there: {absent:,}.")
    unlisted = [image for image in ids if image not in clips]
    if unlisted:
        notes.append(
            f"Images in no clip's list: {len(unlisted):,}. Those of one camera, less than "
            f"{_PAUSE.seconds} seconds after one another by their names, count as a clip."
        )
        clips |= _clips_of_times(unlisted)
    joined = _joined({image: clips[image] for image in ids})
    less = len({clips[image] for image in ids}) - len(set(joined.values()))
    if less:
        notes.append(f"Clips that another camera took at the same time, counted as one with its: {less:,}.")
    return tuple(joined[image] for image in ids), tuple(notes) if told else ()


def _clips_of_table(task: Task, folder: Path) -> dict[str, str]:
    """The clips that images.csv names; raises TruthError where it is at fault."""
    table = folder / "images.csv"
    if not table.is_file():
        return {}
    images = read_images(task, table)
    return dict(zip(images.ids, images.clips, strict=True)) if images.clips else {}


def _clips_of_lists(folder: Path, known: set[str]) -> tuple[dict[str, str], int]:
    """The clip of each known image that a list names, and how many others the lists name."""
    clips: dict[str, str] = {}
    absent: set[str] = set()
    for path in entries(folder / "train_video_list"):
        if path.suffix.lower() != ".txt":
            continue
        for line in path.read_text(encoding="utf-8-sig", errors="replace").splitlines():
            image = PureWindowsPath(line.partition("\t")[0].strip()).stem
            if image in known:
                clips.setdefault(image, path.stem.removesuffix("_image_list_train"))
            elif image:
                absent.add(image)
    return clips, len(absent)


def _clips_of_times(ids: Sequence[str]) -> dict[str, str]:
    """A clip for each image, named by its first frame: names hold date, time and camera."""
    by_camera: dict[str, list[tuple[datetime, str]]] = defaultdict(list)
    clips = {image: image for image in ids}
    for image in ids:
        taken = _time_of(image)
        if taken is not None:
            by_camera[image[len(taken[1]) :]].append((taken[0], image))
    for frames in by_camera.values():
        frames.sort()
        for (before, earlier), (now, image) in pairwise(frames):
            if now - before < _PAUSE:
                clips[image] = clips[earlier]
    return clips


def _joined(clips: dict[str, str]) -> dict[str, str]:
    """The clips, those in one that two cameras took at once: they show the same street.

    By names that hold a time, clips that have a second in common belong together.
    """
    leads: dict[str, str] = {}  # of a clip that was joined to another

    def lead(clip: str) -> str:
        while clip in leads:
            clip = leads[clip]
        return clip

    first: dict[datetime, str] = {}
    for image, clip in clips.items():
        taken = _time_of(image)
        mine = lead(clip)
        other = lead(first.setdefault(taken[0], clip)) if taken else mine
        if other != mine:
            leads[mine] = other
    return {image: lead(clip) for image, clip in clips.items()}


def _time_of(image: str) -> tuple[datetime, str] | None:
    """When a frame was taken, to the second, and the part of its name that says so."""
    found = _TAKEN.match(image)
    if found is None:
        return None
    try:
        return datetime.strptime(found[1], "%y%m%d_%H%M%S").replace(tzinfo=UTC), found[0]
    except ValueError:
        return None
