"""The instances of a COCO list as a source: results and annotations alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segjudge.findings import Collector
from segjudge.formats.coco import fields
from segjudge.formats.coco.fields import Fault
from segjudge.formats.source import ByImage, Chunk, Entries
from segjudge.images import Images
from segjudge.instances import Instances
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from segjudge.formats.coco.segments import Segments
    from segjudge.formats.opening import ByteFile

__all__ = ["Columns", "EntrySource"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_ENTRY_COST = 64  # bytes of text that cost as much as what an entry costs beside its mask


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """What R entries say beside their masks."""

    entries: Integers  # (R,) place in the list, from 0
    image: Integers  # (R,) place among the source's images
    class_ids: Integers  # (R,)
    confidences: Floats | None = None  # (R,) of results
    areas: Floats | None = None  # (R,) of annotations, and of results that have boxes
    ignored: NDArray[np.bool_] | None = None  # (R,) of annotations
    crowd: NDArray[np.bool_] | None = None  # (R,) of annotations


class EntrySource:
    """Masks of a JSON list, read when their images are asked for."""

    holds_gil = False

    def __init__(
        self,
        label: str,
        place: str,
        image_ids: tuple[str, ...],
        shapes: Integers,
        columns: Columns,
        segments: Segments,
        class_names: Mapping[int, str] | None = None,
        *,
        quoted: bool = False,
    ) -> None:
        self.label = label
        self.place = place  # the list's name in the file; empty where the file is the list
        self.image_ids = image_ids
        self.shapes = shapes
        self.columns = columns
        self.segments = segments
        self.class_names = class_names  # None where the file has none of its own
        self.quoted = quoted  # whether the file has the ids of all images as texts
        self._shapes = shapes
        self._by_image = ByImage(np.zeros(0, np.int64), np.zeros(1, np.int64))
        self._ids: tuple[str, ...] = ()

    def all_entries(self) -> Entries:
        """What the entries say before any mask is read."""
        columns = self.columns
        none = np.zeros(len(columns.entries), np.bool_)
        return Entries(columns.image, columns.class_ids, columns.entries, none, "entry")

    @property
    def files(self) -> tuple[ByteFile, ...]:
        """See `Divisible`."""
        return self.segments.files

    def weights(self) -> Integers:
        """Bytes of text of each image's masks."""
        costs = self.segments.costs() + _ENTRY_COST
        images = len(self.image_ids)
        return np.bincount(self.columns.image, weights=costs, minlength=images).astype(np.int64)

    def bind(self, images: Images) -> None:
        """See `Source`."""
        self._by_image = ByImage.of(images.find(self.image_ids)[self.columns.image], len(images))
        self._shapes = images.shapes
        self._ids = images.ids

    def read(self, places: Integers, cap: int | None) -> Chunk:
        """See `Source`. The masks live until this thread reads the next chunk."""
        rows, image = self._by_image.of_images(places)
        shapes = self._shapes[places[image]]
        sizes = self.segments.sizes(rows, shapes)
        masks, faults = self.segments.read(rows, sizes)
        findings = Collector(cap)
        for place in np.flatnonzero((sizes != shapes).any(axis=1) & (shapes[:, 0] >= 0)).tolist():
            faults.append((place, _unequal(sizes[place], shapes[place])))
        ids = tuple(self._ids[place] for place in places.tolist())
        for place, fault in sorted(faults, key=lambda found: int(self.columns.entries[rows[found[0]]])):
            entry = int(self.columns.entries[rows[place]])
            fields.tell(findings, self.label, self.place, entry, fault, ids[image[place]])
        columns = self.columns
        instances = Instances.of(
            ids,
            image,
            masks,
            class_ids=columns.class_ids[rows],
            confidences=_chosen(columns.confidences, rows),
            ignored=_chosen(columns.ignored, rows),
            rows=columns.entries[rows],
            areas=_chosen(columns.areas, rows),
            crowd=_chosen(columns.crowd, rows),
        )
        return Chunk(instances, findings)

    def part(self, places: Integers, *, carried: bool) -> EntrySource:
        """See `Divisible`: the entries of these images, and the text of their masks if it is to be carried."""
        rows, image = self._by_image.of_images(places)
        columns, ids = self.columns, tuple(self._ids[place] for place in places.tolist())
        part = EntrySource(
            self.label,
            self.place,
            ids,
            self._shapes[places],
            Columns(
                columns.entries[rows],
                image,
                columns.class_ids[rows],
                _chosen(columns.confidences, rows),
                _chosen(columns.areas, rows),
                _chosen(columns.ignored, rows),
                _chosen(columns.crowd, rows),
            ),
            self.segments.part(rows, carried=carried),
        )
        part.bind(Images.of(ids, part.shapes))
        return part


def _unequal(size: Integers, shape: Integers) -> Fault:
    turned = " Height and width are exchanged." if size.tolist() == shape.tolist()[::-1] else ""
    return Fault(
        "shape-mismatch",
        "segmentation",
        f"has the size {size.tolist()}, its image has {shape[0]} rows x {shape[1]} columns.{turned}",
        "`size` is [height, width] of the image: bring masks back to it before they are encoded.",
    )


def _chosen(column: NDArray[Any] | None, rows: Integers) -> NDArray[Any] | None:
    return None if column is None else column[rows]
