"""Text and arrays to masks and back: the run-length dialects of the pages, and COCO's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from segjudge.codecs.explaining import Problem
from segjudge.codecs.rle import Rle, Scratch

if TYPE_CHECKING:
    from segjudge.codecs.coco import CocoRle, counts_from_text

__all__ = ["CocoRle", "Problem", "Rle", "Scratch", "counts_from_text"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - COCO's names above, which tables do not need
    if name not in {"CocoRle", "counts_from_text"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from segjudge.codecs import coco  # noqa: PLC0415 - see above

    value = getattr(coco, name)
    globals()[name] = value
    return value
