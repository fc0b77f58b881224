"""TIFF: the tags of one page read and checked, and the numbers of its one channel as stored."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageFile, TiffImagePlugin

from segjudge.formats.pictures.decoding import bounded, decoded
from segjudge.formats.pictures.faults import SAVE_AGAIN, PictureFault, refuse_labels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["TIFF_MAGICS", "tiff_labels", "tiff_size"]

TIFF_MAGICS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_WIDTH, _HEIGHT, _BITS, _PACKING, _PHOTOMETRIC, _FILL = 256, 257, 258, 259, 262, 266
_STRIPS, _CHANNEL_COUNT, _STRIP_ROWS, _STRIP_BYTES = 273, 277, 278, 279
_PREDICTOR, _TILE_WIDTH, _TILE_HEIGHT, _TILES, _TILE_BYTES, _FORMAT = 317, 322, 323, 324, 325, 339

#: What the decoder needs besides the size, with what is meant where a tag is missing.
_DEFAULTS: Mapping[int, int] = {_BITS: 1, _PACKING: 1, _PREDICTOR: 1, _CHANNEL_COUNT: 1, _FORMAT: 1}
_TYPES = {1: "B", 3: "H", 4: "L", 13: "L", 16: "Q"}
_PACKINGS = {1, 5, 8, 32773, 32946}  # none, LZW, Deflate, PackBits, Deflate by its old number
_MOST_VALUES = 1 << 21  # of one tag: more strips or tiles than a picture within `MAX_PIXELS` needs


class _Reader(TiffImagePlugin.TiffImageFile):
    """Pillow's reader without its process-wide bound and without rotation, which are dealt with here."""

    def load_prepare(self) -> None:
        self.im = Image.new(self.mode, self.size).im
        ImageFile.ImageFile.load_prepare(self)

    def load_end(self) -> None:
        """Nothing is rotated."""


def _tags(data: bytes) -> dict[int, list[int]]:
    """The whole-number tags of a TIFF's first page; a second page is refused."""
    try:
        return _directory(data)
    except struct.error as error:
        raise _damaged("it ends before its directory does") from error


def _damaged(reason: str) -> PictureFault:
    return PictureFault("not-png", f"The TIFF is damaged: {reason}.", SAVE_AGAIN)


def _directory(data: bytes) -> dict[int, list[int]]:
    order = "<" if data.startswith(b"II") else ">"
    big = 43 in data[2:4]
    place, count_form, offset_form, width = (8, "Q", "Q", 8) if big else (4, "H", "L", 4)
    (start,) = struct.unpack_from(order + offset_form, data, place)
    (entries,) = struct.unpack_from(order + count_form, data, start)
    at = start + struct.calcsize(order + count_form)
    line = struct.Struct(f"{order}HH{offset_form}")
    if at + entries * (line.size + width) + width > len(data):
        raise _damaged("it ends before its directory does")
    tags: dict[int, list[int]] = {}
    for _ in range(entries):
        tag, kind, count = line.unpack_from(data, at)
        form = _TYPES.get(kind)
        if form is not None and count and tag in _KNOWN:
            if tag in tags or count > _MOST_VALUES:
                raise _damaged(f"tag {tag} stands in it twice or is far too long")
            size = count * struct.calcsize(order + form)
            where = at + line.size
            if size > width:
                (where,) = struct.unpack_from(order + offset_form, data, where)
            if where + size > len(data):
                raise _damaged(f"tag {tag} points behind its end")
            tags[tag] = list(struct.unpack_from(f"{order}{count}{form}", data, where))
        at += line.size + width
    (following,) = struct.unpack_from(order + offset_form, data, at)
    if following:
        refuse_labels("The TIFF has several pages; a label map is one.")
    return tags


_KNOWN = {
    *(_WIDTH, _HEIGHT, _FILL, _STRIPS, _STRIP_ROWS, _STRIP_BYTES, _TILE_WIDTH, _TILE_HEIGHT, _TILES),
    *(_TILE_BYTES, _PHOTOMETRIC),
    *_DEFAULTS,
}


def _number(tags: dict[int, list[int]], tag: int) -> int:
    """The one number of a tag; sizes must be there and be positive."""
    values = tags.get(tag) or [_DEFAULTS.get(tag, 0)]
    if tag in {_WIDTH, _HEIGHT} and not 0 < values[0] < 1 << 31:
        raise _damaged("its size is missing")
    return values[0]


def tiff_size(data: bytes) -> tuple[int, int]:
    """(height, width) of a TIFF."""
    return _size(_tags(data))


def _size(tags: dict[int, list[int]]) -> tuple[int, int]:
    return _number(tags, _HEIGHT), _number(tags, _WIDTH)


