"""A table that names pictures and masks: emoji's `train.csv` (`SampleID,Path,Mask`) and `test.csv`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segjudge.datasets.dataset import Dataset
from segjudge.datasets.folders import wrong_folder
from segjudge.datasets.truths import open_truths
from segjudge.errors import UsageError
from segjudge.findings import Collector
from segjudge.formats.archive import MemberFault, open_tree, resolve
from segjudge.formats.archive.names import PLAIN_PATHS
from segjudge.formats.table.text import read_small
from segjudge.records import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from segjudge.formats.archive import Tree
    from segjudge.task import Task

__all__ = ["open_samples"]

_PICTURE = "Path"  # "Sökvägen till bilden": the column that names the picture
_ENDING = ".csv"


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of samples: its name in the folder, header, and rows with their lines."""

    name: str
    header: list[str]
    rows: list[tuple[int, list[str]]]

    def column(self, name: str) -> list[tuple[int, str]]:
        """The cells of a column, each with its line; raises UsageError for a row of another length."""
        place = self.header.index(name)
        for line, cells in self.rows:
            if len(cells) != len(self.header):
                raise UsageError(
                    f"{self.name}:{line}: {len(cells)} fields, where the header names {len(self.header)}.",
                    "Write the table with a CSV writer.",
                )
        return [(line, cells[place]) for line, cells in self.rows]


def open_samples(task: Task, folder: Path, need_truth: bool) -> Dataset | None:  # noqa: FBT001 - an `Opener`
    """The samples of the one table with a column of masks; without truth those of the table without, if any."""
    image, mask = (
        next(name for name, role in task.truth.columns.items() if role == wanted)
        for wanted in ("image", "file")
    )
    findings = Collector()
    tree = open_tree(folder, findings, max_unpacked=task.submission.max_unpacked, file_label=folder.name)
    if tree is None:
        fault = findings.diagnosis().findings[0]
        raise UsageError(f"{folder}: {fault.message}", fault.advice)
    tables = [table for table in _tables(tree) if image in table.header and _PICTURE in table.header]
    labelled = [table for table in tables if mask in table.header]
    chosen = labelled if need_truth else [t for t in tables if t not in labelled] or labelled
    if not chosen and not need_truth:
        return None
    if len(chosen) != 1:
        columns = [image, _PICTURE, *([mask] if need_truth else [])]
        several = f" once; it is in {', '.join(table.name for table in chosen)}" if chosen else ""
        raise wrong_folder(task, folder, f"a CSV with the columns {', '.join(columns)}{several}")
    table = chosen[0]
    ids = _unique(table, image)
    files = _members(tree, folder, table, _PICTURE)
    if not need_truth:
        return Dataset(task.id, ids, ids, (), folder, files)
    masks = _members(tree, folder, table, mask)
    return Dataset(
        task.id,
        ids,
        ids,
        (),
        folder,
        files,
        (folder / tree.top / table.name, *masks),
        open_truths(task, folder, ids),
    )


def _tables(tree: Tree) -> list[_Table]:
    found = []
    for name in tree.names:
        if not name.lower().endswith(_ENDING):
            continue
        findings = Collector()
        rows = read_small(tree.read(name), name, findings)
        if rows:
            header = [cell.strip() for cell in rows[0][1]]
            found.append(_Table(name, header, rows[1:]))
    return found


def _unique(table: _Table, column: str) -> tuple[str, ...]:
    lines: dict[str, int] = {}
    for line, image in table.column(column):
        if image in lines:
            raise UsageError(
                f"{table.name}:{line}: {image!r} stands in line {lines[image]} already.",
                "Keep one row for each.",
            )
        lines[image] = line
    if not lines:
        raise UsageError(f"{table.name} has no rows.", "It names a picture in each.")
    return tuple(lines)


def _members(tree: Tree, folder: Path, table: _Table, column: str) -> tuple[Path, ...]:
    """The file that each row names, counted from the folder, else from the table's own."""
    base = table.name.rpartition("/")[0]
    files = []
    for line, written in table.column(column):
        try:
            files.append(folder / tree.top / resolve(tree, base, written))
        except MemberFault as fault:
            advice = fault.advice.replace(
                PLAIN_PATHS, "Paths count from the folder, else from the table's own."
            )
            raise UsageError(f"{table.name}:{line}: {column}: {fault.message}", advice) from fault
    return tuple(files)
