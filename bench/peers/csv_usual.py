"""The usual pipeline for a competition's two CSV files: pandas, numpy.fromstring, pycocotools' IoU.

    python csv_usual.py TASK TRUTH.csv SUBMISSION.csv

Prints one JSON object: seconds (imports left out), score, and peak memory in bytes. WAD's pipeline, which
needs no pandas, is csv_wad.py.
"""

import numpy as np
import pandas as pd
from pycocotools import mask as coco
from timed import main

STEPS = range(10, 20)  # thresholds in twentieths


def to_coco(text: str, height: int, width: int) -> dict:
    """A cell of column-major runs, first pixel 1, as a compressed COCO mask."""
    pairs = np.fromstring(text, dtype=np.int64, sep=" ")
    starts, lengths = pairs[0::2] - 1, pairs[1::2]
    stops = starts + lengths
    counts = np.empty(2 * len(starts) + 1, dtype=np.int64)
    counts[0], counts[1::2] = starts[0], lengths
    counts[2:-1:2] = starts[1:] - stops[:-1]
    counts[-1] = height * width - stops[-1]
    return coco.frPyObjects({"size": [height, width], "counts": counts.tolist()}, height, width)


def badlad(truth_path: str, submission_path: str) -> float:
    """Mean Dice over rows; 1 where both masks are empty, 0 where one is."""
    truth = pd.read_csv(truth_path, dtype={"Id": str}, keep_default_na=False)
    found = pd.read_csv(submission_path, dtype={"Id": str}, keep_default_na=False)
    found = dict(zip(found.Id, found.Predicted, strict=True))
    total = 0.0
    for row in truth.itertuples():
        text = found[row.Id]
        if not row.Predicted or not text:
            total += not row.Predicted and not text
            continue
        masks = [to_coco(cell, row.Height, row.Width) for cell in (text, row.Predicted)]
        iou = coco.iou(masks[:1], masks[1:], [0])[0, 0]
        total += 2 * iou / (1 + iou)
    return total / len(truth)


def dsb(truth_path: str, submission_path: str) -> float:
    """Mean over images of the mean over thresholds of hits / (hits + misses + false alarms)."""
    truth = pd.read_csv(truth_path, keep_default_na=False)
    found = dict(list(pd.read_csv(submission_path, keep_default_na=False).groupby("ImageId", sort=False)))
    scores = []
    for image, own in truth.groupby("ImageId", sort=False):
        size = int(own.Height.iloc[0]), int(own.Width.iloc[0])
        truths = [to_coco(text, *size) for text in own.EncodedPixels]
        masks = [to_coco(text, *size) for text in found[image].EncodedPixels]
        best = coco.iou(masks, truths, [0] * len(truths)).max(axis=1)  # above 1/2 no two share a truth
        hits = [int((best * 20 > step).sum()) for step in STEPS]
        scores.append(np.mean([hit / (len(truths) + len(masks) - hit) for hit in hits]))
    return float(np.mean(scores))


TASKS = {"badlad": badlad, "dsb-2018": dsb}


if __name__ == "__main__":
    main(TASKS)
