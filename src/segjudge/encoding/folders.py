"""Masks in folders: which picture belongs to which image, class and instance, and what is wrong with it."""

from __future__ import annotations

import io
import math
import re
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import numpy as np

from segjudge.chunks import shared_pixels
from segjudge.contest import id_hint
from segjudge.encoding.arrays import as_labels, as_mask
from segjudge.errors import MaskError
from segjudge.findings import Collector, Where
from segjudge.formats.archive import MemberFault, find_members, open_tree
from segjudge.formats.label_maps import image_id, masks_of_labels
from segjudge.formats.pictures import PictureFault, read_label_map, read_mask
from segjudge.formats.table.text import read_small
from segjudge.instances import Instances
from segjudge.masks import Masks
from segjudge.metrics import Overlap
from segjudge.records import dataclass
from segjudge.task import ResultsForm, TableForm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from segjudge.formats.archive import Tree
    from segjudge.images import Images
    from segjudge.task import Task

__all__ = ["MaskFolder", "Member", "open_masks"]

_PICTURES = (".png", ".tif", ".tiff", ".npy")
_CONFIDENCES = "confidences.csv"
_CONFIDENCE_COLUMNS = ["ImageId", "Mask", "Confidence"]
_PER_CLASS = 1000
_MOST_DIGITS = 9  # of a class id in a name
_MASKS = re.compile(r"(?:^|/)([^/]+)/masks/[^/]+$")
_IMAGES = re.compile(r"(?:^|/)([^/]+)/images/[^/]+$")
_CLASSED = re.compile(r"(?:^|/)([^/]+)/[^/]+_([0-9]+)\.[A-Za-z]+$")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Member:
    """A picture: of one mask, or a label map of many."""

    name: str
    class_id: int = 0
    confidence: float = 1.0
    labels: bool = False


