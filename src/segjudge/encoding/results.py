"""Rows as COCO's results: a list in JSON, an entry a line."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from segjudge.masks import Masks
    from segjudge.task import ResultsForm

__all__ = ["ResultsTarget", "run_lengths"]

_MOST_DIGITS = 18


class ResultsTarget:
    """Writes each row as an object; its cells are text, the last of them JSON already."""

    def __init__(self, file: IO[bytes], form: ResultsForm) -> None:
        self._file = file
        self._names = tuple(form.columns)
        self._open = "["

    def row(self, cells: Sequence[str]) -> None:
        """Add a result."""
        image = cells[0] if _is_number(cells[0]) else json.dumps(cells[0])
        values = zip(self._names, [image, *cells[1:]], strict=True)
        body = ", ".join(f'"{name}": {value}' for name, value in values)
        self._file.write(f"{self._open}{{{body}}}".encode())
        self._open = ",\n"

    def picture(self, image: str, mask: NDArray[np.bool_]) -> None:
        """Nothing: results hold no pictures."""
        raise TypeError(f"results hold no pictures ({image}, {mask.shape})")

    def finish(self) -> None:
        """Close the list."""
        self._file.write(b"[]\n" if self._open == "[" else b"]\n")

    def abandon(self) -> None:
        """Leave it as it is: nobody will see it."""


def run_lengths(masks: Masks) -> list[str]:
    """The masks, in column order, as JSON objects of size and compressed counts."""
    from segjudge.codecs import CocoRle  # noqa: PLC0415 - other tasks' writers need no COCO

    texts = CocoRle().compress(masks)
    return [
        json.dumps({"size": size, "counts": text})
        for size, text in zip(masks.shapes.tolist(), texts, strict=True)
    ]


def _is_number(image: str) -> bool:
    """Whether an id is written as a number, which reads back as the same id."""
    digits = image.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS and str(int(image)) == image
