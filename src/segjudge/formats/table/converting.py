"""CSV to Parquet and back, sorted by image, in bounded memory."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import re
from array import array
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segjudge.errors import MissingExtra, SubmissionError, UsageError
from segjudge.findings import Collector, Where
from segjudge.formats.opening import Workspace, existing, plain_file
from segjudge.formats.table.reading import open_any_text
from segjudge.formats.table.text import QuotedText, TextTable, rewritten
from segjudge.records import dataclass
from segjudge.task import ResultsForm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from segjudge.task import Task

__all__ = ["convert_table"]

Integers = NDArray[np.int64]

_BATCH = 1 << 22  # bytes of records that are in memory at a time: a row group, and a score's chunk
_WHOLE = re.compile(r"[0-9]{1,18}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NUMBERS = {
    "class": "int64",
    "pixel-count": "int64",
    "height": "int64",
    "width": "int64",
    "confidence": "float64",
}
_SIZES = {"Height": "height", "Width": "width"}


@dataclass(frozen=True, slots=True, eq=False)
class _Records:
    """Where the records of a table lie, sorted by image; equal images keep the file's order."""

    text: TextTable
    begins: Integers
    ends: Integers
    rows: Integers


def convert_table(
    task: Task, source: str | Path, target: Path, *, progress: Callable[[int, int], None] | None = None
) -> int:
    """Write the table as Parquet (target `.parquet`) or CSV, sorted by image; the number of rows.

    Cells stay what they are, so a score from either is the same to the last bit. Raises SubmissionError
    if the file is no table of this task, or holds something that is no number where one must be, and
    UsageError where submissions are no tables.
    """
    if isinstance(task.submission, ResultsForm):
        raise UsageError(f"Submissions of {task.id} are no tables, so there is nothing to convert.")
    workspace, findings = Workspace(), Collector()
    label = "standard input" if str(source) == "-" else Path(source).name
    records = _indexed(task, existing(source, workspace), label, findings, workspace)
    count = 0
    if records is not None:
        roles = _roles(task, records.text)
        parquet = target.suffix.lower() in {".parquet", ".pq"}
        with _complete(target) as file:
            writing = _write_parquet if parquet else _write_csv
            count = writing(records, roles, file, findings, progress)
            _refuse(label, findings)
    _refuse(label, findings)
    workspace.close()
    return count


def _refuse(label: str, findings: Collector) -> None:
    diagnosis = findings.diagnosis()
    if not diagnosis.ok:
        raise SubmissionError(f"{label} cannot be converted: {diagnosis.findings[0]}", diagnosis)


def _roles(task: Task, text: TextTable) -> list[str]:
    """The role of each column, "" where it has none."""
    known = {**task.truth.columns, **_SIZES, **task.submission.columns}
    return [known.get(name, "") for name in text.header]


def _indexed(
    task: Task, path: Path, label: str, findings: Collector, workspace: Workspace
) -> _Records | None:
    plain = plain_file(path, label, findings, task.submission.max_unpacked, workspace)
    if plain is None:
        return None
    ids = [name for name, role in task.submission.columns.items() if role in {"image", "image-class"}]
    trial = Collector()
    try:
        text = open_any_text(plain, label, ids, trial, workspace)
        records = _sorted_records(task, text, trial) if text else None
    except QuotedText:
        trial = Collector()
        text = rewritten(plain, label, trial, workspace)
        records = _sorted_records(task, text, trial) if text else None
    findings.absorb(trial)
    return records


