"""The folder of a training run: what was asked, what came out, and where each file of it lies."""

from __future__ import annotations

import csv
import dataclasses
import json
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from segjudge.errors import UsageError
from segjudge.models.rules import Rules
from segjudge.models.whole import replacing
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Plan", "Run", "fold_runs", "library_versions"]

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that decides a run's weights, beside the data and the libraries."""

    task: str
    net: str = "small"
    init: str = "builtin"  # builtin, scratch, or the path of a run or of weights
    steps: int | None = None  # None where minutes decide
    minutes: float | None = None
    epochs: int = 8  # times that the metric is taken along the way
    fold: int = 0
    folds: int = 4
    seed: int = 0
    batch: int | None = None  # None: the recipe's
    rate: float | None = None
    validation: int | None = None  # images at most
    overfit: int | None = None  # train and judge on so many images alone
    threads: int | None = None
    devices: int = 1
    precision: str = "32-true"
    workers: int = 0  # processes that make crops

    def differences(self, other: Plan) -> list[str]:
        """The names of what differs and would change the weights."""
        free = {"threads", "devices", "workers"}
        return [
            field.name
            for field in dataclasses.fields(self)
            if field.name not in free and getattr(self, field.name) != getattr(other, field.name)
        ]


@dataclass(frozen=True, slots=True)
class Run:
    """A run's folder."""

    folder: Path

    @property
    def record(self) -> Path:
        """Settings, versions, data, rules and the metric, as JSON."""
        return self.folder / "run.json"

    @property
    def weights(self) -> Path:
        """The best weights."""
        return self.folder / "model.safetensors"

    @property
    def state(self) -> Path:
        """Where training stands; what `--resume` goes on from."""
        return self.folder / "last.ckpt"

    @property
    def manifest(self) -> Path:
        """The images of the data, those of validation marked Public and all others Ignored."""
        return self.folder / "validation.csv"

    @property
    def metrics(self) -> Path:
        """A row per epoch."""
        return self.folder / "metrics.csv"

    @property
    def pictures(self) -> Path:
        """Sample predictions, a picture per epoch."""
        return self.folder / "pictures"

    def exists(self) -> bool:
        """Whether a run was begun here."""
        return self.record.is_file()

    def read(self) -> dict[str, Any]:
        """The record; raises UsageError where there is none that this version can read."""
        try:
            data: dict[str, Any] = json.loads(self.record.read_text("utf-8"))
        except FileNotFoundError:
            raise UsageError(
                f"{self.folder} is no run: it has no {self.record.name}.",
                "Name the folder that `train` wrote.",
            ) from None
        except (ValueError, UnicodeDecodeError):
            raise UsageError(
                f"{self.record} cannot be read.", "It was changed or cut; train again."
            ) from None
        if data.get("format") != FORMAT:
            raise UsageError(f"{self.record} was written by another version of segjudge.", "Train again.")
        return data

    def plan(self) -> Plan:
        """The plan that the run was begun with."""
        return Plan(**self.read()["plan"])

    def rules(self) -> Rules:
        """The rules that were tuned; raises UsageError where training has not come to an end."""
        data = self.read()
        if not data.get("rules"):
            raise UsageError(
                f"The run {self.folder} has not come to its end.", "Go on with: segjudge train … --resume"
            )
        if not self.weights.is_file():
            raise UsageError(
                f"The run {self.folder} lacks its weights, {self.weights.name}.",
                "Copy the whole folder, or train again.",
            )
        return Rules.from_json(data["rules"])

    def write(self, data: Mapping[str, Any]) -> None:
        """Write the record, whole or not at all."""
        replace_text(self.record, json.dumps({"format": FORMAT, **data}, indent=2, ensure_ascii=False) + "\n")

    def write_metrics(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write the rows of all epochs so far."""
        with replacing(self.metrics) as partial, partial.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def replace_text(path: Path, text: str) -> None:
    """Write a small file so that a reader finds the old or the new one, never half of it."""
    with replacing(path) as partial:
        partial.write_text(text, "utf-8")


def fold_runs(folder: Path) -> list[Run]:
    """The runs in a folder: itself, or one for each fold of a run over all folds."""
    whole = Run(folder)
    if whole.exists():
        return [whole]
    folds = [Run(path) for path in sorted(folder.glob("fold-*")) if Run(path).exists()]
    if not folds:
        whole.read()
    return folds


def library_versions() -> dict[str, str]:
    """What the run depends on, by name."""
    found = {"python": platform.python_version()}
    for name in (
        "segjudge",
        "numpy",
        "pillow",
        "torch",
        "monai",
        "lightning-fabric",
        "scipy",
        "scikit-image",
    ):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
