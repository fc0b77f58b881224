"""Nets with weights in them: shipped ones, those of another run, or random ones."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segjudge.errors import UsageError
from segjudge.models.whole import replacing

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch
    from torch import nn

__all__ = ["builtin_weights", "initialise", "load_weights", "save_weights", "weights_note"]

_NOTES = "segjudge"


def builtin_weights(task_id: str) -> Path | None:
    """The file of shipped weights for a task; None where there is none."""
    path = Path(str(resources.files("segjudge.models") / "builtin" / f"{task_id}.safetensors"))
    return path if path.is_file() else None


def initialise(net: nn.Module, init: str, task_id: str) -> tuple[str, bool]:
    """What a net begins with, in words for people, and whether these are weights that learnt something.

    `init` is `builtin`, `scratch`, a run's folder or a file of weights; the weights are put into the net.
    Layers whose shapes differ, such as the last one of another task, keep their random weights. Raises
    UsageError where nothing fits.
    """
    if init == "scratch":
        return "random weights", False
    path = builtin_weights(task_id) if init == "builtin" else Path(init)
    if path is None:
        return "random weights, for none are shipped for this task", False
    if path.is_dir():
        path = path / "model.safetensors"
    if not path.is_file():
        raise UsageError(
            f"There are no weights at {init!r}.", "Give builtin, scratch, a run or a .safetensors file."
        )
    own = net.state_dict()
    given = {name: values for name, values in _read(path).items() if name in own}
    fitting = {name: values for name, values in given.items() if values.shape == own[name].shape}
    if not fitting:
        if init == "builtin":
            return "random weights, for those shipped are of another net", False
        raise UsageError(
            f"The weights in {path} fit no layer of this net.", "Were they made with another --net?"
        )
    net.load_state_dict({name: values.to(own[name].dtype) for name, values in fitting.items()}, strict=False)
    left = len(own) - len(fitting)
    kind = "shipped weights" if init == "builtin" else f"the weights of {path}"
    if left:
        kind += f" ({left} of {len(own)} tensors do not fit and stay random)"
    return kind, True


def load_weights(net: nn.Module, path: Path) -> None:
    """Put the weights of a file into a net that they were made for; raises UsageError for others."""
    try:
        net.load_state_dict(_read(path))
    except RuntimeError as error:
        raise UsageError(f"The weights in {path} are of another net: {str(error).splitlines()[0]}") from None


def save_weights(
    net: nn.Module, path: Path, *, half: bool = False, notes: Mapping[str, Any] | None = None
) -> None:
    """Write a net's weights, whole or not at all; `half` keeps them in 16 bits."""
    import torch  # noqa: PLC0415 - heavy
    from safetensors.torch import save  # noqa: PLC0415 - heavy

    kept = {}
    for name, values in net.state_dict().items():
        plain = values.detach().cpu().contiguous()
        kept[name] = plain.half() if half and plain.dtype == torch.float32 else plain.clone()
    with replacing(path) as partial:
        # One entry, for several are written in an order of chance; and save_file would keep the file from
        # everyone but its owner, whatever the umask says.
        partial.write_bytes(save(kept, {_NOTES: json.dumps(notes)} if notes else None))


def weights_note(path: Path) -> dict[str, Any]:
    """What was written beside the weights."""
    from safetensors import safe_open  # noqa: PLC0415 - heavy

    with safe_open(path, "pt") as file:
        kept: dict[str, str] = file.metadata() or {}
    notes: dict[str, Any] = json.loads(kept.get(_NOTES, "{}"))
    return notes


def _read(path: Path) -> dict[str, torch.Tensor]:
    from safetensors import SafetensorError  # noqa: PLC0415 - heavy
    from safetensors.torch import load_file  # noqa: PLC0415 - heavy

    try:
        found: dict[str, torch.Tensor] = load_file(path)
    except (SafetensorError, OSError) as error:
        raise UsageError(f"{path} holds no weights: {error}.", "It should be a .safetensors file.") from None
    return found
