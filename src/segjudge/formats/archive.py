"""Folders, zips and tars as one type: a `Tree` of named members that are read, never unpacked.

What a file is, its first bytes decide, not its name. Nothing is ever written beside or outside the
submission: members are read straight from the archive. Of a compressed tar, which knows no random
access, the whole stream is unpacked once into an unlinked temporary file, counted against
`max_unpacked`, and members are then read by their offsets; every process does that for itself.

Names are cleaned before anybody sees them: backslashes become slashes, `./` goes, letters are in
Unicode NFC, what systems leave behind (`__MACOSX`, `.DS_Store`, `Thumbs.db` …) is left out, and one
top folder around everything is taken off.

The directories of zips and tars are read here and not by `zipfile` and `tarfile`, because these set
no bound: on the number of entries, on the output of a bzip2 block (kilobytes become gigabytes in one
call), on the length of a tar's long name. Here every step counts before it takes memory.
"""

from __future__ import annotations

import bz2
import hashlib
import lzma
import os
import re
import stat
import struct
import tempfile
import threading
import unicodedata
import zlib
from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, Literal, Protocol, TypeVar

from segjudge.errors import UsageError
from segjudge.findings import Collector, Where

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType
    from typing import Self

__all__ = ["MAX_MEMBERS", "MemberFault", "Tree", "digest", "find_members", "open_tree", "resolve"]

#: More members than this are refused: no competition needs them, and each takes memory.
MAX_MEMBERS = 1_000_000

_STEP = 1 << 20  # bytes read or unpacked at once
_MAX_DIRECTORY = 512 << 20  # bytes of a zip's directory
_MAX_TAR_NOTE = 1 << 20  # bytes of a long name or of extended headers in a tar
_LZMA_MEMORY = 256 << 20  # bytes a dictionary may take; xz -9 needs 65 MiB

_ZIP_AGAIN = "Make the archive again, as an ordinary zip."
_PLAIN_PATHS = "Use paths inside the archive, such as predictions/test_0_mask.png."

Kind = Literal["file", "folder", "link", "device"]
Key = TypeVar("Key")


class MemberFault(Exception):  # noqa: N818 - a participant's fault, which callers turn into a finding
    """A member (or the whole archive) cannot be used: `code`, `message` and `advice` of a finding."""

    def __init__(self, code: str, message: str, advice: str = "") -> None:
        super().__init__(code, message, advice)
        self.code = code
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.code}: {self.message} {self.advice}".rstrip()


class Tree(Protocol):
    """Named members of a folder or archive.

    `read` may be called from several threads. A tree can be pickled: the other process opens the
    path again, with a count of its own. Names that are no member are a `KeyError`.
    """

    @property
    def path(self) -> Path:
        """The folder or archive itself."""

    @property
    def names(self) -> tuple[str, ...]:
        """All members that are files, cleaned and sorted; slashes between folders."""

    @property
    def top(self) -> str:
        """The common top folder that was taken off the names, such as `my_submission/`, or ``""``."""

    def read(self, name: str, *, limit: int | None = None) -> bytes:
        """A member's bytes, checked against its checksum.

        What is unpacked is counted, not what the archive claims. `MemberFault` with `bad-archive`
        says that the member is broken, with `too-large-unpacked` that it has more bytes than `limit`
        or that the members read so far have more than `max_unpacked`.
        """

    def head(self, name: str, count: int) -> bytes:
        """The first `count` bytes of a member, or all if it has fewer; nothing else is unpacked."""

    def size(self, name: str) -> int:
        """The bytes that the archive claims for a member; a hostile archive lies."""

    def close(self) -> None:
        """Nothing; the file handle is given back. Closing twice is fine."""

    def __contains__(self, name: object) -> bool: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_tree(
    path: str | Path,
    findings: Collector,
    *,
    max_unpacked: int,
    file_label: str,
    strip_top: bool = True,
) -> Tree | None:
    """The folder, zip or tar at `path`, or None after errors were added to `findings`.

    One common top folder is taken off all names unless `strip_top` is False. `max_unpacked` bounds
    the bytes of all members together; of a folder, which is not packed, those of each file.
    A path that does not exist is a `UsageError`.
    """
    before = findings.errors
    tree: _Opened[Any] | None = None
    try:
        tree = _opened(Path(path), max_unpacked)
        tree.admit(findings, file_label, strip_top=strip_top)
    except MemberFault as fault:
        findings.add(fault.code, Where(file=file_label), fault.message, fault.advice)
    except FileNotFoundError as error:
        raise UsageError(f"There is no file or folder {str(path)!r}.", "Check the path.") from error
    except OSError as error:
        raise UsageError(
            f"{str(path)!r} cannot be read: {error.strerror}.", "Check its permissions."
        ) from error
    finally:
        if tree is not None and (findings.errors > before or not tree.admitted):
            tree.close()
    return tree if tree is not None and tree.admitted and findings.errors == before else None


