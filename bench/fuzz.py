"""Throws damaged files and texts at every reader of untrusted bytes, and says which gave a traceback.

    python bench/fuzz.py --seconds 60                 # each target in turn, a minute in all
    python bench/fuzz.py --seconds 600 run-text csv   # these two
    python bench/fuzz.py --seconds 5 --seed 7 csv --replay failures/csv-….bin

Inputs are grown from small valid ones: bytes flipped, cut, doubled, spliced, replaced by what breaks
parsers. An input that gives an outcome not seen before (other findings, another exception) is kept and
mutated further. What may happen is findings, or one of segjudge's own exceptions; anything else is a
failure, and so is a compiled kernel that disagrees with its numpy twin. Failures are written to
`failures/`, and the status is 1. The targets stand in `fuzz_targets.py`.
"""

import argparse
import faulthandler
import random
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from fuzz_targets import TARGETS

from segjudge import kernels

TOKENS = [
    b"0", b"1", b"-1", b"00", b"99999999", b"100000000", b"4294967296", b"9223372036854775807",
    b"9223372036854775808", b"18446744073709551616", b"1e9", b"1.5", b"nan", b"inf", b"|", b" ", b"  ", b",",
    b",,", b"\n", b"\r\n", b"\r", b'"', b'""', b"\0", b"\xff", b"\xef\xbb\xbf", b"\xc3\xa4", b"_", b"{", b"}", b"[",
    b"]", b":", b"null", b"true", b"\\u0000", b"\x1e", b"\x1f", b"`", b"o", b"?" * 14, b"7" * 64, b" 1" * 40,
    b"2147483648", b"1048576", b"1e308", b"1e-400", b"-0", b"\\", b"[" * 70, b"[" * 5000, b'{"a":' * 70, b"ooooo?" * 9,
]  # fmt: skip

HANGS = 300  # seconds after which an input that has not come back ends the run, with a traceback

MARKS = [b",", b"\n", b"}", b"|", b" ", b'"', b"]"]  # what records, fields and numbers stand between


def mutated(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """The input with one to six changes."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        at = rng.randrange(len(out) + 1)
        size = rng.choice([1, 1, 2, 4, 9, 33, 100])
        match rng.randrange(8):
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
            case 6:
                mark = rng.choice(MARKS)
                pieces = bytes(out).split(mark)
                rng.shuffle(pieces)
                out[:] = mark.join(pieces)
            case _:
                digits = [place for place, byte in enumerate(out) if 48 <= byte <= 57]
                if digits:
                    out[rng.choice(digits)] = 48 + rng.randrange(10)
    return bytes(out[: 1 << 14])


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
        faulthandler.dump_traceback_later(HANGS, exit=True)
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
    faulthandler.cancel_dump_traceback_later()
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
