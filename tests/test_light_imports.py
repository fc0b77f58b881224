"""The command line starts light: help needs no numpy, and a table's score no picture library."""

import subprocess
import sys
from pathlib import Path

import segjudge

HEAVY = {"numpy", "PIL", "rich", "pyarrow", "torch", "matplotlib", "scipy"}

CODE = """
import sys
sys.argv = ["segjudge", *{arguments!r}]
from segjudge.cli import main
try:
    main()
except SystemExit:
    pass
sys.stderr.write("LOADED " + " ".join(sys.modules))
"""


def modules(*arguments):
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(arguments=list(arguments))],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.rpartition("LOADED ")[2].split())


def loaded(*arguments):
    return {name.partition(".")[0] for name in modules(*arguments)}


def test_help_loads_nothing_heavy():
    assert not loaded("--help") & HEAVY
    assert not loaded("score", "--help") & HEAVY


def tables(folder: Path):
    truth, submission = folder / "truth.csv", folder / "submission.csv"
    truth.write_text("Id,Predicted,Height,Width\np_0,1 2,2,3\n")
    submission.write_text("Id,Predicted\np_0,1 2\n")
    return str(truth), str(submission)


def test_scoring_a_table_loads_numpy_alone(tmp_path: Path):
    assert loaded("score", "badlad", *tables(tmp_path)) & HEAVY == {"numpy"}


def test_scoring_a_table_of_text_loads_what_reads_no_other_form(tmp_path: Path):
    others = {"segjudge.codecs.coco", "segjudge.formats.table.row_groups", "segjudge.masks.turning"}
    assert not modules("score", "badlad", *tables(tmp_path)) & others


def test_a_score_without_a_list_of_images_loads_no_reader_of_one(tmp_path: Path):
    images = tmp_path / "images.csv"
    images.write_text("ImageId,Height,Width\np,2,3\n")
    words = ("score", "badlad", *tables(tmp_path))
    assert "segjudge.loading.manifest" not in modules(*words)
    assert "segjudge.loading.manifest" in modules(*words, "--images", str(images))


def test_importing_the_package_loads_nothing_heavy():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; before = {*sys.modules}; import segjudge; print(*{*sys.modules} - before)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not {name.partition(".")[0] for name in done.stdout.split()} & {*HEAVY, "typing", "click"}


def test_a_pass_over_json_needs_no_numpy(tmp_path: Path):
    (tmp_path / "results.json").write_text(
        '[{"image_id": 1, "category_id": 1, "score": 1, "segmentation": 0}]'
    )
    code = """
import sys
from pathlib import Path
from segjudge.formats.begun import Begun
from segjudge.formats.coco.instance_pass import pass_over_instances
from segjudge.formats.coco.result_pass import pass_over_results
from segjudge.kernels import COMPILED
begun = Begun()
if COMPILED:
    assert begun.passed(pass_over_results, Path("results.json"), "results.json") is not None
    assert begun.findings.diagnosis().totals == {"bad-type": 1}, begun.findings.diagnosis()
    print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert not {name.partition(".")[0] for name in done.stdout.split()} & HEAVY


def test_every_public_name_exists():
    assert all(getattr(segjudge, name) for name in segjudge.__all__)
    assert segjudge.__all__ == sorted(segjudge.__all__)
    assert set(segjudge._LAZY) <= set(segjudge.__all__)
