"""PNG: chunks read and checked one by one, and the numbers as stored; a palette stays with its indices."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from PIL import PngImagePlugin

from segjudge.formats.pictures.decoding import decoded
from segjudge.formats.pictures.faults import SAVE_AGAIN, PictureFault
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["COLOURS", "Header", "Parts", "corrupt", "png_header", "png_parts", "png_samples"]

_AS_PNG = "Save the original numbers as a PNG; a new file name changes nothing inside."
_PNG = b"\x89PNG\r\n\x1a\n"
COLOURS = {0: "gray", 2: "in colour (RGB)", 3: "a palette", 4: "gray with alpha", 6: "in colour with alpha"}
_DEPTHS = {0: {1, 2, 4, 8, 16}, 2: {8, 16}, 3: {1, 2, 4, 8}, 4: {8, 16}, 6: {8, 16}}
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}

_OTHER_KINDS = (
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"BM", "a BMP picture"),
    (b"II*\0", "a TIFF picture"),
    (b"MM\0*", "a TIFF picture"),
    (b"II+\0", "a TIFF picture"),
    (b"MM\0+", "a TIFF picture"),
    (b"\0\0\0\x0cjP  ", "a JPEG 2000 picture"),
    (b"P5", "a PGM picture"),
    (b"P6", "a PPM picture"),
    (b"8BPS", "a Photoshop file"),
    (b"%PDF", "a PDF"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"PK\3\4", "a zip"),
    (b"\x1f\x8b", "packed with gzip"),
    (b"version https://git-lfs", "a pointer of Git LFS, not the picture itself"),
    (b"<svg", "an SVG drawing"),
    (b"<", "a web page or XML, perhaps the error message of a download"),
    (b"\x89PNG", "a PNG that was changed on the way, as if it were text"),
)


@dataclass(frozen=True, slots=True)
class Header:
    """What a PNG's first chunk says."""

    height: int
    width: int
    depth: int  # bits per channel
    colour: int  # PNG's colour type
    interlaced: int  # 0 or 1


@dataclass(frozen=True, slots=True)
class Parts:
    """What else of a PNG counts."""

    palette: bytes  # three bytes per colour
    transparent: bytes  # the tRNS chunk
    packed: bytes  # the pixels, compressed


def corrupt(reason: str) -> NoReturn:
    """Nothing; bytes that lie are a `PictureFault`."""
    raise PictureFault("not-png", f"The PNG is damaged: {reason}.", SAVE_AGAIN)


def png_header(data: bytes) -> Header:
    """What the first chunk says, which must be one that PNG knows."""
    if not data.startswith(_PNG):
        kind = _kind(data)
        raise PictureFault("not-png", f"The file is {kind}, whatever its name says.", _AS_PNG)
    if len(data) < 33:
        corrupt(f"it ends after {len(data)} bytes")
    length, name, width, height, depth, colour, method, filters, interlaced = struct.unpack_from(
        ">L4s2L5B", data, 8
    )
    if (length, name) != (13, b"IHDR"):
        corrupt("it does not begin with its header")
    if zlib.crc32(data[12:29]) != struct.unpack_from(">L", data, 29)[0]:
        corrupt("the checksum of its header is wrong")
    if not (0 < width < 1 << 31 and 0 < height < 1 << 31):
        corrupt(f"its size is {height} × {width}")
    if depth not in _DEPTHS.get(colour, ()) or method or filters or interlaced > 1:
        corrupt("its header holds numbers that PNG does not know")
    return Header(height, width, depth, colour, interlaced)


def _kind(data: bytes) -> str:
    """What a file that is no PNG is, in words."""
    if not data:
        return "empty (0 bytes)"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "a WebP picture"
    if data[4:8] == b"ftyp":
        return "an AVIF, HEIC or video file"
    start = data[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    return next((kind for magic, kind in _OTHER_KINDS if start.startswith(magic)), "not a PNG")


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Names and contents of the chunks after the header; checksums of the critical ones hold."""
    at = 33
    while True:
        if at + 12 > len(data):
            corrupt(f"it ends after {len(data):,} bytes, before its last chunk")
        length = int.from_bytes(data[at : at + 4], "big")
        name, end = data[at + 4 : at + 8], at + 8 + length
        if end + 4 > len(data):
            corrupt(f"it ends after {len(data):,} bytes, inside a chunk")
        if not name[0] & 0x20 and zlib.crc32(data[at + 4 : end]) != int.from_bytes(
            data[end : end + 4], "big"
        ):
            corrupt("the checksum of a chunk is wrong")
        yield name, data[at + 8 : end]
        if name == b"IEND":
            return
        at = end + 4


def png_parts(data: bytes, header: Header) -> Parts:
    """Palette, transparency and packed pixels of a PNG that is whole."""
    palette = transparent = b""
    packed: list[bytes] = []
    last = b""
    for name, content in _chunks(data):
        if name == b"acTL":
            raise PictureFault("bad-image-mode", "The PNG is an animation.", "Save one still picture.")
        if name == b"IDAT":
            if packed and last != b"IDAT":
                corrupt("its pixels stand in two places")
            packed.append(content)
        elif name == b"PLTE":
            palette = content
        elif name == b"tRNS" and not packed:
            transparent = content
        elif not name[0] & 0x20 and name != b"IEND":
            corrupt("it holds a chunk that PNG does not know")
        last = name
    if header.colour == 3 and (not palette or len(palette) % 3 or len(palette) > 768):
        corrupt("its palette is missing or has a wrong length")
    parts = Parts(palette, transparent, b"".join(packed))
    rows = (header.width * header.depth * _CHANNELS[header.colour] + 7) // 8 * header.height
    if rows > len(parts.packed) * 1040:  # Deflate packs 1,032 bytes into one at best
        corrupt("it holds too few bytes for so many pixels")
    return parts


def png_samples(header: Header, parts: Parts) -> NDArray[Any]:
    """The numbers as stored, (height, width[, channels]); of a palette picture the indices."""
    colour = 0 if header.colour == 3 else header.colour
    start = struct.pack(">2L5B", header.width, header.height, header.depth, colour, 0, 0, header.interlaced)
    chunks = ((b"IHDR", start), (b"IDAT", parts.packed), (b"IEND", b""))
    again = _PNG + b"".join(
        struct.pack(">L", len(content))
        + name
        + content
        + struct.pack(">L", zlib.crc32(content, zlib.crc32(name)))
        for name, content in chunks
    )
    samples = decoded(PngImagePlugin.PngImageFile, again)
    if header.depth in {2, 4}:  # the decoder spreads them over 0 to 255
        samples = samples // np.uint8(255 // ((1 << header.depth) - 1))
    if header.depth == 16:
        return samples.astype(np.uint16, copy=False)
    return samples
