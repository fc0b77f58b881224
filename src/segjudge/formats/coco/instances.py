"""COCO's annotations as a truth of instances: masks, areas, crowds, and what is not evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjudge.formats.coco import fields
from segjudge.formats.coco.entry_source import Columns, EntrySource
from segjudge.formats.coco.fields import Fault
from segjudge.formats.coco.instance_pass import pass_over_instances
from segjudge.formats.coco.segments import Segments
from segjudge.formats.copies import byte_file
from segjudge.formats.opening import plain_file
from segjudge.integers import all_or_chosen, places_of
from segjudge.kernels import Column, Field

if TYPE_CHECKING:
    from pathlib import Path

    from segjudge.formats.begun import Begun
    from segjudge.formats.coco.instance_pass import InstancePass
    from segjudge.formats.coco.rows import Keys
    from segjudge.formats.opening import ByteFile

__all__ = ["open_coco_instances"]

Integers = NDArray[np.int64]


def open_coco_instances(path: Path, label: str, max_unpacked: int, begun: Begun) -> EntrySource | None:
    """The truth in an annotations file, plain, gzip or the one file of a zip; None where there is none.

    Classes are the file's categories.
    An id of 0 is an id as any other. What is at fault is told in findings, and left out. What has `begun`
    on the file is gone on with.
    """
    plain = plain_file(path, label, begun.findings, max_unpacked, begun.workspace)
    entries = begun.passed(pass_over_instances, plain, label) if plain is not None else None
    return (
        None
        if plain is None or entries is None
        else _Reading(entries).finished(byte_file(plain, begun.workspace))
    )


class _Reading:
    """What the pass brought home, put together."""

    def __init__(self, entries: InstancePass) -> None:
        self.entries = entries
        self.label = entries.label
        self.findings = entries.findings

    def finished(self, file: ByteFile) -> EntrySource:
        """All that can be used."""
        _, listed, _ = listed_columns = self.entries.images.columns()
        entries, whole, real = self.entries.annotations.columns()
        count = len(listed_columns[0])
        # Images that are listed and images that annotations name get their places together.
        codes, place = places_of(np.concatenate([listed[Column.NUMBER], whole[Column.IMAGE]]))
        first = _first_of_each(place[:count], len(codes))
        self._tell_repeats(
            "images", listed_columns[0], listed[Column.NUMBER], first[place[:count]], self.entries.keys
        )
        here = first >= 0
        good = self._known_images(entries, codes, place[count:], here) & self._known_classes(entries, whole)
        numbers = whole[Column.NUMBER]
        _, number = places_of(numbers)
        earlier = _first_of_each(number, int(number.max(initial=-1)) + 1)[number]
        self._tell_repeats("annotations", entries, numbers, earlier, self.entries.numbers)
        kept = all_or_chosen(good & (earlier == np.arange(len(entries))))
        flags = whole[Column.FLAGS, kept]
        columns = Columns(
            entries[kept],
            (np.cumsum(here) - 1)[place[count:]][kept],
            whole[Column.CLASS, kept],
            areas=real[1, kept],
            ignored=(flags & Field.IS_IGNORED) != 0,
            crowd=(flags & Field.IS_CROWD) != 0,
        )
        return EntrySource(
            self.label,
            "annotations",
            tuple(self.entries.keys.text(code) for code in codes[here].tolist()),
            np.ascontiguousarray(listed[[Column.HEIGHT, Column.WIDTH]][:, first[here]].T),
            columns,
            Segments(file, self.entries.rewritten, whole[:, kept]),
            dict(sorted(self.entries.class_names.items())),
            quoted=0 < self.entries.quoted == count,
        )

    def _tell_repeats(
        self, place: str, entries: Integers, codes: Integers, earlier: Integers, keys: Keys
    ) -> None:
        """Entries whose id an entry before has; `earlier` is the first row that has it."""
        repeated = np.flatnonzero(earlier != np.arange(len(entries)))
        fields.tell_each(self.findings, self.label, place, entries[repeated], lambda at: Fault(
            "duplicate-id",
            "id",
            f"is {keys.text(int(codes[repeated[at]]))!r}, as that of {place}[{entries[earlier[repeated[at]]]}].",
            "Ids are unique.",
        ))  # fmt: skip

    def _known_images(
        self, entries: Integers, codes: Integers, place: Integers, here: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """The annotations of images that are listed; of an image at fault that has been told already."""
        known = here[place]
        told = (
            np.isin(codes, list(self.entries.faulty))
            if self.entries.faulty
            else np.zeros(len(codes), np.bool_)
        )
        strange = np.flatnonzero(~known & ~told[place])
        fields.tell_each(self.findings, self.label, "annotations", entries[strange], lambda at: Fault(
            "unknown-id",
            "image_id",
            f"is {self.entries.keys.text(int(codes[place[strange[at]]]))!r}, and no image has this id.",
            "List the image.",
        ))  # fmt: skip
        return known

    def _known_classes(self, entries: Integers, whole: Integers) -> NDArray[np.bool_]:
        """The annotations of classes that are listed."""
        known = np.isin(whole[Column.CLASS], list(self.entries.class_names))
        strange = np.flatnonzero(~known)
        fields.tell_each(self.findings, self.label, "annotations", entries[strange], lambda at: Fault(
            "unknown-class",
            "category_id",
            f"is {whole[Column.CLASS, strange[at]]}, and no category has this id.",
            "List the category.",
        ))  # fmt: skip
        return known


def _first_of_each(place: Integers, places: int) -> Integers:
    """The first row at each place, -1 where there is none."""
    first = np.full(places, -1, np.int64)
    first[place[::-1]] = np.arange(len(place))[::-1]
    return first
