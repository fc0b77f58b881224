"""The forms in which submissions and truths come."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - read at run time: a field's type is its grammar
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, Literal

from segjudge.records import dataclass

if TYPE_CHECKING:
    from segjudge.codecs import Rle

__all__ = ["ArchiveForm", "ResultsForm", "Role", "TableForm", "TruthForm"]

GIGABYTE = 1 << 30

Role = Literal["image", "image-class", "class", "confidence", "pixel-count", "runs", "file"]
Strictness = Literal["error", "warn"]


@dataclass(frozen=True, slots=True)
class TableForm:
    """A submission that is one table, a row per instance or per mask."""

    columns: Mapping[str, str]  # header name to role, in the file's order
    order: Literal["row", "column"]
    origin: Literal[0, 1]
    between: str
    after: str
    unsorted: Strictness
    overlapping: Literal["error", "allow"] | None = None
    missing: Literal["error", "empty"] | None = None
    max_unpacked: int = 8 * GIGABYTE

    settable = ("overlapping", "unsorted", "missing", "order", "origin", "max_unpacked")

    def column(self, role: str) -> str | None:
        """The header name of the column with this role."""
        return next((name for name, known in self.columns.items() if known == role), None)

    @property
    def rle(self) -> Rle:
        """The run-length dialect of the cells."""
        from segjudge.codecs import Rle  # noqa: PLC0415 - a task can be shown without numpy's weight

        return Rle(self.order, int(self.origin), self.between, self.after)


@dataclass(frozen=True, slots=True)
class ArchiveForm:
    """A submission that is a zip, a tar or a folder: a table that names pictures, and the pictures."""

    columns: Mapping[str, str]
    table: str  # file name of the table
    binarize: Literal["off", "128"]
    missing: Literal["error", "empty"]
    max_unpacked: int = 8 * GIGABYTE

    settable = ("missing", "binarize", "max_unpacked")

    def column(self, role: str) -> str | None:
        """The header name of the column with this role."""
        return next((name for name, known in self.columns.items() if known == role), None)


@dataclass(frozen=True, slots=True)
class ResultsForm:
    """A submission that is a list of results in COCO's JSON; the truth is an annotations file, with its classes."""

    max_unpacked: int = 8 * GIGABYTE

    columns: ClassVar[Mapping[str, str]] = {
        "image_id": "image",
        "category_id": "class",
        "score": "confidence",
        "segmentation": "runs",
    }
    order: ClassVar[Literal["column"]] = "column"
    missing: ClassVar[None] = None  # an image without results has no prediction
    settable = ("max_unpacked",)


@dataclass(frozen=True, slots=True)
class TruthForm:
    """The forms in which a host may give the truth."""

    columns: Mapping[str, str] = field(default_factory=dict)  # of a table; Height and Width may follow
    label_map: Literal["class-instance", "instance"] | None = None
    mask_folders: bool = False  # a folder per image with masks/*.png
    image_key: Literal["id", "file_name"] | None = None  # of COCO annotations

    settable = ("image_key",)
