"""Pages with masks of classes: pictures, and COCO annotations or a table of runs that tell of them.

BaDLAD ships `images/train/*.png`, annotations that name each by `file_name` and give it a whole number as
`id`, by which submissions name it too, and a list of the same form, without annotations, of its test images.
"""

from __future__ import annotations

import os
from dataclasses import field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from segjudge.datasets.dataset import Dataset
from segjudge.datasets.folders import by_stem, pictures_in, wrong_folder
from segjudge.datasets.truths import open_truths
from segjudge.formats.archive import left_behind
from segjudge.formats.coco.fields import Fault, stem, text_id
from segjudge.formats.coco.stream import JsonFault, read_lists
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segjudge.task import Task

__all__ = ["open_pages"]

_ENDINGS = (".png", ".jpg", ".jpeg")


@dataclass(slots=True)
class _List:
    """What a JSON file says of images: the id of each in the competition, and its file's name."""

    path: Path
    image_key: str
    names: dict[str, str] = field(default_factory=dict)
    annotated: bool = False

    def take(self, _entry: int, item: Any) -> None:  # noqa: ANN401 - JSON holds anything
        """Keep one of `images`; what is at fault in it is told where the annotations are read."""
        try:
            stem(item, "file_name")
            file = PurePosixPath(item["file_name"].replace("\\", "/")).name
            image = text_id(item, "id") if self.image_key == "id" else PurePosixPath(file).stem
        except Fault:
            return
        self.names.setdefault(image, file)


def open_pages(task: Task, folder: Path, need_truth: bool) -> Dataset | None:  # noqa: FBT001 - an `Opener`
    """The pages that a list of annotations or a table of runs names; without truth those of any list, if any."""
    pictures = _Pictures.below(folder, testing=not need_truth)
    lists, faults = _lists(folder, task.truth.image_key or "id")
    if not need_truth:
        known = [(each.annotated, -len(pictures.of(each.names)), each) for each in lists]
        known = [one for one in known if one[1]]
        if not known:
            return _unlisted(task, folder)
        chosen = min(known, key=lambda one: one[:2])[2]
        files = pictures.of(chosen.names)
        notes = _left_out(pictures, files, len(chosen.names), chosen.path)
        return Dataset(task.id, tuple(files), tuple(files), notes, folder, tuple(files.values()))
    truth = _truth(task, folder, [each for each in lists if each.annotated], faults)
    truths = open_truths(task, truth)
    listed = {each.path: each.names for each in lists}.get(truth, {})
    files = pictures.of({image: listed.get(image, image) for image in truths.image_ids})
    if not files:
        raise wrong_folder(
            task,
            folder,
            f"the pictures that {truth.name} names, such as {next(iter(listed.values()), 'images/0.png')}",
        )
    ids = tuple(files)
    notes = _left_out(pictures, files, len(truths.image_ids), truth)
    if truths.diagnosis.errors:
        first = truths.diagnosis.findings[0]
        notes += (f"Faults of {truth.name}, left out: {truths.diagnosis.errors:,}; the first: {first}",)
    bound = truths.bound(ids)
    return Dataset(task.id, ids, ids, notes, folder, tuple(files.values()), (truth,), bound)


@dataclass(frozen=True, slots=True)
class _Pictures:
    """The pictures below a folder by name, and by name less its ending."""

    by_name: dict[str, Path]
    by_stem: dict[str, Path]

    @classmethod
    def below(cls, folder: Path, *, testing: bool) -> _Pictures:
        """All pictures; of two with one name the one that lies in a folder `test`, or does not."""
        found = [path for path in _below(folder) if path.suffix.lower() in _ENDINGS]
        found.sort(key=lambda path: ("test" in path.relative_to(folder).parts[:-1]) == testing)
        return cls({path.name: path for path in found}, {path.stem: path for path in found})

    def of(self, names: dict[str, str]) -> dict[str, Path]:
        """The file of each image that has one: of this name, or at least of this stem, or named by its id."""
        files = {}
        for image, name in names.items():
            path = (
                self.by_name.get(name)
                or self.by_stem.get(PurePosixPath(name).stem)
                or self.by_stem.get(image)
            )
            if path is not None:
                files[image] = path
        return files


def _below(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not left_behind(name))
        yield from (Path(place, name) for name in sorted(names) if not left_behind(name))


def _lists(folder: Path, image_key: str) -> tuple[list[_List], list[str]]:
    """The lists of images below a folder, and what is wrong with other JSON files."""
    lists, faults = [], []
    for path in _below(folder):
        if path.suffix.lower() != ".json":
            continue
        each = _List(path, image_key)
        takers: dict[str, Callable[[int, Any], None]] = {"images": each.take, "annotations": _nothing}
        try:
            seen = read_lists(path, takers)
        except JsonFault as fault:
            faults.append(f"{path.name} ({fault})")
            continue
        each.annotated = "annotations" in seen
        if "images" in seen:
            lists.append(each)
    return lists, faults


def _nothing(_entry: int, _item: Any) -> None:  # noqa: ANN401 - JSON holds anything
    """Nothing; an annotation goes by."""


def _truth(task: Task, folder: Path, annotated: list[_List], faults: list[str]) -> Path:
    """The file of the truth; raises UsageError if there is none, or more than one."""
    tables = [path for path in sorted(folder.glob("*.csv")) if _is_truth(task, path)]
    named = [path for path in tables if path.stem == "truth"]
    found = [each.path for each in annotated] or named or tables
    if len(found) == 1:
        return found[0]
    columns = ", ".join(task.truth.columns)
    wanted = f"annotations (a .json with `images` and `annotations`) or a CSV with the columns {columns}"
    if found:
        names = ", ".join(path.relative_to(folder).as_posix() for path in found)
        raise wrong_folder(task, folder, f"one truth; it is any of {names}", "Leave one of them there.")
    damaged = f" (not readable: {'; '.join(faults)})" if faults else ""
    raise wrong_folder(task, folder, wanted + damaged)


def _is_truth(task: Task, path: Path) -> bool:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        header = [cell.strip() for cell in file.readline(4096).split(",")]
    return set(task.truth.columns) <= set(header)


def _unlisted(task: Task, folder: Path) -> Dataset | None:
    """The pictures of a folder without a list: the ids can only be their names."""
    for place in (folder / "images" / "test", folder / "images", folder / "test", folder):
        found = by_stem(pictures_in(place))
        if found:
            note = "No list of the images lies here (.json): their names less the ending count as ids."
            return Dataset(task.id, tuple(found), tuple(found), (note,), folder, tuple(found.values()))
    return None


def _left_out(pictures: _Pictures, files: dict[str, Path], listed: int, path: Path) -> tuple[str, ...]:
    """What is said of images without a picture, and of pictures beside those used that no list names."""
    notes = []
    used = set(files.values())
    if listed > len(files):
        notes.append(f"Images that {path.name} names and that are not there: {listed - len(files):,}.")
    places = {file.parent for file in used}
    others = sum(file not in used and file.parent in places for file in pictures.by_name.values())
    if others:
        notes.append(f"Pictures that {path.name} does not name, left out: {others:,}.")
    return tuple(notes)
