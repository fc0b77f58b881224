"""COCO's results: a list of predictions, each with image, class, confidence and mask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjudge.formats.coco import fields
from segjudge.formats.coco.entry_source import Columns, EntrySource
from segjudge.formats.coco.fields import Fault
from segjudge.formats.coco.result_pass import pass_over_results
from segjudge.formats.coco.segments import Segments
from segjudge.formats.copies import byte_file
from segjudge.formats.opening import plain_file
from segjudge.integers import all_or_chosen, places_of
from segjudge.kernels import Column, Field, Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segjudge.formats.begun import Begun
    from segjudge.formats.coco.result_pass import ResultPass
    from segjudge.formats.opening import ByteFile

__all__ = ["open_coco_results"]

Integers = NDArray[np.int64]


def open_coco_results(path: Path, label: str, max_unpacked: int, begun: Begun) -> EntrySource | None:
    """The results in a JSON file, plain, gzip or the one file of a zip; None where findings say why nothing.

    "[{"image_id": int, "category_id": int, "segmentation": RLE, "score": float}]", as COCO's page on the
    format of results has it; ids of images may be texts. With a `bbox` in the first result, every one has
    its own, and areas are those of the boxes, as in pycocotools. What has `begun` on the file is gone on with.
    """
    plain = plain_file(path, label, begun.findings, max_unpacked, begun.workspace)
    entries = begun.passed(pass_over_results, plain, label) if plain is not None else None
    return (
        None
        if plain is None or entries is None
        else _Reading(entries).finished(byte_file(plain, begun.workspace))
    )


class _Reading:
    """What the pass brought home, put together."""

    def __init__(self, entries: ResultPass) -> None:
        self.entries = entries
        self.label = entries.label
        self.findings = entries.findings

    def finished(self, file: ByteFile) -> EntrySource:
        """All that can be used, with what is wrong with the rows as a whole."""
        boxed = self.entries.is_boxed()
        entries, whole, real = self.entries.rows.columns()
        codes, image = places_of(whole[Column.IMAGE])
        image_ids = tuple(self.entries.keys.text(code) for code in codes.tolist())

        def named(row: int) -> str:
            return image_ids[int(image[row])]

        good = self._without(entries, named, whole[Column.KIND] == Kind.RINGS, _POLYGON)
        if boxed:
            good &= self._without(entries, named, (whole[Column.FLAGS] & Field.BOX) == 0, _NO_BOX)
        far = np.flatnonzero((real[0] < 0) | (real[0] > 1))
        fields.tell_each(
            self.findings, self.label, "", entries[far],
            lambda at: _range_fault(float(real[0, far[at]])), lambda at: named(far[at]),
        )  # fmt: skip
        kept = all_or_chosen(good)
        columns = Columns(
            entries[kept],
            image[kept],
            whole[Column.CLASS, kept],
            real[0, kept],
            real[2, kept] if boxed else None,
        )
        segments = Segments(file, self.entries.rewritten, whole[:, kept])
        shapes = np.full((len(image_ids), 2), -1, np.int64)
        return EntrySource(self.label, "", image_ids, shapes, columns, segments)

    def _without(
        self, entries: Integers, named: Callable[[int], str], strange: NDArray[np.bool_], fault: Fault
    ) -> NDArray[np.bool_]:
        """The rows that are not strange; of the others the fault is told."""
        rows = np.flatnonzero(strange)
        fields.tell_each(
            self.findings, self.label, "", entries[rows], lambda _: fault, lambda at: named(rows[at])
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
