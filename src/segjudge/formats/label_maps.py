"""Label maps and folders of masks as truth: one picture per image, or one per object."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from segjudge import kernels
from segjudge.findings import Collector, Where
from segjudge.formats.archive import MemberFault, open_tree
from segjudge.formats.pictures import PictureFault, picture_size, read_label_map, read_mask
from segjudge.formats.source import Chunk
from segjudge.instances import Instances
from segjudge.masks import Masks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from segjudge.formats.archive import Tree
    from segjudge.images import Images
    from segjudge.task import Task

__all__ = ["LabelMapSource", "MaskFolderSource", "open_label_maps"]

Integers = NDArray[np.int64]

_ENDINGS = (".png", ".tif", ".tiff")
_SUFFIX = "_instanceIds"
_PER_CLASS = 1000
_HEAD = 33  # bytes that hold a PNG's size
_IN_FOLDER = re.compile(r"(?:^|/)([^/]+)/(masks|images)/[^/]+$")


def open_label_maps(
    path: Path, label: str, task: Task, findings: Collector
) -> LabelMapSource | MaskFolderSource | None:
    """The truth in a folder or archive of pictures; None when findings say why there is none."""
    tree = open_tree(
        path, findings, max_unpacked=task.submission.max_unpacked, file_label=label, strip_top=False
    )
    if tree is None:
        return None
    folders = [_IN_FOLDER.search(name) for name in tree.names]
    if task.truth.mask_folders and any(found and found[2] == "masks" for found in folders):
        return _mask_folders(tree, label, task, findings)
    members = [name for name in tree.names if name.lower().endswith(_ENDINGS)]
    named = _one_file_per_image(members, label, findings)
    if not named:
        findings.add(
            "missing-file",
            Where(file=label),
            "No label map lies here: there is no PNG or TIFF.",
            "Give the folder (or a zip of it) that holds one picture for each image.",
        )
        tree.close()
        return None
    scheme = task.truth.label_map or "instance"
    source = LabelMapSource(tree, label, named, scheme, tuple(task.classes), task.ignored, task.order)
    source.measure(findings)
    return source


def image_id(member: str) -> str:
    """The id of the image that a picture is the label map of: its stem less a final `_instanceIds`.

    >>> image_id("road/Camera 5/170908_061502408_Camera_5_instanceIds.png")
    '170908_061502408_Camera_5'
    """
    return PurePosixPath(member).stem.removesuffix(_SUFFIX)


def _one_file_per_image(members: Sequence[str], label: str, findings: Collector) -> dict[str, str]:
    named: dict[str, str] = {}
    for member in members:
        name = image_id(member)
        if name in named:
            findings.add(
                "duplicate-id",
                Where(file=label, image=name, member=member),
                f"Two label maps belong to the image {name!r}: {named[name]} and {member}.",
                "Keep one of them.",
            )
        named.setdefault(name, member)
    return named


class _Pictures:
    """What both kinds of pictures share: a tree, and the images by place."""

    holds_gil = True

    def __init__(self, tree: Tree, label: str, image_ids: Sequence[str]) -> None:
        self.tree = tree
        self.label = label
        self.image_ids = tuple(image_ids)
        self.shapes = np.full((len(image_ids), 2), -1, np.int64)
        self._number = np.zeros(0, np.int64)
        self._ids: tuple[str, ...] = ()

    def __del__(self) -> None:
        self.tree.close()

    def weights(self) -> Integers:
        """A byte for every four pixels: what decoding and scanning a picture costs."""
        pixels: Integers = np.prod(np.maximum(self.shapes, 0), axis=1)
        return np.maximum(pixels // 4, 4096)

    def bind(self, images: Images) -> None:
        """See `Source`."""
        self._number = np.full(len(images), -1, np.int64)
        places = images.find(self.image_ids)
        self._number[places[places >= 0]] = np.flatnonzero(places >= 0)
        self._ids = images.ids

    def _read(self, member: str, findings: Collector, image: str) -> bytes | None:
        try:
            return self.tree.read(member)
        except MemberFault as fault:
            self._fault(findings, fault, image, member)
            return None

    def _size(self, member: str, findings: Collector, image: str) -> tuple[int, int]:
        try:
            data = self.tree.head(member, _HEAD)
            if not data.startswith(b"\x89PNG"):
                data = self.tree.read(member)
            return picture_size(data)
        except (MemberFault, PictureFault) as fault:
            self._fault(findings, fault, image, member)
            return -1, -1

    def _fault(self, findings: Collector, fault: MemberFault | PictureFault, image: str, member: str) -> None:
        where = Where(file=self.label, image=image, member=member)
        findings.add(fault.code, where, fault.message, fault.advice)


class LabelMapSource(_Pictures):
    """One picture per image, whose values name class and instance, or the instance alone.

    `class-instance`: "label = px // 1000, instance = px % 1000" (WAD 2018), ignored values as they stand.
    `instance`: 0 is background, every other value one object, all its pieces together.
    """

    def __init__(
        self,
        tree: Tree,
        label: str,
        members: Mapping[str, str],
        scheme: Literal["class-instance", "instance"],
        classes: tuple[int, ...],
        ignored: Mapping[int, int],
        order: Literal["row", "column"],
    ) -> None:
        super().__init__(tree, label, list(members))
        self.members = tuple(members.values())
        self.scheme = scheme
        self.classes = classes
        self.ignored = dict(ignored)
        self.order = order

    def measure(self, findings: Collector) -> None:
        """Read every picture's size from its header."""
        for number, (image, member) in enumerate(zip(self.image_ids, self.members, strict=True)):
            self.shapes[number] = self._size(member, findings, image)

    def read(self, places: Integers, cap: int | None) -> Chunk:
        """See `Source`."""
        findings = Collector(cap)
        parts: list[tuple[int, Integers, Masks]] = []
        for position, place in enumerate(places.tolist()):
            number = int(self._number[place])
            if number < 0:
                continue
            labels = self._labels(number, findings)
            if labels is not None:
                values, masks = masks_of_labels(labels, self.order, self._keep())
                parts.append((position, values, masks))
        values = np.concatenate([part[1] for part in parts]) if parts else np.zeros(0, np.int64)
        image = np.repeat([part[0] for part in parts], [len(part[1]) for part in parts]).astype(np.int64)
        class_ids, ignored, evaluated = self._meaning(values)
        masks = Masks.concatenate([part[2] for part in parts], self.order)
        ids = tuple(self._ids[place] for place in places.tolist())
        instances = Instances.of(ids, image, masks, class_ids=class_ids, ignored=ignored)
        return Chunk(instances if evaluated.all() else instances[evaluated], findings)

    def _labels(self, number: int, findings: Collector) -> NDArray[np.generic] | None:
        image, member = self.image_ids[number], self.members[number]
        data = self._read(member, findings, image)
        if data is None:
            return None
        try:
            return read_label_map(data)
        except PictureFault as fault:
            self._fault(findings, fault, image, member)
            return None

    def _keep(self) -> NDArray[np.uint8]:
        """For each 16-bit value whether it is anything but background."""
        if self.scheme == "instance":
            return np.zeros(1, np.uint8)  # 0 is background; all values beyond the table are kept
        values = np.arange(1 << 16)
        keep = np.isin(values // _PER_CLASS, self.classes)
        keep[[value for value in self.ignored if value < len(keep)]] = True
        return keep.astype(np.uint8)

    def _meaning(self, values: Integers) -> tuple[Integers, NDArray[np.bool_], NDArray[np.bool_]]:
        """Class, whether ignored, and whether anything at all, of each value."""
        if self.scheme == "instance":
            return (
                np.zeros(len(values), np.int64),
                np.zeros(len(values), np.bool_),
                np.ones(len(values), np.bool_),
            )
        ignored = np.isin(values, list(self.ignored))
        class_ids = values // _PER_CLASS
        class_ids[ignored] = [self.ignored[value] for value in values[ignored].tolist()]
        return class_ids, ignored, ignored | np.isin(class_ids, self.classes)


class MaskFolderSource(_Pictures):
    """A folder per image, with one picture for each of its objects in `masks/`."""

    def __init__(
        self, tree: Tree, label: str, members: Mapping[str, Sequence[str]], order: Literal["row", "column"]
    ) -> None:
        super().__init__(tree, label, list(members))
        self.members = tuple(tuple(names) for names in members.values())
        self.order = order

    def measure(self, findings: Collector, pictures: Mapping[str, str]) -> None:
        """Each image's size, from the first of its masks or from the image itself."""
        for number, (image, names) in enumerate(zip(self.image_ids, self.members, strict=True)):
            sample = names[0] if names else pictures.get(image)
            if sample is not None:
                self.shapes[number] = self._size(sample, findings, image)

    def read(self, places: Integers, cap: int | None) -> Chunk:
        """See `Source`."""
        findings = Collector(cap)
        image: list[int] = []
        pictures: list[NDArray[np.bool_]] = []
        for position, place in enumerate(places.tolist()):
            number = int(self._number[place])
            for member in self.members[number] if number >= 0 else ():
                picture = self._mask(number, member, findings)
                if picture is not None:
                    image.append(position)
                    pictures.append(picture)
        ids = tuple(self._ids[place] for place in places.tolist())
        masks = Masks.from_dense(pictures, self.order)
        return Chunk(Instances.of(ids, np.array(image, np.int64), masks), findings)

    def _mask(self, number: int, member: str, findings: Collector) -> NDArray[np.bool_] | None:
        image = self.image_ids[number]
        data = self._read(member, findings, image)
        if data is None:
            return None
        try:
            picture = read_mask(data).pixels
        except PictureFault as fault:
            self._fault(findings, fault, image, member)
            return None
        if picture.shape != tuple(self.shapes[number]):
            findings.add(
                "shape-mismatch",
                Where(file=self.label, image=image, member=member),
                f"The mask is {picture.shape[0]} rows x {picture.shape[1]} columns, its image "
                f"{self.shapes[number, 0]} x {self.shapes[number, 1]}.",
                "All masks of an image have the image's size.",
            )
            return None
        return picture


def _mask_folders(tree: Tree, label: str, task: Task, findings: Collector) -> MaskFolderSource:
    masks: dict[str, list[str]] = defaultdict(list)
    pictures: dict[str, str] = {}
    for name in tree.names:
        found = _IN_FOLDER.search(name)
        if found is None or not name.lower().endswith(".png"):
            continue
        if found[2] == "masks":
            masks[found[1]].append(name)
        else:
            masks.setdefault(found[1], [])
            pictures[found[1]] = name
    source = MaskFolderSource(tree, label, masks, task.order)
    source.measure(findings, pictures)
    return source


def masks_of_labels(
    labels: NDArray[np.generic], order: Literal["row", "column"], keep: NDArray[np.uint8]
) -> tuple[Integers, Masks]:
    """The values of a label map (H, W) that are kept, ascending, and the mask of each.

    >>> values, masks = masks_of_labels(np.array([[0, 7, 7], [5, 0, 7]], np.uint16), "row", np.zeros(1, np.uint8))
    >>> values.tolist(), masks.areas.tolist()
    ([5, 7], [1, 3])
    """
    flat = (labels if order == "row" else labels.T).reshape(-1)
    runs = kernels.label_runs(np.ascontiguousarray(flat), keep)
    runs = runs[np.argsort(runs[:, 0], kind="stable")]
    values, heads = np.unique(runs[:, 0], return_index=True)
    indptr = np.concatenate([heads, [len(runs)]]).astype(np.int64)
    shapes = np.tile(np.array(labels.shape, np.int64), (len(values), 1))
    starts, stops = np.ascontiguousarray(runs[:, 1]), np.ascontiguousarray(runs[:, 2])
    return values, Masks.from_runs(order, starts, stops, indptr, shapes)
