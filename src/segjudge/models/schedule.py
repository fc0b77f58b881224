"""What changes from step to step: the learning rate, the running mean of weights, and where epochs end."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

__all__ = ["WARM", "average", "dealt", "epoch_ends", "rate_at"]

WARM = 24  #: steps in which the learning rate rises
_LEARNING = (0.5, 0.85)  # share of the time that goes into steps, at least and at most
_DECAY = 0.998  # of the running mean of weights


def rate_at(peak: float, step: int, steps: int | None) -> float:
    """The learning rate of a step: up in a line to the peak, then down along a cosine to a fiftieth of it.

    >>> [round(rate_at(0.1, step, 1000), 4) for step in (0, 11, 23, 500, 1000)]
    [0.0042, 0.05, 0.0999, 0.051, 0.002]
    """
    rise = min(1.0, (step + 1) / WARM)
    share = 0.0 if steps is None else min(1.0, step / steps)
    return peak * rise * (0.02 + 0.98 * (1 + math.cos(math.pi * share)) / 2)


def average(mean: nn.Module, net: nn.Module, step: int) -> None:
    """Move the running mean of weights, and of the norms' statistics, towards the net's.

    The share of the new weights falls from most of the mean to a five-hundredth of it, so that the random
    weights of the beginning are soon forgotten.
    """
    import torch  # noqa: PLC0415 - takes seconds

    share = 1 - min(_DECAY, (1 + step) / (10 + step))
    with torch.no_grad():
        own = net.state_dict()
        for name, values in mean.state_dict().items():
            if values.is_floating_point():
                values.lerp_(own[name].to(values.dtype), share)
            else:
                values.copy_(own[name])


def dealt(seconds: float, pace: float, look: float, closing: float) -> tuple[int, int]:
    """How many steps, of `pace` seconds each, and epochs there is time for.

    After each epoch looking at the validation images takes `look` seconds, and at the end `closing` more. At
    least half of the time goes into steps, though looking should take longer than all of it.

    >>> dealt(300, pace=0.5, look=2, closing=12), dealt(6, pace=0.5, look=4, closing=10)
    ((510, 16), (6, 0))
    """
    least, most = (share * seconds for share in _LEARNING)
    learning = min(max(seconds - look - closing, least), most)
    return round(learning / pace), max(0, int((seconds - learning - closing) / look))


def epoch_ends(begin: int, steps: int, epochs: int) -> set[int]:
    """The steps after which an epoch ends: spread evenly over those behind `begin`, the last on the last.

    >>> sorted(epoch_ends(2, 15, 3))
    [6, 11, 15]
    """
    return {begin + round((steps - begin) * (k + 1) / epochs) for k in range(epochs)}
