"""A valid submission in which nothing is predicted: the form to start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segjudge.encoding.writer import write_submission
from segjudge.errors import UsageError
from segjudge.task import ArchiveForm

if TYPE_CHECKING:
    from pathlib import Path

    from segjudge.images import Images
    from segjudge.task import Task

__all__ = ["write_sample"]


def write_sample(task: Task, path: str | Path, images: Images) -> None:
    """Write the empty submission for these images; raises UsageError where pictures have no known size."""
    if isinstance(task.submission, ArchiveForm) and (images.shapes < 0).any():
        raise UsageError("An empty mask needs to know its size.", "Give Height and Width of every image.")
    with write_submission(task, path, images):
        pass
