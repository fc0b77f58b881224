"""The annotations of a COCO file, read into flat arrays; every fault of it becomes a finding."""

from __future__ import annotations

from array import array
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from segjudge.findings import Where
from segjudge.formats.coco import fields
from segjudge.formats.coco.fields import Fault
from segjudge.formats.coco.stream import JsonFault, read_lists
from segjudge.masks import Masks
from segjudge.polygons import Rings, upsampled, within_reach
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from segjudge.findings import Collector

__all__ = ["Annotations", "read_annotations"]

Integers = NDArray[np.int64]

_BLOCK = 1 << 18  # coordinates that wait to become an array
_MASKS = 512  # masks that wait to be joined


@dataclass(frozen=True, slots=True, eq=False)
class Annotations:
    """Images, and what is drawn in them: R rings of polygons and M masks that were run lengths."""

    image_ids: tuple[str, ...]
    sizes: Integers  # (N, 2) height and width
    rings: Rings
    ring_image: Integers  # (R,) place in image_ids
    ring_class: Integers  # (R,)
    masks: Masks  # in column order
    mask_image: Integers  # (M,)
    mask_class: Integers  # (M,)


def read_annotations(
    path: Path,
    label: str,
    classes: Mapping[int, str],
    image_key: Literal["id", "file_name"],
    findings: Collector,
) -> Annotations | None:
    """What the file draws of these classes, less what is at fault; None where findings say why nothing."""
    reading = _Reading(label, dict(classes), image_key, findings)
    takers = {"images": reading.image, "annotations": reading.annotation, "categories": reading.category}
    try:
        seen = read_lists(path, takers)
    except JsonFault as fault:
        findings.add(fault.code, Where(file=label), fault.message, fault.advice)
        return None
    lacking = [name for name in ("images", "annotations") if name not in seen]
    for name in lacking:
        findings.add(
            "missing-field",
            Where(file=label, column=name),
            f"The file has no list `{name}`.",
            "Is this the list of the test images alone? The truth has their annotations too."
            if name == "annotations"
            else "The truth lists its images, each with `id`, `file_name`, `height` and `width`.",
        )
    return None if lacking else reading.finished()


def _integers() -> array[int]:
    return array("q")


def _floats() -> array[float]:
    return array("d")


@dataclass(frozen=True, slots=True, eq=False)
class _Image:
    name: str  # its id in the competition
    size: tuple[int, int]


