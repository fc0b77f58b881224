"""`segjudge` as a process: it leaves at once, and with the status, the words and the files that it should."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = [sys.executable, "-m", "segjudge"]
#: Where output waits in a buffer, as it does for most people: what is not flushed is lost.
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def run(*words, env=BUFFERED, **options):
    command = [*PROGRAM, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env, **options)


def test_the_status_and_both_streams_arrive_whole():
    done = run("tasks")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 5
    done = run("show", "no-such-task")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("segjudge: ")


def test_what_is_registered_for_the_end_is_done():
    code = """
import atexit, sys
atexit.register(print, "the end")
sys.argv = ["segjudge", "tasks", "--quiet"]
from segjudge.cli import program
program()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=BUFFERED
    )
    assert done.stdout.endswith("\nthe end\n")


def test_temporary_files_go_although_the_process_leaves_at_once(tmp_path: Path):
    truth = "Id,Predicted,Height,Width\np_0,1 2,2,3\n"
    (tmp_path / "submission.csv").write_text("Id,Predicted\np_0,1 2\n")
    (tmp_path / "temporary").mkdir()
    done = run("score", "badlad", "-", "submission.csv", "--json", cwd=tmp_path, input=truth,
               env={**BUFFERED, "TMPDIR": str(tmp_path / "temporary")})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_reader_that_has_gone_leaves_nothing_to_say():
    with subprocess.Popen(
        [*PROGRAM, "show", "coco"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
