"""Files that are there whole, or as they were before: whoever reads or is killed never meets half of one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["replacing"]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write: it becomes `path` when the block ends well, and is gone if it ends with an exception.

    It lies in the same folder under a hidden name that is always the same, so that what a killed process
    left is written over by the next.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "weights")
    ...     with replacing(path) as partial:
    ...         _ = partial.write_text("all of them")
    ...     path.read_text()
    'all of them'
    """
    partial = path.with_name(f".{path.name}.part")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
