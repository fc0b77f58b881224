"""Arrays score as files do: at once, image by image, in parts that are merged in any order, after pickling."""

import dataclasses
import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import segjudge as sj
from tests import strategies
from tests.coco_scenes import DETECTION, facts, instances, random_scene, tally
from tests.reference import files
from tests.reference.overlap import pairs_by_class, pairs_by_image

TASKS = ("wad-2018", "dsb-2018", "badlad", "emoji")
PAGE = (0, 1, 2, 3)


# --- scenes as arrays ------------------------------------------------------------------------------------------


def picture(pixels, image):
    flat = np.zeros(image.height * image.width, bool)
    flat[sorted(pixels)] = True
    return flat.reshape(image.height, image.width)


def side(task_id, scene, image, which, order):
    """The instances of one side of one image, made from boolean pictures."""
    if task_id in ("badlad", "emoji"):
        pairs = pairs_by_class(scene, PAGE) if task_id == "badlad" else pairs_by_image(scene)
        prefix = f"{image.id}_" if task_id == "badlad" else image.id
        rows = [row for row in pairs if row[0].rpartition("_")[0] + "_" == prefix or row[0] == prefix]
        masks = [picture(row[1 if which == "truths" else 2], image) for row in rows]
        class_ids = list(PAGE) if task_id == "badlad" else [0]
        # An empty mask may be left out: an image that is named has one.
        kept = [place for place, mask in enumerate(masks) if mask.any()]
        masks, class_ids = [masks[place] for place in kept], [class_ids[place] for place in kept]
        return sj.Instances.from_masks(masks, class_ids=class_ids, order=order)
    things = [thing for thing in getattr(scene, which) if thing.image == image.id]
    return sj.Instances.from_masks(
        np.array([picture(thing.pixels, image) for thing in things], bool).reshape(
            len(things), image.height, image.width
        ),
        class_ids=[thing.class_id for thing in things] if task_id == "wad-2018" else 0,
        confidences=[float(thing.confidence) for thing in things],
        ignored=[thing.ignored for thing in things],
        order=order,
    )


def named(instances, image):
    return dataclasses.replace(instances, image_ids=(image.id,))


def drawn_scene(data, task_id):
    return data.draw(
        {
            "wad-2018": strategies.scenes(classes=(33, 36), ignored=(0, 33, 37), disjoint_truths="class"),
            "dsb-2018": strategies.scenes(classes=(0,), disjoint_predictions=True),
            "badlad": strategies.scenes(classes=PAGE),
            "emoji": strategies.scenes(classes=(0,)),
        }[task_id]
    )


WRITE = {
    "wad-2018": files.write_wad,
    "dsb-2018": files.write_dsb,
    "badlad": files.write_badlad,
    "emoji": files.write_emoji,
}


def from_files(task, scene):
    with TemporaryDirectory() as folder:
        written = WRITE[task.id](scene, Path(folder))
        images = sj.read_images(task, written.images)
        return sj.score(
            task,
            sj.read_truth(task, written.truth),
            sj.read_submission(task, written.submission),
            images=images,
        )


def numbers(result):
    return (
        result.score,
        result.points,
        dict(result.by_class),
        dict(result.by_threshold),
        dict(result.by_image),
        result.by_area,
        result.metrics,
        dict(result.counts),
    )


# --- the law -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task_id", TASKS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_arrays_score_as_files_do(task_id, data):
    task, scene = sj.load_task(task_id), drawn_scene(data, task_id)
    order = data.draw(st.sampled_from(["row", "column"]))
    truths, predictions = (
        sj.Instances.concatenate(
            named(side(task_id, scene, image, which, order), image) for image in scene.images
        )
        for which in ("truths", "predictions")
    )
    assert numbers(sj.score(task, truths, predictions)) == numbers(from_files(task, scene))


