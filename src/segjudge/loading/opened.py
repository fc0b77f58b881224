"""Truths and submissions, opened and indexed."""

from __future__ import annotations

import dataclasses
from dataclasses import field
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from segjudge.crew import Crew
from segjudge.errors import UsageError
from segjudge.findings import Collector, Where
from segjudge.formats.begun import Begun
from segjudge.formats.opening import Workspace, existing, label_of
from segjudge.formats.receipts import Receipt
from segjudge.formats.source import Entries
from segjudge.integers import among
from segjudge.records import dataclass
from segjudge.task import ArchiveForm, ResultsForm, TableForm, Task

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from segjudge.formats.source import Source
    from segjudge.formats.table.index import Table
    from segjudge.formats.table.source import TableSource
    from segjudge.instances import Instances

__all__ = [
    "Opened",
    "Submission",
    "Truth",
    "as_submission",
    "as_truth",
    "read_submission",
    "read_truth",
]

Integers = NDArray[np.int64]

_PACKED = (b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"ustar")


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A file that has been opened: what it is called, what was found at once, and how to read on."""

    task: Task
    path: Path | None  # None for arrays
    label: str
    findings: Collector
    source: Source | None  # None when findings say why nothing can be read
    entries: Entries
    workspace: Workspace = field(repr=False)
    receipt: Receipt | None = field(repr=False)  # None for arrays

    def afresh(self) -> Self:
        """The same file with findings of its own: one may be checked and scored again and again."""
        return dataclasses.replace(self, findings=self.findings.copy())

    @property
    def classes(self) -> Mapping[int, str] | None:
        """The classes by id that the file itself lists; None where it lists none."""
        listed: Mapping[int, str] | None = getattr(self.source, "class_names", None)
        return listed

    @property
    def quoted(self) -> bool:
        """Whether the file has the ids of all its images as texts, where it could have numbers."""
        return bool(getattr(self.source, "quoted", False))

    def digest(self) -> str | None:
        """SHA-256 of the file as it was given, or of a folder's files, worked out once; None for arrays."""
        return None if self.receipt is None else "sha256:" + self.receipt.value()

    def refuse_changed(self) -> None:
        """Raise UsageError if somebody has written to the file since it was opened."""
        if self.receipt is not None and self.receipt.outdated:
            raise UsageError(
                f"{self.label} has changed since it was opened.",
                "Is a program still writing to it? Wait for that, and open it again.",
            )


class Truth(Opened):
    """The host's side."""

    __slots__ = ()


class Submission(Opened):
    """The participant's side."""

    __slots__ = ()


_NONE = np.zeros(0, np.int64)
_NOTHING = Entries(_NONE, _NONE, _NONE, np.zeros(0, np.bool_))


def read_submission(
    task: Task,
    path: str | Path,
    *,
    findings: Collector | None = None,
    workers: int | Crew = 1,
    begun: Begun | None = None,
) -> Submission:
    """The submission at this path, opened and indexed; what is wrong with it does not raise here.

    `-` is standard input. Raises UsageError if nothing is there. So many `workers` index it. What has
    `begun` on the file is gone on with; its findings are taken then.
    """
    begun = begun or Begun(findings=findings)
    found, workspace = begun.findings, begun.workspace
    place, label = existing(path, workspace), label_of(path)
    wanted = begun.receipt_of(place)
    later = wanted or Receipt(place)
    form = task.submission
    source: Source | None
    if isinstance(form, ResultsForm):
        from segjudge.formats.coco.results import open_coco_results  # noqa: PLC0415 - most submissions are tables

        results = open_coco_results(place, label, form.max_unpacked, begun)
        source, entries = results, results.all_entries() if results else _NOTHING
    elif isinstance(form, ArchiveForm):
        from segjudge.formats.picture_table import open_submission_archive  # noqa: PLC0415 - Pillow is heavy

        pictures = open_submission_archive(place, label, form, found)
        source, entries = pictures, pictures.entries() if pictures else _NOTHING
    else:
        from segjudge.formats.table.reading import open_submission_table  # noqa: PLC0415 - COCO has none

        with Crew.of(workers) as crew:
            table = open_submission_table(place, label, form, found, workspace, crew, wanted)
        source, entries = None, _NOTHING
        if table is not None:
            source, entries = _table_source(task, table), _entries(table)
    return Submission(task, place, label, found, source, entries, workspace, later)


