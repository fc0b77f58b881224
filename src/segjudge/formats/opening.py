"""From whatever a path holds to a plain file that can be read from any place.

Standard input, gzip and a zip with one file are unpacked once into a temporary file, the bytes counted
on the way; everything else is read where it lies.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import weakref
from dataclasses import field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from segjudge.errors import MissingExtra, UsageError
from segjudge.findings import Where
from segjudge.records import dataclass

if TYPE_CHECKING:
    import gzip
    from collections.abc import Callable, Iterator
    from io import FileIO

    from segjudge.findings import Collector

__all__ = ["ByteFile", "HeldBytes", "Workspace", "existing", "is_packed", "is_url", "label_of", "plain_file"]

_BLOCK = 1 << 20
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_LEFT_OUT = ("__MACOSX/", ".DS_Store", "/")


def _broken() -> tuple[type[Exception], ...]:
    """What the standard library raises on archives that someone has damaged or made up."""
    import lzma  # noqa: PLC0415 - most files are packed in no way
    import struct  # noqa: PLC0415
    import zipfile  # noqa: PLC0415
    import zlib  # noqa: PLC0415

    return (
        OSError,
        EOFError,
        zlib.error,
        lzma.LZMAError,
        zipfile.BadZipFile,
        struct.error,
        RuntimeError,
        ValueError,
        LookupError,
    )


class Workspace:
    """A folder for temporary files that goes when the last reader has gone."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._count = 0
        self._urls: dict[Path, str] = {}

    def new_file(self) -> Path:
        """A path for one more temporary file."""
        if self._folder is None:
            import shutil  # noqa: PLC0415 - most files are read where they lie
            import tempfile  # noqa: PLC0415

            self._folder = Path(tempfile.mkdtemp(prefix="segjudge-"))
            # Unlike `__del__`, this also serves a workspace that goes in a cycle, or at the very end.
            self._remove = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._count += 1
        return self._folder / f"{self._count}.tmp"

    def fetched(self, path: Path, url: str) -> None:
        """Remember where a temporary file came from."""
        self._urls[path] = url

    def url_of(self, path: Path) -> str | None:
        """The URL from which a file was fetched; None for all others."""
        return self._urls.get(path)

    def origin(self, path: Path) -> str | None:
        """The path or URL by which others find a file; None where it was made here."""
        made_here = self._folder is not None and path.parent == self._folder
        return self._urls.get(path) if made_here else str(path.absolute())

    def close(self) -> None:
        """Remove every file."""
        if self._folder is not None:
            self._remove()
            self._folder = None


@dataclass(slots=True, eq=False)
class ByteFile:
    """A file read from any place, by any thread, in any process that it is sent to."""

    path: Path
    _fd: int = field(default=-1, repr=False)

    def read(self, count: int, offset: int) -> bytes:
        """So many bytes from this place of the file, fewer only at the end."""
        parts = []
        while count > 0:
            part = _read_at(self._open(), count, offset)
            if not part:
                break
            parts.append(part)
            count -= len(part)
            offset += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Fill the buffer from this place of the file; the bytes read, fewer only at the end."""
        done = 0
        while done < len(buffer):
            count = _read_into(self._open(), buffer[done:], offset + done)
            if not count:
                break
            done += count
        return done

    def _open(self) -> int:
        if self._fd < 0:
            self._fd = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        return self._fd

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self.path.stat().st_size

    @property
    def stamp(self) -> tuple[str, int]:
        """Path and size, by which another machine tells whether it sees the same file."""
        return str(self.path), self.size

    def readable(self) -> bool:
        """Whether this machine has what it takes to read it, if it is there."""
        return True

    def absolute(self) -> ByteFile:
        """The same from whatever folder."""
        return ByteFile(self.path.absolute())

    def close(self) -> None:
        """Let go of the file; reading opens it again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close()

    def __getstate__(self) -> Path:
        return self.path

    def __setstate__(self, state: Path) -> None:
        self.path = state
        self._fd = -1


@dataclass(frozen=True, slots=True, eq=False)
class HeldBytes:
    """Bytes in memory that are read like a file's."""

    data: bytes

    def read(self, count: int, offset: int) -> bytes:
        """See `ByteFile`."""
        return self.data[offset : offset + count]

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """See `ByteFile`."""
        part = self.read(len(buffer), offset)
        buffer[: len(part)] = part
        return len(part)

    @property
    def size(self) -> int:
        """See `ByteFile`."""
        return len(self.data)


_seeking = threading.Lock()


def _read_at(fd: int, count: int, offset: int) -> bytes:
    """Bytes from a place of an open file, whoever else reads it; Windows has to seek."""
    if hasattr(os, "pread"):
        return os.pread(fd, count, offset)
    with _seeking:
        os.lseek(fd, offset, os.SEEK_SET)
        return os.read(fd, count)


def _read_into(fd: int, buffer: memoryview, offset: int) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(fd, [buffer], offset)
    part = _read_at(fd, len(buffer), offset)
    buffer[: len(part)] = part
    return len(part)


