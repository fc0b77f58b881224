"""Tars, plain or packed; a packed one, which knows no random access, is unpacked once into an unlinked
temporary file and counted against `max_unpacked`.

The headers are read here because `tarfile` takes a damaged header in the middle for the end of the
archive, which loses members without a word, and runs forever over a negative size in Pythons before
the middle of 2025. It also reads a long name of any length into memory.
"""

from __future__ import annotations

import re
import tempfile
from typing import TYPE_CHECKING

from segjudge.formats.archive.faults import BROKEN, MAX_MEMBERS, broken, too_large, too_many
from segjudge.formats.archive.members import Entry, Packed
from segjudge.formats.archive.names import shown
from segjudge.formats.archive.unpacking import STEP, stream_decoder, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segjudge.formats.archive.members import Kind
    from segjudge.formats.archive.unpacking import Decoder

__all__ = ["Tar", "is_header"]

_MAX_NOTE = 1 << 20  # bytes of a long name or of extended headers
_NOTES = frozenset({b"L", b"K", b"x", b"X", b"g"})
_KINDS: dict[bytes, Kind] = {
    b"1": "link",
    b"2": "link",
    b"3": "device",
    b"4": "device",
    b"5": "folder",
    b"6": "device",
}


class Tar(Packed[int]):
    """A tar, plain or unpacked into a temporary file; members are found by their offsets."""

    def _entries(self) -> Iterator[Entry[int]]:
        try:
            fresh = stream_decoder(self._at(0, 512))
            if fresh is not None:
                self._spool(fresh)
            yield from _lines(self._at, self._length())
        except BROKEN as error:
            raise broken(f"The tar is damaged or cut off: {error}.") from error

    def _spool(self, fresh: Callable[[], Decoder]) -> None:
        """Nothing; the handle is now that of the unpacked stream."""
        count, start = 0, b""
        self._file.seek(0)
        with self._file as packed:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the tree
            for piece in unpack(iter(lambda: packed.read(STEP), b""), fresh, joined=True):
                start += piece[: 512 - len(start)]
                if len(start) == 512 and not is_header(start):
                    break
                count += len(piece)
                if count > self.max_unpacked:
                    raise too_large("Unpacked, the archive has", self.max_unpacked)
                self._file.write(piece)
        if not is_header(start):
            raise broken(
                "This is one packed file and no archive.", "Put the files into a zip and hand that in."
            )

    def _pieces(self, entry: Entry[int]) -> Iterator[bytes]:
        return self._stored(entry.key, entry.size)


def is_header(block: bytes) -> bool:
    """True for a tar's header block: the sum of its bytes stands in it, the sum counted as spaces."""
    if len(block) != 512 or not (written := re.fullmatch(rb"[ \0]*([0-7]+)[ \0]*", block[148:156])):
        return False
    rest = block[:148] + b" " * 8 + block[156:]
    total, said = sum(rest), int(written[1], 8)
    return said == total or said == total - 256 * sum(
        byte > 127 for byte in rest
    )  # old tars sum signed bytes


def _lines(at: Callable[[int, int], bytes], length: int) -> Iterator[Entry[int]]:
    """The entries of a tar, with offsets; long names and extended headers are applied."""
    offset = headers = 0
    for_all: dict[str, str] = {}
    for_next: dict[str, str] = {}
    while offset < length:
        block = at(offset, 512)
        if block.count(0) == 512:
            return
        headers += 1
        if headers > 4 * MAX_MEMBERS:  # a member has few headers of its own
            raise too_many()
        if not is_header(block):
            raise ValueError(f"the header at byte {offset:,} is no header")
        shape, size = block[156:157], _number(block[124:136])
        if shape in _NOTES:
            (for_all if shape == b"g" else for_next).update(_note(at, offset + 512, shape, size))
        else:
            entry = _entry(block, for_all | for_next, offset + 512)
            for_next = {}
            size = entry.size
            if not 0 <= size <= length - entry.key:
                raise EOFError(f"it ends inside {shown(entry.raw)}")
            if shape != b"V":  # the label of a tape
                yield entry
        offset += 512 + -(-size // 512) * 512
    raise EOFError("it lacks the empty block at its end")


def _note(at: Callable[[int, int], bytes], offset: int, shape: bytes, size: int) -> dict[str, str]:
    """What a long name or an extended header says about the next members."""
    if size > _MAX_NOTE:
        raise ValueError("an extended header is far too long")
    note = at(offset, size)
    if len(note) != size:
        raise EOFError("it ends inside a header")
    if shape == b"L":
        return {"path": _text(note)}
    return {} if shape == b"K" else _extended(note)


def _entry(block: bytes, said: dict[str, str], offset: int) -> Entry[int]:
    """The entry of a header block, after what extended headers have said about it."""
    shape = block[156:157]
    name = said.get("path") or _name(block)
    if shape == b"S" or "sparse" in said:
        raise ValueError(f"{shown(name)} is stored as a sparse file")
    kind = _KINDS.get(shape, "file")
    if kind != "file":
        return Entry(name, kind, 0, offset)
    size = int(said["size"]) if "size" in said else _number(block[124:136])
    return Entry(name, "folder" if name.endswith("/") else "file", size, offset)


def _number(field: bytes) -> int:
    """A number in octal digits, or in plain bytes where the first one has its top bit set."""
    if field[0] & 0x80:
        return int.from_bytes(field, "big") & ((1 << 95) - 1)
    digits = re.fullmatch(rb"[ \0]*([0-7]*)[ \0]*", field)
    if not digits:
        raise ValueError("a size is no number")
    return int(digits[1] or b"0", 8)


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _name(block: bytes) -> str:
    name, prefix = _text(block[:100]), _text(block[345:500])
    return f"{prefix}/{name}" if prefix and block[257:263] == b"ustar\0" else name


def _extended(note: bytes) -> dict[str, str]:
    """`path`, `size` and `sparse` as the `length key=value` lines of an extended header say them."""
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
        if key in {b"path", b"size"}:
            found[key.decode()] = value.decode("utf-8", "surrogateescape")
        elif key.startswith(b"GNU.sparse"):
            found["sparse"] = ""
        at += int(count[1])
    return found
