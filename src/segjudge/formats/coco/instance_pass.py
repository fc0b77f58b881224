"""The pass over COCO's annotations: the entries of its three lists as they come, without numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from segjudge.findings import Where
from segjudge.formats.coco import fields
from segjudge.formats.coco.fields import Fault
from segjudge.formats.coco.item import Item
from segjudge.formats.coco.rows import Keys, Row, Rows, Spill
from segjudge.formats.coco.stream import JsonFault, read_lists
from segjudge.kernels import Field

if TYPE_CHECKING:
    from pathlib import Path

    from segjudge.findings import Collector
    from segjudge.formats.opening import ByteFile, Workspace
    from segjudge.formats.receipts import Receipt

__all__ = ["InstancePass", "pass_over_instances"]

_ANNOTATION = Field.ID | Field.IMAGE | Field.CLASS | Field.AREA | Field.MASK
_IMAGE = Field.ID | Field.HEIGHT | Field.WIDTH
_LISTS = {
    "images": "The truth lists its images, each with `id`, `height` and `width`.",
    "annotations": "Is this the list of the test images alone? The truth has their annotations too.",
    "categories": "The truth lists its classes, each with `id` and `name`.",
}


def pass_over_instances(
    path: Path, label: str, findings: Collector, workspace: Workspace, receipt: Receipt | None = None
) -> InstancePass | None:
    """All entries of a plain annotations file; None where findings say why it is none.

    The `receipt` is worked out on the way.
    """
    with Spill(workspace) as spill:
        entries = InstancePass(label, findings, spill)
        if not _read(path, entries, receipt):
            return None
        entries.rewritten = spill.read_back()
        return entries


def _read(path: Path, entries: InstancePass, receipt: Receipt | None) -> bool:
    """Whether the file has all that it needs."""
    takers = {"images": entries.image, "annotations": entries.annotation, "categories": entries.category}
    scans = {"images": entries.images.scan, "annotations": entries.annotations.scan}
    try:
        seen = read_lists(path, takers, scans, receipt)
    except JsonFault as fault:
        entries.findings.add(fault.code, Where(file=entries.label), fault.message, fault.advice)
        return False
    lacking = [name for name in _LISTS if name not in seen]
    for name in lacking:
        where = Where(file=entries.label, column=name)
        entries.findings.add("missing-field", where, f"The file has no list `{name}`.", _LISTS[name])
    return not lacking


class InstancePass:
    """The rows while entries come in; the lists come in any order."""

    def __init__(self, label: str, findings: Collector, spill: Spill) -> None:
        self.label = label
        self.findings = findings
        self.keys = Keys()
        self.numbers = Keys()  # of annotations
        self.images = Rows(_IMAGE, _IMAGE, spill)
        self.annotations = Rows(_ANNOTATION | Field.CROWD | Field.IGNORE, _ANNOTATION, spill)
        self.rewritten: ByteFile | None = None  # masks that were written anew
        self.class_names: dict[int, str] = {}
        self.faulty: set[int] = set()  # codes of images whose entries are at fault
        self.quoted = 0  # images whose id is a text

    # ---------------------------------------------------------------------------------- one entry

    def image(self, entry: int, value: Any) -> None:  # noqa: ANN401 - JSON holds anything
        """Take one of `images` that is not plain."""
        item = Item(self.findings, self.label, "images", entry, value)
        key = item.taken(fields.text_id, "id")
        height, width = item.taken(fields.side, "height"), item.taken(fields.side, "width")
        if item.good:
            row = Row(number=self.keys.code(key), height=height, width=width, flags=int(_IMAGE))
            self.images.add(entry, row)
            self.quoted += isinstance(value["id"], str)
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