@pytest.mark.parametrize("task_id", TASKS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_images_in_any_order_in_any_process_score_as_files_do(task_id, data):
    task, scene = sj.load_task(task_id), drawn_scene(data, task_id)
    evaluators = [sj.Evaluator(task) for _ in range(data.draw(st.integers(1, 3)))]
    for image in data.draw(st.permutations(scene.images)):
        evaluator = data.draw(st.sampled_from(evaluators))
        evaluator.update(
            image.id, *(side(task_id, scene, image, w, "row") for w in ("truths", "predictions"))
        )
    first, *others = [pickle.loads(pickle.dumps(evaluator)) for evaluator in evaluators]
    for other in others:
        first.merge(other)
    assert len(first) == len(scene.images)
    assert numbers(first.compute()) == numbers(from_files(task, scene))


@pytest.mark.parametrize("task_id", ["wad-2018", "dsb-2018"])
def test_a_truth_from_files_meets_predictions_from_arrays(task_id):
    rng = np.random.default_rng(4)
    task = sj.load_task(task_id)
    scene = strategies.random_scene(rng, disjoint_truths=True, disjoint_predictions=True, n_images=4)
    predictions = sj.Instances.concatenate(
        named(side(task_id, scene, image, "predictions", task.order), image) for image in scene.images
    )
    with TemporaryDirectory() as folder:
        written = WRITE[task_id](scene, Path(folder))
        mixed = sj.score(task, sj.read_truth(task, written.truth), predictions)
    whole = from_files(task, scene)
    assert numbers(mixed) == numbers(whole)
    assert "truth" in mixed.receipt
    assert "submission" not in mixed.receipt


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_detection_tallies_of_parts_add_to_that_of_the_whole(seed, size):
    scene = random_scene(seed)
    whole = DETECTION.score(tally(scene), facts(scene), DETECTION.breakdowns)
    places = np.random.default_rng(seed).permutation(len(scene.images))
    parts = []
    for begin in range(0, len(places), size):
        chosen = places[begin : begin + size]
        ids = [scene.images[place] for place in chosen]
        parts.append(
            DETECTION.tally(
                instances(scene.truths, scene, ids), instances(scene.predictions, scene, ids), chosen
            )
        )
    added = DETECTION.score(type(parts[0]).sum(parts), facts(scene), DETECTION.breakdowns)
    assert added.metrics == whole.metrics
    assert added.by_class == whole.by_class
    assert added.by_image == whole.by_image


# --- the evaluator -------------------------------------------------------------------------------------------

SQUARE = np.pad(np.ones((2, 2), bool), 1)


def cell(mask=SQUARE, **more):
    return sj.Instances.from_masks([mask], **more)


def test_more_images_may_follow_a_score():
    evaluator = sj.Evaluator("dsb-2018")
    evaluator.update("a", cell(), cell())
    assert evaluator.compute().score == 1
    evaluator.update("b", cell(), cell(~SQUARE))
    assert evaluator.compute().score == 0.5
    assert repr(evaluator) == "Evaluator(dsb-2018: 2 images)"


def test_reset_forgets():
    evaluator = sj.Evaluator("dsb-2018")
    evaluator.update("a", cell(), cell(~SQUARE))
    evaluator.reset()
    evaluator.update("a", cell(), cell())
    assert evaluator.compute().score == 1
    assert evaluator.compute().counts == {"images": 1, "truths": 1, "ignored": 0, "predictions": 1}


def test_no_masks_are_kept_once_they_are_matched():
    evaluator = sj.Evaluator("dsb-2018")
    for number in range(64):
        evaluator.update(number, cell(), cell())
    assert len(pickle.dumps(evaluator)) < 64 * 500
    assert evaluator.compute().counts["images"] == 64


def test_an_image_comes_once():
    evaluator = sj.Evaluator("dsb-2018")
    evaluator.update(7, cell(), cell())
    with pytest.raises(sj.UsageError, match="'7' was there already"):
        evaluator.update("7", cell(), cell())


def test_an_image_that_two_processes_have_is_an_error_unless_it_is_skipped():
    one, other = sj.Evaluator("dsb-2018"), sj.Evaluator("dsb-2018")
    one.update("a", cell(), cell())
    other.update("a", cell(), cell(~SQUARE))
    other.update("b", cell(), cell())
    with pytest.raises(sj.UsageError, match="'a'"):
        one.merge(other)
    one.merge(other, repeated="skip")
    result = one.compute()
    assert result.score == 1
    assert result.counts == {"images": 2, "truths": 2, "ignored": 0, "predictions": 2}


def test_evaluators_of_different_settings_do_not_merge():
    one = sj.Evaluator(sj.load_task("dsb-2018", ["strict=false"]))
    with pytest.raises(sj.UsageError, match="settings"):
        one.merge(sj.Evaluator("dsb-2018"))


def test_what_refuses_a_submission_refuses_it_at_the_end():
    evaluator = sj.Evaluator("dsb-2018")
    evaluator.update("a", cell(), sj.Instances.from_masks([SQUARE, SQUARE]))
    with pytest.raises(sj.SubmissionError) as caught:
        evaluator.compute()
    assert caught.value.diagnosis.totals == {"masks-overlap": 1}


def test_masks_of_another_size_than_the_truth_are_refused():
    evaluator = sj.Evaluator("dsb-2018")
    evaluator.update("a", cell(), cell(np.ones((2, 3), bool)))
    with pytest.raises(sj.SubmissionError, match="2 rows x 3 columns, the image is 4 x 4"):
        evaluator.compute()


def test_predictions_without_a_truth_are_refused():
    with pytest.raises(sj.UsageError, match="'b'"):
        sj.Evaluator("dsb-2018").update_many(
            dataclasses.replace(cell(), image_ids=("a",)), dataclasses.replace(cell(), image_ids=("b",))
        )


def test_update_takes_one_image():
    two = sj.Instances.of(["a", "b"], np.array([0, 1]), sj.Masks.from_dense([SQUARE, SQUARE], "column"))
    with pytest.raises(sj.UsageError, match="update_many"):
        sj.Evaluator("dsb-2018").update("a", two, two)


def test_nothing_is_no_score():
    with pytest.raises(sj.UsageError, match="No image"):
        sj.Evaluator("dsb-2018").compute()


def test_clips_come_from_the_list_of_images():
    images = sj.Images.of(["a", "b", "c"], clips=["one", "one", "two"])
    task = sj.load_task("wad-2018", ["average=clip"])
    evaluator = sj.Evaluator(task, images=images)
    car = cell(class_ids=33)
    for name, guess in (("c", ~SQUARE), ("a", SQUARE), ("b", SQUARE)):
        evaluator.update(name, car, cell(guess, class_ids=33))
    assert evaluator.compute().score == 0.5
    with pytest.raises(sj.UsageError, match="does not hold 'd'"):
        evaluator.update("d", car, car)


def test_images_of_another_usage_count_for_nothing():
    images = sj.Images.of(["a", "b", "c"], usage=["Public", "Private", "Ignored"])
    for usage, score in ((None, 0.5), ("Private", 0.0), ("Public", 1.0)):
        evaluator = sj.Evaluator("dsb-2018", images=images, usage=usage)
        for name, guess in (("a", SQUARE), ("b", ~SQUARE), ("c", ~SQUARE)):
            evaluator.update(name, cell(), cell(guess))
        assert evaluator.compute().score == score


def test_usage_without_usages_is_refused():
    with pytest.raises(sj.UsageError, match="usage"):
        sj.Evaluator("dsb-2018", usage="Public")


def test_there_are_curves_for_detection_alone():
    evaluator = sj.Evaluator("dsb-2018")
    evaluator.update("a", cell(), cell())
    with pytest.raises(sj.UsageError, match="curves"):
        evaluator.curves()


# --- instances from arrays ------------------------------------------------------------------------------------


def test_torch_tensors_are_arrays():
    torch = pytest.importorskip("torch")
    made = sj.Instances.from_masks(
        torch.ones(2, 3, 4, dtype=torch.bool),
        class_ids=torch.tensor([1, 2]),
        confidences=torch.tensor([0.25, 0.5]),
    )
    assert made.class_ids.tolist() == [1, 2]
    assert made.confidences.tolist() == [0.25, 0.5]
    assert made.masks.areas.tolist() == [12, 12]


def test_no_masks_are_instances_too():
    made = sj.Instances.from_masks(np.zeros((0, 3, 4), bool), class_ids=[], confidences=[])
    assert len(made) == 0
    assert made.image_ids == ("",)


def test_a_label_map_names_classes_and_ignored_regions_by_number():
    made = sj.Instances.from_label_map(
        [[7, 7, 0], [9, 255, 255]],
        class_ids={7: 33, 9: 36, 255: 0},
        confidences={7: 0.5, 9: 1, 255: 1},
        ignored=[255],
    )
    assert made.class_ids.tolist() == [33, 36, 0]
    assert made.confidences.tolist() == [0.5, 1, 1]
    assert made.ignored.tolist() == [False, False, True]
    assert made.masks.areas.tolist() == [2, 1, 2]


def test_concatenated_instances_of_one_image_stand_together():
    a, b = (
        dataclasses.replace(cell(), image_ids=("a",)),
        dataclasses.replace(cell(crowd=True), image_ids=("b",)),
    )
    joined = sj.Instances.concatenate([a, b, a])
    assert joined.image_ids == ("a", "b")
    assert joined.image.tolist() == [0, 0, 1]
    assert joined.crowd.tolist() == [False, False, True]
    assert joined.areas is None
    assert len(sj.Instances.concatenate([])) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cell(class_ids=[1, 2]), "there are 1 masks"),
        (lambda: cell(class_ids=0.5), "whole numbers"),
        (lambda: cell(class_ids=-1), "whole numbers"),
        (lambda: cell(confidences=float("nan")), "finite"),
        (lambda: sj.Instances.from_label_map(np.ones((2, 2))), "whole numbers"),
        (lambda: sj.Instances.from_label_map(np.ones(2, int)), "two axes"),
        (lambda: sj.Instances.from_label_map(np.ones((2, 2), int), class_ids={2: 1}), "number 1"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(make, message):
    with pytest.raises(sj.UsageError, match=message):
        make()


@pytest.mark.parametrize(
    ("task_id", "changes", "message"),
    [
        ("dsb-2018", {"class_ids": np.array([3])}, "no classes"),
        ("dsb-2018", {"image_ids": ("a", "a")}, "twice"),
        ("dsb-2018", {"image": np.array([1])}, "image_ids does not hold"),
        ("dsb-2018", {"rows": np.array([1, 2])}, "differ in length"),
        ("wad-2018", {"confidences": np.array([np.inf])}, "finite"),
        ("wad-2018", {"class_ids": np.array([-1])}, "whole number"),
    ],
)
def test_instances_that_contradict_themselves_or_the_task_are_refused(task_id, changes, message):
    with pytest.raises(sj.UsageError, match=message):
        sj.score(sj.load_task(task_id), cell(), dataclasses.replace(cell(), **changes))


def test_masks_of_several_sizes_in_one_image_are_refused():
    mixed = sj.Instances.from_masks([SQUARE, np.ones((2, 3), bool)])
    with pytest.raises(sj.UsageError, match="several sizes"):
        sj.score(sj.load_task("dsb-2018"), cell(), mixed)


def test_one_mask_holds_all_of_a_class():
    twice = sj.Instances.from_masks([SQUARE, ~SQUARE], class_ids=1)
    with pytest.raises(sj.UsageError, match="several masks of class 1"):
        sj.score(sj.load_task("badlad"), twice, cell(class_ids=1))


def test_classes_that_the_task_does_not_have_are_findings():
    with pytest.raises(sj.SubmissionError) as caught:
        sj.score(sj.load_task("wad-2018"), cell(class_ids=33), cell(class_ids=999))
    assert caught.value.diagnosis.totals == {"unknown-class": 1}


def test_check_takes_arrays():
    task = sj.load_task("dsb-2018")
    assert sj.check(task, cell(), truth=cell()).ok
    assert not sj.check(task, sj.Instances.from_masks([SQUARE, SQUARE]), truth=cell()).ok
    assert sj.check_truth(task, cell()).ok