def find_members(tree: Tree, basename: str) -> tuple[str, ...]:
    """The members whose last name is `basename`, in whatever folder; case counts."""
    wanted = unicodedata.normalize("NFC", basename)
    return tuple(name for name in tree.names if name.rpartition("/")[2] == wanted)


def resolve(tree: Tree, base: str, written: str) -> str:
    """The member that a path in a CSV means.

    The path counts from the archive's root, else from the folder `base` in which the CSV lies (``""``
    is the root). `MemberFault` with `unsafe-path` says that it would leave the archive, with
    `missing-file` that no such member exists.
    """
    name = _clean(written)
    if name is None:
        raise MemberFault(
            "unsafe-path", f"The path {_shown(written)} leads out of the submission.", _PLAIN_PATHS
        )
    candidates = [name]
    if tree.top and name.startswith(tree.top):
        candidates.append(name.removeprefix(tree.top))
    if base.strip("/"):
        candidates.append(f"{base.strip('/')}/{name}")
    for candidate in candidates:
        if candidate in tree:
            return candidate
    raise MemberFault("missing-file", f"There is no file {_shown(written)}.", _nearest(tree, name))


def digest(path: str | Path) -> str:
    """SHA-256 in hexadecimal: of a file its bytes, of a folder its lines `relative/path filehash`.

    The lines are sorted by path, end in a line feed and are hashed as UTF-8. Links are not followed.
    """
    place = Path(path)
    if not place.is_dir():
        with place.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    files = sorted((entry.raw, entry.key) for entry in _walk(place) if entry.kind == "file")
    total = hashlib.sha256()
    for name, (where, _) in files:
        total.update(f"{name} {digest(where)}\n".encode("utf-8", "surrogateescape"))
    return total.hexdigest()


# --- names ------------------------------------------------------------------------------------------


def _clean(raw: str) -> str | None:
    r"""A member's name as everybody uses it; None where it is unsafe.

    >>> _clean(".\\masks\\a.png"), _clean("../a.png"), _clean("C:/a.png")
    ('masks/a.png', None, None)
    """
    text = raw.replace("\\", "/")
    parts = [part for part in text.split("/") if part not in {"", "."}]
    if text.startswith("/") or "\0" in text or ".." in parts:
        return None
    if parts and re.match("[A-Za-z]:", parts[0]):
        return None
    name = unicodedata.normalize("NFC", "/".join(parts))
    return name.encode("utf-8", "backslashreplace").decode()


def _left_behind(name: str) -> bool:
    """True for what macOS and Windows put into folders by themselves."""
    parts = name.split("/")
    return (
        "__MACOSX" in parts
        or parts[-1].startswith("._")
        or parts[-1].lower() in {".ds_store", "thumbs.db", "desktop.ini"}
    )


def _plain(name: str) -> str:
    """A name for a message: short, and without what a terminal would obey."""
    short = name if len(name) <= 160 else f"{name[:159]}…"
    return short if short.isprintable() else short.encode("unicode_escape").decode()


def _shown(name: str) -> str:
    return f"'{_plain(name)}'"


def _nearest(tree: Tree, name: str) -> str:
    """Advice for a path that leads nowhere: the member that was probably meant."""
    last = name.rpartition("/")[2].casefold()
    near = tree.near(last) if isinstance(tree, _Opened) else ()
    if len(near) == 1:
        return f"Did you mean {_shown(near[0])}? Upper and lower case and folders count."
    return f"Add the file, or correct the path. {_PLAIN_PATHS}"


