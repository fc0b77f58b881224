"""COCO's results: a list of predictions, each with image, class, confidence and mask."""

from __future__ import annotations

from dataclasses import dataclass, field
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
from segjudge.formats.coco.stream import JsonFault, read_list
from segjudge.formats.opening import ByteFile, plain_file
from segjudge.kernels import Column, Field, Kind

if TYPE_CHECKING:
    from pathlib import Path

    from segjudge.findings import Collector
    from segjudge.formats.opening import Workspace
    from segjudge.formats.receipts import Receipt

__all__ = ["open_coco_results"]

Integers = NDArray[np.int64]

_REQUIRED = Field.IMAGE | Field.CLASS | Field.SCORE | Field.MASK


def open_coco_results(
    path: Path,
    label: str,
    max_unpacked: int,
    findings: Collector,
    workspace: Workspace,
    receipt: Receipt | None = None,
) -> EntrySource | None:
    """The results in a JSON file, plain, gzip or the one file of a zip; None where findings say why nothing.

    "[{"image_id": int, "category_id": int, "segmentation": RLE, "score": float}]", as COCO's page on the
    format of results has it; ids of images may be texts. With a `bbox` in the first result, every one has
    its own, and areas are those of the boxes, as in pycocotools. The `receipt` is worked out on the way.
    """
    plain = plain_file(path, label, findings, max_unpacked, workspace)
    if plain is None:
        return None
    with Spill(workspace) as spill:
        reading = _Reading(label, findings, Rows(_REQUIRED | Field.BOX, _REQUIRED, spill))
        try:
            read_list(plain, reading.result, reading.rows.scan, receipt)
        except JsonFault as fault:
            findings.add(fault.code, Where(file=label), fault.message, fault.advice)
            return None
        return reading.finished(plain)


@dataclass(slots=True)
class _Reading:
    """The rows while results come in."""

    label: str
    findings: Collector
    rows: Rows
    keys: Keys = field(default_factory=Keys)
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
        box = item.taken(fields.box_area, "bbox") if self._is_boxed() and "bbox" in item else None
        if item.good:
            flags = _REQUIRED | (Field.BOX if box is not None else Field(0))
            code = self.keys.code(image)
            row = Row(image=code, class_id=class_id, score=score, box=box or 0.0, flags=int(flags), mask=mask)
            self.rows.add(entry, row)

    def _is_boxed(self) -> bool:
        if self.boxed is None:
            self.boxed = bool(self.rows.whole) and bool(self.rows.whole[0][0, Column.FLAGS] & Field.BOX)
        return self.boxed

    def finished(self, path: Path) -> EntrySource:
        """All that can be used, with what is wrong with the rows as a whole."""
        boxed = self._is_boxed()
        entries, whole, real = self.rows.columns()
        codes, image = places_of(whole[Column.IMAGE])
        image_ids = tuple(self.keys.text(code) for code in codes.tolist())
        ids = np.array(image_ids, object)[image]
        kept = self._without(entries, ids, whole[Column.KIND] == Kind.RINGS, _POLYGON)
        if boxed:
            kept &= self._without(entries, ids, (whole[Column.FLAGS] & Field.BOX) == 0, _NO_BOX)
        far = np.flatnonzero((real[0] < 0) | (real[0] > 1))
        fields.tell_each(
            self.findings, self.label, "", entries[far],
            lambda at: _range_fault(float(real[0, far[at]])), lambda at: str(ids[far[at]]),
        )  # fmt: skip
        columns = Columns(
            entries[kept],
            image[kept],
            whole[Column.CLASS, kept],
            real[0, kept],
            real[2, kept] if boxed else None,
        )
        segments = Segments(ByteFile(path), self.rows.spill.read_back(), whole[:, kept])
        shapes = np.full((len(image_ids), 2), -1, np.int64)
        return EntrySource(self.label, "", image_ids, shapes, columns, segments)

    def _without(
        self, entries: Integers, ids: NDArray[np.object_], strange: NDArray[np.bool_], fault: Fault
    ) -> NDArray[np.bool_]:
        """The rows that are not strange; of the others the fault is told."""
        rows = np.flatnonzero(strange)
        fields.tell_each(
            self.findings, self.label, "", entries[rows], lambda _: fault, lambda at: str(ids[rows[at]])
        )
        return ~strange


_POLYGON = Fault(
    "bad-type",
    "segmentation",
    "is a list, as polygons are; results hold run lengths.",
    "Turn polygons into masks, and masks into run lengths, as with pycocotools.mask.encode.",
)
_NO_BOX = Fault(
    "missing-field",
    "bbox",
    "is missing; the first result has one, and then every result has.",
    "Areas are those of the boxes as soon as the first result has one. Write boxes everywhere, or nowhere.",
)


def _range_fault(score: float) -> Fault:
    return Fault(
        "confidence-range",
        "score",
        f"is {score!r}, outside 0 to 1.",
        "It is ranked as it stands. Are these logits, or percentages?",
        level="warning",
    )
