"""The peers in an environment of their own, and what this machine is."""

import compileall
import json
import os
import platform
import subprocess
import sys
import time
import venv
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from machine import processor

PEERS = (
    "pycocotools",
    "faster-coco-eval",
    "hotcoco",
    "ultrafast-pycocotools",
    "vernier",
    "rlemasklib",
)
OTHERS = ("numpy", "pandas", "matplotlib")

_VERSIONS = """
import importlib.metadata as m, json, sys
print(json.dumps({n: m.version(n) for n in sys.argv[1:] if any(m.distributions(name=n))}))
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python with the peers, and which of them are there, in which version."""

    python: str
    versions: dict[str, str]
    missing: dict[str, str]  # peer: the last line of why it could not be installed


def prepared(folder: Path, *, fresh: bool) -> Environment:
    """The environment in this folder; installs what is not there, and with `fresh` the newest of all."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        venv.create(folder, with_pip=True)
    there = _versions(python)
    missing = {}
    for package in (*OTHERS, *PEERS):
        if package in there and not fresh:
            continue
        command = [str(python), "-m", "pip", "install", "--quiet", "--upgrade", package]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            words = done.stderr.strip().splitlines() or ["pip gave no reason"]
            missing[package] = f"could not be installed ({words[-1]})"
    return Environment(str(python), _versions(python), missing)


def _versions(python: Path) -> dict[str, str]:
    command = [str(python), "-c", _VERSIONS, *OTHERS, *PEERS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def compile_own() -> None:
    """Write segjudge's bytecode, as an installer does: a source tree may never have been run."""
    place = util.find_spec("segjudge")
    if place is not None and place.origin is not None:
        compileall.compile_dir(str(Path(place.origin).parent), quiet=2)


def own_versions() -> dict[str, str]:
    """segjudge's side."""
    versions = {"Python": platform.python_version()}
    for package in ("segjudge", "numpy"):
        versions[package] = metadata.version(package)
    return versions


def machine() -> str:
    """Processor, CPUs, memory and system in a sentence."""
    parts = [f"{processor()}, {os.cpu_count()} CPUs"]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        parts.append(f"{memory / 2**30:.0f} GiB of memory")
    parts.append(f"{platform.system()} {platform.release()}")
    return ", ".join(parts)


class Bystanders:
    """What other programs take of the CPUs from now on, by the system's own account."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.others = _others()

    def cpus(self) -> float | None:
        """How many CPUs the others kept busy on average; None where the system has no /proc."""
        others = _others()
        if others is None or self.others is None:
            return None
        return max(0.0, others - self.others) / (time.monotonic() - self.began)


def _others() -> float | None:
    """CPU seconds of all programs since the machine started, less those of this one and its ended children."""
    path = Path("/proc/stat")
    if not path.exists():
        return None
    user, nice, system, _, _, *interrupts = map(int, path.read_text().split("\n", 1)[0].split()[1:9])
    busy = (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")
    return busy - sum(os.times()[:4])


def bandwidth(python: str) -> float:
    """Bytes a second that one CPU reads from memory: a sum over numbers far beyond the cache, best of 7."""
    code = (
        "import numpy as np, time\n"
        "a = np.ones(1 << 26, np.uint64)\n"
        "best = 1e9\n"
        "for _ in range(7):\n"
        "    t = time.perf_counter(); a.sum(); best = min(best, time.perf_counter() - t)\n"
        "print(a.nbytes / best)\n"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


OWN = sys.executable
