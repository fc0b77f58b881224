"""The fuzzer of `bench/` in a short form, and the sanitizers' build: nothing that strangers send is a traceback."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def loaded():
    sys.path.insert(0, str(ROOT / "bench"))  # beside it stand its targets
    spec = importlib.util.spec_from_file_location("segjudge_bench_fuzz", ROOT / "bench" / "fuzz.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


fuzz = loaded()


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_damaged_input_gives_findings(name):
    report = fuzz.fuzz(name, seed=1, inputs=120)
    assert not report.failures, report.failures[0][1]
    assert report.outcomes > 5


@pytest.mark.slow
@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_damaged_input_gives_findings_for_long(name):
    report = fuzz.fuzz(name, seed=2, seconds=8)
    assert not report.failures, report.failures[0][1]


def test_the_fuzzer_tells_what_it_finds(monkeypatch):
    def breaks(data):
        if len(data) > 3:
            raise ZeroDivisionError
        return len(data)

    monkeypatch.setitem(fuzz.TARGETS, "broken", (breaks, [b"abc"]))
    report = fuzz.fuzz("broken", seed=1, inputs=200)
    assert [words.strip().endswith("ZeroDivisionError") for _, words in report.failures] == [True]


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("gcc") is None, reason="the sanitizers are gcc's, on Linux"
)
def test_the_kernels_hold_under_sanitizers():
    script = ROOT / "bench" / "sanitize.sh"
    done = subprocess.run([script, "10", sys.executable], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
