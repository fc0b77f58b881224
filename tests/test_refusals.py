"""What the system refuses is told as what could not be done: reading, or writing."""

import errno
import os
from pathlib import Path

import pytest

from segjudge.cli.failing import refused
from tests.running import segjudge


def refusal(number, path=None):
    return OSError(number, os.strerror(number), *([] if path is None else [str(path)]))


@pytest.fixture
def readable(monkeypatch):
    """Says which paths may be read, for whoever runs the tests may read and write anything."""

    def only(*allowed):
        rights = {(str(path), mode) for path, mode in allowed}
        monkeypatch.setattr("os.access", lambda path, mode: (str(path), mode) in rights)

    return only


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EEXIST])
def test_a_full_or_read_only_disk_is_no_fault_of_reading(number, tmp_path):
    text = refused(refusal(number, tmp_path / "masks.csv"))
    assert text == f"{tmp_path / 'masks.csv'} cannot be written: {os.strerror(number)}."
    assert refused(refusal(number)) == f"A file cannot be written: {os.strerror(number)}."


def test_a_file_that_may_be_read_was_refused_to_be_written(tmp_path, readable):
    path = tmp_path / "masks.csv"
    path.touch()
    readable((path, os.R_OK))
    assert "masks.csv cannot be written: Permission denied." in refused(refusal(errno.EACCES, path))
    readable()
    assert "masks.csv cannot be read: Permission denied." in refused(refusal(errno.EACCES, path))


def test_a_file_that_is_not_there_in_a_folder_that_may_be_entered_was_to_be_written(tmp_path, readable):
    path = tmp_path / "masks.csv"
    readable((tmp_path, os.X_OK))
    assert "cannot be written" in refused(refusal(errno.EACCES, path))
    readable()
    assert "cannot be read" in refused(refusal(errno.EACCES, path))


@pytest.mark.parametrize("name", [".masks.csv.part", ".masks.csv.4711.part", ".masks.csv.predicting"])
def test_a_file_in_the_making_is_named_as_it_was_to_be(name, tmp_path):
    text = refused(refusal(errno.EACCES, tmp_path / name))
    assert text == f"{tmp_path / 'masks.csv'} cannot be written: Permission denied."


def test_what_is_not_there_is_told_by_what_lacks(tmp_path):
    assert "masks.csv cannot be read: No such file" in refused(refusal(errno.ENOENT, tmp_path / "masks.csv"))
    lacking = tmp_path / "nowhere"
    assert refused(refusal(errno.ENOENT, lacking / "masks.csv")) == f"There is no folder {str(lacking)!r}."


def test_a_file_where_a_folder_should_be_is_named(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "run", tmp_path / "file" / "deep" / "run", tmp_path / "file"):
        assert refused(refusal(errno.ENOTDIR, path)) == f"{str(tmp_path / 'file')!r} is a file, not a folder."


def test_a_refusal_without_a_name_or_reason_is_a_sentence():
    assert refused(refusal(errno.EIO)) == f"A file cannot be read: {os.strerror(errno.EIO)}."
    assert refused(OSError("cut")) == "A file cannot be read: cut."
    assert refused(OSError()) == "A file cannot be read: OSError."
    assert "x.csv" in refused(OSError(errno.EACCES, "Permission denied", b"/tmp/x.csv"))


def test_what_may_not_even_be_looked_at_is_told(tmp_path, monkeypatch):
    stat = Path.stat

    def refuse(path, **how):
        if path.name == "masks.csv":
            raise refusal(errno.EACCES, path)
        return stat(path, **how)

    monkeypatch.setattr(Path, "stat", refuse)
    outcome = segjudge("check", "dsb-2018", tmp_path / "masks.csv", "--json")
    assert outcome.status == 2
    assert "masks.csv" in outcome.json["error"]["message"]


def test_a_target_that_the_system_refuses_is_status_2_and_names_the_target(tmp_path, monkeypatch):
    images = tmp_path / "images.csv"
    images.write_text("ImageId,Height,Width\na,4,5\n", encoding="utf-8")
    opened = Path.open

    def refuse(path, *how, **more):
        if path.name.endswith(".part"):
            raise refusal(errno.EACCES, path)
        return opened(path, *how, **more)

    monkeypatch.setattr(Path, "open", refuse)
    target = tmp_path / "masks.csv"
    outcome = segjudge("sample", "dsb-2018", "--images", images, "-o", target, "--json")
    assert outcome.status == 2
    assert outcome.json["error"]["kind"] == "usage"
    assert outcome.json["error"]["message"] == f"{target} cannot be written: Permission denied."
