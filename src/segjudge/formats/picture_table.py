"""A table that names pictures, in an archive or folder: emoji's submissions and truths."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjudge.findings import Collector, Where
from segjudge.formats.archive import MemberFault, find_members, open_tree, resolve
from segjudge.formats.pictures import PictureFault, picture_size, read_mask
from segjudge.formats.source import Chunk, Entries
from segjudge.formats.table.reading import check_header_names
from segjudge.formats.table.text import read_small
from segjudge.instances import Instances
from segjudge.masks import Masks
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from segjudge.formats.archive import Tree
    from segjudge.images import Images
    from segjudge.task import ArchiveForm, Task

__all__ = ["PictureTableSource", "open_submission_archive", "open_truth_archive"]

Integers = NDArray[np.int64]

_HEAD = 33  # bytes that hold a PNG's size


@dataclass(frozen=True, slots=True, eq=False)
class PictureRow:
    """A row of the table: an image, and the picture that is its mask."""

    image: str
    row: int
    member: str  # "" where a finding says why there is none


class PictureTableSource:
    """One mask per row, each a PNG of two values."""

    holds_gil = True

    def __init__(
        self,
        tree: Tree,
        label: str,
        table: str,
        rows: Sequence[PictureRow],
        binarize: int | None,
        max_pixels: int,
    ) -> None:
        self.tree = tree
        self.label = label
        self.table = table
        self.rows = tuple(rows)
        self.binarize = binarize
        self.max_pixels = max_pixels
        self.image_ids = tuple(dict.fromkeys(row.image for row in rows))
        self.shapes = np.full((len(self.image_ids), 2), -1, np.int64)
        self._by_image: dict[int, list[int]] = {}
        self._images: Images | None = None

    def __del__(self) -> None:
        self.tree.close()

    def measure(self, findings: Collector) -> None:
        """Each image's size, from its mask's header."""
        places = {image: place for place, image in enumerate(self.image_ids)}
        for row in self.rows:
            size = self._size(row, findings) if row.member else None
            if size is not None:
                self.shapes[places[row.image]] = size

    def entries(self) -> Entries:
        """What the rows say: each names one image and a mask."""
        places = {image: place for place, image in enumerate(self.image_ids)}
        image = np.array([places[row.image] for row in self.rows], np.int64)
        rows = np.array([row.row for row in self.rows], np.int64)
        return Entries(image, np.zeros(len(image), np.int64), rows, np.zeros(len(image), np.bool_))

    def weights(self) -> Integers:
        """A picture of some hundred pixels a side costs as much as this many bytes of text."""
        return np.full(len(self.image_ids), 1 << 16, np.int64)

    def bind(self, images: Images) -> None:
        """See `Source`."""
        self._images = images
        self._by_image = {}
        for number, row in enumerate(self.rows):
            place = images.places.get(row.image, -1)
            if place >= 0:
                self._by_image.setdefault(place, []).append(number)

    def read(self, places: Integers, cap: int | None) -> Chunk:
        """See `Source`; the header's size is compared before anything is decoded."""
        findings = Collector(cap)
        image: list[int] = []
        rows: list[int] = []
        pictures: list[NDArray[np.bool_]] = []
        for position, place in enumerate(places.tolist()):
            for number in self._by_image.get(place, ()):
                picture = self._picture(self.rows[number], place, findings)
                if picture is not None:
                    image.append(position)
                    rows.append(self.rows[number].row)
                    pictures.append(picture)
        ids = tuple(self._images.ids[place] for place in places.tolist()) if self._images else ()
        masks = Masks.from_dense(pictures, "row")
        instances = Instances.of(ids, np.array(image, np.int64), masks, rows=np.array(rows, np.int64))
        return Chunk(instances, findings)

    def _size(self, row: PictureRow, findings: Collector) -> tuple[int, int] | None:
        try:
            return picture_size(self.tree.head(row.member, _HEAD))
        except (MemberFault, PictureFault) as fault:
            findings.add(fault.code, self._where(row), fault.message, fault.advice)
            return None

    def _picture(self, row: PictureRow, place: int, findings: Collector) -> NDArray[np.bool_] | None:
        size = self._size(row, findings) if row.member else None
        if size is None or self._images is None:
            return None
        wanted = tuple(self._images.shapes[place].tolist())
        if wanted[0] >= 0 and size != wanted:
            turned = " Height and width are swapped." if size == wanted[::-1] else ""
            findings.add(
                "shape-mismatch",
                self._where(row),
                f"The mask is {size[0]} rows x {size[1]} columns, the image {wanted[0]} x {wanted[1]}.{turned}",
                "Bring the prediction back to the image's own size before thresholding it.",
            )
            return None
        try:
            mask = read_mask(self.tree.read(row.member), binarize=self.binarize, max_pixels=self.max_pixels)
        except (MemberFault, PictureFault) as fault:
            findings.add(fault.code, self._where(row), fault.message, fault.advice)
            return None
        if mask.warning:
            code, message, advice = mask.warning
            findings.add(code, self._where(row), message, advice, level="warning")
        return mask.pixels

    def _where(self, row: PictureRow) -> Where:
        return Where(file=self.label, row=row.row, image=row.image, member=row.member)