# --- what all trees share ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Entry(Generic[Key]):
    """One line of a directory: the name as written, what it is, and how it is found again."""

    raw: str
    kind: Kind
    size: int
    key: Key


class _Opened(ABC, Generic[Key]):
    """A tree; subclasses list their entries and unpack one piece by piece."""

    def __init__(self, path: Path, max_unpacked: int) -> None:
        self.path = path
        self.max_unpacked = max_unpacked
        self.names: tuple[str, ...] = ()
        self.top = ""
        self.admitted = False
        self._strip_top = True
        self._members: dict[str, _Entry[Key]] = {}
        self._near: dict[str, list[str]] | None = None
        self._counted: set[str] = set()
        self._unpacked = 0
        self._lock = threading.Lock()

    @abstractmethod
    def _entries(self) -> Iterable[_Entry[Key]]:
        """Every entry in the order of the directory; `MemberFault` where the directory is broken."""

    @abstractmethod
    def _pieces(self, entry: _Entry[Key]) -> Iterator[bytes]:
        """A member's bytes in pieces of bounded size; any error of `_BROKEN` where it is damaged."""

    def _objection(self, entry: _Entry[Key]) -> MemberFault | None:  # noqa: ARG002 - some kinds have none
        """Why a member that nobody has read yet can be refused already."""
        return None

    @property
    def _total_bound(self) -> int | None:
        return self.max_unpacked

    def admit(self, findings: Collector, label: str, *, strip_top: bool) -> None:
        """Nothing; names are cleaned and kept, and every unsafe or doubled one is a finding."""
        self._strip_top = strip_top
        claimed = 0
        for entry in self._entries():
            claimed += entry.size
            name = _clean(entry.raw)
            fault = _unsafe(entry, name)
            if name and not fault and entry.kind == "file" and not _left_behind(name):
                fault = self._objection(entry)
                if name in self._members:
                    fault = MemberFault(
                        "ambiguous-submission",
                        f"Two members are called {_shown(name)}.",
                        "Keep one of them; " + _ZIP_AGAIN.lower(),
                    )
                self._members.setdefault(name, entry)
            if fault:
                where = Where(file=label, member=_plain(entry.raw))
                findings.add(fault.code, where, fault.message, fault.advice)
        if self._total_bound is not None and claimed > self._total_bound:
            raise _too_large(f"The members have {claimed:,} bytes, which is", self.max_unpacked)
        self._take_off_top()

    def _take_off_top(self) -> None:
        tops = {name.partition("/")[0] if "/" in name else "" for name in self._members}
        if self._strip_top and len(tops) == 1 and tops != {""}:
            self.top = f"{tops.pop()}/"
            self._members = {name.removeprefix(self.top): entry for name, entry in self._members.items()}
        self.names = tuple(sorted(self._members))
        self.admitted = True

    def near(self, last: str) -> tuple[str, ...]:
        """The members whose last name is `last` when case does not count."""
        if self._near is None:
            near = defaultdict(list)
            for name in self.names:
                near[name.rpartition("/")[2].casefold()].append(name)
            self._near = near
        return tuple(self._near.get(last, ()))

    def size(self, name: str) -> int:
        return self._members[name].size

    def head(self, name: str, count: int) -> bytes:
        entry = self._members[name]
        found = b""
        with _faults_of(name):
            for piece in self._pieces(entry):
                found += piece[: count - len(found)]
                if len(found) >= count:
                    break
        return found

    def read(self, name: str, *, limit: int | None = None) -> bytes:
        entry = self._members[name]
        with self._lock:
            room = self.max_unpacked
            if self._total_bound is not None:
                room -= self._unpacked if name not in self._counted else 0
        kept: list[bytes] = []
        count = 0
        with _faults_of(name):
            for piece in self._pieces(entry):
                count += len(piece)
                if limit is not None and count > limit:
                    raise MemberFault(
                        "too-large-unpacked",
                        f"{_shown(name)} has more than the {limit:,} bytes that such a file can need.",
                        "Write the file again without what does not belong to it.",
                    )
                if count > room:
                    raise _too_large(f"The members read so far, with {_shown(name)}, have", self.max_unpacked)
                if count <= entry.size:
                    kept.append(piece)
        if count != entry.size:
            raise _broken(f"{_shown(name)} has {count:,} bytes; the archive says {entry.size:,}.")
        with self._lock:
            if name not in self._counted:
                self._counted.add(name)
                self._unpacked += count
        return b"".join(kept)

    def close(self) -> None:
        """Nothing to give back unless a subclass holds a handle."""

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Callable[..., Tree], tuple[str, int, bool]]:
        return _open_again, (str(self.path), self.max_unpacked, self._strip_top)


