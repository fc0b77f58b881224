"""Label maps and sizes out of PNGs and TIFFs, whichever it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from segjudge.formats.pictures.decoding import MAX_PIXELS, bounded
from segjudge.formats.pictures.faults import refuse_labels
from segjudge.formats.pictures.png import COLOURS, png_header, png_parts, png_samples
from segjudge.formats.pictures.tiff import TIFF_MAGICS, tiff_labels, tiff_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["picture_size", "read_label_map"]


def picture_size(data: bytes) -> tuple[int, int]:
    """(height, width) as the header of a PNG or TIFF says; nothing is decoded.

    Of a PNG the first 33 bytes are enough. Neither of both is a `PictureFault` with `not-png`.
    """
    if data.startswith(TIFF_MAGICS):
        return tiff_size(data)
    header = png_header(data)
    return header.height, header.width


def read_label_map(data: bytes, *, max_pixels: int = MAX_PIXELS) -> NDArray[Any]:
    """The numbers of a label map, (height, width), as the file stores them: uint8, uint16 or int32.

    PNG or TIFF with one channel of 1 to 16 bits (TIFF: up to 32). Of a palette picture the numbers are
    the indices. Orientation tags are not applied.

    `PictureFault` has the code `not-png`, `bad-image-mode` or `too-large-unpacked`.
    """
    if data.startswith(TIFF_MAGICS):
        return tiff_labels(data, max_pixels)
    header = png_header(data)
    bounded(header.height, header.width, max_pixels)
    if header.colour not in {0, 3}:
        refuse_labels(f"The picture is {COLOURS[header.colour]}; a label map has one channel.")
    return png_samples(header, png_parts(data, header))
