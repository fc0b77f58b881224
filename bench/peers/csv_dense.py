"""The usual notebook for a competition's two CSV files: every mask an array of the whole picture.

    python csv_dense.py TASK TRUTH.csv SUBMISSION.csv

Prints one JSON object: seconds (imports left out), score, and peak memory in bytes.
"""

import collections
import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.append(str(Path(__file__).parents[1]))
from peer_wad import CLASSES, IGNORED, STEPS, average_precision
from timed import main


def to_mask(text: str, height: int, width: int, *, first: int, columns: bool):
    """The array of a cell, as every forum has it: a loop over the runs."""
    numbers = text.replace("|", " ").split()
    mask = np.zeros(height * width, dtype=bool)
    for start, length in zip(map(int, numbers[0::2]), map(int, numbers[1::2]), strict=True):
        mask[start - first : start - first + length] = True
    return mask.reshape(width, height).T if columns else mask.reshape(height, width)


def iou_table(masks, truths):
    table = np.zeros((len(masks), len(truths)))
    for row, mask in enumerate(masks):
        for column, truth in enumerate(truths):
            table[row, column] = np.logical_and(mask, truth).sum() / np.logical_or(mask, truth).sum()
    return table


def badlad(truth_path: str, submission_path: str) -> float:
    truth = pd.read_csv(truth_path, dtype={"Id": str}, keep_default_na=False)
    found = pd.read_csv(submission_path, dtype={"Id": str}, keep_default_na=False).set_index("Id")
    scores = []
    for row in truth.itertuples():
        size = row.Height, row.Width
        own = to_mask(row.Predicted, *size, first=1, columns=True)
        mask = to_mask(found.loc[row.Id, "Predicted"], *size, first=1, columns=True)
        together = own.sum() + mask.sum()
        scores.append(2 * np.logical_and(own, mask).sum() / together if together else 1.0)
    return float(np.mean(scores))


def dsb(truth_path: str, submission_path: str) -> float:
    truth = pd.read_csv(truth_path, keep_default_na=False)
    found = dict(list(pd.read_csv(submission_path, keep_default_na=False).groupby("ImageId", sort=False)))
    scores = []
    for image, own in truth.groupby("ImageId", sort=False):
        size = int(own.Height.iloc[0]), int(own.Width.iloc[0])
        truths = [to_mask(text, *size, first=1, columns=True) for text in own.EncodedPixels]
        masks = [to_mask(text, *size, first=1, columns=True) for text in found[image].EncodedPixels]
        table = iou_table(masks, truths)
        hits = [int((table * 20 > step).any(axis=1).sum()) for step in STEPS]
        scores.append(np.mean([hit / (len(truths) + len(masks) - hit) for hit in hits]))
    return float(np.mean(scores))


def wad(truth_path: str, submission_path: str) -> float | None:
    truth = pd.read_csv(truth_path, keep_default_na=False, dtype=str)
    found = dict(list(pd.read_csv(submission_path, keep_default_na=False, dtype=str).groupby("ImageId")))
    outcomes = {class_id: {step: [] for step in STEPS} for class_id in CLASSES}
    totals = collections.Counter()
    for image, rows in truth.groupby("ImageId"):
        size = int(rows.Height.iloc[0]), int(rows.Width.iloc[0])
        masks = [
            (int(label), to_mask(text, *size, first=0, columns=False))
            for label, text in zip(rows.LabelId, rows.EncodedPixels, strict=True)
            if label
        ]
        ignored = [mask for label, mask in masks if label in IGNORED]
        results = found.get(image, pd.DataFrame(columns=["LabelId", "Confidence", "EncodedPixels"]))
        for class_id in CLASSES:
            own = [mask for label, mask in masks if label == class_id]
            chosen = results[results.LabelId == str(class_id)]
            sure = chosen.Confidence.astype(float).to_numpy()
            drawn = [to_mask(text, *size, first=0, columns=False) for text in chosen.EncodedPixels]
            totals[class_id] += len(own)
            match(sure, iou_table(drawn, own), iou_table(drawn, ignored), outcomes[class_id])
    curves = [
        average_precision(outcomes[class_id][step], totals[class_id])
        for class_id in CLASSES
        if totals[class_id]
        for step in STEPS
    ]
    return float(np.mean(curves)) if curves else None


def match(sure, iou, lost, outcomes) -> None:
    """Adds (confidence, hit) of one image and class to each threshold, the largest confidence first."""
    for step in STEPS:
        free = np.ones(iou.shape[1], bool)
        for place in np.argsort(-sure, kind="stable").tolist():
            values = np.where(free, iou[place], -1.0)
            best = int(values.argmax()) if len(values) else -1
            if best >= 0 and values[best] * 20 > step:
                free[best] = False
                outcomes[step].append((sure[place], True))
            elif not lost[place].max(initial=0.0) * 20 > step:
                outcomes[step].append((sure[place], False))


TASKS = {"badlad": badlad, "dsb-2018": dsb, "wad-2018": wad}


if __name__ == "__main__":
    main(TASKS)
