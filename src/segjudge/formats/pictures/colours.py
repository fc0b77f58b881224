"""Pictures to look at: PNG and JPEG as red, green and blue of 8 bits, as stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from segjudge.formats.pictures.decoding import MAX_PIXELS, bounded
from segjudge.formats.pictures.jpeg import JPEG_MAGIC, jpeg_colours, jpeg_size
from segjudge.formats.pictures.png import corrupt, png_header, png_parts, png_samples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segjudge.formats.pictures.png import Header, Parts

__all__ = ["colour_size", "read_colours"]


def read_colours(data: bytes, *, max_pixels: int = MAX_PIXELS) -> NDArray[np.uint8]:
    """The picture (H, W, 3) in a PNG or JPEG: gray is repeated, alpha dropped, 16 bits become 8.

    Transparent pixels keep their colour, EXIF rotation is not applied: truth counts pixels as they are
    stored. The header is checked before anything is decoded. `PictureFault` has the code `not-png`,
     `bad-image-mode` or `too-large-unpacked`.
    """
    if data.startswith(JPEG_MAGIC):
        return jpeg_colours(data, max_pixels)
    header = png_header(data)
    bounded(header.height, header.width, max_pixels)
    parts = png_parts(data, header)
    return _three(_eight_bits(png_samples(header, parts), header), header, parts)


def colour_size(data: bytes) -> tuple[int, int]:
    """(height, width) as the header of a PNG or JPEG says; nothing is decoded."""
    if data.startswith(JPEG_MAGIC):
        return jpeg_size(data)
    header = png_header(data)
    return header.height, header.width


def _eight_bits(samples: NDArray[Any], header: Header) -> NDArray[np.uint8]:
    """The samples over 0 to 255; a palette's indices stay."""
    if samples.dtype == np.uint16:
        return (samples >> 8).astype(np.uint8)
    if header.colour == 0 and header.depth < 8:
        return samples * np.uint8(255 // ((1 << header.depth) - 1))
    return samples


def _three(samples: NDArray[np.uint8], header: Header, parts: Parts) -> NDArray[np.uint8]:
    if header.colour == 3:
        palette = np.frombuffer(parts.palette, np.uint8).reshape(-1, 3)
        most = int(samples.max(initial=0))
        if most >= len(palette):
            corrupt(f"pixels use colour {most} of a palette with {len(palette)}")
        return palette[samples]
    if header.colour in {4, 6}:
        samples = samples[..., :-1]
    if samples.ndim == 2:
        samples = samples[..., None]
    return np.ascontiguousarray(np.broadcast_to(samples, (*samples.shape[:2], 3)))
