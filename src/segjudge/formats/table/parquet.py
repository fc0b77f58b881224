"""Parquet tables, written once into the plain form that the index reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segjudge.errors import MissingExtra
from segjudge.findings import Where
from segjudge.formats.table.text import not_utf8, rewritten_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from segjudge.findings import Collector
    from segjudge.formats.opening import Workspace
    from segjudge.formats.table.text import TextTable

__all__ = ["is_parquet", "open_parquet"]


def is_parquet(path: Path) -> bool:
    """Whether the file starts as Parquet files do."""
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def open_parquet(
    path: Path, label: str, id_columns: Sequence[str], findings: Collector, workspace: Workspace
) -> TextTable | None:
    """The table in a Parquet file; row numbers are index + 2, as if a header stood above.

    Ids are strings or integers, never floats: 12.0 and 12 would be two images.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("parquet", "Reading Parquet") from None
    from segjudge.formats.table.row_groups import written  # noqa: PLC0415 - most tables are text

    try:
        file = pq.ParquetFile(path)
        names = list(file.schema_arrow.names)
        for name in id_columns:
            if name in names and pa.types.is_floating(file.schema_arrow.field(name).type):
                findings.add(
                    "bad-type",
                    Where(file=label, column=name),
                    f"The column {name} holds floating-point numbers, and ids are text.",
                    "Convert it with .astype(str) before anything turns 0012 into 12.0.",
                )
                return None
        return rewritten_table(written(file, path, workspace.new_file(), workspace), names, label)
    except UnicodeDecodeError as error:
        not_utf8(
            findings,
            Where(file=label),
            f"a text of the Parquet file holds the byte {error.object[error.start]:#04x}",
        )
        return None
    except (pa.ArrowException, OSError) as error:
        findings.add(
            "bad-archive", Where(file=label), f"The Parquet file cannot be read: {error}.", "Write it again."
        )
        return None
