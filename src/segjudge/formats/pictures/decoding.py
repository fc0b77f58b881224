"""The last step of reading: Pillow decodes what was checked and written again, within a bound of pixels.

Pillow's decoders never see a participant's file: text, profiles, animation, EXIF and palettes are left
out, so that no rotation is applied, no warning leaks and no bound of Pillow, which is one for the whole
process, has to be moved.
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from segjudge.formats.pictures.faults import SAVE_AGAIN, PictureFault

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import ImageFile

__all__ = ["MAX_PIXELS", "bounded", "decoded"]

#: Pictures with more pixels are refused unless the caller knows better.
MAX_PIXELS = 1 << 28


def bounded(height: int, width: int, max_pixels: int) -> None:
    """Nothing; a picture of too many pixels is a `PictureFault`."""
    if height * width > max_pixels:
        raise PictureFault(
            "too-large-unpacked",
            f"The header says {height:,} × {width:,} pixels (height × width); the limit is {max_pixels:,}.",
            "Save the picture in the size of its image.",
        )


def decoded(reader: type[ImageFile.ImageFile], again: bytes) -> NDArray[Any]:
    """What Pillow decodes, as an array of its own; bytes that do not decode are a `PictureFault`."""
    try:
        with reader(io.BytesIO(again)) as picture:
            picture.load()
            samples = np.asarray(picture)
    except (SyntaxError, OSError, ValueError, OverflowError, EOFError, struct.error, zlib.error) as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise PictureFault(
            "not-png", f"The picture is damaged: its pixels cannot be decoded ({reason}).", SAVE_AGAIN
        ) from error
    except MemoryError as error:
        raise PictureFault("too-large-unpacked", "The picture does not fit into memory.") from error
    return samples.astype(np.uint8) if samples.dtype == np.bool_ else samples