def _open_again(path: str, max_unpacked: int, strip_top: bool) -> Tree:  # noqa: FBT001 - pickle's call
    findings = Collector()
    tree = open_tree(path, findings, max_unpacked=max_unpacked, file_label=path, strip_top=strip_top)
    if tree is None:
        first = findings.diagnosis().findings[0]
        raise MemberFault(first.code, first.message, first.advice)
    return tree


def _unsafe(entry: _Entry[Key], name: str | None) -> MemberFault | None:
    if name is None:
        return MemberFault(
            "unsafe-path",
            f"The member {_shown(entry.raw)} would lie outside the submission.",
            "Zip the files themselves, from inside their folder. " + _PLAIN_PATHS,
        )
    if entry.kind in {"link", "device"}:
        what = "a link" if entry.kind == "link" else "no ordinary file"
        return MemberFault(
            "unsafe-path",
            f"The member {_shown(entry.raw)} is {what}.",
            "Put a copy of the file itself there.",
        )
    return None


def _too_large(what: str, bound: int) -> MemberFault:
    return MemberFault(
        "too-large-unpacked",
        f"{what} more than the limit of {bound:,} bytes.",
        "Leave out what is not asked for; if all of it is meant, raise the limit: --set max_unpacked=BYTES.",
    )


def _too_many() -> MemberFault:
    return MemberFault(
        "too-large-unpacked",
        f"There are more than {MAX_MEMBERS:,} members.",
        "Leave out the files that are not asked for.",
    )


def _broken(message: str, advice: str = _ZIP_AGAIN) -> MemberFault:
    return MemberFault("bad-archive", message, advice)


_BROKEN = (EOFError, OSError, ValueError, OverflowError, struct.error, zlib.error, lzma.LZMAError)


class _faults_of:  # noqa: N801 - reads as a word in a with statement
    """Whatever damaged bytes raise becomes a `MemberFault` that names the member."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, _BROKEN):
            reason = str(error).rstrip(".") or "it ends too early"
            raise _broken(f"{_shown(self.name)} cannot be unpacked: {reason}.") from error
        if isinstance(error, MemoryError):
            raise MemberFault(
                "too-large-unpacked", f"{_shown(self.name)} does not fit into memory.", _ZIP_AGAIN
            ) from error


# --- what a path is ---------------------------------------------------------------------------------

_OTHER_KINDS = (
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x28\xb5\x2f\xfd", "packed with Zstandard"),
    (b"\x04\x22\x4d\x18", "packed with LZ4"),
    (b"\x1f\x9d", "packed with compress"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"%PDF", "a PDF"),
    (b"<", "a web page or XML"),
)


def _opened(path: Path, max_unpacked: int) -> _Opened[Any]:
    """The tree of the kind that the first bytes tell."""
    if path.is_dir():
        return _Folder(path, max_unpacked)
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        raise _broken("This is neither a folder nor a file.")
    with path.open("rb") as file:
        start = file.read(512)
    if start.startswith((b"PK\3\4", b"PK\5\6")):
        return _Zip(path, max_unpacked)
    for magic, fresh in _STREAMS:
        if start.startswith(magic):
            return _Tar(path, max_unpacked, fresh)
    if _checksum_holds(start):
        return _Tar(path, max_unpacked, None)
    if not start:
        raise _broken("The file is empty (0 bytes).")
    kind = next((kind for magic, kind in _OTHER_KINDS if start.startswith(magic)), "neither a zip nor a tar")
    raise _broken(f"The file is {kind}.", "Put the files into a zip and hand that in.")


# --- folders ----------------------------------------------------------------------------------------


def _walk(root: Path) -> Iterator[_Entry[tuple[str, int]]]:
    """Every entry below a folder; links are told, not followed."""
    waiting = [(os.fspath(root), "")]
    while waiting:
        folder, prefix = waiting.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                kind = _kind_of(status.st_mode)
                if kind == "folder":
                    waiting.append((entry.path, f"{prefix}{entry.name}/"))
                size = status.st_size if kind == "file" else 0
                yield _Entry(prefix + entry.name, kind, size, (entry.path, size))


def _kind_of(mode: int) -> Kind:
    """What a Unix mode says; archives written elsewhere have no mode, which means a file."""
    shape = stat.S_IFMT(mode)
    if shape in {0, stat.S_IFREG}:
        return "file"
    if shape == stat.S_IFDIR:
        return "folder"
    return "link" if shape == stat.S_IFLNK else "device"


class _Folder(_Opened[tuple[str, int]]):
    """A folder on disk. Nothing is packed, so that only single files are bounded."""

    @property
    def _total_bound(self) -> None:
        return None

    def _entries(self) -> Iterator[_Entry[tuple[str, int]]]:
        try:
            for number, entry in enumerate(_walk(self.path)):
                if number >= MAX_MEMBERS:
                    raise _too_many()
                yield entry
        except OSError as error:
            raise _broken(f"The folder cannot be read: {error}.", "Check its permissions.") from error

    def _pieces(self, entry: _Entry[tuple[str, int]]) -> Iterator[bytes]:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with open(entry.key[0], "rb", opener=lambda path, _: os.open(path, flags)) as file:
            while piece := file.read(_STEP):
                yield piece


# --- bytes that unpack ------------------------------------------------------------------------------


class _Decoder(Protocol):
    """What bz2's and lzma's decompressors have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


