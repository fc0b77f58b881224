"""From a net's maps to masks: the thresholds and groupings of a trained model, as plain numbers."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segjudge.formats.label_maps import masks_of_labels
from segjudge.masks import Masks
from segjudge.models.grouping import Grouping, Maps, group
from segjudge.models.pictures import nearest
from segjudge.models.whole import replacing
from segjudge.records import dataclass
from segjudge.task import ArchiveForm

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from segjudge.encoding import SubmissionWriter
    from segjudge.masks import Order
    from segjudge.models.recipes import Recipe
    from segjudge.task import Task

__all__ = ["Prediction", "Rules", "class_ids_of", "first_rules", "predicted"]

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Rules:
    """What is tuned on validation images and kept with the weights."""

    thresholds: tuple[float, ...] = ()  # of each plane of a semantic task
    smallest: tuple[int, ...] = ()  # pixels at the working size, of each plane; smaller parts are left out
    groupings: tuple[Grouping, ...] = ()  # one for all classes together, or one for each

    def to_json(self) -> dict[str, Any]:
        """The rules as plain lists and numbers."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Rules:
        """The rules that `to_json` wrote."""
        groupings = tuple(Grouping(**one) for one in data["groupings"])
        return cls(tuple(data["thresholds"]), tuple(data["smallest"]), groupings)


@dataclass(frozen=True, slots=True)
class Prediction:
    """The masks of one image, ready for a submission."""

    masks: Masks
    class_ids: tuple[int, ...]
    confidences: tuple[float, ...]

    def add_to(self, out: SubmissionWriter, image: str) -> None:
        """Write the masks as those of an image."""
        if out.task.semantic:
            out.add(image, {class_id: self.masks[k] for k, class_id in enumerate(self.class_ids)})
        elif isinstance(out.task.submission, ArchiveForm):
            out.add(image, self.masks)
        else:
            out.add(image, self.masks, self.class_ids, self.confidences)

    def save(self, path: Path) -> None:
        """Keep it in a file, whole or not at all."""
        with replacing(path) as partial, partial.open("wb") as file:
            np.savez(
                file, starts=self.masks.starts, stops=self.masks.stops, indptr=self.masks.indptr,
                shapes=self.masks.shapes, class_ids=np.array(self.class_ids, np.int64),
                confidences=np.array(self.confidences, np.float64),
            )  # fmt: skip

    @classmethod
    def load(cls, path: Path, order: Order) -> Prediction:
        """What `save` kept, of masks in this order."""
        with path.open("rb") as file, np.load(file) as kept:
            masks = Masks.from_runs(order, kept["starts"], kept["stops"], kept["indptr"], kept["shapes"])
            return cls(masks, tuple(kept["class_ids"].tolist()), tuple(kept["confidences"].tolist()))


def class_ids_of(task: Task, recipe: Recipe) -> tuple[int, ...]:
    """The class ids behind a net's planes; 0 alone where the task has no classes."""
    ids = tuple(task.classes)
    return (tuple(sorted(ids)) if recipe.kind == "instances" else ids) or (0,)


def first_rules(task: Task, recipe: Recipe) -> Rules:
    """The rules before anything was tuned."""
    classes = len(class_ids_of(task, recipe))
    if recipe.kind == "semantic":
        return Rules((0.5,) * classes, (0,) * classes)
    if classes == 1:
        return Rules(groupings=(Grouping("watershed", share=0.5, peak=0.08, smallest=20, floor=0.0),))
    return Rules(groupings=(Grouping("components", smallest=16),) * classes)


def predicted(
    task: Task, outputs: Floats, shape: tuple[int, int], rules: Rules, recipe: Recipe
) -> Prediction:
    """What the net's maps of an image of this shape come to, by these rules."""
    class_ids = class_ids_of(task, recipe)
    if recipe.kind == "semantic":
        planes = zip(outputs, rules.thresholds, rules.smallest, strict=True)
        masks = [_mask(plane, shape, threshold, smallest) for plane, threshold, smallest in planes]
        return Prediction(Masks.from_dense(masks, task.order), class_ids, (1.0,) * len(masks))
    return _instances(task, outputs, shape, rules, class_ids)


def _mask(share: Floats, shape: tuple[int, int], threshold: float, smallest: int) -> NDArray[np.bool_]:
    """A mask at the image's own size, without parts of fewer pixels."""
    if smallest:
        share = _without_crumbs(share, threshold, smallest)
    if share.shape != shape:
        size = (shape[1], shape[0])
        share = np.asarray(Image.fromarray(share).resize(size, Image.Resampling.BILINEAR))
    mask: NDArray[np.bool_] = share > threshold
    return mask


def _without_crumbs(share: Floats, threshold: float, smallest: int) -> Floats:
    from scipy import ndimage  # noqa: PLC0415 - the core install has none

    parts, count = ndimage.label(share > threshold)
    small = np.bincount(parts.ravel(), minlength=count + 1) < smallest
    small[0] = False
    return np.where(small[parts], np.float32(0), share)


def _instances(
    task: Task, outputs: Floats, shape: tuple[int, int], rules: Rules, class_ids: tuple[int, ...]
) -> Prediction:
    parts: list[Masks] = []
    classes: list[int] = []
    confidences: list[float] = []
    for found in group(Maps.of(outputs), rules.groupings):
        if not len(found.confidences):
            continue
        owner = found.owner
        if owner.shape != shape:
            owner = owner[
                nearest(shape[0], owner.shape[0])[:, None], nearest(shape[1], owner.shape[1])[None, :]
            ]
        numbers, masks = masks_of_labels(np.ascontiguousarray(owner), task.order, np.zeros(1, np.uint8))
        parts.append(masks)
        classes += [class_ids[k] for k in found.class_index[numbers - 1].tolist()]
        confidences += cast("list[float]", found.confidences[numbers - 1].tolist())
    return Prediction(Masks.concatenate(parts, task.order), tuple(classes), tuple(confidences))
