"""Training crops: each is made from the seed and its number alone, so that a run can stop and go on.

Nothing is drawn from a generator that runs along; the crop of step 700 is the same whether steps 1 to 699
ran a minute ago, on another day, or in another process.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segjudge.models.pictures import looked_at, nearest
from segjudge.models.targets import centres, depth
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segjudge.datasets import Dataset
    from segjudge.models.recipes import Recipe

__all__ = ["Sample", "Samples"]

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]

_CACHE = 3 << 30  # bytes of pictures and truths kept ready
_TINY = 30  # pixels below which no crop is centred on an instance
_SEEN = 0.3  # of the crop's side: how far from its middle the instance may lie on which it is centred


@dataclass(frozen=True, slots=True)
class Sample:
    """A picture with its truth at the working size, or a crop of it."""

    picture: Bytes  # (h, w, 3)
    planes: Bytes  # (h, w) of semantic masks: bit c is set where class c is
    owner: NDArray[np.int32]  # (h, w) number of the instance from 1, 0 background
    depth: Bytes  # (h, w) how deep in its instance a pixel lies, 255 deepest
    centres: Floats  # (N, 2) row and column of each instance's middle
    areas: Floats  # (N,) pixels of each instance
    class_ids: NDArray[np.int64]  # (N,)
    ignored: NDArray[np.bool_]  # (N,) not to be learnt from
    known: NDArray[np.bool_]  # (h, w) False beyond the picture's edge

    @property
    def nbytes(self) -> int:
        """Bytes that keeping it costs."""
        planes = (self.picture, self.planes, self.owner, self.depth, self.known)
        return sum(plane.nbytes for plane in planes if plane.strides[0])


class Samples:
    """The crops of some images of a dataset, by step and place in the batch."""

    def __init__(self, dataset: Dataset, places: Sequence[int], recipe: Recipe, seed: int) -> None:
        self._dataset = dataset
        self._places = list(places)
        self._recipe = recipe
        self._seed = seed
        self._rare = dict(recipe.rare)
        self._kept: OrderedDict[int, Sample] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._places)

    def crop(self, step: int, slot: int) -> Sample:
        """The crop at a place of a step's batch."""
        rng = np.random.default_rng([self._seed, step, slot])
        # Every image comes once in as many crops as there are images, in an order of its own each time.
        turn, number = divmod(step * self._recipe.batch + slot, len(self._places))
        order = np.random.default_rng([self._seed, turn]).permutation(len(self._places))
        sample = self.whole(self._places[order[number]])
        sample = self._cut(sample, rng)
        for flip in self._recipe.flips:
            if rng.random() < 0.5:
                sample = flipped(sample, flip)
        return replace(
            sample, picture=_recoloured(sample.picture, rng, inverted=self._recipe.reading == "percentiles")
        )

    def whole(self, place: int) -> Sample:
        """An image with its truth at the working size."""
        if place in self._kept:
            self._kept.move_to_end(place)
            return self._kept[place]
        sample = _prepared(self._dataset, place, self._recipe)
        self._kept[place] = sample
        self._bytes += sample.nbytes
        while self._bytes > _CACHE and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1].nbytes
        return sample

    def _cut(self, sample: Sample, rng: np.random.Generator) -> Sample:
        side, zoom = self._recipe.crop, self._recipe.zoom
        factor = float(np.exp(rng.uniform(-np.log(zoom), np.log(zoom))))
        reach = max(8, round(side / factor))
        corner = []
        middle = self._aim(sample, rng)
        for axis in (0, 1):
            room = sample.owner.shape[axis] - reach
            if room <= 0:
                corner.append(int(rng.integers(room, 1)))
            elif middle is None:
                corner.append(int(rng.integers(0, room + 1)))
            else:
                wish = middle[axis] - reach / 2 + rng.uniform(-_SEEN, _SEEN) * reach
                corner.append(int(np.clip(round(wish), 0, room)))
        return _resampled(sample, corner[0], corner[1], reach, side)

    def _aim(self, sample: Sample, rng: np.random.Generator) -> Floats | None:
        """The middle of an instance that the crop should show; None for a crop from anywhere."""
        if not self._rare or rng.random() < 0.15:
            return None
        able = ~sample.ignored & (sample.areas >= _TINY)
        values, place, counts = np.unique(sample.class_ids[able], return_inverse=True, return_counts=True)
        wish = np.array([self._rare.get(class_id, 0.0) for class_id in values.tolist()])
        wishes = np.zeros(len(able))
        wishes[able] = (wish / counts)[place]  # a class is chosen first, then one of its instances
        if wishes.sum() <= 0:
            return None
        aim: Floats = sample.centres[rng.choice(len(wishes), p=wishes / wishes.sum())]
        return aim


