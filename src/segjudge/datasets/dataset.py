"""A dataset: images by place, each read from its file when it is asked for."""

from __future__ import annotations

import hashlib
from dataclasses import field
from typing import TYPE_CHECKING

from segjudge.errors import UsageError
from segjudge.formats.pictures import PictureFault, colour_size, read_colours
from segjudge.records import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from segjudge.datasets.truths import Labels, Truths

__all__ = ["Dataset"]

_HEAD = 1 << 16  # bytes that hold a picture's size, unless a camera wrote much before it
_ENDS = 1 << 13  # bytes at each end of a file that its fingerprint is made from
_TABLES = (".csv", ".json", ".parquet", ".gz", ".zip")


@dataclass(frozen=True, slots=True)
class Dataset:
    """N images with their truth, or without; nothing but names is kept in memory.

    Datasets can be pickled, so that a worker process reads for itself.
    """

    task_id: str
    image_ids: tuple[str, ...]
    groups: tuple[str, ...]  # the clip of each image where neighbouring frames leak, else the image's id
    notes: tuple[str, ...]  # for people: what was left out, and why
    folder: Path = field(repr=False)
    files: tuple[Path, ...] = field(repr=False)  # (N,) the picture of each image
    truth_files: tuple[Path, ...] = field(default=(), repr=False)
    truths: Truths | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        groups = len(set(self.groups))
        parts = f" in {groups} groups" if groups < len(self) else ""
        return (
            f"Dataset({self.task_id}: {len(self)} images{parts}, {'' if self.labelled else 'not '}labelled)"
        )

    def __len__(self) -> int:
        return len(self.image_ids)

    @property
    def labelled(self) -> bool:
        """Whether the images have truth."""
        return self.truths is not None

    def picture(self, place: int) -> NDArray[np.uint8]:
        """The picture (H, W, 3) in red, green and blue: EXIF rotation not applied, alpha dropped.

        Raises UsageError for a file that cannot be read.
        """
        try:
            return read_colours(self.files[place].read_bytes())
        except (PictureFault, OSError) as fault:
            raise _unreadable(self.files[place], fault) from fault

    def shape(self, place: int) -> tuple[int, int]:
        """Height and width of an image, from its file's header; raises UsageError as `picture` does."""
        path = self.files[place]
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD)
            try:
                return colour_size(head)
            except PictureFault:
                return colour_size(path.read_bytes())
        except (PictureFault, OSError) as fault:
            raise _unreadable(path, fault) from fault

    def truth(self, place: int) -> Labels | NDArray[np.bool_]:
        """The instances of an image as `Labels`; of a semantic task its planes (H, W, C), in the classes' order.

        Where true instances overlap, the later wins. Raises UsageError where the dataset has no truth, and
        TruthError where it is at fault.
        """
        if self.truths is None:
            raise UsageError(f"The images in {self.folder} have no truth.", "Open them with their truth.")
        return self.truths.of(place, self.shape(place))

    def picture_mark(self, place: int) -> bytes:
        """A hash of an image's id and file, made as `fingerprint` makes it: another picture has another."""
        return hashlib.sha256(self.image_ids[place].encode() + b"\0" + _ends(self.files[place])).digest()

    def fingerprint(self) -> str:
        """SHA-256 over ids, groups, and of every file its name, size and ends; times do not count.

        Tables and small files count whole. Of larger pictures the first and last 8 KiB do, where header and
        checksums stand, so that a set of some ten gigabytes takes seconds.
        """
        total = hashlib.sha256()
        for image, group in zip(self.image_ids, self.groups, strict=True):
            total.update(f"{image}\0{group}\n".encode())
        for path in (*self.files, *self.truth_files):
            total.update(f"{path.relative_to(self.folder).as_posix()}\0".encode("utf-8", "surrogateescape"))
            total.update(_ends(path))
        return "sha256:" + total.hexdigest()


def _ends(path: Path) -> bytes:
    """A hash of a file's size and of its first and last bytes, or of all bytes of a table."""
    size = path.stat().st_size
    part = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        if path.suffix.lower() in _TABLES:
            part.update(hashlib.file_digest(file, "sha256").digest())
            return part.digest()
        part.update(file.read(_ENDS))
        file.seek(max(file.tell(), size - _ENDS))
        part.update(file.read(_ENDS))
    return part.digest()


def _unreadable(path: Path, fault: PictureFault | OSError) -> UsageError:
    if isinstance(fault, PictureFault):
        return UsageError(f"{path}: {fault.message}", fault.advice)
    return UsageError(f"{path} cannot be read: {fault.strerror}.", "Check the file and its permissions.")
