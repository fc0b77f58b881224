"""The pass over COCO's results: the entries of the list as they come, without numpy."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from segjudge.findings import Where
from segjudge.formats.coco import fields
from segjudge.formats.coco.item import Item
from segjudge.formats.coco.rows import Keys, Row, Rows, Spill
from segjudge.formats.coco.stream import JsonFault, read_list
from segjudge.kernels import Field
from segjudge.records import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from segjudge.findings import Collector
    from segjudge.formats.opening import ByteFile, Workspace
    from segjudge.formats.receipts import Receipt

__all__ = ["ResultPass", "pass_over_results"]

_REQUIRED = Field.IMAGE | Field.CLASS | Field.SCORE | Field.MASK


def pass_over_results(
    path: Path, label: str, findings: Collector, workspace: Workspace, receipt: Receipt | None = None
) -> ResultPass | None:
    """All entries of a plain file of results; None where findings say why it is none.

    The `receipt` is worked out on the way.
    """
    with Spill(workspace) as spill:
        entries = ResultPass(label, findings, Rows(_REQUIRED | Field.BOX, _REQUIRED, spill))
        try:
            read_list(path, entries.result, entries.rows.scan, receipt)
        except JsonFault as fault:
            findings.add(fault.code, Where(file=label), fault.message, fault.advice)
            return None
        entries.rewritten = spill.read_back()
        return entries


@dataclass(slots=True, eq=False)
class ResultPass:
    """The rows while results come in."""

    label: str
    findings: Collector
    rows: Rows
    keys: Keys = field(default_factory=Keys)
    rewritten: ByteFile | None = None  # masks that were written anew
    boxed: bool | None = None  # whether the first result has a box; None: the kernel has taken it

    def result(self, entry: int, value: Any) -> None:  # noqa: ANN401 - JSON holds anything
        """Take one result that is not plain."""
        if entry == 0:
            self.boxed = isinstance(value, dict) and value.get("bbox", []) != []
        item = Item(self.findings, self.label, "", entry, value)
        item.image = image = item.taken(fields.text_id, "image_id")
        class_id = item.taken(fields.class_id, "category_id")
        score = item.taken(fields.confidence, "score")
        mask = item.taken(fields.written, "segmentation")
        box = item.taken(fields.box_area, "bbox") if self.is_boxed() and "bbox" in item else None
        if item.good:
            flags = _REQUIRED | (Field.BOX if box is not None else Field(0))
            code = self.keys.code(image)
            row = Row(image=code, class_id=class_id, score=score, box=box or 0.0, flags=int(flags), mask=mask)
            self.rows.add(entry, row)

    def is_boxed(self) -> bool:
        """Whether the first result has a box; then every one has."""
        if self.boxed is None:
            self.boxed = bool(self.rows.first_flags() & Field.BOX)
        return self.boxed
