"""`segjudge` as a process: it leaves at once, and with the status, the words and the files that it should."""

import subprocess
import sys
from pathlib import Path

PROGRAM = [sys.executable, "-m", "segjudge"]


def run(*words, **options):
    return subprocess.run(
        [*PROGRAM, *map(str, words)], capture_output=True, text=True, check=False, **options
    )


def test_the_status_and_both_streams_arrive_whole():
    done = run("tasks")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 5
    done = run("show", "no-such-task")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("segjudge: ")


def test_temporary_files_go_although_the_process_leaves_at_once(tmp_path: Path):
    truth = "Id,Predicted,Height,Width\np_0,1 2,2,3\n"
    (tmp_path / "submission.csv").write_text("Id,Predicted\np_0,1 2\n")
    (tmp_path / "temporary").mkdir()
    done = run("score", "badlad", "-", "submission.csv", "--json", cwd=tmp_path, input=truth,
               env={"TMPDIR": str(tmp_path / "temporary")})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_reader_that_has_gone_leaves_nothing_to_say():
    with subprocess.Popen(
        [*PROGRAM, "show", "coco"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
