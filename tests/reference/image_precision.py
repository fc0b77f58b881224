"""The mean over images of the mean over thresholds of TP / (TP + FP + FN), as the DSB page tells it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from tests.reference.scene import THRESHOLDS, Scene, Thing, exceeds, iou

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Empty: TypeAlias = Literal["1", "0", "skip"]


class Scores(TypedDict):
    score: Fraction | None
    by_threshold: dict[Fraction, Fraction | None]
    by_image: dict[str, Fraction | None]


def most_hits(
    predictions: Sequence[Thing], truths: Sequence[Thing], threshold: Fraction, *, strict: bool
) -> int:
    """The largest number of prediction-truth pairs above the threshold in which nobody appears twice.

    Every prediction in turn asks for a truth; one already taken is handed over if its owner can find
    another (augmenting paths).
    """
    owner: dict[int, int] = {}

    def find(prediction: int, asked: set[int]) -> bool:
        for number, truth in enumerate(truths):
            value = iou(predictions[prediction].pixels, truth.pixels)
            if number in asked or not exceeds(value, threshold, strict=strict):
                continue
            asked.add(number)
            if number not in owner or find(owner[number], asked):
                owner[number] = prediction
                return True
        return False

    return sum(find(prediction, set()) for prediction in range(len(predictions)))


def precision(tp: int, fp: int, fn: int, empty: Empty) -> Fraction | None:
    """One image's precision at one threshold; with nothing on either side, what the policy says."""
    if tp + fp + fn == 0:
        return None if empty == "skip" else Fraction(empty)
    return Fraction(tp, tp + fp + fn)


def mean(values: Iterable[Fraction | None]) -> Fraction | None:
    """The mean of the defined values, None if there are none."""
    defined = [value for value in values if value is not None]
    return sum(defined, Fraction(0)) / len(defined) if defined else None


def image_precision(
    scene: Scene,
    *,
    thresholds: Sequence[Fraction] = THRESHOLDS,
    strict: bool = True,
    empty: Empty = "1",
) -> Scores:
    """The score and its two breakdowns; class ids and confidences play no part."""
    table: dict[tuple[str, Fraction], Fraction | None] = {}
    for image in scene.images:
        truths = scene.truths_in(image.id)
        predictions = scene.predictions_in(image.id)
        for threshold in thresholds:
            tp = most_hits(predictions, truths, threshold, strict=strict)
            fp = len(predictions) - tp
            fn = len(truths) - tp
            table[image.id, threshold] = precision(tp, fp, fn, empty)
    by_image = {image.id: mean(table[image.id, t] for t in thresholds) for image in scene.images}
    return {
        "score": mean(by_image.values()),
        "by_threshold": {t: mean(table[image.id, t] for image in scene.images) for t in thresholds},
        "by_image": by_image,
    }
