"""Training and validation: groups stay together, so that no frame is judged by its neighbour."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from segjudge.errors import UsageError

if TYPE_CHECKING:
    from segjudge.datasets.dataset import Dataset

__all__ = ["split"]


def split(dataset: Dataset, *, fold: int, folds: int, seed: int) -> tuple[list[int], list[int]]:
    """The places of the images to train on, and of those to validate with, both ascending.

    Over all folds every image is in validation exactly once, and a group (a clip) never lies on both
    sides. Groups are shuffled by the seed and dealt, large ones first, to the fold with the fewest images.
    Raises UsageError where there are fewer groups than folds.
    """
    if folds < 2 or not 0 <= fold < folds:
        raise UsageError(
            f"There is no fold {fold} of {folds}.", "Folds are counted from 0, and there are two or more."
        )
    if seed < 0:
        raise UsageError(f"The seed is {seed}.", "A seed is a whole number from 0.")
    sizes = Counter(dataset.groups)
    if len(sizes) < folds:
        kind = "images" if len(sizes) == len(dataset) else "clips"
        raise UsageError(
            f"{len(sizes)} {kind} cannot be split into {folds} folds.",
            f"Ask for fewer folds (--folds {len(sizes)}), or add data." if len(sizes) > 1 else "Add data.",
        )
    names = sorted(sizes)
    shuffled = [names[number] for number in np.random.default_rng(seed).permutation(len(names))]
    loads = [0] * folds
    dealt: dict[str, int] = {}
    for name in sorted(shuffled, key=lambda group: -sizes[group]):
        least = loads.index(min(loads))
        dealt[name] = least
        loads[least] += sizes[name]
    sides: tuple[list[int], list[int]] = ([], [])
    for place, group in enumerate(dataset.groups):
        sides[dealt[group] == fold].append(place)
    return sides
