"""A `Tree` of named members, and what its kinds share: names are admitted once, every byte read counts."""

from __future__ import annotations

import os
import stat
import threading
from abc import ABC, abstractmethod
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from segjudge.findings import Collector, Where
from segjudge.formats.archive.faults import (
    MAX_MEMBERS,
    ZIP_AGAIN,
    MemberFault,
    broken,
    faults_of,
    too_large,
    too_many,
)
from segjudge.formats.archive.names import PLAIN_PATHS, clean, left_behind, plain, shown
from segjudge.formats.archive.unpacking import STEP
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType
    from typing import BinaryIO, Self

__all__ = ["Entry", "Kind", "Opened", "Packed", "Tree", "kind_of"]

Kind = Literal["file", "folder", "link", "device"]
Key = TypeVar("Key")


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

    def near(self, last: str) -> tuple[str, ...]:
        """The members whose last name is `last`, which is casefolded, when case does not count."""

    def close(self) -> None:
        """Nothing; the file handle is given back. Closing twice is fine."""

    def __contains__(self, name: object) -> bool: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Entry(Generic[Key]):
    """One line of a directory: the name as written, what it is, and how it is found again."""

    raw: str
    kind: Kind
    size: int
    key: Key


def kind_of(mode: int) -> Kind:
    """What a Unix mode says; archives written elsewhere have no mode, which means a file."""
    shape = stat.S_IFMT(mode)
    if shape in {0, stat.S_IFREG}:
        return "file"
    if shape == stat.S_IFDIR:
        return "folder"
    return "link" if shape == stat.S_IFLNK else "device"


