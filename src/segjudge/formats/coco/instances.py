"""COCO's annotations as a truth of instances: masks, areas, crowds, and what is not evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segjudge.findings import Where
from segjudge.formats.coco import fields
from segjudge.formats.coco.entry_source import Columns, EntrySource
from segjudge.formats.coco.fields import Fault
from segjudge.formats.coco.item import Item
from segjudge.formats.coco.rows import Keys, Row, Rows, Spill, places_of
from segjudge.formats.coco.segments import Segments
from segjudge.formats.coco.stream import JsonFault, read_lists
from segjudge.formats.opening import ByteFile, plain_file
from segjudge.kernels import Column, Field

if TYPE_CHECKING:
    from pathlib import Path

    from segjudge.findings import Collector
    from segjudge.formats.opening import Workspace
    from segjudge.formats.receipts import Receipt

__all__ = ["open_coco_instances"]

Integers = NDArray[np.int64]

_ANNOTATION = Field.ID | Field.IMAGE | Field.CLASS | Field.AREA | Field.MASK
_IMAGE = Field.ID | Field.HEIGHT | Field.WIDTH
_LISTS = {
    "images": "The truth lists its images, each with `id`, `height` and `width`.",
    "annotations": "Is this the list of the test images alone? The truth has their annotations too.",
    "categories": "The truth lists its classes, each with `id` and `name`.",
}


def open_coco_instances(
    path: Path,
    label: str,
    max_unpacked: int,
    findings: Collector,
    workspace: Workspace,
    receipt: Receipt | None = None,
) -> EntrySource | None:
    """The truth in an annotations file, plain, gzip or the one file of a zip; None where there is none.

    Classes are the file's categories.
    An id of 0 is an id as any other. What is at fault is told in findings, and left out. The `receipt` is
    worked out on the way.
    """
    plain = plain_file(path, label, findings, max_unpacked, workspace)
    if plain is None:
        return None
    with Spill(workspace) as spill:
        reading = _Reading(label, findings, spill)
        return reading.finished(plain) if _read(plain, reading, receipt) else None


def _read(path: Path, reading: _Reading, receipt: Receipt | None) -> bool:
    """Whether the file has all that it needs."""
    takers = {"images": reading.image, "annotations": reading.annotation, "categories": reading.category}
    scans = {"images": reading.images.scan, "annotations": reading.annotations.scan}
    try:
        seen = read_lists(path, takers, scans, receipt)
    except JsonFault as fault:
        reading.findings.add(fault.code, Where(file=reading.label), fault.message, fault.advice)
        return False
    lacking = [name for name in _LISTS if name not in seen]
    for name in lacking:
        where = Where(file=reading.label, column=name)
        reading.findings.add("missing-field", where, f"The file has no list `{name}`.", _LISTS[name])
    return not lacking


class _Reading:
    """The rows while entries come in; the lists come in any order."""

    def __init__(self, label: str, findings: Collector, spill: Spill) -> None:
        self.label = label
        self.findings = findings
        self.keys = Keys()
        self.numbers = Keys()  # of annotations
        self.images = Rows(_IMAGE, _IMAGE, spill)
        self.annotations = Rows(_ANNOTATION | Field.CROWD | Field.IGNORE, _ANNOTATION, spill)
        self.spill = spill
        self.class_names: dict[int, str] = {}
        self.faulty: set[int] = set()  # codes of images whose entries are at fault

    # ---------------------------------------------------------------------------------- one entry

    def image(self, entry: int, value: Any) -> None:  # noqa: ANN401 - JSON holds anything
        """Take one of `images` that is not plain."""
        item = Item(self.findings, self.label, "images", entry, value)
        key = item.taken(fields.text_id, "id")
        height, width = item.taken(fields.side, "height"), item.taken(fields.side, "width")
        if item.good:
            row = Row(number=self.keys.code(key), height=height, width=width, flags=int(_IMAGE))
            self.images.add(entry, row)
        elif key is not None:
            self.faulty.add(self.keys.code(key))

    def category(self, entry: int, value: Any) -> None:  # noqa: ANN401
        """Take one of `categories`."""
        item = Item(self.findings, self.label, "categories", entry, value)
        class_id = item.taken(fields.class_id, "id")
        if class_id in self.class_names:
            item.fault(Fault("duplicate-id", "id", f"is {class_id}, as that of a category before."))
        elif item.good:
            self.class_names[class_id] = fields.class_name(item.value, class_id)

    def annotation(self, entry: int, value: Any) -> None:  # noqa: ANN401
        """Take one of `annotations` that is not plain."""
        item = Item(self.findings, self.label, "annotations", entry, value)
        item.image = item.taken(fields.text_id, "image_id")
        number = item.taken(fields.text_id, "id")
        class_id = item.taken(fields.class_id, "category_id")
        area = item.taken(fields.number, "area")
        mask = item.taken(fields.written, "segmentation")
        crowd, ignored = item.taken(fields.flag, "iscrowd"), item.taken(fields.flag, "ignore")
        if item.good:
            flags = (
                _ANNOTATION
                | (Field.IS_CROWD if crowd else Field(0))
                | (Field.IS_IGNORED if ignored else Field(0))
            )
            row = Row(
                self.numbers.code(number),
                self.keys.code(item.image),
                class_id,
                area=area,
                flags=int(flags),
                mask=mask,
            )
            self.annotations.add(entry, row)

    # ---------------------------------------------------------------------------------- all of them

    def finished(self, path: Path) -> EntrySource:
        """All that can be used."""
        _, listed, _ = listed_columns = self.images.columns()
        entries, whole, real = self.annotations.columns()
        count = len(listed_columns[0])
        # Images that are listed and images that annotations name get their places together.
        codes, place = places_of(np.concatenate([listed[Column.NUMBER], whole[Column.IMAGE]]))
        first = _first_of_each(place[:count], len(codes))
        self._tell_repeats(
            "images", listed_columns[0], listed[Column.NUMBER], first[place[:count]], self.keys
        )
        here = first >= 0
        kept = self._known_images(entries, codes, place[count:], here) & self._known_classes(entries, whole)
        numbers = whole[Column.NUMBER]
        _, number = places_of(numbers)
        earlier = _first_of_each(number, int(number.max(initial=-1)) + 1)[number]
        self._tell_repeats("annotations", entries, numbers, earlier, self.numbers)
        kept &= earlier == np.arange(len(entries))
        flags = whole[Column.FLAGS, kept]
        columns = Columns(
            entries[kept],
            (np.cumsum(here) - 1)[place[count:]][kept],
            whole[Column.CLASS, kept],
            areas=real[1, kept],
            ignored=(flags & Field.IS_IGNORED) != 0,
            crowd=(flags & Field.IS_CROWD) != 0,
        )
        return EntrySource(
            self.label,
            "annotations",
            tuple(self.keys.text(code) for code in codes[here].tolist()),
            np.ascontiguousarray(listed[[Column.HEIGHT, Column.WIDTH]][:, first[here]].T),
            columns,
            Segments(ByteFile(path), self.spill.read_back(), whole[:, kept]),
            dict(sorted(self.class_names.items())),
        )

    def _tell_repeats(
        self, place: str, entries: Integers, codes: Integers, earlier: Integers, keys: Keys
    ) -> None:
        """Entries whose id an entry before has; `earlier` is the first row that has it."""
        repeated = np.flatnonzero(earlier != np.arange(len(entries)))
        fields.tell_each(self.findings, self.label, place, entries[repeated], lambda at: Fault(
            "duplicate-id",
            "id",
            f"is {keys.text(int(codes[repeated[at]]))!r}, as that of {place}[{entries[earlier[repeated[at]]]}].",
            "Ids are unique.",
        ))  # fmt: skip

    def _known_images(
        self, entries: Integers, codes: Integers, place: Integers, here: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """The annotations of images that are listed; of an image at fault that has been told already."""
        known = here[place]
        told = np.isin(codes, list(self.faulty)) if self.faulty else np.zeros(len(codes), np.bool_)
        strange = np.flatnonzero(~known & ~told[place])
        fields.tell_each(self.findings, self.label, "annotations", entries[strange], lambda at: Fault(
            "unknown-id",
            "image_id",
            f"is {self.keys.text(int(codes[place[strange[at]]]))!r}, and no image has this id.",
            "List the image.",
        ))  # fmt: skip
        return known

    def _known_classes(self, entries: Integers, whole: Integers) -> NDArray[np.bool_]:
        """The annotations of classes that are listed."""
        known = np.isin(whole[Column.CLASS], list(self.class_names))
        strange = np.flatnonzero(~known)
        fields.tell_each(self.findings, self.label, "annotations", entries[strange], lambda at: Fault(
            "unknown-class",
            "category_id",
            f"is {whole[Column.CLASS, strange[at]]}, and no category has this id.",
            "List the category.",
        ))  # fmt: skip
        return known


def _first_of_each(place: Integers, places: int) -> Integers:
    """The first row at each place, -1 where there is none."""
    first = np.full(places, -1, np.int64)
    first[place[::-1]] = np.arange(len(place))[::-1]
    return first
