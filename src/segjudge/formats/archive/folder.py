"""Folders on disk: links are told, never followed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from segjudge.formats.archive.faults import broken
from segjudge.formats.archive.members import Entry, Opened, kind_of
from segjudge.formats.archive.unpacking import STEP

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Folder", "walk"]


def walk(root: Path) -> Iterator[Entry[str]]:
    """Every entry below a folder, with its path on disk; links are told, not followed."""
    waiting = [(os.fspath(root), "")]
    while waiting:
        folder, prefix = waiting.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                kind = kind_of(status.st_mode)
                if kind == "folder":
                    waiting.append((entry.path, f"{prefix}{entry.name}/"))
                yield Entry(prefix + entry.name, kind, status.st_size if kind == "file" else 0, entry.path)


class Folder(Opened[str]):
    """A folder on disk. Nothing is packed, so that only single files are bounded."""

    @property
    def _total_bound(self) -> None:
        return None

    def _entries(self) -> Iterator[Entry[str]]:
        try:
            yield from walk(self.path)
        except OSError as error:
            reason = error.strerror or error
            raise broken(f"The folder cannot be read: {reason}.", "Check its permissions.") from error

    def _pieces(self, entry: Entry[str]) -> Iterator[bytes]:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with open(entry.key, "rb", opener=lambda path, _: os.open(path, flags)) as file:
            while piece := file.read(STEP):
                yield piece
