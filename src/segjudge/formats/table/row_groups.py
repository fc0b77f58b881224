"""The row groups of a Parquet file as the text into which a table is rewritten, one group at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from segjudge.errors import ClusterError
from segjudge.formats.copies import CopiedFile, Remote
from segjudge.formats.opening import ByteFile, is_url
from segjudge.formats.table.text import record_text
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segjudge.formats.opening import Workspace

__all__ = ["RowGroups", "careful_text", "joined_text", "written"]

_ROWS, _BATCH = 4096, 1 << 24  # rows, and bytes of them, made text at a time
_UNIT, _RECORD = 0x1F, 0x1E  # what stands between fields, and behind records
_SMALL = 1 << 16  # bytes of rows for which loading pyarrow's functions would take longer than they save
_LARGEST = 1 << 26  # bytes of a group's text: larger ones are not read again for the few images of a chunk
_KEPT = 1 << 27  # bytes of groups' texts that a process keeps


@dataclass(frozen=True, slots=True)
class RowGroups:
    """A Parquet file as its rewritten text, of which each row group is a piece."""

    name: str  # path or URL
    size: int  # bytes of the Parquet file
    rows: tuple[int, ...]  # (G,) line of each group's first row
    ends: tuple[int, ...]  # (G,) where the group's text ends

    def read(self, count: int, offset: int) -> bytes:
        """See `Original`."""
        first = int(np.searchsorted(self.ends, offset, side="right"))
        parts = []
        for group in range(first, len(self.ends)):
            begin = self.ends[group - 1] if group else 0
            if begin >= offset + count:
                break
            parts.append(self._text(group)[max(offset - begin, 0) : offset + count - begin])
        return b"".join(parts)

    def readable(self) -> bool:
        """See `Original`."""
        there = find_spec("pyarrow") is not None
        return there and (not is_url(self.name) or Remote(self.name, self.size).readable())

    def _text(self, group: int) -> bytes:
        key = (self.name, self.size, group)
        text = _kept.get(key)
        if text is None:
            with _opened(self.name) as source:
                text = b"".join(_texts(_parquet(source), group, self.rows[group]))
            if len(text) != self.ends[group] - (self.ends[group - 1] if group else 0):
                raise ClusterError(
                    f"{self.name} has changed since it was opened.", "Score again, and leave it alone."
                )
            _kept.put(key, text)
        return text


class _Kept:
    """The texts used last, of all files."""

    def __init__(self) -> None:
        self._texts: OrderedDict[tuple[str, int, int], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, int, int]) -> bytes | None:
        with self._lock:
            if key in self._texts:
                self._texts.move_to_end(key)
            return self._texts.get(key)

    def put(self, key: tuple[str, int, int], text: bytes) -> None:
        with self._lock:
            self._texts[key] = text
            while len(self._texts) > 1 and sum(map(len, self._texts.values())) > _KEPT:
                self._texts.popitem(last=False)


_kept = _Kept()


def written(file: Any, path: Path, target: Path, workspace: Workspace) -> ByteFile:  # noqa: ANN401 - pyarrow
    """The text of a Parquet file, written to the target; elsewhere it is read from the row groups again."""
    rows, ends, row = [], [], 2
    with target.open("wb", buffering=1 << 20) as out:
        for group in range(file.num_row_groups):
            rows.append(row)
            for text in _texts(file, group, row):
                out.write(text)
            row += file.metadata.row_group(group).num_rows
            ends.append(out.tell())
    name = workspace.origin(path)
    if name is None or max(np.diff(ends, prepend=0), default=0) > _LARGEST:
        return ByteFile(target)
    return CopiedFile(target, original=RowGroups(name, path.stat().st_size, tuple(rows), tuple(ends)))


def _texts(file: Any, group: int, row: int) -> Iterator[bytes]:  # noqa: ANN401 - pyarrow has no types
    """The text of a row group, some rows at a time; the first one's line is given."""
    about = file.metadata.row_group(group)
    rows = about.num_rows * _BATCH // (about.total_byte_size + 1)
    for batch in file.iter_batches(batch_size=max(min(rows, _ROWS), 1), row_groups=[group]):
        text = joined_text(batch, row) if batch.nbytes > _SMALL else None
        yield text or careful_text(batch, row)
        row += batch.num_rows


def careful_text(batch: Any, row: int) -> bytes:  # noqa: ANN401 - pyarrow has no types
    """The text of some rows, cell by cell; raises UnicodeDecodeError where a text is none."""
    columns = [[_text(value) for value in _values(column)] for column in batch.columns]
    return b"".join(
        record_text(number, record) for number, record in enumerate(zip(*columns, strict=True), start=row)
    )


def joined_text(batch: Any, row: int) -> bytes | None:  # noqa: ANN401 - pyarrow has no types
    """The same without a Python object for any text; None where a cell needs care."""
    import pyarrow as pa  # noqa: PLC0415 - an extra
    import pyarrow.compute as pc  # noqa: PLC0415

    if not batch.num_rows or not batch.num_columns:
        return None
    try:
        lines = pa.array(range(row, row + batch.num_rows), pa.int64()).cast(pa.large_string())
        cells = [lines, *(_cells(column) for column in batch.columns)]
        nothing, unit, record = (pa.scalar(s, pa.large_string()) for s in ("", chr(_UNIT), chr(_RECORD)))
        text = pc.binary_join_element_wise(pc.binary_join_element_wise(*cells, unit), nothing, record)
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    offsets = np.frombuffer(text.buffers()[1], np.int64)[text.offset : text.offset + len(text) + 1]
    found = np.frombuffer(text.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    units, ends = (int(np.count_nonzero(found == mark)) for mark in (_UNIT, _RECORD))
    clean = units == len(text) * batch.num_columns and ends == len(text)
    return found.tobytes() if clean else None


def _cells(column: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    """A column as texts, held to UTF-8; what is not there is empty."""
    import pyarrow as pa  # noqa: PLC0415 - an extra
    import pyarrow.compute as pc  # noqa: PLC0415

    kind = column.type
    if kind in {pa.string(), pa.large_string(), pa.binary(), pa.large_binary()}:
        texts = column.cast(pa.large_binary()).cast(pa.large_string())
    else:
        texts = pa.array([_text(value) for value in _values(column)], pa.large_string())
    texts.validate(full=True)
    return pc.fill_null(texts, "")


def _parquet(source: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    return pq.ParquetFile(source)


def _opened(name: str) -> Any:  # noqa: ANN401 - a file, or one of fsspec's
    if not is_url(name):
        return open(name, "rb")  # noqa: PTH123 - who asks closes it
    import fsspec  # noqa: PLC0415 - an extra

    return fsspec.open(name, "rb")


def _values(column: Any) -> list[object]:  # noqa: ANN401 - pyarrow has no types
    """The values of a column; texts as their bytes, since nobody has checked that they are UTF-8."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = column.cast(pa.large_binary() if pa.types.is_large_string(kind) else pa.binary())
    values: list[object] = column.to_pylist()
    return values


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8")
    return repr(value) if isinstance(value, float) else str(value)
