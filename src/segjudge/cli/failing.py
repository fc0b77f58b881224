"""What the system refused, in words: whether a file could not be read, or not be written."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

__all__ = ["refused"]

#: What only writing meets: no space, no quota, a read-only disk, a file too large, one that is there already,
#: a pipe that nobody reads.
_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EEXIST, errno.EPIPE)
_PARTIAL = re.compile(r"\.(.+?)(?:\.\d+)?\.(?:part|predicting)")  # what a file is called until it is whole


def refused(error: OSError) -> str:
    """One sentence that names the file, what could not be done with it, and the system's reason.

    >>> refused(OSError(errno.ENOSPC, "No space left on device", "/data/.masks.csv.41.part"))
    '/data/masks.csv cannot be written: No space left on device.'
    """
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, (str, bytes)) else None
    reason = error.strerror or str(error) or type(error).__name__
    if path is None:
        done = "written" if error.errno in _WRITING else "read"
        return f"A file cannot be {done}: {reason}."
    writing = _was_written(error, path)
    named = _PARTIAL.fullmatch(path.name)
    if named:
        path = path.with_name(named[1])
    if error.errno == errno.ENOENT and not os.path.exists(path.parent):  # noqa: PTH110 - Path's may raise
        return f"There is no folder {str(path.parent)!r}."
    if error.errno == errno.ENOTDIR:
        file = next((above for above in path.parents if os.path.isfile(above)), path)  # noqa: PTH113
        return f"{str(file)!r} is a file, not a folder."
    return f"{path} cannot be {'written' if writing else 'read'}: {reason}."


def _was_written(error: OSError, path: Path) -> bool:
    """Whether this error arose from writing; the system tells what it refused, not what was asked of it."""
    if error.errno in _WRITING or _PARTIAL.fullmatch(path.name):
        return True
    if error.errno not in {errno.EACCES, errno.EPERM}:
        return False
    if os.path.exists(path):  # noqa: PTH110
        return os.access(path, os.R_OK)
    return os.access(path.parent, os.X_OK)  # of a file that is not there reading says just that
