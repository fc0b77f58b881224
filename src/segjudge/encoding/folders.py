"""Masks in folders: which picture belongs to which image, class and instance, and what is wrong with it."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from segjudge.contest import id_hint
from segjudge.errors import MaskError
from segjudge.findings import Collector, Where
from segjudge.formats.archive import MemberFault, find_members, open_tree
from segjudge.formats.label_maps import image_id, masks_of_labels
from segjudge.formats.pictures import PictureFault, read_label_map, read_mask
from segjudge.formats.table.text import read_small
from segjudge.instances import Instances
from segjudge.masks import Masks
from segjudge.metrics import Overlap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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
_MASKS = re.compile(r"(?:^|/)([^/]+)/masks/[^/]+$")
_CLASSED = re.compile(r"(?:^|/)([^/]+)/([^/]+)_([0-9]+)\.[A-Za-z]+$")


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
        pictures: list[tuple[Member, NDArray[Any]]] = []
        for member in self.members[image]:
            array = self._picture(member, image, findings)
            if array is not None:
                pictures.append((member, array))
        if isinstance(self.task.metric, Overlap):
            if not self.task.classes:
                return (pictures[0][1] if pictures else None), findings
            return {member.class_id: array for member, array in pictures}, findings
        return self._instances(image, pictures), findings

    def _instances(self, image: str, pictures: list[tuple[Member, NDArray[Any]]]) -> Instances:
        parts, classes, certain = [], [], []
        for member, array in pictures:
            if not member.labels:
                masks, values = Masks.from_dense([array], self.task.order), [member.class_id]
            else:
                labels, masks = masks_of_labels(array, self.task.order, np.zeros(1, np.uint8))
                values = labels.tolist()
                if self.task.truth.label_map == "class-instance":
                    kept = np.isin(labels // _PER_CLASS, list(self.task.classes))
                    masks, values = masks[kept], (labels[kept] // _PER_CLASS).tolist()
                else:
                    values = [0] * len(values)
            parts.append(masks)
            classes += values
            certain += [member.confidence] * len(values)
        masks = Masks.concatenate(parts, self.task.order)
        return Instances.of(
            (image,),
            np.zeros(len(masks), np.int64),
            masks,
            class_ids=np.array(classes, np.int64),
            confidences=np.array(certain, np.float64),
        )

    def _picture(self, member: Member, image: str, findings: Collector) -> NDArray[Any] | None:
        where = Where(file=self.label, image=image, member=member.name)
        try:
            data = self.tree.read(member.name)
            array = _decoded(data, member)
        except (MemberFault, PictureFault) as fault:
            findings.add(fault.code, where, fault.message, fault.advice)
            return None
        except MaskError as error:
            findings.add("mask-not-binary", where, error.message, error.advice)
            return None
        wanted = self.shapes.get(image)
        if wanted is not None and array.shape != wanted:
            turned = " Height and width are swapped." if array.shape == wanted[::-1] else ""
            findings.add(
                "shape-mismatch",
                where,
                f"The mask is {array.shape[0]} rows x {array.shape[1]} columns, "
                f"the image {wanted[0]} x {wanted[1]}.{turned}",
                "Bring masks back to the image's own size before thresholding them.",
            )
            return None
        return array


def open_masks(task: Task, path: Path, images: Images | None, findings: Collector) -> MaskFolder | None:
    """The masks in a folder or archive; None when findings say why nothing can be read."""
    label = path.name or str(path)
    tree = open_tree(
        path, findings, max_unpacked=task.submission.max_unpacked, file_label=label, strip_top=False
    )
    if tree is None:
        return None
    members = _grouped(task, tree, label, findings)
    for image in list(members):
        if images is not None and image not in images.places:
            name = members[image][0].name if members[image] else image
            findings.add(
                "unknown-id",
                Where(file=label, image=image, member=name),
                f"{name} fits no image of this competition.",
                id_hint(image, images.ids),
            )
    if images is None:
        return MaskFolder(task, tree, label, members, {})
    sizes = zip(images.ids, images.shapes.tolist(), strict=True)
    shapes = {image: (height, width) for image, (height, width) in sizes if height >= 0}
    if task.submission.missing == "error":
        for image in images.ids:
            if image not in members:
                findings.add(
                    "missing-id",
                    Where(file=label, image=image),
                    f"The image {image!r} has no mask here.",
                    "Save a black picture where nothing is found.",
                )
    return MaskFolder(task, tree, label, members, shapes)


def _grouped(task: Task, tree: Tree, label: str, findings: Collector) -> dict[str, list[Member]]:
    certain = _confidences(tree, label, findings)
    grouped: dict[str, list[Member]] = defaultdict(list)
    for name in tree.names:
        if not name.lower().endswith(_PICTURES):
            if PurePosixPath(name).name != _CONFIDENCES:
                findings.add(
                    "extra-file",
                    Where(file=label, member=name),
                    f"{name} is no picture, and is not read.",
                    "Masks are PNG, TIFF or .npy files.",
                    level="note",
                )
            continue
        placed = _placed(task, name, certain)
        if placed is None:
            findings.add("unknown-id", Where(file=label, member=name), f"{name} fits no mask.", _naming(task))
            continue
        image, member = placed
        earlier = next((m for m in grouped[image] if (m.labels or member.labels)), None)
        if isinstance(task.metric, Overlap):
            earlier = next((m for m in grouped[image] if m.class_id == member.class_id), None)
        if earlier is not None:
            findings.add(
                "duplicate-id",
                Where(file=label, image=image, member=name),
                f"{name} and {earlier.name} are both masks of {image!r}.",
                "Keep one.",
            )
            continue
        grouped[image].append(member)
    return dict(grouped)


def _placed(  # noqa: PLR0911 - one way out for each way of naming
    task: Task, name: str, certain: Mapping[tuple[str, str], float]
) -> tuple[str, Member] | None:
    """Image and meaning of a picture, by its name."""
    path = PurePosixPath(name)
    if isinstance(task.metric, Overlap):
        if not task.classes:
            return path.stem, Member(name)
        image, mark, tail = path.stem.rpartition("_")
        if not mark or not tail.isascii() or not tail.isdigit() or int(tail) not in task.classes:
            return None
        return image, Member(name, int(tail))
    if task.classes:
        found = _CLASSED.search(name)
        if found is not None and int(found[3]) in task.classes:
            confidence = certain.get((found[1], path.name), 1.0)
            return found[1], Member(name, int(found[3]), confidence)
        return (
            (image_id(name), Member(name, labels=True)) if found is None or "_instanceIds" in name else None
        )
    found = _MASKS.search(name)
    if found is not None:
        return found[1], Member(name)
    return image_id(name), Member(name, labels=True)


def _naming(task: Task) -> str:
    if isinstance(task.metric, Overlap):
        return f"Name masks <image>_<class>.png, the class being one of {list(task.classes)}."
    return f"Name masks <image>/<n>_<class>.png, the class being one of {list(task.classes)}, or give label maps."


def _confidences(tree: Tree, label: str, findings: Collector) -> dict[tuple[str, str], float]:
    """The confidence of each picture that the table names; 1 for the others."""
    certain: dict[tuple[str, str], float] = {}
    for name in find_members(tree, _CONFIDENCES):
        rows = read_small(tree.read(name), label, findings, name)
        if not rows:
            continue
        header = [cell.strip() for cell in rows[0][1]]
        if header != _CONFIDENCE_COLUMNS:
            where = Where(file=label, row=1, member=name)
            findings.add("bad-header", where, f"The header is {header}; it should be {_CONFIDENCE_COLUMNS}.")
            continue
        for line, cells in rows[1:]:
            where = Where(file=label, row=line, member=name)
            if len(cells) != len(header):
                findings.add("bad-field-count", where, f"The row has {len(cells)} fields, not {len(header)}.")
                continue
            try:
                value = float(cells[2])
            except ValueError:
                value = float("nan")
            if not np.isfinite(value):
                findings.add("bad-confidence", where, f"{cells[2]!r} is no finite number.")
                continue
            certain[cells[0], PurePosixPath(cells[1]).name] = value
    return certain


def _decoded(data: bytes, member: Member) -> NDArray[Any]:
    """The picture as an array: booleans of a mask, whole numbers of a label map."""
    if member.name.lower().endswith(".npy"):
        array = _numpy_array(data)
        if member.labels:
            if not np.issubdtype(array.dtype, np.integer) or (array.size and array.min() < 0):
                raise MaskError(f"A label map holds whole numbers from 0 on, this array is of {array.dtype}.")
            return array if array.dtype in {np.dtype("u1"), np.dtype("u2")} else array.astype(np.int32)
        masks = Masks.from_dense([array])
        return masks.picture(0)
    return read_label_map(data) if member.labels else read_mask(data, binarize=None).pixels


def _numpy_array(data: bytes) -> NDArray[Any]:
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise MaskError(f"The file is no numpy array: {error}.", "Save it with numpy.save.") from None
    if not isinstance(array, np.ndarray) or array.ndim != 2:
        raise MaskError("The array is not (height, width).")
    return array