def open_submission_archive(
    path: Path, label: str, form: ArchiveForm, findings: Collector
) -> PictureTableSource | None:
    """A participant's archive; None when findings say why it cannot be read at all."""
    tree = open_tree(path, findings, max_unpacked=form.max_unpacked, file_label=label)
    if tree is None:
        return None
    tables = find_members(tree, form.table)
    if len(tables) != 1:
        _no_single_table(tree, tables, form, label, findings)
        tree.close()
        return None
    rows = _rows(tree, tables[0], label, list(form.columns), findings)
    if rows is None:
        tree.close()
        return None
    image, file = form.column("image"), form.column("file")
    header = rows[0][1]
    picked = _resolved(
        tree,
        tables[0],
        label,
        rows[1:],
        header.index(str(image)),
        header.index(str(file)),
        len(header),
        findings,
    )
    named = {row.member for row in picked} | {tables[0]}
    for member in sorted(set(tree.names) - named):
        findings.add(
            "extra-file",
            Where(file=label, member=member),
            f"{member} is named by no row of {form.table}, and is not read.",
            "Leave it out, or name it in the table if it is a mask.",
            level="note",
        )
    limit = form.max_unpacked
    return PictureTableSource(
        tree, label, tables[0], picked, None if form.binarize == "off" else int(form.binarize), limit
    )


def open_truth_archive(path: Path, label: str, task: Task, findings: Collector) -> PictureTableSource | None:
    """A host's folder or archive: the one CSV that names images and masks, and the masks."""
    limit = task.submission.max_unpacked
    tree = open_tree(path, findings, max_unpacked=limit, file_label=label)
    if tree is None:
        return None
    columns = list(task.truth.columns)
    image, file = (
        next(n for n, role in task.truth.columns.items() if role == wanted) for wanted in ("image", "file")
    )
    tables = []
    for name in tree.names:
        if not name.lower().endswith(".csv"):
            continue
        try:
            rows = read_small(tree.read(name), label, findings, name)
        except MemberFault as fault:
            findings.add(fault.code, Where(file=label, member=name), fault.message, fault.advice)
            continue
        header = [cell.strip() for cell in rows[0][1]] if rows else []
        if all(column in header for column in columns):
            tables.append((name, header, rows))
    if len(tables) != 1:
        names = ", ".join(name for name, _, _ in tables) or "none"
        findings.add(
            "ambiguous-submission" if tables else "missing-file",
            Where(file=label),
            f"Exactly one CSV has the columns {', '.join(columns)}; found: {names}.",
            "Put one such table beside the masks.",
        )
        tree.close()
        return None
    name, header, rows = tables[0]
    picked = _resolved(
        tree, name, label, rows[1:], header.index(image), header.index(file), len(header), findings
    )
    source = PictureTableSource(tree, label, name, picked, None, limit)
    source.measure(findings)
    return source


def _no_single_table(
    tree: Tree, tables: Sequence[str], form: ArchiveForm, label: str, findings: Collector
) -> None:
    if tables:
        findings.add(
            "ambiguous-submission",
            Where(file=label),
            f"{len(tables)} files are called {form.table}: {', '.join(tables)}.",
            "Keep one; an archive is one submission.",
        )
        return
    near = next((name for name in tree.names if name.lower().endswith(".csv")), None)
    findings.add(
        "missing-file",
        Where(file=label, member=form.table),
        f"The archive holds no {form.table}.",
        f"Is {near} meant? Rename it." if near else "Put the table beside the folder of masks.",
    )


def _rows(
    tree: Tree, table: str, label: str, columns: list[str], findings: Collector
) -> list[tuple[int, list[str]]] | None:
    try:
        rows = read_small(tree.read(table), label, findings, table)
    except MemberFault as fault:
        findings.add(fault.code, Where(file=label, member=table), fault.message, fault.advice)
        return None
    if not rows:
        if not findings.errors:
            findings.add("bad-header", Where(file=label, row=1, member=table), "The table is empty.")
        return None
    header = [cell.strip() for cell in rows[0][1]]
    if not check_header_names(header, columns, Where(file=label, row=1, member=table), findings):
        return None
    return [(rows[0][0], header), *rows[1:]]


def _resolved(
    tree: Tree,
    table: str,
    label: str,
    rows: Sequence[tuple[int, list[str]]],
    image: int,
    file: int,
    width: int,
    findings: Collector,
) -> list[PictureRow]:
    """The rows with the member that each names."""
    base = str(PurePosixPath(table).parent)
    base = "" if base == "." else base
    picked = []
    for line, cells in rows:
        if len(cells) != width:
            findings.add(
                "bad-field-count",
                Where(file=label, row=line, member=table),
                f"The row has {len(cells)} fields, the header names {width}: {','.join(cells)[:60]!r}.",
                "Every row names an image and a mask.",
            )
            continue
        member = ""
        try:
            member = resolve(tree, base, cells[file])
        except MemberFault as fault:
            where = Where(file=label, row=line, image=cells[image], member=cells[file])
            findings.add(fault.code, where, fault.message, fault.advice)
        picked.append(PictureRow(cells[image], line, member))
    return picked
