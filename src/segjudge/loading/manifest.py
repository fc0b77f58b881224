"""The list of images: sizes, clips and usages, read with every fault of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from segjudge.errors import TruthError
from segjudge.findings import Collector, Where
from segjudge.formats.opening import Workspace, existing, label_of, plain_file
from segjudge.images import Images

if TYPE_CHECKING:
    from pathlib import Path

    from segjudge.task import Task

__all__ = ["read_images"]

_USAGES = ("Public", "Private", "Ignored")


def read_images(task: Task, path: str | Path) -> Images:
    """The manifest `ImageId,Height,Width[,Clip][,Usage]`; raises TruthError with every fault of it."""
    workspace, findings, label = Workspace(), Collector(), label_of(path)
    place = plain_file(existing(path, workspace), label, findings, task.submission.max_unpacked, workspace)
    rows: list[tuple[int, list[str]]] = []
    if place is not None:
        rows = _manifest_rows(place, label, findings, workspace)
    images = _manifest(rows, label, findings) if rows else None
    workspace.close()
    diagnosis = findings.diagnosis()
    if images is None or not diagnosis.ok:
        first = next((f for f in diagnosis.findings if f.level == "error"), None)
        raise TruthError(f"The list of images {label} is at fault: {first or 'it is empty.'}", diagnosis)
    return images


def _manifest_rows(
    path: Path, label: str, findings: Collector, workspace: Workspace
) -> list[tuple[int, list[str]]]:
    """The manifest's records; it is small, so that they may be Python's own."""
    from segjudge.formats.table.reading import open_any_text  # noqa: PLC0415 - few scores have a manifest
    from segjudge.formats.table.text import QuotedText, read_small, rewritten  # noqa: PLC0415

    with path.open("rb") as file:
        if file.read(4) != b"PAR1":
            return read_small(path.read_bytes(), label, findings)
    try:
        text = open_any_text(path, label, ["ImageId"], findings, workspace)
    except QuotedText:
        text = rewritten(path, label, findings, workspace)
    if text is None:
        return []
    rows = [(1, list(text.header))]
    for block in text.blocks(findings):
        for record in range(len(block.found)):
            cells = [block.cell(record, column) for column in range(len(text.header) + text.shift)]
            rows.append((int(cells[0]), cells[1:]))
    return rows


def _manifest(rows: list[tuple[int, list[str]]], label: str, findings: Collector) -> Images | None:
    header = [name.strip() for name in rows[0][1]]
    lacking = [name for name in ("ImageId", "Height", "Width") if name not in header]
    if lacking:
        findings.add(
            "bad-header",
            Where(file=label, row=1),
            f"The column {lacking[0]!r} is missing; the header is {','.join(header)[:80]!r}.",
            "A list of images has ImageId,Height,Width, and may have Clip and Usage.",
        )
        return None
    ids: dict[str, int] = {}
    shapes: list[tuple[int, int]] = []
    columns: dict[str, list[str]] = {name: [] for name in ("Clip", "Usage") if name in header}
    for line, cells in rows[1:]:
        if len(cells) != len(header):
            findings.add(
                "bad-field-count", Where(file=label, row=line), f"{len(cells)} fields, not {len(header)}."
            )
            continue
        record = dict(zip(header, cells, strict=True))
        image, where = record["ImageId"], Where(file=label, row=line, image=record["ImageId"])
        sides = [record[name].strip() for name in ("Height", "Width")]
        if not all(
            side.isascii() and side.isdigit() and 0 < len(side) < 10 and int(side) > 0 for side in sides
        ):
            findings.add("shape-mismatch", where, f"{sides[0]!r} x {sides[1]!r} is no size in pixels.")
            continue
        if image in ids:
            findings.add("duplicate-id", where, f"{image!r} stands in row {ids[image]} already.")
            continue
        usage = record.get("Usage", "Public").strip()
        if usage not in _USAGES:
            findings.add("bad-type", where, f"Usage is {usage!r}.", f"It is one of {', '.join(_USAGES)}.")
        ids[image] = line
        shapes.append((int(sides[0]), int(sides[1])))
        for name, values in columns.items():
            values.append(record[name].strip())
    return Images.of(
        list(ids), np.array(shapes, np.int64).reshape(-1, 2), columns.get("Clip"), columns.get("Usage")
    )
