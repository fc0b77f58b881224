"""The images, the truth and the submission brought together: which ids meet, which are missing or foreign."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjudge.errors import UsageError
from segjudge.findings import Where
from segjudge.images import IGNORED, Images
from segjudge.integers import among, distinct
from segjudge.metrics import is_metric
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from segjudge.findings import Collector
    from segjudge.loading import Opened, Submission, Truth
    from segjudge.task import Task

__all__ = ["Contest", "id_hint"]

Integers = NDArray[np.int64]

_MOST_LISTED = 20  # classes in a message


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """Everything of one scoring or checking, with the images' places shared by both sides.

    The first `known` images are the competition's; those behind them occur in the submission alone.
    """

    task: Task
    submission: Submission | None
    truth: Truth | None
    images: Images
    known: int
    scored: NDArray[np.bool_]  # (known,) images that count

    @classmethod
    def join(
        cls,
        task: Task,
        submission: Submission | None,
        truth: Truth | None,
        manifest: Images | None,
        usage: str | None = None,
    ) -> Contest:
        """The contest, with what is wrong with ids and sizes added to both sides' findings."""
        if usage and (manifest is None or manifest.usage is None):
            raise UsageError(
                "--usage needs to know the usage of every image.",
                "Give --images with a file that has a column Usage.",
            )
        images = _merged(manifest, truth)
        closed = manifest is not None or truth is not None
        if images is None:
            images = Images.of(())
        known = len(images)
        if submission is not None and submission.source is not None:
            images = images.extended(submission.source.image_ids)
        if not closed:
            known = len(images)
        contest = cls(task, submission, truth, images, known, images.scored(usage)[:known])
        if truth is not None and truth.source is not None:
            truth.source.bind(images)
            contest._complete_truth(manifest, truth.findings)
        if submission is not None and submission.source is not None:
            submission.source.bind(images)
            contest._check_ids(submission, closed=closed)
            if submission.path is not None and (images.shapes[:known, 0] < 0).any():
                submission.findings.add(
                    "sizes-unknown",
                    Where(file=submission.label),
                    "The sizes of the images are not known, so runs beyond an image's last pixel go unnoticed.",
                    "Give --images FILE with ImageId,Height,Width.",
                    level="note",
                )
        return contest

    @property
    def classes(self) -> Mapping[int, str] | None:
        """The classes by id: those that the truth lists, else the task's; None where none are known."""
        listed = None if self.truth is None else self.truth.classes
        return listed if listed is not None else self.task.classes or None

    @property
    def semantic(self) -> bool:
        """Whether a row is an image and class, not an instance."""
        return self.task.semantic

    def row_id(self, place: int, class_id: int) -> str:
        """The id of a row as the submission writes it."""
        return self.task.row_id(self.images.ids[place], class_id)

    # --------------------------------------------------------------------------------------------- the truth

    def _complete_truth(self, manifest: Images | None, findings: Collector) -> None:
        truth = self.truth
        if truth is None or truth.source is None:
            return
        if not len(truth.source.image_ids):
            findings.add(
                "missing-id",
                Where(file=truth.label),
                "The truth names no image.",
                "Is it the right file, and whole?",
            )
        place = self.images.find(truth.source.image_ids)[truth.entries.image]
        strange = self._check_classes(truth, place) if self.semantic else np.zeros(len(place), np.bool_)
        if not self.task.ranked:
            self._check_repeats(truth, place, (place >= 0) & ~strange)
        if manifest is None:
            return
        named = set(truth.source.image_ids)
        for image in truth.source.image_ids:
            if image not in manifest.places:
                findings.add(
                    "unknown-id",
                    Where(file=truth.label, image=image),
                    f"The truth has the image {image!r}, the list of images has not.",
                    "Add it to the list, or leave it out of the truth.",
                )
        if self.task.ranked and not truth.source.holds_gil and truth.entries.unit == "row":
            return  # a table of instances names only the images that have some
        for image, number in manifest.places.items():
            if image not in named and self._required(number):
                findings.add(
                    "missing-id",
                    Where(file=truth.label, image=image),
                    f"The list of images has {image!r}, the truth has not.",
                    "Give its truth, or set its Usage to Ignored.",
                )

    def _required(self, place: int) -> bool:
        return self.images.usage is None or self.images.usage[place] != IGNORED

    # ---------------------------------------------------------------------------------------- the submission

    def _check_ids(self, submission: Submission, *, closed: bool) -> None:
        source, entries = submission.source, submission.entries
        if source is None:
            return
        place = self.images.find(source.image_ids)[entries.image]
        foreign = place >= self.known
        strange_class = self._check_classes(submission, place)
        unreadable = (entries.class_ids < 0) & self.task.joined
        for row in np.flatnonzero(foreign & ~unreadable).tolist():
            self._unknown(submission, row, int(place[row]))
        good = ~foreign & ~strange_class
        if self.task.ranked:
            return
        self._check_repeats(submission, place, good)
        if closed:
            self._check_missing(submission, place, good)

    def _check_classes(self, side: Opened, place: Integers) -> NDArray[np.bool_]:
        """The rows whose class is none of the task's; those that could not be read have findings already."""
        entries = side.entries
        classes = self.classes
        if classes is None:
            return np.zeros(len(place), np.bool_)
        strange = ~among(entries.class_ids, classes)
        told = (entries.class_ids == -1) & (not self.task.joined)
        for row in np.flatnonzero(strange & ~told).tolist():
            class_id = int(entries.class_ids[row])
            code = "unknown-id" if self.task.joined and class_id < 0 else "unknown-class"
            if not side.findings.wants(code):
                side.findings.count(code)
                continue
            where = self._where(side, row, int(place[row]))
            if self.task.joined and class_id < 0:
                side.findings.add(
                    "unknown-id",
                    where,
                    f"The id {where.image!r} does not end in _<class>.",
                    f"Ids are <image>_<class>, the class being one of {_listed(classes)}.",
                )
                continue
            near = (
                " That is a group of the truth, which is never predicted."
                if class_id in self.task.ignored
                else ""
            )
            side.findings.add(
                "unknown-class",
                where,
                f"{class_id if class_id >= 0 else 'An empty cell'} is no class of this task.{near}",
                f"The classes are {_listed(classes)}.",
            )
        return strange

    def _unknown(self, submission: Submission, row: int, place: int) -> None:
        if not submission.findings.wants("unknown-id"):
            submission.findings.count("unknown-id")
            return
        where = self._where(submission, row, place)
        submission.findings.add(
            "unknown-id",
            where,
            f"{where.image!r} is no image of this competition.",
            id_hint(self.images.ids[place], self.images.ids[: self.known]),
        )

    def _check_repeats(self, side: Opened, place: Integers, good: NDArray[np.bool_]) -> None:
        """Ids that stand twice where once is all; of instances only the row that says "none"."""
        entries = side.entries
        rows = np.flatnonzero(good)
        key = place[rows] << 32 | entries.class_ids[rows]
        order = np.argsort(key, kind="stable")
        rows, key = rows[order], key[order]
        if not len(rows):
            return
        head = np.concatenate([[True], key[1:] != key[:-1]])
        first = rows[np.flatnonzero(head)[np.cumsum(head) - 1]]
        repeated = ~head
        if self._instances:
            repeated &= _contradicting(entries.empty[rows], head)
        for row, earlier in zip(rows[repeated].tolist(), first[repeated].tolist(), strict=True):
            where = self._where(side, row, int(place[row]))
            reason = f"{where.image!r} stands in row {entries.rows[earlier]} already"
            advice = "Each id has one row. Was the file opened for appending, or written twice?"
            if self._instances:
                reason += ", and one of its rows is empty, which says that the image has no object"
                advice = "Write either one empty row for an image, or a row for each object."
            side.findings.add("duplicate-id", where, f"{reason}.", advice)

    @property
    def _instances(self) -> bool:
        """Whether an image may have many rows."""
        return not is_metric(self.task.metric, "overlap")

    def _check_missing(self, submission: Submission, place: Integers, good: NDArray[np.bool_]) -> None:
        wanted = self._wanted_keys()
        if wanted is None:
            return
        given = place[good] << 32 | submission.entries.class_ids[good]
        strangers = ~among(given, wanted) if self.semantic else np.zeros(len(given), np.bool_)
        for row in np.flatnonzero(good)[strangers].tolist():
            where = self._where(submission, row, int(place[row]))
            submission.findings.add(
                "unknown-id",
                where,
                f"{where.image!r} is no row of this competition.",
                "Write the rows of the sample.",
            )
        if self.task.submission.missing == "empty":
            return
        for key in wanted[~among(wanted, given)].tolist():
            image, class_id = key >> 32, key & 0xFFFFFFFF
            if not self._required(image):
                continue
            if not submission.findings.wants("missing-id"):
                submission.findings.count("missing-id")
                continue
            row_id = self.row_id(image, class_id)
            submission.findings.add(
                "missing-id",
                Where(file=submission.label, image=row_id),
                f"{row_id!r} has no row.",
                "Every image has its row, with an empty mask too." if not self._instances
                else "An image without objects has one row with an empty cell.",
            )  # fmt: skip

    def _wanted_keys(self) -> Integers | None:
        """Image and class of each row that belongs into a submission."""
        if self.semantic and self.truth is not None and self.truth.source is not None:
            entries = self.truth.entries
            place = self.images.find(self.truth.source.image_ids)[entries.image]
            return distinct(place << 32 | entries.class_ids)
        places = np.arange(self.known, dtype=np.int64)
        if not self.semantic:
            return places << 32
        classes = np.array(sorted(self.task.classes), np.int64)
        return (np.repeat(places, len(classes)) << 32) | np.tile(classes, len(places))

    def _where(self, side: Opened, row: int, place: int) -> Where:
        class_id, number = int(side.entries.class_ids[row]), int(side.entries.rows[row])
        in_list = side.entries.unit == "entry"
        return Where(
            file=side.label,
            row=None if in_list else number or None,
            entry=number if in_list else None,
            image=self.row_id(place, class_id)
            if class_id >= 0 or not self.semantic
            else self.images.ids[place],
            class_=str(class_id) if (self.task.classes or in_list) and class_id >= 0 else None,
        )


