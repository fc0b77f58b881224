"""How long segjudge takes when there is next to nothing to do: `--help`, and the score of ten rows.

    python bench/start_up.py

Each is alternated with `python -c pass`, the floor for any Python program here.
"""

import argparse
import shlex
import statistics
import sys
import tempfile
from pathlib import Path

from child import run

HEIGHT, WIDTH = 2710, 3384


def write_ten_rows(folder: Path) -> tuple[Path, Path]:
    """A truth and a submission of ten rows: ten boxes of 60 lines, predicted a few pixels beside."""
    truth, submission = folder / "truth.csv", folder / "submission.csv"
    answers = ["ImageId,LabelId,EncodedPixels,Height,Width"]
    guesses = ["ImageId,LabelId,Confidence,PixelCount,EncodedPixels"]
    for number in range(10):
        image, class_id = f"image{number // 5}", (33, 36)[number % 2]
        runs, moved = (
            "".join(f"{(1600 + line) * WIDTH + 300 * number + aside} 120|" for line in range(60))
            for aside in (0, number)
        )
        answers.append(f"{image},{class_id},{runs},{HEIGHT},{WIDTH}")
        guesses.append(f"{image},{class_id},0.{99 - number},{60 * 120},{moved}")
    truth.write_text("\n".join(answers) + "\n", encoding="utf-8")
    submission.write_text("\n".join(guesses) + "\n", encoding="utf-8")
    return truth, submission


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--command", default="segjudge", help="how segjudge is started here")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error("--repeats starts at 1")
    own = shlex.split(options.command)
    with tempfile.TemporaryDirectory() as folder:
        truth, submission = write_ten_rows(Path(folder))
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "segjudge --help": [*own, "--help"],
            "segjudge score, ten rows": [*own, "score", "wad-2018", str(truth), str(submission), "--json"],
        }
        walls = {name: [] for name in commands}
        for repetition in range(options.repeats + 1):
            for name, command in commands.items():
                try:
                    cost = run(command)
                except FileNotFoundError as error:
                    print(error, file=sys.stderr)
                    return 1
                if cost.status != 0:
                    words = (cost.err.strip() or cost.out.strip())[-800:]
                    print(f"`{name}` ended with status {cost.status}:\n{words}", file=sys.stderr)
                    return 1
                if repetition:
                    walls[name].append(cost.wall)
    print("| what | ms, median (min to max) | above `python -c pass`, ms |\n|---|---|---|")
    floor = statistics.median(walls["python -c pass"])
    for name, values in walls.items():
        print(
            f"| `{name}` | {statistics.median(values) * 1e3:.0f} "
            f"({min(values) * 1e3:.0f} to {max(values) * 1e3:.0f}) "
            f"| {(statistics.median(values) - floor) * 1e3:.0f} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
