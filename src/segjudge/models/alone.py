"""A folder to work in that one process holds at a time, and that goes on being there if it is killed."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from segjudge.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["alone", "clear"]

_LOCK = ".lock"


@contextmanager
def alone(folder: Path, target: Path) -> Iterator[None]:
    """Hold a folder, made if need be, in which `target` is prepared; it goes in the end if it is empty.

    Raises UsageError while another process holds it. What held it and was killed holds it no more. Where the
    file system knows no locks, nobody is refused.
    """
    file = _held(folder, target)
    try:
        yield
    finally:
        if sys.platform == "win32":  # no open file can be deleted there
            file.close()
        with suppress(OSError):  # another process has come for it
            if all(path.name == _LOCK for path in folder.iterdir()):
                (folder / _LOCK).unlink()
                folder.rmdir()
        file.close()


def clear(folder: Path) -> None:
    """Delete what is in a folder that one holds, as far as the system lets one."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != _LOCK:
            with suppress(OSError):
                path.unlink()


def _held(folder: Path, target: Path) -> IO[bytes]:
    """The lock, open as long as it is held."""
    while True:
        folder.mkdir(exist_ok=True)
        try:
            file = (folder / _LOCK).open("ab")
        except FileNotFoundError:  # who held it has just taken the folder away
            continue
        if not _locked(file):
            file.close()
            raise UsageError(
                f"Another process is predicting {target} at this moment.",
                "Wait for its end, or write to another file.",
            )
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), os.stat(folder / _LOCK)):  # noqa: PTH116 - beside fstat
                return file
        file.close()


def _locked(file: IO[bytes]) -> bool:
    """Whether the file is ours now; yes, too, where the file system has no locks."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - the other systems have none

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
    else:
        import fcntl  # noqa: PLC0415 - Windows has none

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
    return True
