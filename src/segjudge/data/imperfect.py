"""Predictions as a fair model would make them: truth with its edges moved, some missed, some invented."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjudge.data.scene import clouds

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["imperfect", "imperfect_mask"]

Mask = NDArray[np.bool_]

_MISSED, _DOUBLED, _CONFUSED = 0.1, 0.08, 0.05
_INVENTED = 0.12  # false alarms to a true object
_TINY = 0.05  # further chance of being missed for each pixel of side below ten


def imperfect(
    rng: np.random.Generator,
    masks: Sequence[tuple[Mask, int]],
    classes: Sequence[int],
    *,
    shape: tuple[int, int] | None = None,
    disjoint: bool = False,
) -> list[tuple[Mask, int, float]]:
    """Mask (H, W), class and confidence of each prediction for an image with these true masks and classes.

    Edges are moved, grown, shrunk and frayed; objects are missed, doubled, taken for another class; others
    are invented. Confidence rises with the overlap, as a trained model's does. `shape` is the image's,
    needed where it has no masks. With `disjoint` no two predictions share a pixel: the more confident keeps
    it. No prediction is empty.
    """
    found: list[tuple[Mask, int, float]] = []
    for mask, class_id in masks:
        side = np.sqrt(mask.sum())
        if not side or rng.random() < _MISSED + _TINY * max(0.0, 10 - side):
            continue
        taken = class_id
        if len(classes) > 1 and rng.random() < _CONFUSED:
            taken = int(rng.choice([other for other in classes if other != class_id]))
        found.append(_prediction(rng, mask, mask, taken, wrong=taken != class_id))
        if rng.random() < _DOUBLED:
            twin, _, _ = found[-1]
            second = _prediction(rng, twin, mask, taken, wrong=False)
            found.append((second[0], taken, round(second[2] * 0.6, 4)))
    size = shape or (masks[0][0].shape if masks else None)
    if size is not None:
        count = rng.poisson(0.3 + _INVENTED * len(masks))
        found += [_invented(rng, masks, classes, (size[0], size[1])) for _ in range(count)]
    found = [prediction for prediction in found if prediction[0].any()]
    return _parted(found) if disjoint else found


def imperfect_mask(rng: np.random.Generator, mask: Mask) -> Mask:
    """A semantic mask (H, W) as a fair model would predict it: frayed, with holes and islands."""
    reach = 1 + round(0.01 * min(mask.shape))
    noise = clouds(rng, mask.shape, 14, 2)
    moved = np.where(noise > 0, _grown(mask, reach), ~_grown(~mask, reach))
    moved &= clouds(rng, mask.shape, 5) > -2.3
    return moved | ((clouds(rng, mask.shape, 7) > 2.9) & ~mask)


def _prediction(
    rng: np.random.Generator, mask: Mask, truth: Mask, class_id: int, *, wrong: bool
) -> tuple[Mask, int, float]:
    moved = _moved(rng, mask)
    union = int((moved | truth).sum())
    iou = int((moved & truth).sum()) / union if union else 0.0
    confidence = float(np.clip(0.25 + 0.7 * iou - 0.25 * wrong + rng.normal(0, 0.1), 0.02, 0.999))
    return moved, class_id, round(confidence, 4)


def _moved(rng: np.random.Generator, mask: Mask) -> Mask:
    """The mask shifted by some pixels, its edge pushed out here and in there."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return mask.copy()
    side = float(np.sqrt(mask.sum()))
    shift = np.round(rng.normal(0, 0.025 * side, 2)).astype(int)
    grow, shrink = (int(step) for step in np.round(np.abs(rng.normal(0, 0.03, 2)) * side))
    pad = grow + int(np.abs(shift).max()) + 1
    top, bottom = max(0, rows[0] - pad), min(mask.shape[0], rows[-1] + pad + 1)
    left, right = max(0, columns[0] - pad), min(mask.shape[1], columns[-1] + pad + 1)
    part = _shifted(mask[top:bottom, left:right], int(shift[0]), int(shift[1]))
    noise = clouds(rng, (part.shape[0], part.shape[1]), 4)
    changed = np.where(noise > 0, _grown(part, grow), ~_grown(~part, shrink))
    result = np.zeros_like(mask)
    result[top:bottom, left:right] = changed
    return result


def _shifted(mask: Mask, down: int, right: int) -> Mask:
    height, width = mask.shape
    result = np.zeros_like(mask)
    result[max(0, down) : height + min(0, down), max(0, right) : width + min(0, right)] = mask[
        max(0, -down) : height - max(0, down), max(0, -right) : width - max(0, right)
    ]
    return result


def _grown(mask: Mask, steps: int) -> Mask:
    """The mask grown by this many pixels, in a cross and a square by turns."""
    grown = mask.copy()
    for step in range(steps):
        before = grown.copy()
        grown[1:] |= before[:-1]
        grown[:-1] |= before[1:]
        wide = grown.copy() if step % 2 else before
        grown[:, 1:] |= wide[:, :-1]
        grown[:, :-1] |= wide[:, 1:]
    return grown


def _invented(
    rng: np.random.Generator,
    masks: Sequence[tuple[Mask, int]],
    classes: Sequence[int],
    shape: tuple[int, int],
) -> tuple[Mask, int, float]:
    """An ellipse about as large as a true object, where there may be none."""
    height, width = shape
    area = float(masks[int(rng.integers(len(masks)))][0].sum()) if masks else 0.01 * height * width
    radius = max(1.5, np.sqrt(area / np.pi) * rng.uniform(0.6, 1.2))
    stretch = rng.uniform(0.7, 1.4)
    y, x = rng.uniform(0, height), rng.uniform(0, width)
    down = (np.arange(height) + 0.5 - y) / (radius * stretch)
    across = (np.arange(width) + 0.5 - x) / (radius / stretch)
    mask = down[:, None] ** 2 + across[None, :] ** 2 <= 1
    return mask, int(rng.choice(classes)), round(float(rng.beta(2, 4) * 0.8 + 0.02), 4)


def _parted(found: list[tuple[Mask, int, float]]) -> list[tuple[Mask, int, float]]:
    """The predictions without the pixels that a more confident one has; those with none left go."""
    parted: list[tuple[Mask, int, float]] = []
    for mask, class_id, confidence in sorted(found, key=lambda prediction: -prediction[2]):
        free = mask.copy()
        for other, _, _ in parted:
            free &= ~other
        if free.any():
            parted.append((free, class_id, confidence))
    return parted
