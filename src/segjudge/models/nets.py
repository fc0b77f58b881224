"""The nets: a small U-Net made for one or two processor cores, and MONAI's larger ones by name.

The small net looks at a picture at a half or a quarter of its size, by folding blocks of pixels into
channels instead of throwing them away; with `stem` a thin path at full size brings back sharp outlines.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

from segjudge.errors import UsageError
from segjudge.models.recipes import NETS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segjudge.models.recipes import Recipe

__all__ = ["SmallUNet", "build_net", "stride_of"]


class _Block(nn.Module):
    """Two convolutions around a shortcut."""

    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inside, outside, 3, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(outside)
        self.second = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(outside)
        self.shortcut = nn.Conv2d(inside, outside, 1, bias=False) if inside != outside else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = functional.relu(self.first_norm(self.first(x)))
        return functional.relu(self.second_norm(self.second(y)) + self.shortcut(x))


class SmallUNet(nn.Module):
    """A U-Net of residual blocks on a folded picture; (B, 3, H, W) to (B, outputs, H, W).

    H and W must be multiples of `stride`.
    """

    def __init__(
        self, outputs: int, *, reduce: int, widths: Sequence[int], stem: bool, thin: int = 12
    ) -> None:
        super().__init__()
        self.reduce = reduce
        self.stride = reduce * 2 ** (len(widths) - 1)
        inside = 3 * reduce * reduce
        self.down = nn.ModuleList()
        for width in widths:
            self.down.append(_Block(inside, width))
            inside = width
        self.up = nn.ModuleList(_Block(deep + level, level) for level, deep in itertools.pairwise(widths))
        if stem:
            self.stem: nn.Module | None = nn.Sequential(
                nn.Conv2d(3, thin, 3, padding=1, bias=False), nn.BatchNorm2d(thin), nn.ReLU()
            )
            self.unfold = nn.Conv2d(widths[0], thin, 1)
            self.refine = nn.Sequential(
                nn.Conv2d(2 * thin, thin + 4, 3, padding=1, bias=False), nn.BatchNorm2d(thin + 4), nn.ReLU()
            )
            self.head = nn.Conv2d(thin + 4, outputs, 1)
        else:
            self.stem = None
            self.head = nn.Conv2d(widths[0], outputs, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, outputs, H, W) logits of (B, 3, H, W)."""
        y = functional.pixel_unshuffle(x, self.reduce)
        kept = []
        for number, block in enumerate(self.down):
            y = block(functional.max_pool2d(y, 2) if number else y)
            kept.append(y)
        for number in range(len(self.up) - 1, -1, -1):
            y = functional.interpolate(y, scale_factor=2.0, mode="nearest")
            y = self.up[number](torch.cat([y, kept[number]], dim=1))
        if self.stem is None:
            return functional.interpolate(self.head(y), scale_factor=float(self.reduce), mode="bilinear")
        wide = functional.interpolate(self.unfold(y), scale_factor=float(self.reduce), mode="bilinear")
        return self.head(self.refine(torch.cat([self.stem(x), wide], dim=1)))


def build_net(name: str, recipe: Recipe, outputs: int) -> nn.Module:
    """A net of this name with random weights; raises UsageError for a name that there is not."""
    if name == "small":
        net = SmallUNet(outputs, reduce=recipe.reduce, widths=recipe.widths, stem=recipe.stem)
        if recipe.kind == "instances" and net.head.bias is not None:
            with torch.no_grad():  # centres are rare: a net that begins by doubting each learns sooner
                net.head.bias[-4] = -3.0
        return net
    if name not in NETS:
        raise UsageError(f"There is no net {name!r}.", f"There are {', '.join(NETS)}.")
    return _monai_net(name, outputs)


def _monai_net(name: str, outputs: int) -> nn.Module:
    from monai.networks import nets  # noqa: PLC0415 - its import takes seconds

    net: Any
    if name == "basic-unet":
        net = nets.BasicUNet(spatial_dims=2, in_channels=3, out_channels=outputs)
    elif name == "segresnet":
        net = nets.SegResNet(spatial_dims=2, in_channels=3, out_channels=outputs, init_filters=32)
    else:
        net = nets.FlexibleUNet(in_channels=3, out_channels=outputs, backbone="resnet34", pretrained=False)
    if not isinstance(net, nn.Module):
        raise TypeError(type(net))
    return net


def stride_of(net: nn.Module) -> int:
    """The number of which a picture's sides must be multiples."""
    return net.stride if isinstance(net, SmallUNet) else 32