def existing(path: str | Path, workspace: Workspace) -> Path:
    """The path; raises UsageError if nothing is there.

    Standard input, pipes and what a URL names (`s3://…`, `https://…`) are written to a temporary file.
    """
    if str(path) == "-":
        return _spooled(sys.stdin.buffer, workspace)
    if is_url(path):
        return _fetched(str(path), workspace)
    found = Path(path)
    if found.is_fifo():
        with found.open("rb") as pipe:
            return _spooled(pipe, workspace)
    if not found.exists():
        raise UsageError(
            f"There is no file or folder {str(path)!r}.", "Check the spelling and the folder you are in."
        )
    return found


def _spooled(stream: IO[bytes], workspace: Workspace) -> Path:
    """A temporary file with all that comes."""
    import shutil  # noqa: PLC0415 - most files are read where they lie

    spooled = workspace.new_file()
    with spooled.open("wb") as out:
        shutil.copyfileobj(stream, out, _BLOCK)
    return spooled


def label_of(path: str | Path) -> str:
    """What a file is called in findings."""
    return "standard input" if str(path) == "-" else Path(path).name or str(path)


def is_url(path: str | Path) -> bool:
    """Whether a path names something elsewhere: a scheme and `://`."""
    return isinstance(path, str) and _URL.match(path) is not None


def _fetched(url: str, workspace: Workspace) -> Path:
    """A temporary copy of what fsspec finds at a URL."""
    try:
        import fsspec  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("cluster", "Reading a URL") from None
    import shutil  # noqa: PLC0415 - as above

    target = workspace.new_file()
    try:
        with fsspec.open(url, "rb") as source, target.open("wb") as out:
            shutil.copyfileobj(source, out, _BLOCK)
    except ImportError as error:
        raise UsageError(
            f"{url!r} cannot be read: {error}.", "Install the package that it names beside segjudge."
        ) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{url!r} cannot be read: {error}.", "Check the URL and your access.") from None
    workspace.fetched(target, url)
    return target


def plain_file(
    path: Path, label: str, findings: Collector, max_unpacked: int, workspace: Workspace
) -> Path | None:
    """The path of the file's plain content; None when a finding says why there is none."""
    where = Where(file=label)
    if path.is_dir():
        findings.add(
            "bad-archive",
            where,
            "This is a folder; one file is wanted here.",
            "Name the file in it.",
        )
        return None
    magic = _magic(path)
    if magic.startswith(_GZIP):
        return _unpack(lambda: _gzip_blocks(path), findings, where, max_unpacked, workspace)
    if magic == _ZIP:
        return _unpack(lambda: _zip_blocks(path, findings, where), findings, where, max_unpacked, workspace)
    return path


def is_packed(path: Path) -> bool:
    """Whether the file is one that `plain_file` unpacks."""
    magic = _magic(path)
    return magic.startswith(_GZIP) or magic == _ZIP


def _magic(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


def _gzip_blocks(path: Path) -> Iterator[bytes]:
    import gzip  # noqa: PLC0415 - most files are packed in no way

    with gzip.open(path) as file:
        yield from _blocks(file)


def _zip_blocks(path: Path, findings: Collector, where: Where) -> Iterator[bytes]:
    import zipfile  # noqa: PLC0415 - most files are packed in no way

    with zipfile.ZipFile(path) as archive:
        members = [
            member
            for member in archive.infolist()
            if not member.filename.startswith(_LEFT_OUT[0]) and not member.filename.endswith(_LEFT_OUT[1:])
        ]
        if len(members) != 1:
            names = ", ".join(m.filename for m in members[:5]) or "nothing"
            findings.add(
                "ambiguous-submission" if members else "bad-archive",
                where,
                f"The zip holds {len(members)} files ({names}); here it holds one.",
                "Zip that one file alone.",
            )
            return
        with archive.open(members[0]) as file:
            yield from _blocks(file)


def _blocks(file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block


def _unpack(
    blocks: Callable[[], Iterator[bytes]],
    findings: Collector,
    where: Where,
    max_unpacked: int,
    workspace: Workspace,
) -> Path | None:
    errors, target, total = findings.errors, workspace.new_file(), 0
    try:
        with target.open("wb", buffering=0) as out:
            for block in blocks():
                total += len(block)
                if total > max_unpacked:
                    findings.add(
                        "too-large-unpacked",
                        where,
                        f"It unpacks to more than {max_unpacked} bytes.",
                        "If it is meant to be that large, raise the limit: --set max_unpacked=BYTES.",
                    )
                    return None
                _write_whole(out, block)
    except NotImplementedError as error:
        findings.add(
            "bad-compression",
            where,
            f"The zip is packed in a way that cannot be read: {error}.",
            "Use Deflate.",
        )
    except _broken() as error:
        findings.add(
            "bad-archive",
            where,
            f"The archive is broken or encrypted: {error}.",
            "Pack it again, without a password.",
        )
    return target if findings.errors == errors else None


def _write_whole(out: FileIO, block: bytes) -> None:
    """Write all of a block; raises UsageError where the disk takes no more: that is no fault of the archive."""
    rest = memoryview(block)
    try:
        while rest:
            rest = rest[out.write(rest) :]
    except OSError as error:
        raise UsageError(
            f"The unpacked file cannot be written to {out.name!r}: {error.strerror}.",
            "Make room, or name another folder for temporary files in the variable TMPDIR.",
        ) from None
