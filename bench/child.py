"""Programs run as whole processes, with what they cost: wall and CPU seconds, memory, children."""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class Cost:
    """What one process took. `peak` is of the largest single process: it or a child it waited for."""

    status: int
    wall: float  # seconds
    cpu: float  # user and system seconds, waited-for children included
    peak: int  # bytes
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Family:
    """The processes below a program while it ran, sampled: how many at once, and their memory together."""

    children: int
    together: int  # bytes, the program's own included; shared pages count in each process


def run(command: list[str], watch=None) -> Cost:
    """The cost of one run; `watch`, if given, is called with the process id until the program ends."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        if watch is None:
            _, status, usage = os.wait4(process.pid, 0)
        else:
            while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
                watch(process.pid)
                time.sleep(0.02)
            _, status, usage = ended
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Cost(
            status=process.returncode,
            wall=wall,
            cpu=usage.ru_utime + usage.ru_stime,
            peak=usage.ru_maxrss * _RSS_UNIT,
            out=out.read().decode(errors="replace"),
            err=err.read().decode(errors="replace"),
        )


def run_watched(command: list[str]) -> tuple[Cost, Family | None]:
    """One run with its family sampled every 20 ms; None where the system has no /proc."""
    if not Path("/proc/self/stat").exists():
        return run(command), None
    most = {"children": 0, "together": 0}

    def watch(pid: int) -> None:
        family = _family(pid)
        most["children"] = max(most["children"], len(family) - 1)
        most["together"] = max(most["together"], sum(map(_resident, family)))

    cost = run(command, watch)
    return cost, Family(most["children"], most["together"])


def _family(pid: int) -> list[int]:
    """The process and everything below it, from the parents named in /proc."""
    below: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            parent = _parent(folder)
            if parent:
                below.setdefault(parent, []).append(int(folder.name))
    family = [pid]
    for member in family:
        family.extend(below.get(member, ()))
    return family


def _parent(folder: Path) -> int:
    try:
        text = (folder / "stat").read_text()
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[1])


def _resident(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
