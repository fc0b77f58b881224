"""What this installation has: kernels, extras, versions."""

from __future__ import annotations

import importlib.util
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

__all__ = ["examine"]

_CORE = ("numpy", "pillow", "click", "rich")
#: The modules that an extra brings; all of them make it whole.
_EXTRAS = {
    "parquet": ("pyarrow",),
    "cluster": ("distributed",),
    "train": ("torch", "monai", "lightning_fabric", "safetensors", "skimage"),
    "predict": ("onnxruntime", "skimage"),
    "export": ("torch", "monai", "lightning_fabric", "safetensors", "skimage", "onnx", "onnxscript"),
}


def examine() -> dict[str, Any]:
    """The facts of this installation."""
    from segjudge import kernels  # noqa: PLC0415

    return {
        "segjudge": version("segjudge"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "kernels": "compiled" if kernels.COMPILED else "plain",
        "libraries": {name: _version(name) for name in _CORE},
        "extras": {extra: all(map(_there, modules)) for extra, modules in _EXTRAS.items()},
    }


def _there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
