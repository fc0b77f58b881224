"""Masks out of PNGs: whatever the mode, a pixel is black or white or a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from segjudge.formats.pictures.decoding import MAX_PIXELS, bounded
from segjudge.formats.pictures.faults import PictureFault
from segjudge.formats.pictures.png import corrupt, png_header, png_parts, png_samples
from segjudge.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segjudge.formats.pictures.png import Header, Parts

__all__ = ["MaskPicture", "read_mask"]

_SAVE_MASK = "Save the mask as an 8-bit grayscale PNG with 0 and 255 only."


@dataclass(frozen=True, slots=True)
class MaskPicture:
    """A mask as read from a PNG."""

    pixels: NDArray[np.bool_]  # (height, width), True is foreground
    warning: tuple[str, str, str] | tuple[()] = ()  # code, message, advice


def read_mask(data: bytes, *, binarize: int | None = None, max_pixels: int = MAX_PIXELS) -> MaskPicture:
    """The mask that a PNG holds: 255 is foreground and 0 is not.

    The page: a binary mask "där pixlarna som motsvarar emojis är 255 (vit) och bakgrunden är 0
    (svart)". 1-bit, palette, RGB and opaque alpha pictures count by their gray value. With `binarize`
    values from that number on are foreground and the mask carries a warning; 0 and 1 stay an error.

    `PictureFault` has the code `not-png`, `bad-image-mode`, `mask-not-binary` or `too-large-unpacked`.
    """
    header = png_header(data)
    bounded(header.height, header.width, max_pixels)
    parts = png_parts(data, header)
    if header.depth == 16:
        raise PictureFault("bad-image-mode", "The picture has 16 bits per channel, not 8.", _SAVE_MASK)
    gray, colours = _gray(png_samples(header, parts), header, parts)
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


def _gray(
    samples: NDArray[Any], header: Header, parts: Parts
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
    if len(parts.transparent) >= 2:
        clear = int.from_bytes(parts.transparent[:2], "big") % (1 << header.depth)
        if (samples == clear).any():
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
    samples: NDArray[np.uint8], used: list[int], parts: Parts
) -> tuple[NDArray[np.uint8], list[tuple[int, ...]]]:
    palette = np.frombuffer(parts.palette, np.uint8).reshape(-1, 3)
    if used[-1] >= len(palette):
        corrupt(f"pixels use colour {used[-1]} of a palette with {len(palette)}")
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