def _contradicting(empty: NDArray[np.bool_], head: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Rows that contradict those before: each further "none", and the first that makes a "none" untrue."""
    group = np.cumsum(head) - 1
    seen = np.cumsum(empty)
    begins = np.flatnonzero(head)
    nones: Integers = seen - (seen[begins] - empty[begins])[group]  # rows so far that say "none"
    late = (nones > 0) & ~head
    first = np.full(len(begins), len(head))
    np.minimum.at(first, group[late], np.flatnonzero(late))
    contradicting = late & empty
    contradicting[first[first < len(head)]] = True
    return contradicting


def _merged(manifest: Images | None, truth: Truth | None) -> Images | None:
    """The competition's images: of the list, else of the truth; sizes from both must agree."""
    if truth is None or truth.source is None:
        return manifest
    source = truth.source
    if manifest is None:
        return Images.of(tuple(source.image_ids), source.shapes.copy())
    shapes = manifest.shapes.copy()
    for image, size in _sizes_of(truth):
        place = manifest.places.get(image)
        if place is None:
            continue
        if shapes[place, 0] < 0:
            shapes[place] = size
        elif tuple(shapes[place].tolist()) != size:
            truth.findings.add(
                "shape-mismatch",
                Where(file=truth.label, image=image),
                f"The truth of {image!r} is {size[0]} rows x {size[1]} columns, the list of images says "
                f"{shapes[place, 0]} x {shapes[place, 1]}.",
                "Correct one of them; Height comes before Width.",
            )
    return Images.of(manifest.ids, shapes, manifest.clips, manifest.usage)


def _sizes_of(opened: Opened) -> Iterator[tuple[str, tuple[int, int]]]:
    if opened.source is None:
        return
    for image, (height, width) in zip(opened.source.image_ids, opened.source.shapes.tolist(), strict=True):
        if height >= 0:
            yield image, (height, width)


def _listed(classes: Mapping[int, str]) -> str:
    first = [f"{number} {name}" for number, name in itertools.islice(classes.items(), _MOST_LISTED)]
    more = len(classes) - len(first)
    return ", ".join(first) + (f", and {more} more" if more > 0 else "")


def id_hint(image: str, known: tuple[str, ...]) -> str:
    """Why an id may be unknown: a spreadsheet, a file ending, another case, a slip."""
    names = set(known)
    stem = image.rpartition(".")[0]
    if stem in names or stem.rpartition("/")[2] in names or image.rpartition("/")[2] in names:
        return "Ids are written without folder and file ending."
    if image.strip() in names:
        return "Remove the spaces around the id."
    folded = {name.casefold(): name for name in known}
    if image.casefold() in folded:
        return f"Upper and lower case differ: it is {folded[image.casefold()]!r}."
    number = _as_number(image)
    if number is not None:
        same = next((name for name in known if name != image and _as_number(name) == number), None)
        if same is not None:
            return f"A spreadsheet or pandas has changed {same!r}: read and write ids as text (dtype=str)."
    import difflib  # noqa: PLC0415 - few ids are misspelt

    near = difflib.get_close_matches(image, known[:2000], n=1, cutoff=0.85)
    return f"Is {near[0]!r} meant?" if near else "Compare with the ids of the sample submission."


def _as_number(text: str) -> float | None:
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None
