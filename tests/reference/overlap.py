"""Dice and IoU of whole masks: a mean over rows, or one ratio over all pixels."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from tests.reference.scene import Pixels, Scene, Thing, together

if TYPE_CHECKING:
    from collections.abc import Sequence

Measure: TypeAlias = Literal["dice", "iou"]
Average: TypeAlias = Literal["row", "pixels"]
Empty: TypeAlias = Literal["1", "0", "skip"]
Pair: TypeAlias = tuple[str, Pixels, Pixels]
"""Row id, the truth's pixels, the predicted pixels."""


class Scores(TypedDict):
    score: Fraction | None
    by_image: dict[str, Fraction | None]


def ratio(shared: int, truth: int, predicted: int, measure: Measure) -> Fraction | None:
    """Dice or IoU from three pixel counts; None if there is not a pixel on either side."""
    if truth + predicted == 0:
        return None
    if measure == "dice":
        return Fraction(2 * shared, truth + predicted)
    return Fraction(shared, truth + predicted - shared)


def overlap(
    pairs: Sequence[Pair], *, measure: Measure = "dice", average: Average = "row", empty: Empty = "1"
) -> Scores:
    """The score over all rows and each row's own value (None where an empty row is skipped)."""
    by_row: dict[str, Fraction | None] = {}
    for row, truth, predicted in pairs:
        if row in by_row:
            raise ValueError(f"the row {row!r} appears twice")
        value = ratio(len(truth & predicted), len(truth), len(predicted), measure)
        if value is None and empty != "skip":
            value = Fraction(empty)
        by_row[row] = value
    if average == "pixels":
        shared = sum(len(truth & predicted) for _, truth, predicted in pairs)
        truths = sum(len(truth) for _, truth, _ in pairs)
        predictions = sum(len(predicted) for _, _, predicted in pairs)
        return {"score": ratio(shared, truths, predictions, measure), "by_image": by_row}
    counted = [value for value in by_row.values() if value is not None]
    score = sum(counted, Fraction(0)) / len(counted) if counted else None
    return {"score": score, "by_image": by_row}


def pairs_by_class(scene: Scene, classes: Sequence[int] = (0, 1, 2, 3)) -> list[Pair]:
    """BaDLAD's rows, `<image>_<class>`: everything of one class in one image is one mask."""

    def mask(things: Sequence[Thing], image: str, class_id: int) -> Pixels:
        return together(
            thing
            for thing in things
            if thing.image == image and thing.class_id == class_id and not thing.ignored
        )

    return [
        (
            f"{image.id}_{class_id}",
            mask(scene.truths, image.id, class_id),
            mask(scene.predictions, image.id, class_id),
        )
        for image in scene.images
        for class_id in classes
    ]


def pairs_by_image(scene: Scene) -> list[Pair]:
    """The emoji task's rows: everything in one image is one mask."""
    return [
        (image.id, together(scene.truths_in(image.id)), together(scene.predictions_in(image.id)))
        for image in scene.images
    ]
