"""Work that is timed inside the measured process, imports left out, and said as one JSON object."""

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping


def timed(run: Callable[[], object], repeats: int) -> tuple[object, dict]:
    """What the last repetition gave; seconds and CPU seconds of each, and the peak memory in bytes.

    The first of several repetitions is left out of the lists.
    """
    seconds, cpu = [], []
    for _ in range(max(repeats, 1)):
        began, cpu_began = time.perf_counter(), time.process_time()
        found = run()
        seconds.append(time.perf_counter() - began)
        cpu.append(time.process_time() - cpu_began)
    kept = slice(1 if len(seconds) > 1 else 0, None)
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return found, {"seconds": seconds[kept], "cpu": cpu[kept], "peak": peak}


def main(tasks: Mapping[str, Callable[[str, str], float | None]]) -> None:
    """The program of a pipeline: TASK TRUTH.csv SUBMISSION.csv in, its score and times out, of one run."""
    task, truth, submission = sys.argv[1:]
    score, cost = timed(lambda: tasks[task](truth, submission), 1)
    print(json.dumps({"score": score} | cost))