def read_truth(
    task: Task,
    path: str | Path,
    *,
    findings: Collector | None = None,
    workers: int | Crew = 1,
    begun: Begun | None = None,
) -> Truth:
    """The truth at this path, in any of the task's forms; faults are kept, and raise when it is used.

    `workers` and `begun` are those of `read_submission`.
    """
    begun = begun or Begun(findings=findings)
    found, workspace = begun.findings, begun.workspace
    place, label = existing(path, workspace), label_of(path)
    wanted = begun.receipt_of(place)
    later = wanted or Receipt(place)
    if isinstance(task.submission, ArchiveForm):
        from segjudge.formats.picture_table import open_truth_archive  # noqa: PLC0415 - Pillow is heavy

        pictures = open_truth_archive(place, label, task, found)
        entries = pictures.entries() if pictures else _NOTHING
        return Truth(task, place, label, found, pictures, entries, workspace, later)
    if isinstance(task.submission, ResultsForm) or _is_json(place, task):
        annotations, entries = _annotations(task, place, label, begun)
        return Truth(task, place, label, found, annotations, entries, workspace, later)
    if task.truth.label_map is not None and _is_pictures(place):
        from segjudge.formats.label_maps import open_label_maps  # noqa: PLC0415 - Pillow is heavy

        maps = open_label_maps(place, label, task, found)
        entries = _every_class(task, len(maps.image_ids) if maps else 0)
        return Truth(task, place, label, found, maps, entries, workspace, later)
    if place.is_dir():
        return read_truth(task, _table_in(task, place), findings=found, workers=workers)
    from segjudge.formats.table.reading import open_truth_table  # noqa: PLC0415 - COCO has none
    from segjudge.formats.table.source import sizes_of_rows  # noqa: PLC0415

    with Crew.of(workers) as crew:
        table = open_truth_table(
            place, label, task.truth, task.submission.max_unpacked, found, workspace, crew, wanted
        )
    if table is None:
        return Truth(task, place, label, found, None, _NOTHING, workspace, later)
    shapes, unequal = sizes_of_rows(table)
    for row in unequal.tolist():
        image = table.image_ids[table.image[row]]
        found.add(
            "shape-mismatch",
            Where(file=label, row=int(table.rows[row]), image=image),
            f"Height and Width are {table.heights[row]} and {table.widths[row]} here, another row of {image!r} "
            f"says {shapes[table.image[row]].tolist()}.",
            "All rows of an image give its one size.",
        )
    table = _meaningful(task, table, label, found)
    source = _table_source(task, table, shapes)
    return Truth(task, place, label, found, source, _entries(table), workspace, later)


def as_truth(task: Task, given: Truth | Instances) -> Truth:
    """The truth with findings of its own; of instances in memory, what a file with them would have given."""
    if isinstance(given, Truth):
        return given.afresh()
    from segjudge.formats.arrays import open_arrays  # noqa: PLC0415 - most truths are files

    source, entries = open_arrays(task, given, "truths", complete=True)
    return Truth(task, None, source.label, Collector(), source, entries, Workspace(), None)


def as_submission(task: Task, given: Submission | Instances) -> Submission:
    """The submission with findings of its own; of instances in memory, what a file would have given."""
    if isinstance(given, Submission):
        return given.afresh()
    from segjudge.formats.arrays import open_arrays  # noqa: PLC0415 - most submissions are files

    source, entries = open_arrays(task, given, "predictions", complete=False)
    return Submission(task, None, source.label, Collector(), source, entries, Workspace(), None)


