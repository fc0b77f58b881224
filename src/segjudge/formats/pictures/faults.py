"""What can be wrong with a picture, as the code, message and advice of a finding."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["SAVE_AGAIN", "PictureFault", "refuse_labels"]

#: Advice for a picture whose bytes are damaged.
SAVE_AGAIN = "Write the file again and compare its size with the original's."
_SAVE_LABELS = "Save the numbers as a grayscale PNG of 8 or 16 bits, or as a TIFF of 8, 16 or 32 bits."


class PictureFault(Exception):  # noqa: N818 - a fault of a file, which callers turn into a finding
    """A picture cannot be used: `code`, `message` and `advice` of a finding."""

    def __init__(self, code: str, message: str, advice: str = "") -> None:
        super().__init__(code, message, advice)
        self.code = code
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.code}: {self.message} {self.advice}".rstrip()


def refuse_labels(message: str) -> NoReturn:
    """Nothing; what cannot be a label map is a `PictureFault`."""
    raise PictureFault("bad-image-mode", message, _SAVE_LABELS)