class Opened(ABC, Generic[Key]):
    """A tree; subclasses list their entries and unpack one piece by piece."""

    def __init__(self, path: Path, max_unpacked: int) -> None:
        self.path = path
        self.max_unpacked = max_unpacked
        self.names: tuple[str, ...] = ()
        self.top = ""
        self._strip_top = True
        self._members: dict[str, Entry[Key]] = {}
        self._near: dict[str, list[str]] | None = None
        self._counted: set[str] = set()
        self._unpacked = 0
        self._lock = threading.Lock()

    @abstractmethod
    def _entries(self) -> Iterable[Entry[Key]]:
        """Every entry in the order of the directory; `MemberFault` where the directory is broken."""

    @abstractmethod
    def _pieces(self, entry: Entry[Key]) -> Iterator[bytes]:
        """A member's bytes in pieces of bounded size; any error of `BROKEN` where it is damaged."""

    def _objection(self, entry: Entry[Key]) -> MemberFault | None:  # noqa: ARG002 - some kinds have none
        """Why a member that nobody has read yet can be refused already."""
        return None

    @property
    def _total_bound(self) -> int | None:
        return self.max_unpacked

    def admit(self, findings: Collector, label: str, *, strip_top: bool) -> None:
        """Nothing; names are cleaned and kept, and every unsafe or doubled one is a finding."""
        self._strip_top = strip_top
        claimed = 0
        for number, entry in enumerate(self._entries()):
            if number >= MAX_MEMBERS:
                raise too_many()
            claimed += entry.size
            fault = self._admitted(entry)
            if fault:
                where = Where(file=label, member=plain(entry.raw))
                findings.add(fault.code, where, fault.message, fault.advice)
        if self._total_bound is not None and claimed > self._total_bound:
            raise too_large(f"The members have {claimed:,} bytes, which is", self.max_unpacked)
        self._take_off_top()

    def _admitted(self, entry: Entry[Key]) -> MemberFault | None:
        """Nothing where the entry was kept or does not count, else why it is refused."""
        name = clean(entry.raw)
        fault = _unsafe(entry, name)
        if fault or not name or entry.kind != "file" or left_behind(name):
            return fault
        if name in self._members:
            return MemberFault(
                "ambiguous-submission",
                f"Two members are called {shown(name)}.",
                "Keep one of them; " + ZIP_AGAIN.lower(),
            )
        self._members[name] = entry
        return self._objection(entry)

    def _take_off_top(self) -> None:
        tops = {name.partition("/")[0] if "/" in name else "" for name in self._members}
        if self._strip_top and len(tops) == 1 and tops != {""}:
            self.top = f"{tops.pop()}/"
            self._members = {name.removeprefix(self.top): entry for name, entry in self._members.items()}
        self.names = tuple(sorted(self._members))

    def near(self, last: str) -> tuple[str, ...]:
        """The members whose last name is `last`, which is casefolded, when case does not count."""
        if self._near is None:
            near = defaultdict(list)
            for name in self.names:
                near[name.rpartition("/")[2].casefold()].append(name)
            self._near = near
        return tuple(self._near.get(last, ()))

    def size(self, name: str) -> int:
        """The bytes that the archive claims for a member."""
        return self._members[name].size

    def head(self, name: str, count: int) -> bytes:
        """The first `count` bytes of a member, or all if it has fewer."""
        entry = self._members[name]
        found = b""
        with faults_of(name):
            for piece in self._pieces(entry):
                found += piece[: count - len(found)]
                if len(found) >= count:
                    break
        return found

    def read(self, name: str, *, limit: int | None = None) -> bytes:
        """A member's bytes; see `Tree`."""
        entry = self._members[name]
        with self._lock:
            room = self.max_unpacked
            if self._total_bound is not None:
                room -= self._unpacked if name not in self._counted else 0
        kept: list[bytes] = []
        count = 0
        with faults_of(name):
            for piece in self._pieces(entry):
                count += len(piece)
                if limit is not None and count > limit:
                    raise MemberFault(
                        "too-large-unpacked",
                        f"{shown(name)} has more than the {limit:,} bytes that such a file can need.",
                        "Write the file again without what does not belong to it.",
                    )
                if count > room:
                    raise too_large(f"The members read so far, with {shown(name)}, have", self.max_unpacked)
                if count <= entry.size:
                    kept.append(piece)
        if count != entry.size:
            raise broken(f"{shown(name)} has {count:,} bytes; the archive says {entry.size:,}.")
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

    def __reduce__(self) -> tuple[Callable[..., Tree], tuple[type[Opened[Any]], str, int, bool]]:
        return _open_again, (type(self), str(self.path), self.max_unpacked, self._strip_top)


def _open_again(kind: type[Opened[Any]], path: str, max_unpacked: int, strip_top: bool) -> Tree:  # noqa: FBT001 - pickle's call
    """The same tree in another process; what makes it unusable by now is a `MemberFault`."""
    findings = Collector()
    tree = kind(Path(path), max_unpacked)
    with ExitStack() as undone:
        undone.callback(tree.close)
        tree.admit(findings, path, strip_top=strip_top)
        if findings.errors:
            first = findings.diagnosis().findings[0]
            raise MemberFault(first.code, first.message, first.advice)
        undone.pop_all()
    return tree


class Packed(Opened[Key]):
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
        """`count` bytes from `offset` in steps."""
        while count:
            piece = self._at(offset, min(count, STEP))
            if not piece:
                raise EOFError("the archive ends too early")
            yield piece
            offset += len(piece)
            count -= len(piece)

    def close(self) -> None:
        """Nothing; the handle is given back."""
        self._file.close()


def _unsafe(entry: Entry[Any], name: str | None) -> MemberFault | None:
    if name is None:
        return MemberFault(
            "unsafe-path",
            f"The member {shown(entry.raw)} would lie outside the submission.",
            "Zip the files themselves, from inside their folder. " + PLAIN_PATHS,
        )
    if entry.kind in {"link", "device"}:
        what = "a link" if entry.kind == "link" else "no ordinary file"
        return MemberFault(
            "unsafe-path",
            f"The member {shown(entry.raw)} is {what}.",
            "Put a copy of the file itself there.",
        )
    return None