def _annotations(task: Task, path: Path, label: str, begun: Begun) -> tuple[Source | None, Entries]:
    """COCO's annotations, as instances or as a mask for each class."""
    if isinstance(task.submission, ResultsForm):
        from segjudge.formats.coco.instances import open_coco_instances  # noqa: PLC0415 - most are tables

        limit = task.submission.max_unpacked
        instances = open_coco_instances(path, label, limit, begun)
        return instances, instances.all_entries() if instances else _NOTHING
    from segjudge.formats.coco.source import open_coco_truth  # noqa: PLC0415

    masks = open_coco_truth(path, label, task, begun.findings, begun.workspace)
    return masks, _every_class(task, len(masks.image_ids)) if masks else _NOTHING


def _is_json(path: Path, task: Task) -> bool:
    if task.truth.image_key is None or path.is_dir():
        return False
    if any(part == ".json" for part in path.suffixes):
        return True
    with path.open("rb") as file:
        return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"["))


def _is_pictures(path: Path) -> bool:
    """A folder, or an archive with more than one file or with a picture."""
    if path.is_dir():
        return True
    with path.open("rb") as file:
        head = file.read(512)
    if head.startswith(b"PK\x03\x04"):
        import zipfile  # noqa: PLC0415

        try:
            with zipfile.ZipFile(path) as archive:
                return any(n.lower().endswith((".png", ".tif", ".tiff")) for n in archive.namelist())
        except (zipfile.BadZipFile, OSError, ValueError):
            return True
    if head.startswith(_PACKED[1]):
        return path.name.lower().endswith((".tar.gz", ".tgz"))
    return head.startswith(_PACKED[2:4]) or head[257:262] == _PACKED[4]


def _table_in(task: Task, folder: Path) -> Path:
    """The one file of a folder that is a truth of this task; raises UsageError if there is none, or several."""
    names = {".json"} if task.truth.image_key is not None else set()
    for endings in (names, {".csv", ".parquet"}):
        candidates = [
            path for path in sorted(folder.iterdir()) if path.suffix in endings and path.stem != "images"
        ]
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            listed = ", ".join(path.name for path in candidates)
            raise UsageError(
                f"The folder {str(folder)!r} holds several tables: {listed}.", "Name the truth itself."
            )
    raise UsageError(f"The folder {str(folder)!r} holds no truth of {task.id}.", "Name the file.")


def _table_source(task: Task, table: Table, shapes: Integers | None = None) -> TableSource:
    from segjudge.formats.table.source import TableSource  # noqa: PLC0415 - loaded with the table

    form = task.submission
    if not isinstance(form, TableForm):
        raise TypeError(type(form))
    instances_only = form.column("confidence") is not None
    return TableSource(
        table,
        form.rle,
        runs_column=next(name for name, role in form.columns.items() if role == "runs"),
        unsorted=form.unsorted,
        empty="error" if instances_only else "allow",
        classed=bool(task.classes),
        semantic=task.joined,
        ignored=task.ignored,
        shapes=shapes,
    )


def _entries(table: Table) -> Entries:
    return Entries(table.image, table.class_ids, table.rows, table.ends - table.begins <= 0)


def _every_class(task: Task, images: int) -> Entries:
    """An entry for each image, or for each image and class where masks are semantic."""
    classes = list(task.classes) if task.semantic else [0]
    image = np.repeat(np.arange(images), len(classes))
    rows = np.zeros(len(image), np.int64)
    return Entries(image, np.tile(np.array(classes, np.int64), images), rows, np.zeros(len(image), np.bool_))


def _meaningful(task: Task, table: Table, label: str, findings: Collector) -> Table:
    """The rows of a truth that mean anything: of a class, of an ignored value, or of an image without any."""
    if "class" not in task.truth.columns.values():
        return table
    values = table.class_ids
    known = among(values, [*task.classes, *task.ignored])
    for row in np.flatnonzero(~known & (values >= 0)).tolist():
        if not findings.wants("unknown-class"):
            findings.count("unknown-class", level="warning")
            continue
        findings.add(
            "unknown-class",
            Where(file=label, row=int(table.rows[row]), image=table.image_ids[table.image[row]]),
            f"{values[row]} is no class of this task and no ignored value; the row is left out.",
            level="warning",
        )
    return table.kept(known)