def _sorted_records(task: Task, text: TextTable, findings: Collector) -> _Records | None:
    wanted = [set(task.submission.columns), set(task.truth.columns)]
    if not any(columns <= set(text.header) for columns in wanted):
        findings.add(
            "bad-header",
            Where(file=text.label, row=1),
            f"The header {','.join(text.header)[:80]!r} is neither a submission's nor a truth's of {task.id}.",
            f"A submission has {','.join(task.submission.columns)}.",
        )
        return None
    roles = _roles(task, text)
    column = next(place for place, role in enumerate(roles) if role in {"image", "image-class"})
    keys: list[str] = []
    begins, ends, rows = array("q"), array("q"), array("q")
    for block in text.blocks(findings):
        heads, names = block.begins(text.shift), block.begins(column + text.shift)
        for record in range(len(block.found)):
            first = int(heads[record])
            if block.found[record] == 1 + text.shift and block.ends[record, text.shift] <= first:
                continue
            row = int(block.cell(record, 0)) if text.numbered else block.row + record
            if block.found[record] != len(text.header) + text.shift:
                _report_count(int(block.found[record]) - text.shift, row, text, findings)
                continue
            name = block.text[names[record] : block.ends[record, column + text.shift]]
            keys.append(name.tobytes().decode("utf-8", "replace"))
            begins.append(block.offset + first)
            ends.append(block.offset + int(block.ends[record, -1]))
            rows.append(row)
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return _Records(text, *(np.array(values, np.int64)[order] for values in (begins, ends, rows)))


def _report_count(fields: int, row: int, text: TextTable, findings: Collector) -> None:
    findings.add(
        "bad-field-count",
        Where(file=text.label, row=row),
        f"The row has {fields} fields, the header {len(text.header)}.",
    )


def _batches(records: _Records) -> Iterator[list[tuple[int, list[str]]]]:
    """The records' cells with their rows, some megabytes at a time."""
    separator = chr(records.text.separator)
    batch: list[tuple[int, list[str]]] = []
    size = 0
    for begin, end, row in zip(
        records.begins.tolist(), records.ends.tolist(), records.rows.tolist(), strict=True
    ):
        batch.append((row, records.text.file.read(end - begin, begin).decode("utf-8").split(separator)))
        size += end - begin
        if size > _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _write_csv(
    records: _Records,
    roles: Sequence[str],  # noqa: ARG001 - as its sister
    file: IO[bytes],
    findings: Collector,  # noqa: ARG001 - as its sister
    progress: Callable[[int, int], None] | None,
) -> int:
    text = io.TextIOWrapper(file, "utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(records.text.header)
    done = 0
    for batch in _batches(records):
        writer.writerows(cells for _, cells in batch)
        done += len(batch)
        if progress is not None:
            progress(done, len(records.rows))
    text.flush()
    text.detach()
    return done


def _write_parquet(
    records: _Records,
    roles: Sequence[str],
    file: IO[bytes],
    findings: Collector,
    progress: Callable[[int, int], None] | None,
) -> int:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("parquet", "Writing Parquet") from None
    types = [getattr(pa, _NUMBERS.get(role, "string"))() for role in roles]
    schema = pa.schema(list(zip(records.text.header, types, strict=True)))
    done = 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in _batches(records):
            columns = [
                pa.array(
                    [_value(cells[place], role, row, records.text, findings) for row, cells in batch],
                    types[place],
                )
                for place, role in enumerate(roles)
            ]
            writer.write_table(pa.table(columns, schema=schema))
            done += len(batch)
            if progress is not None:
                progress(done, len(records.rows))
    return done


def _value(cell: str, role: str, row: int, table: TextTable, findings: Collector) -> Any:  # noqa: ANN401
    kind = _NUMBERS.get(role)
    if kind is None:
        return cell
    if not cell.strip():
        return None
    text = cell.strip(" ")
    if kind == "float64" and _DECIMAL.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    if kind == "int64" and _WHOLE.fullmatch(text):
        return int(text)
    where = Where(file=table.label, row=row)
    findings.add(
        "bad-type", where, f"{cell[:40]!r} is no number.", "Run `segjudge check` first: it tells all faults."
    )
    return None


@contextmanager
def _complete(target: Path) -> Iterator[IO[bytes]]:
    """A file that appears when everything is written, and not at all otherwise."""
    if not target.parent.is_dir():
        raise UsageError(f"There is no folder {str(target.parent)!r} to write into.")
    if target.is_dir():
        raise UsageError(f"{str(target)!r} is a folder.", "Name a file.")
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file, ExitStack() as stack:
            out: Any = file
            if target.suffix.lower() == ".gz":
                out = stack.enter_context(gzip.GzipFile("", "wb", 6, file, 0))
            yield out
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
