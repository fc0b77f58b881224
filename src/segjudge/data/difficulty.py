"""How hard a generated set is: how many objects, how small, how crowded, how much of them is hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from segjudge.data.generators import scenes

if TYPE_CHECKING:
    from segjudge.data.scene import Scene

__all__ = ["Difficulty", "difficulty"]

_SEEN = 0.95  # of an object's area; below it counts as hidden


class Difficulty(TypedDict):
    """The figures of a set; shares are from 0 to 1."""

    images: int
    objects: float  # seen, an image
    median_area: float  # pixels
    median_share: float  # of its image
    touching: float  # share of objects with a pixel beside another object's
    hidden: float  # share of objects of which others hide more than a twentieth
    cut: float  # share of objects with a pixel on the image's border
    classes: dict[int, float]  # class to share of objects


def difficulty(task_id: str, *, seed: int, images: int, art: str = "drawn", part: str = "all") -> Difficulty:
    """The figures of the set that `make` writes for this seed; raises UsageError as `scenes` does."""
    columns: list[list[np.ndarray]] = [[] for _ in range(6)]
    for scene in scenes(task_id, images=images, seed=seed, art=art, part=part):
        for column, values in zip(columns, _figures(scene), strict=True):
            column.append(values)
    areas, shares, touching, hidden, cut, class_ids = (np.concatenate(column) for column in columns)
    values, counts = np.unique(class_ids, return_counts=True)
    return {
        "images": images,
        "objects": len(areas) / images,
        "median_area": float(np.median(areas)),
        "median_share": float(np.median(shares)),
        "touching": float(touching.mean()),
        "hidden": float(hidden.mean()),
        "cut": float(cut.mean()),
        "classes": {
            int(value): count / len(areas) for value, count in zip(values, counts.tolist(), strict=True)
        },
    }


def _figures(scene: Scene) -> tuple[np.ndarray, ...]:
    """Area, share, touching, hidden, cut and class of each object that is seen."""
    owner = scene.owner
    areas = np.bincount(owner.ravel(), minlength=len(scene.class_ids) + 1)[1:]
    seen = areas > 0
    touching = np.zeros(len(areas) + 1, np.bool_)
    for here, there in ((owner[1:], owner[:-1]), (owner[:, 1:], owner[:, :-1])):
        meet = (here != there) & (here > 0) & (there > 0)
        touching[here[meet]] = touching[there[meet]] = True
    cut = np.zeros(len(areas) + 1, np.bool_)
    for border in (owner[0], owner[-1], owner[:, 0], owner[:, -1]):
        cut[border] = True
    hidden = areas < _SEEN * scene.whole
    return (
        areas[seen],
        areas[seen] / owner.size,
        touching[1:][seen],
        hidden[seen],
        cut[1:][seen],
        scene.class_ids[seen],
    )