@dataclass(frozen=True, slots=True)
class MaskFolder:
    """The pictures of a folder or archive, by image; it can be pickled, so that workers read for themselves."""

    task: Task
    tree: Tree
    label: str
    members: Mapping[str, Sequence[Member]]  # image id to its pictures
    shapes: Mapping[str, tuple[int, int]]  # of the images whose size is known

    def read(self, image: str) -> tuple[Any, Collector]:
        """What `SubmissionWriter.add` takes for this image, and what is wrong with its pictures."""
        findings = Collector()
        pictures = self._pictures(image, findings)
        if not isinstance(self.task.metric, Overlap):
            return self._instances(image, pictures, findings), findings
        arrays = {member.class_id: array for member, array in pictures}
        return (arrays if self.task.classes else arrays.get(0)), findings

    def _pictures(self, image: str, findings: Collector) -> Iterator[tuple[Member, NDArray[Any]]]:
        """The image's pictures one by one, all of one size."""
        wanted, whose = self.shapes.get(image), "the image"
        for member in self.members[image]:
            where = Where(file=self.label, image=image, member=member.name)
            array = self._picture(member, where, findings)
            if array is None:
                continue
            if wanted is None:
                wanted, whose = (array.shape[0], array.shape[1]), PurePosixPath(member.name).name
            if array.shape == wanted:
                yield member, array
                continue
            turned = " Height and width are swapped." if array.shape == wanted[::-1] else ""
            findings.add(
                "shape-mismatch",
                where,
                f"The mask is {array.shape[0]} rows x {array.shape[1]} columns, "
                f"{whose} {wanted[0]} x {wanted[1]}.{turned}",
                "Bring masks back to the image's own size before thresholding them.",
            )

    def _instances(
        self, image: str, pictures: Iterable[tuple[Member, NDArray[Any]]], findings: Collector
    ) -> Instances:
        parts, classes, owners = [], [], []
        for member, array in pictures:
            masks, values = self._masks(member, array)
            parts.append(masks)
            classes += values
            owners += [member] * len(values)
        masks = Masks.concatenate(parts, self.task.order)
        form = self.task.submission
        if isinstance(form, TableForm) and form.overlapping == "error":
            self._report_shared(image, masks, owners, findings)
        return Instances.of(
            (image,),
            np.zeros(len(masks), np.int64),
            masks,
            class_ids=np.array(classes, np.int64),
            confidences=np.array([member.confidence for member in owners], np.float64),
        )

    def _masks(self, member: Member, array: NDArray[Any]) -> tuple[Masks, list[int]]:
        """The masks of one picture and the class of each."""
        if not member.labels:
            return Masks.from_dense([array], self.task.order), [member.class_id]
        labels, masks = masks_of_labels(array, self.task.order, np.zeros(1, np.uint8))
        if self.task.truth.label_map != "class-instance":
            return masks, [0] * len(labels)
        kept = np.isin(labels // _PER_CLASS, list(self.task.classes))
        return masks[kept], (labels[kept] // _PER_CLASS).tolist()

    def _report_shared(self, image: str, masks: Masks, owners: Sequence[Member], findings: Collector) -> None:
        for first, second in shared_pixels(masks, np.zeros(len(masks), np.int64)).tolist():
            findings.add(
                "masks-overlap",
                Where(file=self.label, image=image, member=owners[second].name),
                f"{owners[first].name} and {owners[second].name} share pixels.",
                "Each pixel belongs to one object: a label map cannot be wrong in this way.",
            )

    def _picture(self, member: Member, where: Where, findings: Collector) -> NDArray[Any] | None:
        try:
            return _decoded(self.tree.read(member.name), member)
        except (MemberFault, PictureFault) as fault:
            findings.add(fault.code, where, fault.message, fault.advice)
        except MaskError as error:
            code = "bad-image-mode" if member.labels else "mask-not-binary"
            findings.add(code, where, error.message, error.advice)
        return None


def open_masks(task: Task, path: Path, images: Images | None, findings: Collector) -> MaskFolder | None:
    """The masks in a folder or archive; None when findings say why nothing can be read."""
    label = path.name or str(path)
    tree = open_tree(
        path, findings, max_unpacked=task.submission.max_unpacked, file_label=label, strip_top=False
    )
    if tree is None:
        return None
    known = {} if images is None else {normalize("NFC", image): image for image in images.ids}
    members = _grouped(task, tree, label, known, findings)
    if not members and not findings.errors and not find_members(tree, _CONFIDENCES):
        findings.add("missing-file", Where(file=label), "There is no mask here.", _naming(task))
    if images is None:
        return MaskFolder(task, tree, label, members, {})
    _check_ids(task, members, images, label, findings)
    sizes = zip(images.ids, images.shapes.tolist(), strict=True)
    shapes = {image: (height, width) for image, (height, width) in sizes if height >= 0}
    return MaskFolder(task, tree, label, members, shapes)


def _check_ids(
    task: Task, members: Mapping[str, Sequence[Member]], images: Images, label: str, findings: Collector
) -> None:
    for image, pictures in members.items():
        if image in images.places:
            continue
        if not findings.wants("unknown-id"):  # a hint takes its time
            findings.count("unknown-id")
            continue
        name = pictures[0].name if pictures else image
        findings.add(
            "unknown-id",
            Where(file=label, image=image, member=name),
            f"{name} fits no image of this competition.",
            id_hint(image, images.ids),
        )
    if task.submission.missing != "error":
        return
    for image, wanted in zip(images.ids, images.scored(None).tolist(), strict=True):
        if wanted and image not in members:
            findings.add(
                "missing-id",
                Where(file=label, image=image),
                f"The image {image!r} has no mask here.",
                "Save a black picture where nothing is found.",
            )


def _grouped(
    task: Task, tree: Tree, label: str, known: Mapping[str, str], findings: Collector
) -> dict[str, list[Member]]:
    certain = _confidences(tree, label, findings)
    grouped: dict[str, list[Member]] = {}
    seen: dict[tuple[str, str], str] = {}
    for name in tree.names:
        if not name.lower().endswith(_PICTURES):
            _report_extra(name, label, findings)
            continue
        if not isinstance(task.metric, Overlap) and not task.ranked and _is_photograph(name):
            image = PurePosixPath(name).stem
            grouped.setdefault(known.get(image, image), [])
            continue
        placed = _placed(task, name, known)
        if placed is None:
            findings.add("unknown-id", Where(file=label, member=name), f"{name} fits no mask.", _naming(task))
            continue
        image, member = known.get(placed[0], placed[0]), placed[1]
        member = replace(member, confidence=certain.pop((placed[0], PurePosixPath(name).name), 1.0))
        others = grouped.setdefault(image, [])
        key = "" if member.labels else _mark(task, member)
        earlier = seen.setdefault((image, key), name)
        if earlier == name and others and (member.labels or others[0].labels):
            earlier = others[0].name
        if earlier != name:
            where = Where(file=label, image=image, member=name)
            findings.add(
                "duplicate-id", where, f"{name} and {earlier} are both masks of {image!r}.", "Keep one."
            )
            continue
        others.append(member)
    _report_unused(certain, label, findings)
    return grouped


def _mark(task: Task, member: Member) -> str:
    """What no two masks of an image may have in common: the class, or the name."""
    return str(member.class_id) if isinstance(task.metric, Overlap) else PurePosixPath(member.name).stem


def _is_photograph(name: str) -> bool:
    """Whether a picture is an image of the Data Science Bowl beside its masks: `<id>/images/<id>.png`."""
    found = _IMAGES.search(name)
    return found is not None and found[1] == PurePosixPath(name).stem


def _report_extra(name: str, label: str, findings: Collector) -> None:
    if PurePosixPath(name).name != _CONFIDENCES:
        findings.add(
            "extra-file",
            Where(file=label, member=name),
            f"{name} is no picture, and is not read.",
            "Masks are PNG, TIFF or .npy files.",
            level="note",
        )


def _report_unused(certain: Mapping[tuple[str, str], float], label: str, findings: Collector) -> None:
    for image, name in certain:
        findings.add(
            "missing-file",
            Where(file=label, image=image, member=_CONFIDENCES),
            f"{_CONFIDENCES} names the mask {image}/{name}, and there is none.",
            "Write the table and the masks in one go.",
        )


def _placed(task: Task, name: str, known: Mapping[str, str]) -> tuple[str, Member] | None:
    """Image and meaning of a picture, by its name."""
    stem = PurePosixPath(name).stem
    classes = {str(class_id): class_id for class_id in task.classes}
    if isinstance(task.metric, Overlap):
        image, mark, tail = stem.rpartition("_")
        if not classes:
            return stem, Member(name)
        return (image, Member(name, classes[tail])) if mark and tail in classes else None
    if isinstance(task.submission, ResultsForm):
        found = _CLASSED.search(name)
        return (found[1], Member(name, int(found[2]))) if found and len(found[2]) <= _MOST_DIGITS else None
    labels = image_id(name), Member(name, labels=True)
    found = (_CLASSED if classes else _MASKS).search(name)
    if found is None or (found[1] not in known and labels[0] in known):
        return labels
    if not classes:
        return found[1], Member(name)
    return (found[1], Member(name, classes[found[2]])) if found[2] in classes else None


def _naming(task: Task) -> str:
    classes = list(task.classes)
    if isinstance(task.submission, ResultsForm):
        return "Name masks <image>/<n>_<class>.png, the class being a number of the truth's categories."
    if isinstance(task.metric, Overlap):
        return (
            f"Name masks <image>_<class>.png, the class being one of {classes}."
            if classes
            else "Name masks <id>.png."
        )
    if not classes:
        return "Name label maps <id>.png, or masks <id>/masks/<n>.png."
    return (
        f"Name masks <image>/<n>_<class>.png, the class being one of {classes}, or give label maps; "
        "label maps in folders are told by their ids, with --images."
    )


def _confidences(tree: Tree, label: str, findings: Collector) -> dict[tuple[str, str], float]:
    """The confidence of each picture that the table names; 1 for the others."""
    certain: dict[tuple[str, str], float] = {}
    for name in find_members(tree, _CONFIDENCES):
        try:
            rows = read_small(tree.read(name), label, findings, name)
        except MemberFault as fault:
            findings.add(fault.code, Where(file=label, member=name), fault.message, fault.advice)
            continue
        if not rows:
            continue
        header = [cell.strip() for cell in rows[0][1]]
        if header != _CONFIDENCE_COLUMNS:
            where = Where(file=label, row=1, member=name)
            findings.add("bad-header", where, f"The header is {header}; it should be {_CONFIDENCE_COLUMNS}.")
            continue
        for line, cells in rows[1:]:
            _read_confidence(cells, Where(file=label, row=line, member=name), certain, findings)
    return certain


def _read_confidence(
    cells: Sequence[str], where: Where, certain: dict[tuple[str, str], float], findings: Collector
) -> None:
    if len(cells) != len(_CONFIDENCE_COLUMNS):
        findings.add(
            "bad-field-count", where, f"The row has {len(cells)} fields, not {len(_CONFIDENCE_COLUMNS)}."
        )
        return
    key = normalize("NFC", cells[0]), PurePosixPath(normalize("NFC", cells[1])).name
    value = float(cells[2]) if _DECIMAL.fullmatch(cells[2].strip()) else math.nan
    if not math.isfinite(value):
        findings.add("bad-confidence", where, f"{cells[2]!r} is no finite number.")
    elif certain.setdefault(key, value) != value:
        findings.add("duplicate-id", where, f"{key[0]}/{key[1]} has two confidences.", "Keep one row.")


def _decoded(data: bytes, member: Member) -> NDArray[Any]:
    """The picture as an array: booleans of a mask, whole numbers of a label map."""
    if not member.name.lower().endswith(".npy"):
        return read_label_map(data) if member.labels else read_mask(data, binarize=None).pixels
    array = _numpy_array(data)
    return as_labels(array) if member.labels else as_mask(array)


def _numpy_array(data: bytes) -> NDArray[Any]:
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, OSError, EOFError, MemoryError) as error:
        raise MaskError(f"The file is no numpy array: {error}.", "Save it with numpy.save.") from None
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "biuf":
        raise MaskError("The array is not one of numbers (height, width).")
    return array
