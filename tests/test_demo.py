"""The demo walks the whole road, on any task that data can be made for."""

import csv
from pathlib import Path

import pytest

import segjudge as sj
from segjudge.demo import IMAGES, travel
from tests.running import segjudge


@pytest.mark.parametrize("task_id", IMAGES)
def test_a_demo_leaves_what_its_score_came_from(task_id, tmp_path):
    road = travel(task_id, tmp_path, images=3, seed=5)
    task = sj.load_task(task_id)
    again = sj.score(
        task,
        sj.read_truth(task, road.truth),
        sj.read_submission(task, road.submission),
        images=sj.read_images(task, road.images),
    )
    assert again.score == road.result.score
    assert 0.2 < again.score < 0.99
    assert not again.findings.totals
    diagnosis = sj.check_truth(
        task, sj.read_truth(task, road.truth), images=sj.read_images(task, road.images)
    )
    assert diagnosis.ok


@pytest.mark.parametrize("task_id", IMAGES)
def test_its_submission_decodes_and_encodes_to_itself(task_id, tmp_path):
    road = travel(task_id, tmp_path / "demo", images=2, seed=3)
    masks, back = tmp_path / "masks", tmp_path / f"back{road.submission.suffix}"
    words = ["--images", road.images]
    assert segjudge("decode", task_id, road.submission, *words, "-o", masks).status == 0
    assert segjudge("encode", task_id, masks, *words, "-o", back).status == 0
    if road.submission.suffix == ".csv":
        assert sorted(rows(back)) == sorted(rows(road.submission))
    else:
        assert back.read_bytes() == road.submission.read_bytes()


def rows(path: Path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_all_four_in_one_table(tmp_path):
    outcome = segjudge("demo", "--images", "2", "-o", tmp_path / "all")
    assert outcome.status == 0
    assert all(task_id in outcome.out for task_id in IMAGES)
    assert (
        segjudge("demo", "emoji", "--images", "2", "-o", tmp_path / "all" / "emoji").status == 2
    )  # not empty


def test_one_in_detail_as_json(tmp_path):
    found = segjudge("demo", "dsb-2018", "--images", "2", "-o", tmp_path / "cells", "--json").json
    assert Path(found["files"]["submission"]).is_file()
    assert found["counts"]["images"] == 2


def test_a_task_without_a_generator_is_told(tmp_path):
    assert segjudge("make-data", "nonsense", "-o", tmp_path / "data").status == 2
