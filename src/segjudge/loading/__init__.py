"""Truths, submissions and lists of images, opened and indexed: the rim's answer to a path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from segjudge.loading.opened import (
    Opened,
    Submission,
    Truth,
    as_submission,
    as_truth,
    read_submission,
    read_truth,
)

if TYPE_CHECKING:
    from segjudge.loading.manifest import read_images

__all__ = [
    "Opened",
    "Submission",
    "Truth",
    "as_submission",
    "as_truth",
    "read_images",
    "read_submission",
    "read_truth",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the one name above that few scores need
    if name != "read_images":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from segjudge.loading.manifest import read_images  # noqa: PLC0415 - see above

    globals()[name] = read_images
    return read_images
