"""Mask pictures and label maps: PNG and TIFF, the header first, nothing decoded before its size is known.

Pillow's decoders do the decoding, but never see a participant's file. What it holds is read here chunk
by chunk and tag by tag, checked, and written again with only what the pixels need: no text, profiles,
animation or EXIF, so that no rotation is applied, no warning leaks and no bound of Pillow, which is one
for the whole process, has to be moved. A palette is kept out too: the decoder always delivers the
numbers as stored.
"""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from PIL import Image, ImageFile, PngImagePlugin, TiffImagePlugin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

__all__ = ["MAX_PIXELS", "MaskPicture", "PictureFault", "picture_size", "read_label_map", "read_mask"]

#: Pictures with more pixels are refused unless the caller knows better.
MAX_PIXELS = 1 << 28

_SAVE_MASK = "Save the mask as an 8-bit grayscale PNG with 0 and 255 only."
_SAVE_LABELS = "Save the numbers as a grayscale PNG of 8 or 16 bits, or as a TIFF of 8, 16 or 32 bits."
_AS_PNG = "Save the original numbers as a PNG; a new file name changes nothing inside."
_SAVE_AGAIN = "Write the file again and compare its size with the original's."


class PictureFault(Exception):  # noqa: N818 - a fault of a file, which callers turn into a finding
    """A picture cannot be used: `code`, `message` and `advice` of a finding."""

    def __init__(self, code: str, message: str, advice: str = "") -> None:
        super().__init__(code, message, advice)
        self.code = code
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.code}: {self.message} {self.advice}".rstrip()


@dataclass(frozen=True, slots=True)
class MaskPicture:
    """A mask as read from a PNG."""

    pixels: NDArray[np.bool_]  # (height, width), True is foreground
    warning: tuple[str, str, str] | tuple[()] = ()  # code, message, advice


def picture_size(data: bytes) -> tuple[int, int]:
    """(height, width) as the header of a PNG or TIFF says; nothing is decoded.

    Of a PNG the first 33 bytes are enough. Neither of both is a `PictureFault` with `not-png`.
    """
    if data.startswith(_TIFF_MAGICS):
        tags = _tiff_tags(data)
        return _tiff_number(tags, _HEIGHT), _tiff_number(tags, _WIDTH)
    header = _png_header(data)
    return header.height, header.width


def read_mask(data: bytes, *, binarize: int | None = None, max_pixels: int = MAX_PIXELS) -> MaskPicture:
    """The mask that a PNG holds: 255 is foreground and 0 is not.

    The page: a binary mask "där pixlarna som motsvarar emojis är 255 (vit) och bakgrunden är 0
    (svart)". 1-bit, palette, RGB and opaque alpha pictures count by their gray value. With `binarize`
    values from that number on are foreground and the mask carries a warning; 0 and 1 stay an error.

    `PictureFault` has the code `not-png`, `bad-image-mode`, `mask-not-binary` or `too-large-unpacked`.
    """
    header = _png_header(data)
    _bounded(header.height, header.width, max_pixels)
    parts = _png_parts(data, header)
    if header.depth == 16:
        raise PictureFault("bad-image-mode", "The picture has 16 bits per channel, not 8.", _SAVE_MASK)
    gray, colours = _gray(_png_samples(header, parts), header, parts)
    if not colours and not _strays(gray):
        return MaskPicture(gray != 0)
    values = _values(gray)
    listed = _listed(colours or [value for value in sorted(values) if value not in {0, 255}])
    if not colours and values <= {0, 1}:
        raise PictureFault(
            "mask-not-binary", "The pixels are 0 and 1, not 0 and 255.", "Multiply the mask by 255."
        )
    if binarize is None:
        message = f"The pixels hold {listed}, where only 0 and 255 are allowed."
        raise PictureFault("mask-not-binary", message, _advice(values, colours=bool(colours)))
    return MaskPicture(
        gray >= binarize,
        (
            "mask-not-binary",
            f"The pixels hold {listed} besides 0 and 255; {binarize} and above was taken as foreground.",
            _advice(values, colours=bool(colours)),
        ),
    )


def read_label_map(data: bytes, *, max_pixels: int = MAX_PIXELS) -> NDArray[Any]:
    """The numbers of a label map, (height, width), as the file stores them: uint8, uint16 or int32.

    PNG or TIFF with one channel of 1 to 16 bits (TIFF: up to 32). Of a palette picture the numbers are
    the indices. Orientation tags are not applied.

    `PictureFault` has the code `not-png`, `bad-image-mode` or `too-large-unpacked`.
    """
    if data.startswith(_TIFF_MAGICS):
        return _tiff_labels(data, max_pixels)
    header = _png_header(data)
    _bounded(header.height, header.width, max_pixels)
    if header.colour not in {0, 3}:
        _refuse_labels(f"The picture is {_COLOURS[header.colour]}; a label map has one channel.")
    return _png_samples(header, _png_parts(data, header))


