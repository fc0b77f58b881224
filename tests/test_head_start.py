"""What is begun before the command line is read: rightly foreseen or let go, it changes nothing."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from segjudge import doubles
from segjudge.head_start import Asked, foreseen
from tests.coco_scenes import files, random_scene

WAD = Path("examples/wad-2018")
TRUTH, GOOD = str(WAD / "truth.csv"), str(WAD / "good.csv")


def began(arguments):
    """What a head start takes the arguments for; None where there is none."""
    ahead = foreseen(list(arguments))
    if ahead is None:
        return None
    ahead.close()
    return ahead.asked


@pytest.mark.parametrize(
    ("options", "workers"),
    [
        ([], None),
        (["--workers", "2"], 2),
        (["--json", "--workers", "16", "--by", "class"], 16),
        (["--images", "3", "--set", "ties=file"], None),
    ],
)
def test_the_plainest_form_is_foreseen(options, workers, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    asked = began(["score", "wad-2018", TRUTH, GOOD, *options])
    assert asked == Asked("wad-2018", TRUTH, GOOD, workers)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["score"],
        ["score", "wad-2018", TRUTH],
        ["check", "wad-2018", TRUTH, GOOD],
        ["score", "--json", "wad-2018", TRUTH, GOOD],
        ["score", "wad-2018", TRUTH, "-"],
        ["score", "wad-2018", TRUTH, "nowhere.csv"],
        ["score", "wad-2018", str(WAD), GOOD],
        ["score", "wad-2018", TRUTH, GOOD, "--workers", "1"],
        ["score", "wad-2018", TRUTH, GOOD, "--workers"],
        ["score", "wad-2018", TRUTH, GOOD, "--workers", "two"],
        ["score", "wad-2018", TRUTH, GOOD, "--workers", "-2"],
        ["score", "wad-2018", TRUTH, GOOD, "--workers=4"],
        ["score", "wad-2018", TRUTH, GOOD, "--workers", "2", "--workers", "1"],
    ],
)
def test_whatever_else_stands_there_waits(arguments, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    assert began(arguments) is None


def test_what_cannot_begin_is_left_to_the_command(monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(doubles.Doubles, "made", lambda *_: None)
    assert began(["score", "wad-2018", TRUTH, GOOD, "--workers", "2"]) is None


COUNTED = """
import sys
from segjudge import doubles
from segjudge.__main__ import program
made = doubles.Doubles.made.__func__
def counted(kind, works, most):
    sys.stderr.write("made ")
    return made(kind, works, most)
doubles.Doubles.made = classmethod(counted)
sys.stderr.write("click " if "click" in sys.modules else "early ")
program()
"""


def ran(*arguments):
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.skipif(not doubles.POSSIBLE, reason="no doubles here")
@pytest.mark.parametrize(
    ("arguments", "status", "made"),
    [
        (["score", "wad-2018", TRUTH, GOOD, "--workers", "2"], 0, 1),  # taken over
        (["score", "wad-2018", TRUTH, GOOD, "--workers=2"], 0, 1),  # begun by the verb
        (["score", "--workers", "2", "wad-2018", TRUTH, GOOD], 0, 1),
        (["score", "wad-2018", TRUTH, GOOD, "--workers", "1"], 0, 0),
        (["score", "wad-2018", TRUTH, GOOD, "--workers", "3", GOOD], 2, 1),  # too many arguments
        (["score", "nothing", TRUTH, GOOD, "--workers", "3"], 2, 1),
        (["score", "wad-2018", TRUTH, GOOD, "--workers", "0"], 2, 0),
    ],
)
def test_what_was_foreseen_is_taken_over_once(arguments, status, made):
    code, out, words = ran(*arguments)
    assert code == status
    assert words.startswith("early ")
    assert words.count("made ") == made
    assert "Traceback" not in words
    if status == 0:
        assert out == ran("score", "wad-2018", TRUTH, GOOD, "--workers", "1")[1]


INTERRUPTED = """
import os, signal, sys
class Impatient:
    def find_spec(name, path, target=None):
        if name == "segjudge.cli":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Impatient)
from segjudge.__main__ import program
try:
    program()
except SystemExit as leave:
    print(leave.code)
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    print("nobody left")
"""


@pytest.mark.skipif(not doubles.POSSIBLE, reason="no doubles here")
def test_ctrl_c_while_modules_load_lets_go_of_whoever_has_begun():
    command = [sys.executable, "-c", INTERRUPTED, "score", "wad-2018", TRUTH, GOOD, "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout.split("\n"), done.stderr) == (["130", "nobody left", ""], "segjudge: interrupted.\n")


def test_a_file_that_is_called_like_standard_input_is_not_taken_for_it(tmp_path):
    truth, submission = files(tmp_path, random_scene(3))
    (tmp_path / "-").write_text("[]")
    command = [
        sys.executable,
        "-m",
        "segjudge",
        "score",
        "coco",
        str(truth),
        "-",
        "--json",
        "--workers",
    ]
    one, two = (
        subprocess.run([*command, workers], input=submission.read_bytes(), capture_output=True, check=False,
                       timeout=60, cwd=tmp_path)
        for workers in "12"
    )  # fmt: skip
    assert (two.returncode, two.stdout, two.stderr) == (0, one.stdout, b"")
