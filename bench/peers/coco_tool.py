"""One tool from COCO's two files on disk to its twelve numbers, again and again, in a process of its own.

    python coco_tool.py TOOL ANNOTATIONS RESULTS THREADS REPEATS

Prints one JSON object: seconds and CPU seconds of each repetition (imports left out, the first of all left
out, too, if there are several), the twelve numbers, and the process's peak memory in bytes. With REPEATS 0
it is the program that a user would write, once, for a measurement from the shell: the numbers alone.
"""

import contextlib
import io
import json
import sys
from pathlib import Path

from timed import timed

NAMES = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")


def segjudge(truth: str, results: str, threads: int):
    import segjudge as sj  # noqa: PLC0415

    task = sj.load_task("coco")

    def run():
        result = sj.score(
            task, sj.read_truth(task, truth), sj.read_submission(task, results), by=(), workers=threads
        )
        return [result.metrics[name] for name in NAMES]

    return run


def _like_pycocotools(coco_class, eval_class):
    """The usual three lines: read, load the results, evaluate."""

    def prepare(truth: str, results: str, threads: int):
        def run():
            listed = coco_class(truth)
            found = listed.loadRes(results)
            judge = eval_class(listed, found, "segm")
            if hasattr(judge, "rle_iou_max_workers"):
                judge.rle_iou_max_workers = threads
            judge.evaluate()
            judge.accumulate()
            judge.summarize()
            return list(judge.stats[:12])

        return run

    return prepare


def pycocotools(*job):
    from pycocotools.coco import COCO  # noqa: PLC0415
    from pycocotools.cocoeval import COCOeval  # noqa: PLC0415

    return _like_pycocotools(COCO, COCOeval)(*job)


def faster_coco_eval(*job):
    from faster_coco_eval import COCO, COCOeval_faster  # noqa: PLC0415

    return _like_pycocotools(COCO, COCOeval_faster)(*job)


def hotcoco(*job):
    from hotcoco import COCO, COCOeval  # noqa: PLC0415

    return _like_pycocotools(COCO, COCOeval)(*job)


def ultrafast_pycocotools(*job):
    from ultrafast_pycocotools import COCO, COCOeval  # noqa: PLC0415

    return _like_pycocotools(COCO, COCOeval)(*job)


def vernier(truth: str, results: str, threads: int):
    from vernier.instance import CocoDataset, Evaluator, Segm  # noqa: PLC0415

    def run():
        listed = CocoDataset.from_json(Path(truth).read_bytes())
        judge = Evaluator(iou=Segm(), parity_mode="strict")
        return list(judge.evaluate(listed, Path(results).read_bytes(), num_threads=threads).stats[:12])

    return run


TOOLS = {
    "segjudge": segjudge,
    "ultrafast-pycocotools": ultrafast_pycocotools,
    "vernier": vernier,
    "hotcoco": hotcoco,
    "faster-coco-eval": faster_coco_eval,
    "pycocotools": pycocotools,
}


def main() -> None:
    tool, truth, results, threads, repeats = sys.argv[1:]
    with contextlib.redirect_stdout(io.StringIO()):
        numbers, cost = timed(TOOLS[tool](truth, results, int(threads)), int(repeats))
    numbers = [None if number is None or number == -1 else float(number) for number in numbers]
    print(json.dumps({"numbers": numbers} | cost))


if __name__ == "__main__":
    main()