def _bounded(height: int, width: int, max_pixels: int) -> None:
    if height * width > max_pixels:
        raise PictureFault(
            "too-large-unpacked",
            f"The header says {height:,} × {width:,} pixels (height × width); the limit is {max_pixels:,}.",
            "Save the picture in the size of its image.",
        )


def _refuse_labels(message: str) -> NoReturn:
    raise PictureFault("bad-image-mode", message, _SAVE_LABELS)


# --- values of a mask -------------------------------------------------------------------------------


def _gray(
    samples: NDArray[Any], header: _Header, parts: _Parts
) -> tuple[NDArray[np.uint8], list[tuple[int, ...]]]:
    """Gray values (height, width), and up to nine colours whose channels differ."""
    if header.colour in {4, 6}:
        if (samples[..., -1] != 255).any():
            _refuse_transparency()
        samples = samples[..., :-1]
    if samples.ndim == 3 and samples.shape[2] == 1:
        return samples[..., 0], []
    if samples.ndim == 3:
        return _gray_of_colours(samples, parts.transparent)
    if header.colour == 3:
        return _gray_of_palette(samples, sorted(_values(samples)), parts)
    if len(parts.transparent) >= 2 and (samples == _short(parts.transparent) % (1 << header.depth)).any():
        _refuse_transparency()
    steps = np.uint8(255 // ((1 << header.depth) - 1))
    return samples * steps if header.depth < 8 else samples, []


def _gray_of_colours(
    samples: NDArray[np.uint8], transparent: bytes
) -> tuple[NDArray[np.uint8], list[tuple[int, ...]]]:
    if len(transparent) >= 6:
        clear = np.array([transparent[1], transparent[3], transparent[5]], np.uint8)
        if (samples == clear).all(axis=2).any():
            _refuse_transparency()
    red, green, blue = samples[..., 0], samples[..., 1], samples[..., 2]
    coloured = (red != green) | (green != blue)
    if not coloured.any():
        return red, []
    some = samples[coloured][: 1 << 20]
    colours = [tuple(map(int, colour)) for colour in np.unique(some, axis=0)[:9]]
    return _brightness(samples), colours


def _gray_of_palette(
    samples: NDArray[np.uint8], used: list[int], parts: _Parts
) -> tuple[NDArray[np.uint8], list[tuple[int, ...]]]:
    palette = np.frombuffer(parts.palette, np.uint8).reshape(-1, 3)
    if used[-1] >= len(palette):
        _corrupt(f"pixels use colour {used[-1]} of a palette with {len(palette)}")
    if any(alpha != 255 for index, alpha in enumerate(parts.transparent) if index in used):
        _refuse_transparency()
    colours = [tuple(map(int, palette[index])) for index in used]
    uneven = [colour for colour in colours if len(set(colour)) > 1]
    table = np.zeros(256, np.uint8)
    table[: len(palette)] = np.where(np.ptp(palette, axis=1) == 0, palette[:, 0], _brightness(palette))
    return table[samples], sorted(set(uneven))[:9]


def _brightness(colours: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Gray values of colours by ITU-R 601, in whole numbers, as Pillow and OpenCV take them."""
    red, green, blue = (colours[..., channel].astype(np.uint32) for channel in range(3))
    return ((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16).astype(np.uint8)


def _strays(gray: NDArray[np.uint8]) -> bool:
    """True where any value is neither 0 nor 255: one more makes them 1 and 0."""
    return bool((gray + np.uint8(1) > 1).any())


def _values(samples: NDArray[np.uint8]) -> set[int]:
    """The values that occur, counted in pieces so that the counts stay small."""
    flat = np.ravel(samples)
    seen = np.zeros(256, np.int64)
    for start in range(0, flat.size, 1 << 20):
        seen += np.bincount(flat[start : start + (1 << 20)], minlength=256)
    return set(map(int, np.flatnonzero(seen)))


def _listed(values: list[Any]) -> str:
    """Up to eight values in words."""
    kind = "the colours " if values and isinstance(values[0], tuple) else ""
    return kind + ", ".join(map(str, values[:8])) + (", …" if len(values) > 8 else "")


def _advice(values: set[int], *, colours: bool) -> str:
    if colours:
        return "Write 255 where the emoji is and 0 elsewhere, not a colour per class, in one channel."
    if len(values) <= 2:
        return "Write 255 where the emoji is and 0 elsewhere: (mask > 0) * 255 as 8-bit numbers."
    return (
        "Threshold before saving, (mask >= 128) * 255 as 8-bit numbers; resize masks with nearest "
        "neighbour only, and never pass them through JPEG."
    )


def _refuse_transparency() -> NoReturn:
    raise PictureFault(
        "bad-image-mode",
        "Some pixels are transparent, so that they have no certain value.",
        "Save the mask without an alpha channel, as an 8-bit grayscale PNG.",
    )


# --- PNG --------------------------------------------------------------------------------------------

_PNG = b"\x89PNG\r\n\x1a\n"
_COLOURS = {0: "gray", 2: "in colour (RGB)", 3: "a palette", 4: "gray with alpha", 6: "in colour with alpha"}
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
class _Header:
    """What a PNG's first chunk says."""

    height: int
    width: int
    depth: int  # bits per channel
    colour: int  # PNG's colour type
    interlaced: int  # 0 or 1


@dataclass(frozen=True, slots=True)
class _Parts:
    """What else of a PNG counts."""

    palette: bytes  # three bytes per colour
    transparent: bytes  # the tRNS chunk
    packed: bytes  # the pixels, compressed


def _corrupt(reason: str) -> NoReturn:
    raise PictureFault("not-png", f"The PNG is damaged: {reason}.", _SAVE_AGAIN)


def _png_header(data: bytes) -> _Header:
    if not data.startswith(_PNG):
        kind = _kind(data)
        raise PictureFault("not-png", f"The file is {kind}, whatever its name says.", _AS_PNG)
    if len(data) < 33:
        _corrupt(f"it ends after {len(data)} bytes")
    length, name, width, height, depth, colour, method, filters, interlaced = struct.unpack_from(
        ">L4s2L5B", data, 8
    )
    if (length, name) != (13, b"IHDR"):
        _corrupt("it does not begin with its header")
    if zlib.crc32(data[12:29]) != struct.unpack_from(">L", data, 29)[0]:
        _corrupt("the checksum of its header is wrong")
    if not (0 < width < 1 << 31 and 0 < height < 1 << 31):
        _corrupt(f"its size is {height} × {width}")
    if depth not in _DEPTHS.get(colour, ()) or method or filters or interlaced > 1:
        _corrupt("its header holds numbers that PNG does not know")
    return _Header(height, width, depth, colour, interlaced)


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


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Names and contents of the chunks after the header; checksums of the critical ones hold."""
    at = 33
    while True:
        if at + 12 > len(data):
            _corrupt(f"it ends after {len(data):,} bytes, before its last chunk")
        length = int.from_bytes(data[at : at + 4], "big")
        name, end = data[at + 4 : at + 8], at + 8 + length
        if end + 4 > len(data):
            _corrupt(f"it ends after {len(data):,} bytes, inside a chunk")
        if not name[0] & 0x20 and zlib.crc32(data[at + 4 : end]) != int.from_bytes(
            data[end : end + 4], "big"
        ):
            _corrupt("the checksum of a chunk is wrong")
        yield name, data[at + 8 : end]
        if name == b"IEND":
            return
        at = end + 4


def _png_parts(data: bytes, header: _Header) -> _Parts:
    """Palette, transparency and packed pixels of a PNG that is whole."""
    palette = transparent = b""
    packed: list[bytes] = []
    last = b""
    for name, content in _png_chunks(data):
        if name == b"acTL":
            raise PictureFault("bad-image-mode", "The PNG is an animation.", "Save one still picture.")
        if name == b"IDAT":
            if packed and last != b"IDAT":
                _corrupt("its pixels stand in two places")
            packed.append(content)
        elif name == b"PLTE":
            palette = content
        elif name == b"tRNS" and not packed:
            transparent = content
        elif not name[0] & 0x20 and name != b"IEND":
            _corrupt("it holds a chunk that PNG does not know")
        last = name
    if header.colour == 3 and (not palette or len(palette) % 3 or len(palette) > 768):
        _corrupt("its palette is missing or has a wrong length")
    parts = _Parts(palette, transparent, b"".join(packed))
    rows = (header.width * header.depth * _CHANNELS[header.colour] + 7) // 8 * header.height
    if rows > len(parts.packed) * 1040:  # Deflate packs 1,032 bytes into one at best
        _corrupt("it holds too few bytes for so many pixels")
    return parts


def _png_samples(header: _Header, parts: _Parts) -> NDArray[Any]:
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
    samples = _decoded(PngImagePlugin.PngImageFile, again)
    if header.depth in {2, 4}:  # the decoder spreads them over 0 to 255
        samples = samples // np.uint8(255 // ((1 << header.depth) - 1))
    if header.depth == 16:
        return samples.astype(np.uint16, copy=False)
    return samples


def _decoded(reader: type[ImageFile.ImageFile], again: bytes) -> NDArray[Any]:
    """What Pillow decodes, as an array of its own; bytes that do not decode are a `PictureFault`."""
    try:
        with reader(io.BytesIO(again)) as picture:
            picture.load()
            samples = np.asarray(picture)
    except (SyntaxError, OSError, ValueError, OverflowError, EOFError, struct.error, zlib.error) as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise PictureFault(
            "not-png", f"The picture is damaged: its pixels cannot be decoded ({reason}).", _SAVE_AGAIN
        ) from error
    except MemoryError as error:
        raise PictureFault("too-large-unpacked", "The picture does not fit into memory.") from error
    return samples.astype(np.uint8) if samples.dtype == np.bool_ else samples


def _short(data: bytes) -> int:
    return int.from_bytes(data[:2], "big")


# --- TIFF -------------------------------------------------------------------------------------------

_TIFF_MAGICS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_WIDTH, _HEIGHT, _BITS, _PACKING, _PHOTOMETRIC, _FILL = 256, 257, 258, 259, 262, 266
_STRIPS, _CHANNEL_COUNT, _STRIP_ROWS, _STRIP_BYTES = 273, 277, 278, 279
_PREDICTOR, _TILE_WIDTH, _TILE_HEIGHT, _TILES, _TILE_BYTES, _FORMAT = 317, 322, 323, 324, 325, 339

#: What the decoder needs besides the size, with what is meant where a tag is missing.
_TIFF_DEFAULTS: Mapping[int, int] = {_BITS: 1, _PACKING: 1, _PREDICTOR: 1, _CHANNEL_COUNT: 1, _FORMAT: 1}
_TIFF_TYPES = {1: "B", 3: "H", 4: "L", 13: "L", 16: "Q"}
_TIFF_PACKINGS = {1, 5, 8, 32773, 32946}  # none, LZW, Deflate, PackBits, Deflate by its old number


class _TiffReader(TiffImagePlugin.TiffImageFile):
    """Pillow's reader without its process-wide bound and without rotation, which are dealt with here."""

    def load_prepare(self) -> None:
        self.im = Image.new(self.mode, self.size).im
        ImageFile.ImageFile.load_prepare(self)

    def load_end(self) -> None:
        """Nothing is rotated."""


def _tiff_tags(data: bytes) -> dict[int, list[int]]:
    """The whole-number tags of a TIFF's first page; a second page is refused."""
    try:
        return _tiff_directory(data)
    except struct.error as error:
        raise _damaged_tiff("it ends before its directory does") from error


def _damaged_tiff(reason: str) -> PictureFault:
    return PictureFault("not-png", f"The TIFF is damaged: {reason}.", _SAVE_AGAIN)


def _tiff_directory(data: bytes) -> dict[int, list[int]]:
    order = "<" if data.startswith(b"II") else ">"
    big = 43 in data[2:4]
    place, count_form, offset_form, width = (8, "Q", "Q", 8) if big else (4, "H", "L", 4)
    (start,) = struct.unpack_from(order + offset_form, data, place)
    (entries,) = struct.unpack_from(order + count_form, data, start)
    at = start + struct.calcsize(order + count_form)
    line = struct.Struct(f"{order}HH{offset_form}")
    if at + entries * (line.size + width) + width > len(data):
        raise _damaged_tiff("it ends before its directory does")
    tags: dict[int, list[int]] = {}
    for _ in range(entries):
        tag, kind, count = line.unpack_from(data, at)
        form = _TIFF_TYPES.get(kind)
        if form is not None and count and tag in _TIFF_KNOWN:
            size = count * struct.calcsize(order + form)
            where = at + line.size
            if size > width:
                (where,) = struct.unpack_from(order + offset_form, data, where)
            if where + size > len(data):
                raise _damaged_tiff(f"tag {tag} points behind its end")
            tags[tag] = list(struct.unpack_from(f"{order}{count}{form}", data, where))
        at += line.size + width
    (following,) = struct.unpack_from(order + offset_form, data, at)
    if following:
        _refuse_labels("The TIFF has several pages; a label map is one.")
    return tags


_TIFF_KNOWN = {
    *(_WIDTH, _HEIGHT, _FILL, _STRIPS, _STRIP_ROWS, _STRIP_BYTES, _TILE_WIDTH, _TILE_HEIGHT, _TILES),
    *(_TILE_BYTES, _PHOTOMETRIC),
    *_TIFF_DEFAULTS,
}


def _tiff_number(tags: dict[int, list[int]], tag: int) -> int:
    """The one number of a tag; sizes must be there and be positive."""
    values = tags.get(tag) or [_TIFF_DEFAULTS.get(tag, 0)]
    if tag in {_WIDTH, _HEIGHT} and not 0 < values[0] < 1 << 31:
        raise _damaged_tiff("its size is missing")
    return values[0]


def _tiff_labels(data: bytes, max_pixels: int) -> NDArray[Any]:
    tags = _tiff_tags(data)
    height, width = _tiff_number(tags, _HEIGHT), _tiff_number(tags, _WIDTH)
    _bounded(height, width, max_pixels)
    bits, numbers = _tiff_number(tags, _BITS), _tiff_number(tags, _FORMAT)
    if _tiff_number(tags, _CHANNEL_COUNT) != 1 or len(tags.get(_BITS, [1])) != 1:
        _refuse_labels(f"The TIFF has {_tiff_number(tags, _CHANNEL_COUNT)} channels; a label map has one.")
    if numbers not in {1, 2} or bits not in {1, 2, 4, 8, 16, 32}:
        kind = {1: "whole", 2: "signed whole", 3: "floating-point"}.get(numbers, "unknown")
        _refuse_labels(f"The TIFF holds {kind} numbers of {bits} bits.")
    if _tiff_number(tags, _PACKING) not in _TIFF_PACKINGS:
        _refuse_labels(
            f"The TIFF is packed by method {_tiff_number(tags, _PACKING)}, which is not read here."
        )
    swapped = data.startswith(b"MM") and bits > 8
    if _tiff_number(tags, _PREDICTOR) not in ({1} if swapped else {1, 2}):
        _refuse_labels("The TIFF is packed with a predictor that is not read here.")
    samples = _decoded(_TiffReader, _tiff_again(data, tags))
    if samples.shape != (height, width):
        raise _damaged_tiff("its tiles and its size disagree")
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
        _refuse_labels("The TIFF holds negative numbers, or some that need more than 31 bits.")
    return samples


def _tiff_again(data: bytes, tags: dict[int, list[int]]) -> bytes:
    """The file with a directory of only what the decoder needs, behind its own bytes.

    Numbers are declared unsigned and gray, black is zero, the lowest byte first: the decoder then
    delivers them as stored.
    """
    kept = {tag: [_tiff_number(tags, tag)] for tag in (_WIDTH, _HEIGHT, *_TIFF_DEFAULTS)}
    kept |= {_PHOTOMETRIC: [1], _FORMAT: [1], _FILL: tags.get(_FILL, [1])[:1]}
    tiled = _TILES in tags
    places, counts = (_TILES, _TILE_BYTES) if tiled else (_STRIPS, _STRIP_BYTES)
    kept |= {tag: tags[tag] for tag in (places, counts) if tags.get(tag)}
    if tiled:
        kept |= {tag: [_tiff_number(tags, tag)] for tag in (_TILE_WIDTH, _TILE_HEIGHT)}
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
        _refuse_labels("The TIFF has more than 2 GiB.")
    if any(max(kept[tag]) > 0xFFFF for tag in (_BITS, _PACKING, _PREDICTOR)):
        raise _damaged_tiff("a tag holds an impossible number")
    height, width = kept[_HEIGHT][0], kept[_WIDTH][0]
    across, down = (kept[_TILE_WIDTH][0], kept[_TILE_HEIGHT][0]) if tiled else (width, kept[_STRIP_ROWS][0])
    if not (0 < across < 1 << 16 or across == width) or not 0 < down < 1 << 31 or across * down > 1 << 31:
        raise _damaged_tiff("its tiles have an impossible size")
    needed = -(-width // across) * -(-height // down)
    offsets, sizes = kept.get(places, []), kept.get(counts, [])
    if len(offsets) != needed or len(sizes) != needed:
        raise _damaged_tiff(f"it has {len(offsets):,} pieces of pixels, and needs {needed:,}")
    if any(offset + size > len(data) for offset, size in zip(offsets, sizes, strict=True)):
        raise _damaged_tiff("some of its pixels lie behind its end")
    if kept[_PACKING] == [1] and sum(sizes) < (width * kept[_BITS][0] + 7) // 8 * height:
        raise _damaged_tiff("it holds too few bytes for so many pixels")