class _Deflate:
    """zlib's decompressor, spoken to like the others."""

    def __init__(self, window: int) -> None:
        self._decoder = zlib.decompressobj(window)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def decompress(self, data: bytes, max_length: int = _STEP) -> bytes:
        found = self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)
        self.needs_input = not self._decoder.unconsumed_tail and len(found) < max_length
        return found


def _unpack(packed: Iterable[bytes], fresh: Callable[[], _Decoder], *, joined: bool) -> Iterator[bytes]:
    """The unpacked bytes, at most a step at once; `joined` streams may follow one another."""
    decoder = fresh()
    begun = False
    for piece in packed:
        data = piece
        while data or not (decoder.eof or decoder.needs_input):
            if decoder.eof:
                data = data.lstrip(b"\0")  # padding after a stream
                if not (joined and data):
                    break
                decoder = fresh()
            found = decoder.decompress(data, _STEP)
            begun = True
            data = decoder.unused_data if decoder.eof else b""
            if found:
                yield found
    if not (begun and decoder.eof):
        raise EOFError("its packed bytes end too early")


_STREAMS: tuple[tuple[bytes, Callable[[], _Decoder]], ...] = (
    (b"\x1f\x8b", lambda: _Deflate(31)),
    (b"BZh", bz2.BZ2Decompressor),
    (b"\xfd7zXZ\0", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_LZMA_MEMORY)),
)


class _Packed(_Opened[Key]):
    """What zips and tars share: one handle, read under a lock."""

    def __init__(self, path: Path, max_unpacked: int) -> None:
        super().__init__(path, max_unpacked)
        self._file: BinaryIO = path.open("rb")
        self._reading = threading.Lock()

    def _length(self) -> int:
        return self._file.seek(0, os.SEEK_END)

    def _at(self, offset: int, count: int) -> bytes:
        """`count` bytes from `offset`, or fewer at the end of the file."""
        with self._reading:
            self._file.seek(offset)
            return self._file.read(count)

    def _stored(self, offset: int, count: int) -> Iterator[bytes]:
        while count:
            piece = self._at(offset, min(count, _STEP))
            if not piece:
                raise EOFError("the archive ends too early")
            yield piece
            offset += len(piece)
            count -= len(piece)

    def close(self) -> None:
        self._file.close()


# --- zip --------------------------------------------------------------------------------------------

_END = struct.Struct("<4s4H2LH")
_END_64_PLACE = struct.Struct("<4sLQL")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LINE = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")


@dataclass(frozen=True, slots=True)
class _ZipKey:
    """Where a zip's member lies and how it is packed."""

    name: bytes
    flags: int
    method: int
    crc: int
    packed: int
    offset: int


