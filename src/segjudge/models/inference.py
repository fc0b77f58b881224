"""What one net, or several together, say about a picture: turned over, tiled, averaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from segjudge.models.pictures import looked_at
from segjudge.models.tiles import over_tiles
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segjudge.models.recipes import Recipe

__all__ = ["Runner", "TorchRunner", "outputs_of"]

Floats = NDArray[np.float32]


class Runner(Protocol):
    """Something that runs a net."""

    @property
    def stride(self) -> int:
        """The number of which a tile's sides must be multiples."""
        ...

    def __call__(self, inputs: Floats) -> Floats:
        """(1, K, H, W) logits of (1, 3, H, W)."""
        ...


@dataclass(frozen=True, slots=True)
class TorchRunner:
    """A net of torch, in evaluation mode on its device."""

    net: Any
    stride: int
    device: Any

    def __call__(self, inputs: Floats) -> Floats:
        """(1, K, H, W) logits of (1, 3, H, W)."""
        import torch  # noqa: PLC0415 - predicting with ONNX has none

        with torch.inference_mode():
            tensor = torch.from_numpy(inputs).to(self.device).contiguous(memory_format=torch.channels_last)
            said: Floats = self.net(tensor).float().cpu().numpy()
        return said


def outputs_of(
    runners: Sequence[Runner], picture: NDArray[np.uint8], recipe: Recipe, *, views: bool
) -> Floats:
    """(K, h, w) the mean of what the nets say about a picture (H, W, 3), as shares, at the working size.

    Semantic tasks: a share per class. Instance tasks: shares of background and classes, heat, offsets (in
    their unit), depth. With `views` the picture is also shown turned over in every way that the recipe
    names, and the answers are turned back.
    """
    inputs = net_input(looked_at(picture, recipe))
    total: Floats | None = None
    ways = _ways(recipe) if views else [()]
    for way in ways:
        turned = inputs
        for flip in way:
            turned = _turned(turned, flip)
        for runner in runners:
            tile = -(-recipe.tile // runner.stride) * runner.stride
            said = _shares(over_tiles(turned, runner, tile=tile, stride=runner.stride), recipe)
            for flip in reversed(way):
                said = _turned(said, flip)
                if recipe.kind == "instances":
                    _turn_offsets(said, flip)
            total = said if total is None else np.add(total, said, out=total)
    if total is None:
        raise ValueError("no net to ask")
    total /= np.float32(len(ways) * len(runners))
    return total


def net_input(picture: NDArray[np.uint8]) -> Floats:
    """(3, h, w) of a picture (h, w, 3) of bytes: middle grey is 0, white 2."""
    return (picture.transpose(2, 0, 1).astype(np.float32) - np.float32(127.5)) / np.float32(63.75)


def _ways(recipe: Recipe) -> list[tuple[str, ...]]:
    ways: list[tuple[str, ...]] = [()]
    for flip in recipe.flips:
        ways += [(*way, flip) for way in ways]
    return ways


def _turned(planes: Floats, flip: str) -> Floats:
    if flip == "transpose":
        return planes.swapaxes(1, 2)
    return np.flip(planes, 2 if flip == "left-right" else 1)


def _turn_offsets(said: Floats, flip: str) -> None:
    """Turn the arrows too, in place; they are the third and second plane from the end."""
    if flip == "transpose":
        said[[-3, -2]] = said[[-2, -3]]
    elif flip == "left-right":
        said[-2] *= -1
    else:
        said[-3] *= -1


def _shares(logits: Floats, recipe: Recipe) -> Floats:
    """The logits as shares from 0 to 1; offsets stay what they are."""
    if recipe.kind == "semantic":
        return _logistic(logits)
    classes = logits[:-4] - logits[:-4].max(axis=0)
    np.exp(classes, out=classes)
    classes /= classes.sum(axis=0)
    logits[:-4] = classes
    logits[-4] = _logistic(logits[-4])
    logits[-1] = _logistic(logits[-1])
    return logits


def _logistic(values: Floats) -> Floats:
    return (1 / (1 + np.exp(-np.clip(values, -60, 60)))).astype(np.float32)
