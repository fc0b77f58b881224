"""A trained model, wherever it lies: a run's folder, a run over folds, or an ONNX file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from segjudge.errors import MissingExtra, UsageError
from segjudge.models.building import load_weights
from segjudge.models.inference import TorchRunner
from segjudge.models.recipes import Recipe
from segjudge.models.rules import Rules
from segjudge.models.runs import FORMAT, Run, fold_runs
from segjudge.records import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from segjudge.models.inference import Runner
    from segjudge.task import Task

__all__ = ["Trained", "open_trained", "recipe_of"]


@dataclass(frozen=True, slots=True)
class Trained:
    """A net that can be run, and everything that predicting with it takes."""

    runner: Runner
    recipe: Recipe
    rules: Rules
    name: str  # what it was opened from
    digest: str  # says whether two are the same


@dataclass(frozen=True, slots=True)
class OnnxRunner:
    """A net in ONNX Runtime, without torch."""

    session: Any
    stride: int

    def __call__(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """(1, K, H, W) logits of (1, 3, H, W)."""
        said: NDArray[np.float32] = self.session.run(None, {"picture": inputs})[0]
        return said


def open_trained(task: Task, path: Path, *, threads: int | None = None) -> list[Trained]:
    """The models at a path: one, or one for each fold of a run over folds.

    Raises UsageError for what is no finished run, or one of another task; MissingExtra where torch or ONNX
    Runtime is not installed.
    """
    if not path.exists():
        raise UsageError(
            f"There is no run {str(path)!r}.", "Name the folder that `train` wrote, or an ONNX file."
        )
    if path.is_file():
        return [_from_onnx(task, path, threads)]
    return [_from_run(task, run, threads) for run in fold_runs(path)]


def recipe_of(data: dict[str, Any]) -> Recipe:
    """The recipe that a record holds, its lists being tuples again."""
    fields: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in data.items()
    }
    for name in ("rare", "weights"):
        fields[name] = tuple((int(class_id), float(value)) for class_id, value in data[name])
    return Recipe(**fields)


def _refuse_other_task(task: Task, own: str, path: Path) -> None:
    if own != task.id:
        raise UsageError(
            f"{path} was trained for {own}, not for {task.id}.", f"Predict with: segjudge predict {own}"
        )


def _from_run(task: Task, run: Run, threads: int | None) -> Trained:
    try:
        import torch  # noqa: PLC0415 - heavy
    except ImportError:
        raise MissingExtra("train", "Predicting with a run") from None
    from segjudge.models.nets import build_net, stride_of  # noqa: PLC0415 - imports torch

    data, rules = run.read(), run.rules()
    _refuse_other_task(task, data["plan"]["task"], run.folder)
    if threads:
        torch.set_num_threads(threads)
    recipe = recipe_of(data["recipe"])
    net = build_net(data["plan"]["net"], recipe, outputs_count(recipe, len(data["classes"])))
    load_weights(net, run.weights)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = net.eval().to(device, memory_format=torch.channels_last)
    runner = TorchRunner(net, stride_of(net), device)
    return Trained(
        runner, recipe, rules, str(run.folder), f"{data['fingerprint']} {run.weights.stat().st_mtime_ns}"
    )


def outputs_count(recipe: Recipe, classes: int) -> int:
    """The planes that a net puts out: one per class, or shares of background and classes, and four more."""
    return classes if recipe.kind == "semantic" else classes + 5


def _from_onnx(task: Task, path: Path, threads: int | None) -> Trained:
    try:
        import onnxruntime  # noqa: PLC0415 - heavy
    except ImportError:
        raise MissingExtra("predict", "Predicting with an ONNX file") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or 0
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(
            str(path), options, providers=onnxruntime.get_available_providers()
        )
        note = json.loads(session.get_modelmeta().custom_metadata_map["segjudge"])
    except (KeyError, ValueError, RuntimeError, onnxruntime.capi.onnxruntime_pybind11_state.Fail) as error:
        raise _no_model(path) from error
    except onnxruntime.capi.onnxruntime_pybind11_state.InvalidProtobuf as error:
        raise _no_model(path) from error
    if note.get("format") != FORMAT:
        raise UsageError(f"{path} was exported by another version of segjudge.", "Export it again.")
    _refuse_other_task(task, note["task"], path)
    runner = OnnxRunner(session, int(note["stride"]))
    rules, recipe = Rules.from_json(note["rules"]), recipe_of(note["recipe"])
    return Trained(runner, recipe, rules, str(path), str(path.stat().st_mtime_ns))


def _no_model(path: Path) -> UsageError:
    return UsageError(
        f"{path} is no model that `segjudge export` wrote.", "Name a run's folder or an exported file."
    )
