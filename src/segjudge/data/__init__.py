"""Generated data for the four page tasks: pictures with truth, in the competitions' own folder forms.

>>> from segjudge.data import scenes
>>> scene = next(scenes("emoji", images=1, seed=3))
>>> scene.picture.shape, scene.owner.shape
((192, 192, 3), (192, 192))
"""

from __future__ import annotations

from segjudge.data.difficulty import difficulty
from segjudge.data.generators import ARTS, PARTS, SET_IN_FONTS, TASKS, scenes
from segjudge.data.imperfect import imperfect, imperfect_mask
from segjudge.data.scene import Scene
from segjudge.data.writing import make, write_set

__all__ = [
    "ARTS",
    "PARTS",
    "SET_IN_FONTS",
    "TASKS",
    "Scene",
    "difficulty",
    "imperfect",
    "imperfect_mask",
    "make",
    "scenes",
    "write_set",
]
