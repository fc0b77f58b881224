"""Where a training stands: what onlookers are told of it, and what is kept of it on disk."""

from __future__ import annotations

import dataclasses
import math
import zipfile
from dataclasses import field
from typing import TYPE_CHECKING, Any

from segjudge.errors import UsageError
from segjudge.models.whole import replacing
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Progress", "State", "load_state", "save_state"]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where training stands, for those who look on."""

    step: int
    steps: int | None  # None while --minutes has not become steps
    loss: float
    seconds: float  # since this process began to train
    remaining: float | None  # seconds until the last step
    epoch: dict[str, Any] | None = None  # the row of an epoch that has just ended
    note: str = ""


@dataclass(slots=True)
class State:
    """What changes from step to step, beside the weights."""

    step: int = 0
    steps: int | None = None
    epochs: int = 0  # that end by the last step; 0 while that is not known
    counted: int = 0  # the step from which on epochs are dealt evenly
    loss_sum: float = 0.0
    loss_count: int = 0
    best: float = -math.inf
    rows: list[dict[str, Any]] = field(default_factory=list)


def save_state(path: Path, state: State, parts: Mapping[str, Any]) -> None:
    """Write the state and that of net, mean and optimizer, whole or not at all."""
    import torch  # noqa: PLC0415 - takes seconds

    whole = {name: part.state_dict() for name, part in parts.items()}
    whole["state"] = dataclasses.asdict(state)
    with replacing(path) as partial, partial.open("wb") as file:
        torch.save(whole, file)


def load_state(path: Path, parts: Mapping[str, Any]) -> State:
    """The state that was saved, and into the parts what is theirs; raises UsageError for a file that is none."""
    import torch  # noqa: PLC0415 - takes seconds

    if not zipfile.is_zipfile(path):  # what torch makes of anything else is anyone's guess
        raise UsageError(
            f"{path} cannot be read: it was changed or cut.",
            "Delete it, and --resume begins at the first step; or begin another run.",
        )
    whole = torch.load(path, map_location="cpu", weights_only=True)
    for name, part in parts.items():
        part.load_state_dict(whole[name])
    return State(**whole["state"])
