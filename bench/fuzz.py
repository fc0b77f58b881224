"""Throws damaged files and texts at every reader of untrusted bytes, and says which gave a traceback.

    python bench/fuzz.py --seconds 60                 # each target in turn, a minute in all
    python bench/fuzz.py --seconds 600 run-text csv   # these two
    python bench/fuzz.py --seconds 5 --seed 7 csv --replay failures/csv-….bin

Inputs are grown from small valid ones: bytes flipped, cut, doubled, spliced, replaced by what breaks
parsers. An input that gives an outcome not seen before (other findings, another exception) is kept and
mutated further. What may happen is findings, or one of segjudge's own exceptions; anything else is a
failure, and so is a compiled kernel that disagrees with its numpy twin. Failures are written to
`failures/`, and the status is 1. A new target is one more function in TARGETS.
"""

import argparse
import random
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import segjudge as sj
from segjudge import kernels
from segjudge.codecs import CocoRle, Rle
from segjudge.kernels import _plain

TOKENS = [
    b"0", b"1", b"-1", b"00", b"99999999", b"100000000", b"4294967296", b"9223372036854775807",
    b"9223372036854775808", b"18446744073709551616", b"1e9", b"1.5", b"nan", b"inf", b"|", b" ", b"  ", b",",
    b",,", b"\n", b"\r\n", b"\r", b'"', b'""', b"\0", b"\xff", b"\xef\xbb\xbf", b"\xc3\xa4", b"_", b"{", b"}", b"[",
    b"]", b":", b"null", b"true", b"\\u0000", b"\x1e", b"\x1f", b"`", b"o", b"?" * 14, b"7" * 64, b" 1" * 40,
]  # fmt: skip


def mutated(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """The input with one to six changes."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        at = rng.randrange(len(out) + 1)
        size = rng.choice([1, 1, 2, 4, 9, 33, 100])
        match rng.randrange(7):
            case 0 if out:
                out[min(at, len(out) - 1)] ^= 1 << rng.randrange(8)
            case 1:
                del out[at : at + size]
            case 2:
                out[at:at] = out[at : at + size] * rng.choice([1, 2, 30])
            case 3:
                out[at:at] = rng.choice(TOKENS)
            case 4:
                token = rng.choice(TOKENS)
                out[at : at + len(token)] = token
            case 5:
                other = rng.choice(others)
                begin = rng.randrange(len(other) + 1)
                out[at : at + size] = other[begin : begin + size]
            case _:
                digits = [place for place, byte in enumerate(out) if 48 <= byte <= 57]
                if digits:
                    out[rng.choice(digits)] = 48 + rng.randrange(10)
    return bytes(out[: 1 << 14])


def twins(name: str, *arguments):
    """The results of a kernel, after its twin has agreed."""
    results = [getattr(twin, name)(*arguments) for twin in (kernels, _plain)]
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
    return results[0]


def outcome_of(call):
    """What came of a call: a value, or one of segjudge's own exceptions."""
    try:
        return call()
    except sj.SegjudgeError as error:
        return error


def run_text(data: bytes):
    """A cell of runs in every dialect: kernel against twin, `decode` against `explain`."""
    text = np.frombuffer(data, np.uint8)
    # Two cells, so that one begins in the middle of the text, and a size that some runs leave.
    half = len(data) // 2
    begins, ends = np.array([0, half]), np.array([half, len(data)])
    seen = []
    for order, origin, between, after in (("row", 0, " ", "|"), ("column", 1, " ", ""), ("row", 1, ":", " ")):
        rle = Rle(order, origin, between, after)
        for pixels, line in ((-1, 0), (9_000_000, 3000), (12, 1)):
            parsed = []
            for twin in (kernels, _plain):
                room = len(data) // 4 + 2
                starts, stops = np.full(room, -7), np.full(room, -7)
                found = twin.parse_runs(
                    text,
                    begins,
                    ends,
                    np.full(2, pixels),
                    np.full(2, line),
                    origin,
                    *rle.marks,
                    starts,
                    stops,
                )
                runs = found[0][-1]
                parsed.append((*found, starts[:runs], stops[:runs]))
            for one, other in zip(*parsed, strict=True):
                np.testing.assert_array_equal(one, other)
            seen.append(tuple(parsed[0][3]))
        cell = data.decode("utf-8", "replace")
        problems = list(rle.explain(cell, (3000, 3000)))
        masks = outcome_of(lambda rle=rle, cell=cell: rle.decode([cell], (3000, 3000)))
        if isinstance(masks, sj.MaskError):
            if not problems:
                raise AssertionError("refused without a word")
        elif rle.decode([rle.encode_masks(masks)[0]], (3000, 3000)).areas[0] != masks.areas[0]:
            raise AssertionError("encoding does not give the mask back")
        seen.append(tuple(problem.code for problem in problems))
    return tuple(seen)


def coco_text(data: bytes):
    """COCO's compressed counts, of an image that they may or may not fill."""
    seen = []
    for counts in (data, data.decode("latin-1")):
        result = outcome_of(lambda counts=counts: CocoRle().decode({"size": [40, 50], "counts": counts}))
        if not isinstance(result, sj.MaskError):
            again = CocoRle().decode(CocoRle().encode(result.dense()[0]))
            if again.areas[0] != result.areas[0]:
                raise AssertionError("encoding does not give the mask back")
        seen.append(str(result)[:24] if isinstance(result, sj.MaskError) else int(result.areas[0]) > 0)
    return tuple(seen)


def table_kernels(data: bytes):
    """The kernels that cut a table and read its small cells."""
    text = np.frombuffer(data, np.uint8)
    seen = []
    for fields in (1, 3, 5):
        starts, ends, found, flags = twins("index_records", text, ord(","), ord("\n"), fields)
        first = np.ascontiguousarray(ends[:, 0])
        twins("parse_integers", text, starts, first)
        twins("parse_decimals", text, starts, first)
        kernels.equal_to_previous(text, starts, first)
        seen.append((flags, len(found) > 1, int(found.max(initial=0)) > fields))
    return tuple(seen)


@dataclass
class Checked:
    """A file of a task that is checked whole; the outcome is which findings there are."""

    task: str
    name: str
    truth: bool = False
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="segjudge-fuzz-")))

    def __call__(self, data: bytes):
        task = sj.load_task(self.task)
        path = self.folder / self.name
        path.write_bytes(data)
        if self.truth:
            return _codes(outcome_of(lambda: sj.check_truth(task, sj.read_truth(task, path))))
        return _codes(outcome_of(lambda: sj.check(task, sj.read_submission(task, path))))


