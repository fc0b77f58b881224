"""The usual pipeline for WAD's two CSV files, bench/peer_wad.py: the csv module, numpy.fromstring, pycocotools.

    python csv_wad.py wad-2018 TRUTH.csv SUBMISSION.csv

Prints what csv_usual.py prints. It is a program of its own since it needs no pandas, whose import would count
in its whole process.
"""

import csv
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
import peer_wad
from timed import main


def wad(truth_path: str, submission_path: str) -> float | None:
    csv.field_size_limit(1 << 30)
    return peer_wad.score(truth_path, submission_path)[0]


if __name__ == "__main__":
    main({"wad-2018": wad})