def tiff_labels(data: bytes, max_pixels: int) -> NDArray[Any]:
    """The numbers of a label map, (height, width), as a TIFF stores them."""
    tags = _tags(data)
    height, width = _size(tags)
    bounded(height, width, max_pixels)
    bits, numbers = _number(tags, _BITS), _number(tags, _FORMAT)
    if _number(tags, _CHANNEL_COUNT) != 1 or len(tags.get(_BITS, [1])) != 1:
        refuse_labels(f"The TIFF has {_number(tags, _CHANNEL_COUNT)} channels; a label map has one.")
    if numbers not in {1, 2} or bits not in {1, 2, 4, 8, 16, 32}:
        kind = {1: "whole", 2: "signed whole", 3: "floating-point"}.get(numbers, "unknown")
        refuse_labels(f"The TIFF holds {kind} numbers of {bits} bits.")
    if _number(tags, _PACKING) not in _PACKINGS:
        refuse_labels(f"The TIFF is packed by method {_number(tags, _PACKING)}, which is not read here.")
    swapped = data.startswith(b"MM") and bits > 8
    if _number(tags, _PREDICTOR) not in ({1} if swapped else {1, 2}):
        refuse_labels("The TIFF is packed with a predictor that is not read here.")
    samples = decoded(_Reader, _again(data, tags))
    if samples.shape != (height, width):
        raise _damaged("its tiles and its size disagree")
    if swapped:
        samples = samples.byteswap()
    return _checked_labels(samples, bits, signed=numbers == 2)


def _checked_labels(samples: NDArray[Any], bits: int, *, signed: bool) -> NDArray[Any]:
    """The stored numbers as uint8, uint16 or int32; negative ones and those past 2³¹ are refused."""
    if bits in {2, 4}:  # the decoder spreads them over 0 to 255
        samples = samples // np.uint8(255 // ((1 << bits) - 1))
    if bits == 16:
        samples = samples.astype(np.uint16, copy=False)
    if (signed and bits < 32 and (samples >> (bits - 1)).any()) or (bits == 32 and (samples < 0).any()):
        refuse_labels("The TIFF holds negative numbers, or some that need more than 31 bits.")
    return samples


def _again(data: bytes, tags: dict[int, list[int]]) -> bytes:
    """The file with a directory of only what the decoder needs, behind its own bytes.

    Numbers are declared unsigned and gray, black is zero, the lowest byte first: the decoder then
    delivers them as stored.
    """
    kept = {tag: [_number(tags, tag)] for tag in (_WIDTH, _HEIGHT, *_DEFAULTS)}
    kept |= {_PHOTOMETRIC: [1], _FORMAT: [1], _FILL: tags.get(_FILL, [1])[:1]}
    tiled = _TILES in tags
    places, counts = (_TILES, _TILE_BYTES) if tiled else (_STRIPS, _STRIP_BYTES)
    kept |= {tag: tags[tag] for tag in (places, counts) if tags.get(tag)}
    if tiled:
        kept |= {tag: [_number(tags, tag)] for tag in (_TILE_WIDTH, _TILE_HEIGHT)}
    else:
        kept[_STRIP_ROWS] = [min(tags.get(_STRIP_ROWS, kept[_HEIGHT])[0], kept[_HEIGHT][0])]
    _check_places(data, kept, places, counts, tiled=tiled)
    body = data + b"\0" * (len(data) % 2)
    lists, lines = b"", b""
    for tag in sorted(kept):
        values = struct.pack(f"<{len(kept[tag])}L", *kept[tag])
        if len(values) > 4:
            lists, values = lists + values, struct.pack("<L", len(body) + len(lists))
        short = tag in {_BITS, _PACKING, _PHOTOMETRIC, _FILL, _CHANNEL_COUNT, _PREDICTOR, _FORMAT}
        lines += struct.pack("<HHL", tag, 3 if short else 4, len(kept[tag])) + values
    header = struct.pack("<2sHL", b"II", 42, len(body) + len(lists))
    count = struct.pack("<H", len(kept))
    return b"".join((header, memoryview(body)[8:], lists, count, lines, b"\0" * 4))


def _check_places(data: bytes, kept: dict[int, list[int]], places: int, counts: int, *, tiled: bool) -> None:
    """Nothing; strips or tiles that are missing, are too few or lie outside the file are refused."""
    if len(data) >= 1 << 31:
        refuse_labels("The TIFF has more than 2 GiB.")
    if any(max(kept[tag]) > 0xFFFF for tag in (_BITS, _PACKING, _PREDICTOR)):
        raise _damaged("a tag holds an impossible number")
    height, width = kept[_HEIGHT][0], kept[_WIDTH][0]
    across, down = (kept[_TILE_WIDTH][0], kept[_TILE_HEIGHT][0]) if tiled else (width, kept[_STRIP_ROWS][0])
    if not (0 < across < 1 << 16 or across == width) or not 0 < down < 1 << 31 or across * down > 1 << 31:
        raise _damaged("its tiles have an impossible size")
    needed = -(-width // across) * -(-height // down)
    offsets, sizes = kept.get(places, []), kept.get(counts, [])
    if len(offsets) != needed or len(sizes) != needed:
        raise _damaged(f"it has {len(offsets):,} pieces of pixels, and needs {needed:,}")
    if any(offset + size > len(data) for offset, size in zip(offsets, sizes, strict=True)):
        raise _damaged("some of its pixels lie behind its end")
    if kept[_PACKING] == [1] and sum(sizes) < (width * kept[_BITS][0] + 7) // 8 * height:
        raise _damaged("it holds too few bytes for so many pixels")
