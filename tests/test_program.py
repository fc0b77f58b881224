"""`segjudge` as a process: it leaves at once, and with the status, the words and the files that it should."""

import gzip
import os
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest

import segjudge as sj
from segjudge.errors import UsageError
from segjudge.findings import Collector
from segjudge.formats.opening import Workspace, plain_file

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
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


@pytest.mark.skipif(os.name != "posix", reason="streams are closed otherwise there")
@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
@pytest.mark.parametrize(("words", "status"), [("show coco --json", 0), ("show nothing --json", 2)])
def test_a_stream_that_is_closed_from_the_start_takes_what_is_written(closed, words, status):
    def close():
        for number in closed:
            os.close(number)

    expected, done = run(*words.split()), run(*words.split(), preexec_fn=close)
    assert done.returncode == expected.returncode == status
    assert done.stdout == ("" if 1 in closed else expected.stdout)
    assert done.stderr == ("" if 2 in closed else expected.stderr)


def test_temporary_files_go_although_the_process_leaves_at_once(tmp_path: Path):
    truth = "Id,Predicted,Height,Width\np_0,1 2,2,3\n"
    (tmp_path / "submission.csv").write_text("Id,Predicted\np_0,1 2\n")
    (tmp_path / "temporary").mkdir()
    done = run("score", "badlad", "-", "submission.csv", "--json", cwd=tmp_path, input=truth,
               env={**BUFFERED, "TMPDIR": str(tmp_path / "temporary")})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "temporary").iterdir()) == []


ENVIRONMENTS = pytest.mark.parametrize(
    "env", [BUFFERED, {**BUFFERED, "PYTHONUNBUFFERED": "1"}], ids=["buffered", "at once"]
)


def unread(*words, streams=("stdout",), env=BUFFERED):
    """The status, and what the stream says that is still read, of a command whose reader has gone."""
    near, far = os.pipe()
    os.close(near)
    given = {name: far if name in streams else subprocess.PIPE for name in ("stdout", "stderr")}
    with subprocess.Popen([*PROGRAM, *words], **given, env=env, text=True) as process:
        os.close(far)
        out, err = process.communicate()
    return process.returncode, out if "stdout" not in streams else err


@ENVIRONMENTS
@pytest.mark.parametrize("words", ["show coco", "tasks --json", "--help", "score --help", "--version"])
def test_a_reader_that_has_gone_leaves_nothing_to_say(words, env):
    assert unread(*words.split(), env=env) == (0, "")


@ENVIRONMENTS
@pytest.mark.parametrize("words", ["show no-such-task --json", "no-such-verb --json"])
def test_what_is_at_fault_keeps_its_status_although_nobody_reads_on(words, env):
    status, err = unread(*words.split(), env=env)
    assert (status, "no-such" in err) == (2, True)
    status, out = unread(*words.split(), env=env, streams=("stderr",))
    assert (status, "no-such" in out) == (2, True)
    assert unread(*words.split(), env=env, streams=("stdout", "stderr")) == (2, None)


@ENVIRONMENTS
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full disk here")
@pytest.mark.parametrize(
    "words", ["tasks", "show coco --json", "score wad-2018 {0}/truth.csv {0}/good.csv --json", "--help"]
)
def test_a_full_disk_is_told_and_shows_no_traceback(words, env):
    command = [*PROGRAM, *words.format("examples/wad-2018").split()]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=env)
        assert (done.returncode, done.stderr) == (
            2,
            "segjudge: A file cannot be written: No space left on device.\n",
        )
        assert subprocess.run(command, stdout=full, stderr=full, check=False, env=env).returncode == 2
        done = subprocess.run([*PROGRAM, "show", "nothing"], stdout=full, stderr=full, check=False, env=env)
        assert done.returncode == 2


def test_another_pipe_that_breaks_is_told():
    code = """
import sys
from unittest import mock
sys.argv = ["segjudge", "show", "coco"]
from segjudge.cli import judging, program
with mock.patch.object(judging.printing, "task", side_effect=BrokenPipeError(32, "Broken pipe")):
    program()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "segjudge: A file cannot be written: Broken pipe.\n"


INTERRUPTED = """
import signal, sys

class Impatient:
    def find_spec(name, path, target=None):
        if name == {name!r}:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Impatient)
sys.argv = ["segjudge", "show", "coco"]
"""


@pytest.mark.parametrize(
    "name", ["segjudge.cli", "click", "segjudge.cli.judging", "segjudge.task", "tomllib"]
)
def test_ctrl_c_shows_no_traceback_while_modules_load(name):
    module, function = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["scripts"]["segjudge"].split(":")
    script = f"from {module} import {function}\nsys.exit({function}())\n"
    for start in (script, "import runpy\nrunpy.run_module('segjudge', run_name='__main__')"):
        code = INTERRUPTED.format(name=name) + start
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr.lstrip()) == (130, "", "segjudge: interrupted.\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full disk here")
def test_a_full_disk_is_not_the_archives_fault(tmp_path):
    class Full(Workspace):
        def new_file(self):
            return Path("/dev/full")

    packed, findings = tmp_path / "s.csv.gz", Collector()
    packed.write_bytes(gzip.compress(b"ImageId\n" * 9))
    with pytest.raises(UsageError, match="No space left") as told:
        plain_file(packed, "s.csv.gz", findings, 1 << 20, Full())
    assert "TMPDIR" in told.value.advice
    assert not findings.diagnosis().totals


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pipe_is_read_as_standard_input_is(tmp_path, pack):
    sides = []
    for name in ("truth.csv", "good.csv"):
        pipe = tmp_path / name
        os.mkfifo(pipe)
        data = pack(Path(f"examples/wad-2018/{name}").read_bytes())
        threading.Thread(target=pipe.write_bytes, args=(data,), daemon=True).start()
        sides.append(pipe)
    task = sj.load_task("wad-2018")
    known, opened = sj.read_truth(task, sides[0]), sj.read_submission(task, sides[1])
    assert known.label == "truth.csv"
    assert round(sj.score(task, known, opened).score, 6) == 0.665347
