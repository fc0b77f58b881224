"""What training makes small: MONAI's losses, put together for masks and for instances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from segjudge.models.inference import net_input
from segjudge.models.targets import instance_targets
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segjudge.models.recipes import Recipe
    from segjudge.models.samples import Sample

__all__ = ["Batch", "Objective"]

_HEAT, _OFFSET, _DEPTH = 40.0, 0.6, 1.5  # weights beside the class loss, which is near 1


@dataclass(frozen=True, slots=True)
class Batch:
    """Crops as tensors: what the net sees, and what it should say."""

    inputs: torch.Tensor  # (B, 3, h, w)
    masks: torch.Tensor  # (B, C, h, w) of semantic tasks, else (B, 5, h, w): heat, two offsets, depth, weight
    class_index: torch.Tensor  # (B, h, w) of instance tasks; -1 is not learnt from

    def to(self, device: torch.device) -> Batch:
        """The batch on a device."""
        return Batch(self.inputs.to(device), self.masks.to(device), self.class_index.to(device))


class Objective:
    """The loss of a task, and how its crops become tensors."""

    def __init__(self, recipe: Recipe, classes: tuple[int, ...]) -> None:
        from monai.losses import DiceLoss  # noqa: PLC0415 - its import takes seconds

        self._classes = classes
        self._weights = dict(recipe.weights)
        self._semantic = recipe.kind == "semantic"
        self.outputs = max(1, len(classes)) if self._semantic else len(classes) + 1 + 4
        if self._semantic:
            self._dice = DiceLoss(sigmoid=True, batch=len(classes) > 1)
        else:
            self._dice = DiceLoss(softmax=False, include_background=False, batch=True)

    def batch(self, samples: Sequence[Sample]) -> Batch:
        """The samples as tensors."""
        inputs = torch.from_numpy(np.stack([net_input(sample.picture) for sample in samples]))
        if self._semantic:
            bits = np.arange(self.outputs, dtype=np.uint8)[:, None, None]
            masks = np.stack([sample.planes[None] >> bits & 1 for sample in samples]).astype(np.float32)
            return Batch(inputs, torch.from_numpy(masks), torch.zeros(0))
        targets = [instance_targets(sample, self._classes, self._weights) for sample in samples]
        index = [np.where(s.known, t.class_index, -1) for s, t in zip(samples, targets, strict=True)]
        maps = [np.concatenate([t.heat[None], t.offset, t.depth[None], t.weight[None]]) for t in targets]
        return Batch(inputs, torch.from_numpy(np.stack(maps)), torch.from_numpy(np.stack(index)))

    def loss(self, outputs: torch.Tensor, batch: Batch) -> torch.Tensor:
        """The loss of what the net said, a number without dimensions."""
        outputs = outputs.float()
        if self._semantic:
            entropy = functional.binary_cross_entropy_with_logits(outputs, batch.masks)
            return entropy + self._dice(outputs, batch.masks)
        return self._instance_loss(outputs, batch)

    def _instance_loss(self, outputs: torch.Tensor, batch: Batch) -> torch.Tensor:
        logits, heat, offset, deep = outputs.split([len(self._classes) + 1, 1, 2, 1], dim=1)
        heat_true, offset_true, depth_true, weight = batch.masks.split([1, 2, 1, 1], dim=1)
        index = batch.class_index
        known = (index >= 0)[:, None]
        inside = (index > 0)[:, None] * weight
        entropy = functional.cross_entropy(logits, index, ignore_index=-1, reduction="none")[:, None]
        named = _mean(entropy, weight * known)
        one_hot = functional.one_hot(index.clamp(min=0), logits.shape[1]).movedim(3, 1)
        overlap = self._dice(logits.softmax(dim=1) * known, one_hot * known)
        peak = _mean((heat.sigmoid() - heat_true) ** 2, known)
        # Far from a centre the way need not be known to the pixel.
        way = _mean((offset - offset_true).abs() / (1 + offset_true.abs()), inside)
        level = _mean((deep.sigmoid() - depth_true).abs(), weight * known)
        return named + overlap + _HEAT * peak + _OFFSET * way + _DEPTH * level


def _mean(values: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """The mean of (B, C, h, w) with weights (B, 1, h, w); 0 where all weights are."""
    return (values * weights).sum() / (weights.sum() * values.shape[1]).clamp(min=1)