class _Zip(_Packed[_ZipKey]):
    """A zip: its directory stands at the end of the file."""

    def _entries(self) -> list[_Entry[_ZipKey]]:
        try:
            directory, start = self._directory()
            entries = list(_zip_lines(directory))
        except (struct.error, EOFError, ValueError, OSError) as error:
            raise _broken(f"The zip is damaged or cut off: {error}.") from error
        _refuse_overlaps(entries, start)
        return entries

    def _directory(self) -> tuple[bytes, int]:
        """The directory's bytes and where they start."""
        length = self._length()
        tail = self._at(max(0, length - 0xFFFF - _END.size), 0xFFFF + _END.size)
        bare = len(tail) - _END.size
        at = bare if tail[bare:].startswith(b"PK\5\6") and tail.endswith(b"\0\0") else tail.rfind(b"PK\5\6")
        if at < 0:
            raise EOFError("it has no directory at its end, as after a download that stopped")
        end = length - len(tail) + at
        _, disk, first, _, _, size, offset, _ = _END.unpack_from(tail, at)
        place = self._at(end - _END_64_PLACE.size, _END_64_PLACE.size) if end >= _END_64_PLACE.size else b""
        if place.startswith(b"PK\6\7"):
            end = _END_64_PLACE.unpack(place)[2]
            record = self._at(end, _END_64.size)
            if not record.startswith(b"PK\6\6"):
                raise ValueError("its directory is not where it should be")
            *_, disk, first, _, _, size, offset = _END_64.unpack(record)
        if disk or first:
            raise ValueError("it is one part of several")
        if size > _MAX_DIRECTORY:
            raise _too_many()
        if offset + size != end:
            raise ValueError("its directory is not where it should be")
        return self._at(offset, size), offset

    def _objection(self, entry: _Entry[_ZipKey]) -> MemberFault | None:
        key = entry.key
        if key.flags & 0x2041:  # encrypted, strongly or with hidden headers
            return _broken(f"{_shown(entry.raw)} is encrypted.", "Make the zip again without a password.")
        if key.method not in _ZIP_METHODS:
            name = _OTHER_METHODS.get(key.method, "unknown")
            return MemberFault(
                "bad-compression",
                f"{_shown(entry.raw)} is packed with method {key.method} ({name}), unreadable here.",
                "Make the zip again with the usual method, Deflate.",
            )
        return None

    def _pieces(self, entry: _Entry[_ZipKey]) -> Iterator[bytes]:
        key = entry.key
        signature, _, flags, method, *_, names, extras = _LOCAL.unpack(self._at(key.offset, _LOCAL.size))
        start = key.offset + _LOCAL.size
        if signature != b"PK\3\4" or self._at(start, names) != key.name:
            raise ValueError("the archive's directory and the member disagree about its name")
        if (method, flags & 0x2041) != (key.method, key.flags & 0x2041):
            raise ValueError("the archive's directory and the member disagree about how it is packed")
        packed = self._stored(start + names + extras, key.packed)
        crc = 0
        for piece in _ZIP_METHODS[key.method](packed, entry):
            crc = zlib.crc32(piece, crc)
            yield piece
        if crc != key.crc:
            raise ValueError("its checksum is wrong")


def _zip_lines(directory: bytes) -> Iterator[_Entry[_ZipKey]]:
    at = number = 0
    while at < len(directory):
        line = _LINE.unpack_from(directory, at)
        signature, _, _, flags, method, _, _, crc, packed, size, names, extras, comment = line[:13]
        mode, offset = line[15] >> 16, line[16]
        at += _LINE.size
        name, extra = directory[at : at + names], directory[at + names : at + names + extras]
        at += names + extras + comment
        number += 1
        if number > MAX_MEMBERS:
            raise _too_many()
        if signature != b"PK\1\2" or at > len(directory):
            raise ValueError("its directory is damaged")
        if 0xFFFFFFFF in {size, packed, offset}:
            size, packed, offset = _large(extra, size, packed, offset)
        raw = _zip_name(name, flags)
        kind = "folder" if raw.endswith(("/", "\\")) else _kind_of(mode)
        yield _Entry(raw, kind, size, _ZipKey(name, flags, method, crc, packed, offset))


