"""The fast pipe equals the slow reference, written from the pages, on every setting of every task."""

import itertools
import math
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import segjudge as sj
from segjudge.metrics.overlap import Overlap, OverlapTally
from segjudge.metrics.scores import Facts
from tests import strategies
from tests.reference import files, points
from tests.reference.average_precision import average_precision
from tests.reference.image_precision import image_precision
from tests.reference.overlap import overlap, pairs_by_class, pairs_by_image

WAD = {
    "strict": (True, False),
    "recall": ("101", "step-area", "pycocotools"),
    "average": ("pooled", "clip"),
    "ignore": ("iou", "crowd", "cityscapes"),
    "ignore_scope": ("any", "class"),
    "ties": ("free", "file"),
    "absent_class": ("left out", "zero"),
}
CLASSES = (33, 36, 40)


def close(fast, slow):
    if slow is None or fast is None:
        return fast is slow
    return math.isclose(fast, float(slow), rel_tol=1e-12, abs_tol=1e-12)


def text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def run(task_id, written, chosen, by, workers=1):
    task = sj.load_task(task_id, [f"{name}={text(value)}" for name, value in chosen.items()])
    truth = sj.read_truth(task, written.truth)
    submission = sj.read_submission(task, written.submission)
    return sj.score(
        task, truth, submission, images=sj.read_images(task, written.images), by=by, workers=workers
    )


def agrees_on_wad(scene, chosen):
    with TemporaryDirectory() as folder:
        result = run(
            "wad-2018", files.write_wad(scene, Path(folder)), chosen, ["class", "threshold", "image"]
        )
    slow = average_precision(scene, **chosen)
    assert close(result.score, slow["score"])
    for name, fast in (
        ("by_class", result.by_class),
        ("by_threshold", result.by_threshold),
        ("by_image", result.by_image),
    ):
        for key, value in slow[name].items():
            assert close(fast.get(key), value), (name, key)


wad_settings = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in WAD.items()})


@settings(max_examples=250, deadline=None)
@given(st.data(), wad_settings)
def test_average_precision(data, chosen):
    scene = data.draw(
        strategies.scenes(
            classes=CLASSES,
            ignored=(0, 33, 36, 37),
            disjoint_truths="class",
            clips=("a", "b"),
            distinct_confidences=not chosen["strict"],
        )
    )
    agrees_on_wad(scene, chosen)


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WAD.items() for value in values]
)
def test_average_precision_of_larger_scenes(name, value):
    rng = np.random.default_rng(abs(hash((name, str(value)))) % 2**32)
    defaults = {key: values[0] for key, values in WAD.items()}
    for _ in range(3):
        agrees_on_wad(strategies.random_scene(rng), {**defaults, name: value})


@settings(max_examples=120, deadline=None)
@given(
    st.data(),
    st.fixed_dictionaries({"strict": st.booleans(), "empty": st.sampled_from(["1", "0", "skip"])}),
    st.sampled_from(["error", "allow"]),
)
def test_image_precision(data, chosen, overlapping):
    scene = data.draw(
        strategies.scenes(
            classes=(1,),
            disjoint_truths=data.draw(st.booleans()),
            disjoint_predictions=overlapping == "error",
        )
    )
    with TemporaryDirectory() as folder:
        written = files.write_dsb(scene, Path(folder))
        result = run("dsb-2018", written, {**chosen, "overlapping": overlapping}, ["threshold", "image"])
    slow = image_precision(scene, **chosen)
    assert close(result.score, slow["score"])
    assert all(close(result.by_threshold[t], value) for t, value in slow["by_threshold"].items())
    assert all(close(result.by_image[image], value) for image, value in slow["by_image"].items())


@settings(max_examples=80, deadline=None)
@given(
    st.data(),
    st.fixed_dictionaries(
        {
            "measure": st.sampled_from(["dice", "iou"]),
            "average": st.sampled_from(["row", "pixels"]),
            "empty": st.sampled_from(["1", "0", "skip"]),
        }
    ),
)
def test_overlap_by_class(data, chosen):
    scene = data.draw(strategies.scenes(classes=(0, 1, 2, 3), disjoint_truths=False))
    with TemporaryDirectory() as folder:
        result = run("badlad", files.write_badlad(scene, Path(folder)), chosen, ["class", "image"])
    pairs = pairs_by_class(scene)
    slow = overlap(pairs, **chosen)
    assert close(result.score, slow["score"])
    assert all(close(result.by_image[row], value) for row, value in slow["by_image"].items())
    for class_id, value in result.by_class.items():
        mine = [pair for pair in pairs if pair[0].endswith(f"_{class_id}")]
        assert close(value, overlap(mine, **chosen)["score"])


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from(["1", "0", "skip"]))
def test_overlap_of_pictures_and_points(data, empty):
    scene = data.draw(strategies.scenes(classes=(1,), disjoint_truths=False, max_instances=2))
    with TemporaryDirectory() as folder:
        result = run("emoji", files.write_emoji(scene, Path(folder)), {"empty": empty}, ["image"])
    slow = overlap(pairs_by_image(scene), measure="iou", empty=empty)
    assert close(result.score, slow["score"])
    assert all(close(result.by_image[row], value) for row, value in slow["by_image"].items())
    assert close(result.points, None if slow["score"] is None else points.emoji(slow["score"]))


def test_every_setting_of_the_table_has_a_reference():
    """A value that is added to a task without an oracle here is noticed."""
    covered = {
        "wad-2018": {name: {text(value) for value in values} for name, values in WAD.items()},
        "dsb-2018": {
            "strict": {"true", "false"},
            "empty": {"1", "0", "skip"},
            "overlapping": {"error", "allow"},
        },
        "badlad": {"measure": {"dice", "iou"}, "average": {"row", "pixels"}, "empty": {"1", "0", "skip"}},
        "emoji": {"empty": {"1", "0", "skip"}},
    }
    elsewhere = {
        "thresholds", "order", "origin", "unsorted", "overlapping", "missing", "max_unpacked", "binarize", "image_key"
    }  # fmt: skip
    for task_id, known in covered.items():
        task = sj.load_task(task_id)
        for name in set(task.settings) - elsewhere - set(known):
            assert task_id == "emoji", name  # the same metric as badlad's
        for name, values in known.items():
            assert {choice.strip() for choice in task.choices(name).split(",")} == values


@pytest.mark.parametrize(
    ("ious", "expected"),
    [
        ([(7, 10), (7, 10), (7, 10), (9, 10)], 100),
        ([(1, 2), (1, 2)], 50),
        ([(1, 10), (4, 10)], 25),
        ([(74, 100)], 50 + 196 * (0.74 - 0.5)),
        ([(0, 3), (1, 3)], 96 / 6),
    ],
)
def test_points_at_the_limits(ious, expected):
    """A mean that equals a limit exactly lands on its upper side, whatever its floats say."""
    metric = sj.load_task("emoji").metric
    assert isinstance(metric, Overlap)
    part, whole = np.array(ious).T
    zeros = np.zeros(len(ious), np.int64)
    for order in itertools.permutations(range(len(ious))):
        chosen = list(order)
        tally = OverlapTally(np.arange(len(ious)), zeros, part[chosen], part[chosen], whole[chosen])
        assert metric.score(
            tally, Facts((), np.arange(len(ious)), None), frozenset()
        ).points == pytest.approx(expected)
    exact = Fraction(sum(Fraction(p, w) for p, w in ious), len(ious))
    assert float(points.emoji(exact)) == pytest.approx(expected)
