"""Zips: `zipfile` reads the directory, through a file that bounds how long it may be.

Members are unpacked here because `zipfile` gives out all that a piece of bzip2 or LZMA holds at once
and lets LZMA take any dictionary.
"""

from __future__ import annotations

import bz2
import lzma
import struct
import zipfile
import zlib
from itertools import pairwise
from typing import TYPE_CHECKING

from segjudge.formats.archive.faults import BROKEN, MAX_MEMBERS, MemberFault, broken, too_many
from segjudge.formats.archive.members import Entry, Packed, kind_of
from segjudge.formats.archive.names import shown
from segjudge.formats.archive.unpacking import Deflate, lzma_decoder, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO
    from zipfile import ZipInfo

__all__ = ["Zip"]

_MAX_DIRECTORY = 512 << 20  # bytes
_LOCAL = struct.Struct("<4s5H3L2H")  # what stands before a member's name
_ENCRYPTED = 0x2041  # flags: encrypted, strongly or with hidden headers


class _Bounded:
    """A zip as `zipfile` sees it, which asks for the whole directory in one read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek = file.seek
        self.tell = file.tell

    def read(self, count: int = -1) -> bytes:
        """The bytes, unless they are too many or more lines of a directory than there may be members."""
        if count > _MAX_DIRECTORY:
            raise too_many()
        data = self._file.read(count)
        if data.count(b"PK\1\2") > MAX_MEMBERS:
            raise too_many()
        return data


class Zip(Packed["ZipInfo"]):
    """A zip: its directory stands at the end of the file."""

    def _entries(self) -> Iterator[Entry[ZipInfo]]:
        try:
            with zipfile.ZipFile(_Bounded(self._file)) as directory:
                lines = directory.infolist()
        except (*BROKEN, zipfile.BadZipFile, NotImplementedError) as error:
            raise broken(f"The zip is damaged or cut off, as by a download that stopped: {error}.") from error
        _refuse_overlaps(lines)
        for line in lines:
            raw = _text(line)
            kind = "folder" if raw.endswith(("/", "\\")) else kind_of(line.external_attr >> 16)
            yield Entry(raw, kind, line.file_size, line)

    def _objection(self, entry: Entry[ZipInfo]) -> MemberFault | None:
        method = entry.key.compress_type
        if entry.key.flag_bits & _ENCRYPTED:
            return broken(f"{shown(entry.raw)} is encrypted.", "Make the zip again without a password.")
        if method not in _METHODS:
            return MemberFault(
                "bad-compression",
                f"{shown(entry.raw)} is packed with method {method} ({_OTHER_METHODS.get(method, 'unknown')}), "
                "unreadable here.",
                "Make the zip again with the usual method, Deflate.",
            )
        return None

    def _pieces(self, entry: Entry[ZipInfo]) -> Iterator[bytes]:
        line = entry.key
        at = line.header_offset
        signature, _, flags, method, *_, names, extras = _LOCAL.unpack(self._at(at, _LOCAL.size))
        start = at + _LOCAL.size
        if signature != b"PK\3\4" or self._at(start, names) != _stored_name(line):
            raise ValueError("the archive's directory and the member disagree about its name")
        if (method, flags & _ENCRYPTED) != (line.compress_type, line.flag_bits & _ENCRYPTED):
            raise ValueError("the archive's directory and the member disagree about how it is packed")
        packed = self._stored(start + names + extras, line.compress_size)
        crc = 0
        for piece in _METHODS[method](packed, line):
            crc = zlib.crc32(piece, crc)
            yield piece
        if crc != line.CRC:
            raise ValueError("its checksum is wrong")


def _stored_name(line: ZipInfo) -> bytes:
    """The name's bytes, which `zipfile` took for UTF-8 or code page 437."""
    return line.orig_filename.encode("utf-8" if line.flag_bits & 0x800 else "cp437")


def _text(line: ZipInfo) -> str:
    """The name as text; macOS writes UTF-8 and does not say so, old zips use code page 437."""
    try:
        return _stored_name(line).decode("utf-8")
    except UnicodeDecodeError:
        return line.orig_filename


def _refuse_overlaps(lines: list[ZipInfo]) -> None:
    """Nothing; members that share bytes, from which bombs are made, are refused."""
    spans = sorted(
        (line.header_offset, line.header_offset + _LOCAL.size + len(_stored_name(line)) + line.compress_size)
        for line in lines
    )
    if any(end > following for (_, end), (following, _) in pairwise(spans)):
        raise broken("Members of the zip lie on top of each other, which no honest zip has.")


def _lzma_pieces(packed: Iterator[bytes], line: ZipInfo) -> Iterator[bytes]:
    """LZMA as zips hold it: the same stream as in a .lzma file, behind a different header."""
    first = next(packed, b"")
    if len(first) < 9 or first[2:4] != b"\5\0":
        raise ValueError("its LZMA header is damaged")
    size = b"\xff" * 8 if line.flag_bits & 2 else struct.pack("<Q", line.file_size)

    def stream() -> Iterator[bytes]:
        yield first[4:9] + size + first[9:]
        yield from packed

    return unpack(stream(), lambda: lzma_decoder(lzma.FORMAT_ALONE), joined=False)


_METHODS: dict[int, Callable[[Iterator[bytes], ZipInfo], Iterator[bytes]]] = {
    0: lambda packed, _: packed,
    8: lambda packed, _: unpack(packed, lambda: Deflate(-15), joined=False),
    12: lambda packed, _: unpack(packed, bz2.BZ2Decompressor, joined=False),
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
