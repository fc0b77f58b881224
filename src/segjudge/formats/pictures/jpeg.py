"""JPEG: the segments before the pixels read and checked, and only those decoded that pixels need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from PIL import JpegImagePlugin

from segjudge.formats.pictures.decoding import bounded, decoded
from segjudge.formats.pictures.faults import SAVE_AGAIN, PictureFault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["JPEG_MAGIC", "jpeg_colours", "jpeg_size"]

JPEG_MAGIC = b"\xff\xd8\xff"
_SCAN, _ADOBE = 0xDA, 0xEE
_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # start of frame, of whatever process
_LEFT_OUT = (set(range(0xE0, 0xF0)) | {0xFE}) - {_ADOBE}  # applications' own, EXIF among them, and comments


def jpeg_size(data: bytes) -> tuple[int, int]:
    """(height, width) as the header says; nothing is decoded."""
    frame = next((start for marker, start, _ in _segments(data) if marker in _FRAMES), len(data))
    height, width = (int.from_bytes(data[at : at + 2], "big") for at in (frame + 5, frame + 7))
    if not height or not width:
        _damaged("its header names no size")
    return height, width


def jpeg_colours(data: bytes, max_pixels: int) -> NDArray[Any]:
    """The picture (H, W, 3), never rotated."""
    bounded(*jpeg_size(data), max_pixels)
    kept = [b"\xff\xd8"]
    for marker, start, end in _segments(data):
        if marker not in _LEFT_OUT:
            kept.append(data[start:end])
    samples = decoded(JpegImagePlugin.JpegImageFile, b"".join(kept))
    if samples.ndim == 2:
        return np.repeat(samples[..., None], 3, axis=2)
    return _printed(samples) if samples.shape[2] == 4 else samples


def _printed(samples: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Inks (H, W, 4) of cyan, magenta, yellow and black as light."""
    rest = 255 - samples[..., 3:].astype(np.uint16)
    return ((255 - samples[..., :3]) * rest // 255).astype(np.uint8)


def _segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Marker, begin and end of each segment; the scan, which is the last, goes on to the file's end."""
    at = 2
    while True:
        if at + 4 > len(data):
            _damaged(f"it ends after {len(data):,} bytes, before its pixels")
        if data[at] != 0xFF:
            _damaged("its segments do not follow one another")
        marker = data[at + 1]
        if marker == 0xFF:  # fill bytes may stand before a marker
            at += 1
            continue
        end = len(data) if marker == _SCAN else at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        yield marker, at, end
        if marker == _SCAN:
            return
        at = end


def _damaged(reason: str) -> NoReturn:
    raise PictureFault("not-png", f"The JPEG is damaged: {reason}.", SAVE_AGAIN)
