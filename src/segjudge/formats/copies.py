"""Temporary copies of what lies elsewhere: a machine that lacks the copy reads the original."""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from segjudge.formats.opening import ByteFile, is_url
from segjudge.records import dataclass

if TYPE_CHECKING:
    from segjudge.formats.opening import Workspace

__all__ = ["CopiedFile", "Original", "Remote", "byte_file", "is_seen"]


class Original(Protocol):
    """What a copy was made from."""

    @property
    def name(self) -> str:
        """Its path or URL."""
        ...

    @property
    def size(self) -> int:
        """Its bytes, which are not the copy's if it was packed."""
        ...

    def read(self, count: int, offset: int) -> bytes:
        """So many bytes from this place of what the copy holds."""
        ...

    def readable(self) -> bool:
        """Whether this machine can read it, if it is there."""
        ...


@dataclass(slots=True)
class CopiedFile(ByteFile):
    """A copy that is read where it lies, and elsewhere made from the original again, part by part."""

    original: Original = field(kw_only=True)

    def read(self, count: int, offset: int) -> bytes:
        """See `ByteFile`."""
        return ByteFile.read(self, count, offset) if self._here() else self.original.read(count, offset)

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """See `ByteFile`."""
        if self._here():
            return ByteFile.read_into(self, buffer, offset)
        part = self.original.read(len(buffer), offset)
        buffer[: len(part)] = part
        return len(part)

    def readable(self) -> bool:
        """See `ByteFile`."""
        return self._here() or self.original.readable()

    @property
    def stamp(self) -> tuple[str, int]:
        """See `ByteFile`."""
        return self.original.name, self.original.size

    def absolute(self) -> CopiedFile:
        """See `ByteFile`."""
        return CopiedFile(self.path.absolute(), original=self.original)

    def _here(self) -> bool:
        return self._fd >= 0 or self.path.exists()

    def __getstate__(self) -> Any:  # noqa: ANN401 - more than a `ByteFile` has
        return self.path, self.original

    def __setstate__(self, state: Any) -> None:  # noqa: ANN401
        self.path, self.original = state
        self._fd = -1


@dataclass(frozen=True, slots=True)
class Remote:
    """A file at a URL, read a range at a time."""

    name: str
    size: int

    def read(self, count: int, offset: int) -> bytes:
        """See `Original`; raises OSError where the server does not give just this range."""
        files, path = _file_system(self.name)
        wanted = max(min(count, self.size - offset), 0)
        part: bytes = files.cat_file(path, start=offset, end=offset + wanted) if wanted else b""
        if len(part) != wanted:
            raise OSError(f"{self.name} gave {len(part)} bytes where {wanted} were asked for")
        return part

    def readable(self) -> bool:
        """See `Original`."""
        return _gives_ranges(self)


@lru_cache(maxsize=16)
def _gives_ranges(remote: Remote) -> bool:
    """Whether the last byte can be had alone."""
    try:
        return len(remote.read(1, remote.size - 1)) == 1
    except Exception:  # noqa: BLE001 - each file system of fsspec has errors of its own, and needs packages
        return False


@lru_cache(maxsize=16)
def _file_system(url: str) -> tuple[Any, str]:
    import fsspec  # noqa: PLC0415 - an extra

    files, path = fsspec.core.url_to_fs(url)
    return files, path


def byte_file(path: Path, workspace: Workspace) -> ByteFile:
    """The file; where it was fetched from a URL, one that other machines can read there."""
    url = workspace.url_of(path)
    return CopiedFile(path, original=Remote(url, path.stat().st_size)) if url else ByteFile(path)


def is_seen(name: str, size: int) -> bool:
    """Whether there is a file of this size at a path or URL."""
    if not is_url(name):
        try:
            return Path(name).stat().st_size == size
        except OSError:
            return False
    try:
        files, path = _file_system(name)
        return bool(files.size(path) == size)
    except Exception:  # noqa: BLE001 - as above
        return False