def _prepared(dataset: Dataset, place: int, recipe: Recipe) -> Sample:
    picture = looked_at(dataset.picture(place), recipe)
    shape = picture.shape[:2]
    truth = dataset.truth(place)
    none = np.broadcast_to(np.uint8(0), shape)  # costs nothing to keep
    known = np.broadcast_to(np.True_, shape)
    if isinstance(truth, np.ndarray):
        bits = (truth << np.arange(truth.shape[2], dtype=np.uint8)).sum(axis=2, dtype=np.uint8)
        planes = _shrunk(bits, shape)
        empty = np.zeros(0, np.float32)
        owner = np.broadcast_to(np.int32(0), shape)
        nobody, ignored = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        return Sample(picture, planes, owner, none, empty.reshape(0, 2), empty, nobody, ignored, known)
    owner = _shrunk(truth.owner, shape)
    areas = np.bincount(owner.ravel(), minlength=len(truth.class_ids) + 1)[1:]
    seen = np.flatnonzero(areas)
    table = np.zeros(len(areas) + 1, np.int32)
    table[seen + 1] = np.arange(1, len(seen) + 1)
    owner = table[owner]
    return Sample(
        picture,
        none,
        owner,
        depth(owner, len(seen)),
        centres(owner, len(seen)),
        areas[seen].astype(np.float32),
        truth.class_ids[seen],
        truth.ignored[seen],
        known,
    )


def _shrunk(plane: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    if plane.shape == shape:
        return plane
    return plane[nearest(shape[0], plane.shape[0])[:, None], nearest(shape[1], plane.shape[1])[None, :]]


def _resampled(sample: Sample, top: int, left: int, reach: int, side: int) -> Sample:
    """The square of `reach` pixels at this corner, `side` pixels large; beyond the edge things are mirrored."""
    rows, columns = top + nearest(side, reach), left + nearest(side, reach)
    height, width = sample.owner.shape
    known = ((rows >= 0) & (rows < height))[:, None] & ((columns >= 0) & (columns < width))[None, :]
    window = _mirrored(rows, height)[:, None], _mirrored(columns, width)[None, :]
    if reach == side:
        picture = sample.picture[window]
    else:
        box = (
            _mirrored(np.arange(top, top + reach), height)[:, None],
            _mirrored(np.arange(left, left + reach), width),
        )
        part = Image.fromarray(np.ascontiguousarray(sample.picture[box]))
        picture = np.asarray(part.resize((side, side), Image.Resampling.BILINEAR))
    factor = np.float32(side / reach)
    middle = (sample.centres + np.float32(0.5) - np.array([top, left], np.float32)) * factor - np.float32(0.5)
    return replace(
        sample,
        picture=picture,
        planes=sample.planes[window],
        owner=sample.owner[window],
        depth=sample.depth[window],
        centres=middle,
        areas=sample.areas * factor**2,
        known=known & sample.known[window],
    )


def _mirrored(places: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Places that lie outside of 0 .. count - 1, thrown back at the ends.

    >>> _mirrored(np.array([-2, -1, 0, 2, 3]), 3).tolist()
    [1, 0, 0, 2, 2]
    """
    around = places % (2 * count)
    return np.minimum(around, 2 * count - 1 - around)


def flipped(sample: Sample, flip: str) -> Sample:
    """The sample turned over; its centres go with its pixels."""
    middle = sample.centres.copy()
    if flip == "transpose":
        _axes, middle = (1, 0), middle[:, ::-1]
        turned = {name: getattr(sample, name).swapaxes(0, 1) for name in _PLANES}
        return replace(sample, centres=middle, **turned)
    axis = 1 if flip == "left-right" else 0
    middle[:, axis] = sample.owner.shape[axis] - 1 - middle[:, axis]
    turned = {name: np.flip(getattr(sample, name), axis) for name in _PLANES}
    return replace(sample, centres=middle, **turned)


_PLANES = ("picture", "planes", "owner", "depth", "known")


def _recoloured(picture: Bytes, rng: np.random.Generator, *, inverted: bool) -> Bytes:
    """The picture in other light; for some with colours in another order or, where asked, as a negative."""
    levels = np.arange(256, dtype=np.float32) / 255
    levels = levels ** np.float32(np.exp(rng.uniform(-0.3, 0.3)))
    levels = (levels - 0.5) * np.float32(rng.uniform(0.8, 1.2)) + 0.5 + np.float32(rng.uniform(-0.08, 0.08))
    if inverted and rng.random() < 0.06:
        levels = 1 - levels
    table = np.clip(np.rint(levels * 255), 0, 255).astype(np.uint8)
    if rng.random() < 0.15:
        picture = picture[..., rng.permutation(3)]
    return table[picture]
