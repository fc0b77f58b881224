"""One tool that encodes masks, or compares the masks of one large image, in a process of its own.

    python masks_tool.py TOOL CASE FILE REPEATS

CASE is `encode-column`, `encode-row` (FILE: a .npy of bool (N, H, W), rows one after the other in memory, as
a model gives it) or `iou` (FILE: JSON with `size`, `truths` and `predictions`, COCO's texts). Prints one JSON
object: seconds of each repetition but the first, and a fingerprint that is the same for equal answers. Row
order is asked of tools that know columns by giving them the mask's other side, which costs them nothing.
"""

import hashlib
import json
import sys
import time
from pathlib import Path

import numpy as np


def segjudge_encode(mask, *, row: bool):
    import segjudge as sj  # noqa: PLC0415

    return sj.Rle(order="row" if row else "column", origin=0).encode(mask)


def of_text(text: str, shape):
    """The counts of segjudge's text, which gives starts and lengths."""
    numbers = np.array(text.split(), np.int64)
    edges = np.stack([numbers[0::2], numbers[0::2] + numbers[1::2]], axis=1).reshape(-1)
    return np.diff(edges, prepend=0, append=shape[0] * shape[1]).tolist()


def encoders() -> dict:
    """By tool: what makes its answer from a mask of bool (H, W) and the order."""

    def like_pycocotools(module):
        def encode(mask, *, row: bool):
            turned = mask.T if row else np.asfortranarray(mask)
            return module.encode(turned.view(np.uint8))

        return encode

    def pycocotools():
        from pycocotools import mask  # noqa: PLC0415

        return like_pycocotools(mask)

    def faster_coco_eval():
        from faster_coco_eval.core import mask  # noqa: PLC0415

        return like_pycocotools(mask)

    def ultrafast():
        from ultrafast_pycocotools import mask  # noqa: PLC0415

        return like_pycocotools(mask)

    def hotcoco():
        from hotcoco import mask as module  # noqa: PLC0415

        return lambda mask, *, row: module.encode((mask.T if row else mask).view(np.uint8))

    def rlemasklib():
        import rlemasklib as module  # noqa: PLC0415

        return lambda mask, *, row: module.encode((mask.T if row else mask).view(np.uint8))

    return {
        "segjudge": lambda: segjudge_encode,
        "pycocotools": pycocotools,
        "faster-coco-eval": faster_coco_eval,
        "ultrafast-pycocotools": ultrafast,
        "hotcoco": hotcoco,
        "rlemasklib": rlemasklib,
    }


def counts_of(answer) -> list[int]:
    """The counts of a compressed COCO object."""
    text = answer["counts"]
    counts, value, shift = [], 0, 0
    for sign in text if isinstance(text, bytes) else text.encode():
        bits = sign - 48
        value |= (bits & 31) << shift
        shift += 5
        if not bits & 32:
            value -= (bits & 16 != 0) << shift
            counts.append(value + (counts[-2] if len(counts) > 2 else 0))
            value = shift = 0
    return counts


def since(began) -> list[float]:
    """Seconds by the clock and of the CPU."""
    return [time.perf_counter() - began[0], time.process_time() - began[1]]


def encode(tool: str, case: str, path: str, repeats: int):
    masks, row = np.load(path), case == "encode-row"
    chosen = encoders()[tool]()
    times = []
    for _ in range(repeats + 1):
        began = time.perf_counter(), time.process_time()
        answers = [chosen(mask, row=row) for mask in masks]
        times.append([value / len(masks) for value in since(began)])
    counts = [
        of_text(answer, masks[0].shape) if tool == "segjudge" else counts_of(answer) for answer in answers
    ]
    counts = [own[:-1] if own[-1] == 0 else own for own in counts]
    return times[1:], hashlib.sha256(json.dumps(counts).encode()).hexdigest()


def comparers() -> dict:
    """By tool: what makes the table of IoU from two lists of COCO objects."""

    def segjudge():
        import segjudge as sj  # noqa: PLC0415

        codec = sj.CocoRle()
        return lambda masks, truths: codec.decode(*masks).overlaps(codec.decode(*truths)).iou()

    def like_pycocotools(module):
        return lambda masks, truths: module.iou(masks, truths, [0] * len(truths))

    def pycocotools():
        from pycocotools import mask  # noqa: PLC0415

        return like_pycocotools(mask)

    def faster_coco_eval():
        from faster_coco_eval.core import mask  # noqa: PLC0415

        return like_pycocotools(mask)

    def ultrafast():
        from ultrafast_pycocotools import mask  # noqa: PLC0415

        return like_pycocotools(mask)

    def hotcoco():
        from hotcoco import mask  # noqa: PLC0415

        return like_pycocotools(mask)

    def rlemasklib():
        from rlemasklib import RLEMask  # noqa: PLC0415

        def compare(masks, truths):
            sides = [[RLEMask.from_dict(item) for item in side] for side in (masks, truths)]
            return RLEMask.iou_matrix(*sides)

        return compare

    return {
        "segjudge": segjudge,
        "pycocotools": pycocotools,
        "faster-coco-eval": faster_coco_eval,
        "ultrafast-pycocotools": ultrafast,
        "hotcoco": hotcoco,
        "rlemasklib": rlemasklib,
    }


def iou(tool: str, path: str, repeats: int):
    scene = json.loads(Path(path).read_text())
    sides = [
        [{"size": scene["size"], "counts": text.encode()} for text in scene[name]]
        for name in ("predictions", "truths")
    ]
    compare = comparers()[tool]()
    times = []
    for _ in range(repeats + 1):
        began = time.perf_counter(), time.process_time()
        table = compare(*sides)
        times.append(since(began))
    return times[1:], hashlib.sha256(np.round(np.asarray(table, float), 10).tobytes()).hexdigest()


def main() -> None:
    tool, case, path, repeats = sys.argv[1:]
    if case == "iou":
        times, fingerprint = iou(tool, path, int(repeats))
    else:
        times, fingerprint = encode(tool, case, path, int(repeats))
    seconds, cpu = zip(*times, strict=True)
    print(json.dumps({"seconds": seconds, "cpu": cpu, "fingerprint": fingerprint}))


if __name__ == "__main__":
    main()
