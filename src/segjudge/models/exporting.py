"""A run as one ONNX file, with its rules inside, for machines without torch."""

from __future__ import annotations

import json
import logging
import warnings
from typing import TYPE_CHECKING

from segjudge.errors import MissingExtra, UsageError
from segjudge.models.building import load_weights
from segjudge.models.runs import FORMAT, Run, fold_runs
from segjudge.models.trained import outputs_count, recipe_of
from segjudge.models.whole import replacing

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["export_run"]


def export_run(folder: Path, target: Path) -> None:
    """Nothing; the run's net lies in one file afterwards, with everything that `predict` needs to know.

    Raises UsageError for a run that has not come to its end or is one over several folds, MissingExtra
    without the extra.
    """
    try:
        import onnx  # noqa: PLC0415 - heavy
        import onnxscript  # noqa: F401, PLC0415 - torch's exporter wants it
        import torch  # noqa: PLC0415 - heavy
    except ImportError:
        raise MissingExtra("export", "Exporting to ONNX") from None
    from segjudge.models.nets import build_net, stride_of  # noqa: PLC0415 - imports torch

    runs = fold_runs(folder)
    if len(runs) > 1:
        raise UsageError(
            f"{folder} is a run over {len(runs)} folds.", f"Export one of them: {runs[0].folder}"
        )
    if target.suffix != ".onnx" or not target.parent.is_dir():
        raise UsageError(
            f"{target} cannot be written.", "Name a file in an existing folder that ends in .onnx."
        )
    run = Run(runs[0].folder)
    data, rules = run.read(), run.rules()
    recipe = recipe_of(data["recipe"])
    net = build_net(data["plan"]["net"], recipe, outputs_count(recipe, len(data["classes"]))).eval()
    load_weights(net, run.weights)
    sides = {2: torch.export.Dim.DYNAMIC, 3: torch.export.Dim.DYNAMIC}
    example = torch.zeros(1, 3, 4 * stride_of(net), 6 * stride_of(net))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own, about its insides
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        program = torch.onnx.export(
            net, (example,), dynamo=True, dynamic_shapes=(sides,), input_names=["picture"],
            output_names=["outputs"], external_data=False, verbose=False,
        )  # fmt: skip
    if program is None:
        raise UsageError(f"The net of {folder} cannot be exported.", "Predict with the run itself.")
    model = program.model_proto
    note = {
        "format": FORMAT,
        "task": data["plan"]["task"],
        "stride": stride_of(net),
        "recipe": data["recipe"],
        "rules": rules.to_json(),
    }
    onnx.helper.set_model_props(model, {"segjudge": json.dumps(note)})
    with replacing(target) as partial:
        partial.write_bytes(model.SerializeToString())