@dataclass(slots=True, eq=False)
class _Reading:
    """The arrays while entries come in; images and annotations come in any order."""

    label: str
    classes: dict[int, str]
    image_key: Literal["id", "file_name"]
    findings: Collector
    keys: dict[str, int] = field(default_factory=dict)  # an image's `id` to its number
    images: dict[int, _Image | None] = field(default_factory=dict)  # by number; None: at fault
    names: dict[str, int] = field(default_factory=dict)  # an image's id in the competition to its entry
    categories: set[int] = field(default_factory=set)
    # Of each annotation that is kept:
    entries: array[int] = field(default_factory=_integers)
    numbers: array[int] = field(default_factory=_integers)  # of its image
    class_ids: array[int] = field(default_factory=_integers)
    # Of each ring: its annotation among those kept, and its corners.
    ring_owners: array[int] = field(default_factory=_integers)
    corners: array[int] = field(default_factory=_integers)
    points: list[NDArray[np.int32]] = field(default_factory=list)
    waiting: array[float] = field(default_factory=_floats)
    judged: int = 0  # rings whose coordinates have been looked at
    unusable: set[int] = field(default_factory=set)  # annotations kept that are at fault after all
    # Of each mask of run lengths: its annotation.
    mask_owners: array[int] = field(default_factory=_integers)
    masks: list[Masks] = field(default_factory=list)
    waiting_masks: list[Masks] = field(default_factory=list)

    # ---------------------------------------------------------------------------------- one entry

    def image(self, entry: int, item: Any) -> None:  # noqa: ANN401 - JSON holds anything
        """Take one of `images`."""
        number, known = -1, None
        try:
            number = self._new_number(fields.text_id(item, "id"))
            name = fields.text_id(item, "id") if self.image_key == "id" else fields.stem(item, "file_name")
            size = fields.side(item, "height"), fields.side(item, "width")
            self._name(name, entry)
            known = _Image(name, size)
        except Fault as fault:
            self._fault("images", entry, fault)
        if number >= 0:  # else it has been told already, or nothing can be drawn in it
            self.images[number] = known

    def _new_number(self, key: str) -> int:
        number = self.keys.setdefault(key, len(self.keys))
        if number in self.images:
            raise Fault("duplicate-id", "id", f"is {key!r}, as that of an image before.", "Ids are unique.")
        return number

    def _name(self, name: str, entry: int) -> None:
        if name in self.names:
            reason = f"has the stem {name!r}, as that of images[{self.names[name]}]."
            raise Fault("duplicate-id", "file_name", reason, "With image_key=file_name, stems are unique.")
        self.names[name] = entry

    def category(self, entry: int, item: Any) -> None:  # noqa: ANN401
        """Take one of `categories`: its number counts, and its name must not be another class's."""
        try:
            class_id = fields.integer(item, "id")
            self._new_category(class_id)
            fields.check_class_name(item, class_id, self.classes)
        except Fault as fault:
            self._fault("categories", entry, fault)

    def _new_category(self, class_id: int) -> None:
        if class_id in self.categories:
            raise Fault("duplicate-id", "id", f"is {class_id}, as that of a category before.")
        self.categories.add(class_id)

    def annotation(self, entry: int, item: Any) -> None:  # noqa: ANN401
        """Take one of `annotations`."""
        key = None
        try:
            key = fields.text_id(item, "image_id")
            class_id = self._class_of(item)
            drawn = fields.drawing(item, "segmentation")
        except Fault as fault:
            self._fault("annotations", entry, fault, key)
            return
        owner = len(self.entries)
        self.entries.append(entry)
        self.numbers.append(self.keys.setdefault(key, len(self.keys)))
        self.class_ids.append(class_id)
        if isinstance(drawn, Masks):
            self.mask_owners.append(owner)
            self.waiting_masks.append(drawn)
            if len(self.waiting_masks) >= _MASKS:
                self._join_masks()
        else:
            for ring in drawn:
                self.ring_owners.append(owner)
                self.corners.append(len(ring) // 2)
                self.waiting.extend(ring)
            if len(self.waiting) >= _BLOCK:
                self._join_points()

    def _class_of(self, item: Any) -> int:  # noqa: ANN401
        class_id = fields.integer(item, "category_id")
        if class_id not in self.classes:
            reason = f"is {fields.shown(class_id)}, no class of this task; the annotation is left out."
            raise Fault("unknown-class", "category_id", reason, level="warning")
        return class_id

    def _fault(self, place: str, entry: int, fault: Fault, image: str | None = None) -> None:
        fields.tell(self.findings, self.label, place, entry, fault, image)

    # ---------------------------------------------------------------------------------- all of them

    def _join_masks(self) -> None:
        self.masks.append(Masks.concatenate(self.waiting_masks, "column"))
        self.waiting_masks.clear()

    def _join_points(self) -> None:
        """The coordinates that wait as fifths of a pixel; rings with one that is no place are told."""
        coordinates = np.array(self.waiting, np.float64)
        self.waiting = _floats()
        near = within_reach(coordinates)
        self.points.append(upsampled(np.where(near, coordinates, 0.0)))
        rings = range(self.judged, len(self.corners))
        self.judged = len(self.corners)
        if near.all():
            return
        ends = 2 * np.cumsum(np.array(self.corners[rings.start :], np.int64))
        for place in np.flatnonzero(~near).tolist():
            owner = self.ring_owners[rings[int(np.searchsorted(ends, place, "right"))]]
            if owner not in self.unusable:
                self.unusable.add(owner)
                self._far(owner, float(coordinates[place]))

    def _far(self, owner: int, coordinate: float) -> None:
        fault = fields.far_fault(coordinate)
        self._fault("annotations", self.entries[owner], fault)

    def finished(self) -> Annotations:
        """All that can be used."""
        self._join_points()
        self._join_masks()
        listed = [(number, image) for number, image in self.images.items() if image is not None]
        place = np.full(len(self.keys), -1, np.int64)
        place[[number for number, _ in listed]] = np.arange(len(listed))
        sizes = np.array([image.size for _, image in listed], np.int64).reshape(-1, 2)
        self._find_strangers()
        numbers = np.array(self.numbers, np.int64)
        image, class_ids = place[numbers], np.array(self.class_ids, np.int64)
        mask_owners, masks = np.array(self.mask_owners, np.int64), Masks.concatenate(self.masks, "column")
        self._find_unequal(mask_owners, masks, image, sizes)
        usable = image >= 0
        usable[list(self.unusable)] = False
        ring_owners = np.array(self.ring_owners, np.int64)
        rings = self._rings()
        kept, kept_masks = np.flatnonzero(usable[ring_owners]), np.flatnonzero(usable[mask_owners])
        if len(kept) < len(rings):
            rings = rings[kept]
        return Annotations(
            tuple(image.name for _, image in listed),
            sizes,
            rings,
            image[ring_owners[kept]],
            class_ids[ring_owners[kept]],
            masks[kept_masks],
            image[mask_owners[kept_masks]],
            class_ids[mask_owners[kept_masks]],
        )

    def _rings(self) -> Rings:
        points = np.concatenate(self.points)
        self.points.clear()
        indptr = np.concatenate([[0], np.cumsum(np.array(self.corners, np.int64))]).astype(np.int64)
        return Rings(points[::2].copy(), points[1::2].copy(), indptr)

    def _find_strangers(self) -> None:
        """Annotations of images that are not listed."""
        known = np.zeros(len(self.keys), np.bool_)
        known[list(self.images)] = True
        names = list(self.keys)
        for owner in np.flatnonzero(~known[np.array(self.numbers, np.int64)]).tolist():
            key = names[self.numbers[owner]]
            fault = Fault(
                "unknown-id", "image_id", f"is {key!r}, and no image has this id.", "List the image."
            )
            self._fault("annotations", self.entries[owner], fault, key)

    def _find_unequal(self, owners: Integers, masks: Masks, image: Integers, sizes: Integers) -> None:
        """Run lengths of another size than their image's."""
        judged = np.flatnonzero(image[owners] >= 0)
        wanted = sizes[image[owners[judged]]]
        for place in judged[(masks.shapes[judged] != wanted).any(axis=1)].tolist():
            owner = int(owners[place])
            self.unusable.add(owner)
            height, width = sizes[image[owner]].tolist()
            fault = Fault(
                "shape-mismatch",
                "segmentation",
                f"has the size {masks.shapes[place].tolist()}, its image has {height} rows x {width} columns.",
                "`size` is [height, width].",
            )
            self._fault("annotations", self.entries[owner], fault)