def _codes(result):
    return str(type(result)) if isinstance(result, Exception) else tuple(sorted(result.totals))


WAD = b"""ImageId,LabelId,Confidence,PixelCount,EncodedPixels
a,33,0.5,7,0 3|100 4|
b,40,1e-3,12,99999 12|
"""
DSB = b"ImageId,EncodedPixels\na,1 2 9 3\nb,\nc,100 20 200 20 300 20 400 20\n"
BADLAD = b"Id,Predicted,Height,Width\np_0,1 2 9 3,10,12\np_1,,10,12\np_2,100 20,10,12\np_3,,10,12\n"
ANNOTATIONS = b"""{"images": [{"id": 7, "file_name": "p.png", "height": 10, "width": 12}],
 "categories": [{"id": 0, "name": "paragraph"}, {"id": 1, "name": "text_box"}],
 "annotations": [{"id": 1, "image_id": 7, "category_id": 0, "segmentation": [[1, 1, 8.5, 1, 8, 7.25, 1, 7]]},
  {"id": 2, "image_id": 7, "category_id": 1, "segmentation": {"size": [10, 12], "counts": [5, 2, 113]}},
  {"id": 3, "image_id": 7, "category_id": 1, "segmentation": {"size": [10, 12], "counts": "52a3"}}]}"""

#: Name to what is done with an input, and the valid inputs from which others are grown.
TARGETS = {
    "run-text": (
        run_text,
        [b"0 3|100 4|", b"1 2 9 3", b"1234567 12|" * 40, b"12345 678 " * 60 + b"9123456 1", b"1:2 9:3", b""],
    ),
    "coco-text": (coco_text, [b"52203", b"0Pn1", b"PUn0", b"o0P", b"`^1"]),
    "table-kernels": (table_kernels, [WAD, DSB, b"0.25,1,2\n.5,7\r\n", b"," * 70 + b"\n" * 70]),
    "csv": (Checked("wad-2018", "s.csv"), [WAD]),
    "csv-columns": (Checked("dsb-2018", "s.csv"), [DSB, DSB.replace(b"a", b'"a"')]),
    "csv-truth": (Checked("badlad", "t.csv", truth=True), [BADLAD]),
    "json": (Checked("badlad", "t.json", truth=True), [ANNOTATIONS]),
}


@dataclass
class Report:
    """How a target fared."""

    inputs: int = 0
    outcomes: int = 0
    failures: list[tuple[bytes, str]] = field(default_factory=list)


def fuzz(name: str, seed: int, *, seconds: float = 0.0, inputs: int = 0) -> Report:
    """Runs one target for so many seconds, or on so many inputs."""
    target, seeds = TARGETS[name]
    rng, corpus, seen, report = random.Random(seed), list(seeds), set(), Report()
    until = time.monotonic() + seconds
    while report.inputs < inputs or (seconds and time.monotonic() < until):
        data = (
            corpus[report.inputs] if report.inputs < len(seeds) else mutated(rng.choice(corpus), corpus, rng)
        )
        report.inputs += 1
        try:
            outcome = target(data)
        except Exception:  # noqa: BLE001 - that is what is looked for
            outcome = traceback.format_exc()
            where = outcome.strip().rsplit("\n", 3)[-2:]
            if str(where) not in seen:  # each fault once
                report.failures.append((data, outcome))
            outcome = str(where)
        if outcome not in seen:
            seen.add(outcome)
            corpus.append(data)
    report.outcomes = len(seen)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; default all")
    parser.add_argument("--seconds", type=float, default=60, help="in all, shared among the targets")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--replay", type=Path, help="run one target on this input alone")
    options = parser.parse_args()
    names = options.targets or list(TARGETS)
    if options.replay:
        print(TARGETS[names[0]][0](options.replay.read_bytes()))
        return 0
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}, kernels {'compiled' if kernels.COMPILED else 'plain'}")
    failed = 0
    for name in names:
        report = fuzz(name, seed, seconds=options.seconds / len(names))
        failed += len(report.failures)
        print(
            f"{name:14} {report.inputs:8} inputs, {report.outcomes:5} outcomes, "
            f"{len(report.failures)} failures",
            flush=True,
        )
        for number, (data, words) in enumerate(report.failures):
            path = Path("failures", f"{name}-{seed}-{number}.bin")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
            print(f"--- {path}\n{words}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
