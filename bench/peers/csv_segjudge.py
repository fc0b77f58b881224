"""segjudge from a competition's two CSV files on disk to the score, again and again, from Python.

    python csv_segjudge.py TASK TRUTH.csv SUBMISSION.csv THREADS REPEATS

Prints one JSON object: seconds and CPU seconds of each repetition (imports left out, the first of all left
out, too, if there are several), score, and peak memory in bytes.
"""

import json
import sys

from timed import timed

import segjudge as sj


def main() -> None:
    name, truth, submission, threads, repeats = sys.argv[1:]
    task = sj.load_task(name)

    def run() -> float | None:
        sides = sj.read_truth(task, truth), sj.read_submission(task, submission)
        return sj.score(task, *sides, by=(), workers=int(threads)).score

    score, cost = timed(run, int(repeats))
    print(json.dumps({"score": score} | cost))


if __name__ == "__main__":
    main()
