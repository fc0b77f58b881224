"""A file is replaced whole or not at all, and a failure leaves nothing beside it."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from segjudge.models.whole import replacing


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_reader_meets_the_old_file_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "weights"
    path.write_text("old")
    with replacing(path) as partial:
        partial.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["weights"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_what_fails_leaves_the_old_file_and_nothing_else(error, tmp_path):
    path = tmp_path / "weights"
    path.write_text("old")

    def fail():
        with replacing(path) as partial:
            partial.write_text("half")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["weights"]


KILLED = """
import os, signal, sys
from pathlib import Path
from segjudge.models.whole import replacing
with replacing(Path(sys.argv[1])) as partial:
    partial.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="there is no such signal")
def test_what_a_killed_process_left_is_written_over_by_the_next(tmp_path):
    path = tmp_path / "weights"
    done = subprocess.run([sys.executable, "-c", KILLED, path], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not path.exists()
    with replacing(path) as partial:
        partial.write_text("new")
    assert names(tmp_path) == ["weights"]