def _large(extra: bytes, *numbers: int) -> list[int]:
    """A member's size, packed size and offset, of which those of 64 bits stand in the extra field."""
    at = 0
    while at + 4 <= len(extra):
        tag, count = struct.unpack_from("<HH", extra, at)
        if tag == 1:
            wide = (value for (value,) in struct.iter_unpack("<Q", extra[at + 4 : at + 4 + count // 8 * 8]))
            return [next(wide, number) if number == 0xFFFFFFFF else number for number in numbers]
        at += 4 + count
    return list(numbers)


def _zip_name(name: bytes, flags: int) -> str:
    """The name as text; macOS writes UTF-8 and does not say so, old zips use code page 437."""
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return name.decode("utf-8", "backslashreplace") if flags & 0x800 else name.decode("cp437")


def _refuse_overlaps(entries: list[_Entry[_ZipKey]], start: int) -> None:
    """Nothing; members that share bytes, from which bombs are made, are refused."""
    spans = sorted(
        (entry.key.offset, _LOCAL.size + len(entry.key.name) + entry.key.packed) for entry in entries
    )
    ends = [offset + count for offset, count in spans]
    starts = [offset for offset, _ in spans[1:]] + [start]
    if any(end > following for end, following in zip(ends, starts, strict=False)):
        raise _broken("Members of the zip lie on top of each other, which no honest zip has.")


def _lzma_pieces(packed: Iterator[bytes], entry: _Entry[_ZipKey]) -> Iterator[bytes]:
    """LZMA as zips hold it: the same stream as in a .lzma file, behind a different header."""
    first = next(packed, b"")
    if len(first) < 9 or first[2:4] != b"\5\0":
        raise ValueError("its LZMA header is damaged")
    size = b"\xff" * 8 if entry.key.flags & 2 else struct.pack("<Q", entry.size)

    def stream() -> Iterator[bytes]:
        yield first[4:9] + size + first[9:]
        yield from packed

    return _unpack(
        stream(), lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=_LZMA_MEMORY), joined=False
    )


_ZIP_METHODS: dict[int, Callable[[Iterator[bytes], _Entry[_ZipKey]], Iterator[bytes]]] = {
    0: lambda packed, _: packed,
    8: lambda packed, _: _unpack(packed, lambda: _Deflate(-15), joined=False),
    12: lambda packed, _: _unpack(packed, bz2.BZ2Decompressor, joined=False),
    14: _lzma_pieces,
}
_OTHER_METHODS = {
    1: "Shrink",
    6: "Implode",
    9: "Deflate64",
    93: "Zstandard",
    95: "XZ",
    96: "JPEG",
    97: "WavPack",
    98: "PPMd",
    99: "AES encryption",
}


# --- tar --------------------------------------------------------------------------------------------


class _Tar(_Packed[int]):
    """A tar, plain or unpacked into a temporary file; members are found by their offsets."""

    def __init__(self, path: Path, max_unpacked: int, fresh: Callable[[], _Decoder] | None) -> None:
        super().__init__(path, max_unpacked)
        self._fresh = fresh

    def _entries(self) -> Iterator[_Entry[int]]:
        try:
            if self._fresh is not None:
                self._spool(self._fresh)
            yield from _tar_lines(self._at, self._length())
        except _BROKEN as error:
            raise _broken(f"The tar is damaged or cut off: {error}.") from error

    def _spool(self, fresh: Callable[[], _Decoder]) -> None:
        """Nothing; the handle is now that of the unpacked stream."""
        count, start = 0, b""
        with self._file as packed:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the tree
            for piece in _unpack(iter(lambda: packed.read(_STEP), b""), fresh, joined=True):
                start += piece[: 512 - len(start)]
                if len(start) == 512 and not _checksum_holds(start):
                    break
                count += len(piece)
                if count > self.max_unpacked:
                    raise _too_large("Unpacked, the archive has", self.max_unpacked)
                self._file.write(piece)
        if not _checksum_holds(start):
            raise _broken(
                "This is one packed file and no archive.", "Put the files into a zip and hand that in."
            )

    def _pieces(self, entry: _Entry[int]) -> Iterator[bytes]:
        return self._stored(entry.key, entry.size)


def _checksum_holds(block: bytes) -> bool:
    """True for a tar's header block: the sum of its bytes stands in it, the sum counted as spaces."""
    if len(block) != 512 or not (written := re.fullmatch(rb"[ \0]*([0-7]+)[ \0]*", block[148:156])):
        return False
    rest = block[:148] + b" " * 8 + block[156:]
    signed = sum(rest) - 256 * sum(byte > 127 for byte in rest)
    return int(written[1], 8) in {sum(rest), signed}


def _tar_lines(at: Callable[[int, int], bytes], length: int) -> Iterator[_Entry[int]]:
    """The entries of a tar, with offsets; long names and extended headers are applied."""
    offset = number = 0
    for_all: dict[str, str] = {}
    for_next: dict[str, str] = {}
    while offset < length:
        block = at(offset, 512)
        if block.count(0) == 512:
            return
        number += 1
        if number > MAX_MEMBERS:
            raise _too_many()
        if not _checksum_holds(block):
            raise ValueError(f"the header at byte {offset:,} is no header")
        shape, size = block[156:157], _tar_number(block[124:136])
        if shape in _TAR_NOTES:
            (for_all if shape == b"g" else for_next).update(_tar_note(at, offset + 512, shape, size))
        else:
            entry = _tar_entry(block, for_all | for_next, offset + 512)
            for_next = {}
            size = entry.size
            if not 0 <= size <= length - entry.key:
                raise EOFError(f"it ends inside {_shown(entry.raw)}")
            if shape != b"V":  # the label of a tape
                yield entry
        offset += 512 + -(-size // 512) * 512


def _tar_note(at: Callable[[int, int], bytes], offset: int, shape: bytes, size: int) -> dict[str, str]:
    """What a long name or an extended header says about the next members."""
    if size > _MAX_TAR_NOTE:
        raise ValueError("an extended header is far too long")
    note = at(offset, size)
    if len(note) != size:
        raise EOFError("it ends inside a header")
    if shape == b"L":
        return {"path": _tar_text(note)}
    return {} if shape == b"K" else _extended(note)


def _tar_entry(block: bytes, said: dict[str, str], offset: int) -> _Entry[int]:
    """The entry of a header block, after what extended headers have said about it."""
    shape = block[156:157]
    name = said.get("path") or _tar_name(block)
    if shape == b"S" or any(key.startswith("GNU.sparse") for key in said):
        raise ValueError(f"{_shown(name)} is stored as a sparse file")
    kind = _TAR_KINDS.get(shape, "file")
    if kind != "file":
        return _Entry(name, kind, 0, offset)
    size = int(said["size"]) if "size" in said else _tar_number(block[124:136])
    return _Entry(name, "folder" if name.endswith("/") else "file", size, offset)


_TAR_NOTES = frozenset({b"L", b"K", b"x", b"X", b"g"})
_TAR_KINDS: dict[bytes, Kind] = {
    b"1": "link",
    b"2": "link",
    b"3": "device",
    b"4": "device",
    b"5": "folder",
    b"6": "device",
}


def _tar_number(field: bytes) -> int:
    """A number in octal digits, or in plain bytes where the first one has its top bit set."""
    if field[0] & 0x80:
        return int.from_bytes(field, "big") & ((1 << 95) - 1)
    digits = re.fullmatch(rb"[ \0]*([0-7]*)[ \0]*", field)
    if not digits:
        raise ValueError("a size is no number")
    return int(digits[1] or b"0", 8)


def _tar_text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _tar_name(block: bytes) -> str:
    name, prefix = _tar_text(block[:100]), _tar_text(block[345:500])
    return f"{prefix}/{name}" if prefix and block[257:263] == b"ustar\0" else name


def _extended(note: bytes) -> dict[str, str]:
    """The `length key=value` lines of an extended header."""
    found: dict[str, str] = {}
    at = 0
    while at < len(note) and note[at]:
        count = re.compile(rb"([1-9][0-9]{0,7}) ").match(note, at)
        if not count:
            raise ValueError("an extended header is damaged")
        line = note[count.end() : at + int(count[1])]
        key, equals, value = line.removesuffix(b"\n").partition(b"=")
        if not equals or at + int(count[1]) > len(note):
            raise ValueError("an extended header is damaged")
        found[key.decode("utf-8", "replace")] = value.decode("utf-8", "surrogateescape")
        at += int(count[1])
    return found
