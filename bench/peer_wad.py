"""The usual pipeline for WAD, as a participant would write it: csv, numpy.fromstring, pycocotools' IoU.

    python bench/peer_wad.py TRUTH.csv SUBMISSION.csv

Prints one JSON object: seconds (imports left out), images, predictions and score. Row-major runs of a
picture of height H and width W are column-major runs of one of height W and width H, which is how
pycocotools, which knows columns only, is made to read them.
"""

import collections
import csv
import json
import sys
import time
from pathlib import Path

import numpy as np
from pycocotools import mask as coco

CLASSES = (33, 34, 35, 36, 38, 39, 40)
IGNORED = frozenset({65535, *range(161, 169)})
STEPS = range(10, 20)  # thresholds in twentieths


def to_coco(text: str, height: int, width: int) -> dict:
    """A cell as a compressed COCO mask with its sides swapped."""
    pairs = np.fromstring(text.replace("|", " "), dtype=np.int64, sep=" ")
    starts, lengths = pairs[0::2], pairs[1::2]
    stops = starts + lengths
    counts = np.empty(2 * len(starts) + 1, dtype=np.int64)
    counts[0], counts[1::2] = starts[0], lengths
    counts[2:-1:2] = starts[1:] - stops[:-1]
    counts[-1] = height * width - stops[-1]
    return coco.frPyObjects({"size": [width, height], "counts": counts.tolist()}, width, height)


def read_truth(path: str):
    """By image: pairs of class and mask; and the images' sizes."""
    masks, sizes = collections.defaultdict(list), {}
    with Path(path).open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            size = int(row["Height"]), int(row["Width"])
            sizes[row["ImageId"]] = size
            if row["LabelId"]:
                masks[row["ImageId"]].append((int(row["LabelId"]), to_coco(row["EncodedPixels"], *size)))
    return masks, sizes


def read_predictions(path: str, sizes):
    """By image: triples of class, confidence and mask."""
    masks = collections.defaultdict(list)
    with Path(path).open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            mask = to_coco(row["EncodedPixels"], *sizes[row["ImageId"]])
            masks[row["ImageId"]].append((int(row["LabelId"]), float(row["Confidence"]), mask))
    return masks


def match(truths, predictions, ignored, outcomes) -> None:
    """Adds (confidence, hit) of one image and class to each threshold, the largest confidence first."""
    predictions = sorted(predictions, key=lambda pair: -pair[0])
    masks = [mask for _, mask in predictions]
    iou = coco.iou(masks, truths, [0] * len(truths)) if truths else np.zeros((len(masks), 0))
    lost = coco.iou(masks, ignored, [0] * len(ignored)) if ignored else np.zeros((len(masks), 0))
    lost = lost.max(axis=1, initial=0.0)
    for step in STEPS:
        taken = set()
        for index, (confidence, _) in enumerate(predictions):
            left = [truth for truth in range(len(truths)) if truth not in taken]
            best = max(left, key=iou[index].__getitem__, default=None)
            if best is not None and iou[index, best] * 20 > step:
                taken.add(best)
                outcomes[step].append((confidence, True))
            elif not lost[index] * 20 > step:
                outcomes[step].append((confidence, False))


def average_precision(outcomes, truths: int) -> float:
    """Interpolated precision at recall 0, 0.01, … 1; outcomes are (confidence, hit).

    Equal confidences enter the curve together: their order in the file says nothing.
    """
    outcomes = sorted(outcomes, key=lambda pair: -pair[0])
    if not outcomes:
        return 0.0
    sure = np.array([confidence for confidence, _ in outcomes])
    last = np.flatnonzero(np.append(sure[1:] != sure[:-1], True))  # of each confidence
    hits = np.cumsum([hit for _, hit in outcomes], dtype=np.int64)[last]
    precision = hits / (last + 1)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    at = np.searchsorted(hits * 100, np.arange(101) * truths, side="left")
    return float(np.append(envelope, 0.0)[np.minimum(at, len(hits))].mean())


def score(truth_path: str, submission_path: str):
    """The score, and how many images and predictions it was made from."""
    truth, sizes = read_truth(truth_path)
    predictions = read_predictions(submission_path, sizes)
    outcomes = {class_id: {step: [] for step in STEPS} for class_id in CLASSES}
    totals = collections.Counter()
    for image in sizes:
        ignored = [mask for class_id, mask in truth[image] if class_id in IGNORED]
        for class_id in CLASSES:
            own = [mask for other, mask in truth[image] if other == class_id]
            found = [(sure, mask) for other, sure, mask in predictions[image] if other == class_id]
            totals[class_id] += len(own)
            if found:
                match(own, found, ignored, outcomes[class_id])
    curves = [
        average_precision(outcomes[class_id][step], totals[class_id])
        for class_id in CLASSES
        if totals[class_id]
        for step in STEPS
    ]
    return (float(np.mean(curves)) if curves else None), len(sizes), sum(map(len, predictions.values()))


def main() -> None:
    csv.field_size_limit(1 << 30)
    began = time.perf_counter()
    value, images, predictions = score(*sys.argv[1:3])
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "images": images, "predictions": predictions, "score": value}))


if __name__ == "__main__":
    main()
