"""What `doctor` says of an installation."""

import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from segjudge.cli import doctor
from tests.running import segjudge

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]


def test_every_extra_for_users_is_named():
    extras = segjudge("doctor", "--json").json["extras"]
    assert set(extras) == set(PROJECT["optional-dependencies"]) - {"test", "docs"}
    assert all(extras.values())  # the tests' own extra brings them all


@pytest.mark.parametrize(
    ("missing", "lacking"),
    [
        ("pyarrow", {"parquet"}),
        ("torch", {"train", "export"}),
        ("onnx", {"export"}),
        ("onnxruntime", {"predict"}),
        ("skimage", {"train", "predict", "export"}),
    ],
)
def test_an_extra_is_there_when_all_of_it_is(missing, lacking, monkeypatch):
    monkeypatch.setattr(
        doctor.importlib.util, "find_spec", lambda name: None if name == missing else find_spec(name)
    )
    outcome = segjudge("doctor")
    for extra in ("parquet", "train", "predict", "export"):
        expected = f"pip install 'segjudge[{extra}]'" if extra in lacking else "installed"
        assert f"extra {extra}: {expected}" in outcome.out
