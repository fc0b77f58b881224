"""Laws that hold for every task, form and file, whatever the numbers are."""

import dataclasses
import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Picture

import segjudge as sj
from segjudge import chunks, kernels
from segjudge.chunks import Reader, plan
from segjudge.codecs import Scratch
from segjudge.contest import Contest
from segjudge.masks import Masks
from segjudge.metrics.scores import Facts
from tests import strategies
from tests.reference import files
from tests.reference.runs import places
from tests.reference.scene import WAD_GROUPS, Image, Scene, Thing
from tests.running import segjudge

few = settings(max_examples=20, deadline=None)
some = settings(max_examples=40, deadline=None)
many = settings(max_examples=200, deadline=None)

WRITERS = {
    "wad-2018": files.write_wad,
    "dsb-2018": files.write_dsb,
    "badlad": files.write_badlad,
    "emoji": files.write_emoji,
}
TABLES = ("wad-2018", "dsb-2018", "badlad")
PARTS = {
    "wad-2018": ("class", "threshold", "image"),
    "dsb-2018": ("threshold", "image"),
    "badlad": ("class", "image"),
    "emoji": ("image",),
}
WAD_SETTINGS = st.fixed_dictionaries(
    {
        "recall": st.sampled_from(["101", "step-area", "pycocotools"]),
        "ignore": st.sampled_from(["iou", "crowd", "cityscapes"]),
        "ignore_scope": st.sampled_from(["any", "class"]),
        "absent_class": st.sampled_from(["left out", "zero"]),
        "average": st.sampled_from(["pooled", "clip"]),
    }
).map(lambda chosen: [f"{name}={value}" for name, value in chosen.items()])


def scenes(task_id, **how):
    """Scenes that the task's own files can hold without an error."""
    if task_id == "wad-2018":
        given_ = {"classes": (33, 36), "ignored": (0, 33, 36, 37), "disjoint_truths": "class"}
        given_ |= {"clips": ("a", "b")}
    elif task_id == "dsb-2018":
        given_ = {"classes": (1,), "disjoint_predictions": True}
    elif task_id == "badlad":
        given_ = {"classes": (0, 1, 2, 3), "disjoint_truths": False}
    else:
        given_ = {"classes": (1,), "disjoint_truths": False, "max_instances": 2}
    return strategies.scenes(**(given_ | how))


def task_and_scene(*task_ids, **how):
    return st.sampled_from(task_ids or tuple(WRITERS)).flatmap(
        lambda task_id: st.tuples(st.just(task_id), scenes(task_id, **how))
    )


def scored(task_id, written, chosen=(), workers=1, images=True):
    task = sj.load_task(task_id, chosen)
    truth, submission = sj.read_truth(task, written.truth), sj.read_submission(task, written.submission)
    known = sj.read_images(task, written.images) if images else None
    return sj.score(task, truth, submission, images=known, by=PARTS[task_id], workers=workers)


def numbers(result):
    """All numbers of a result, to the last bit."""
    return (
        result.score,
        result.points,
        dict(result.by_class),
        dict(result.by_threshold),
        dict(result.by_image),
    )


def score_scene(task_id, scene, chosen=(), **how):
    with TemporaryDirectory() as folder:
        return scored(task_id, WRITERS[task_id](scene, Path(folder)), chosen, **how)


def changed(scene, *, images=None, truths=None, predictions=None):
    return Scene(
        scene.images if images is None else tuple(images),
        scene.truths if truths is None else tuple(truths),
        scene.predictions if predictions is None else tuple(predictions),
    )


def rewritten(scene, move, resize):
    """Every pixel moved, every image of another size."""
    sizes = {image.id: image for image in scene.images}

    def moved(thing):
        image = sizes[thing.image]
        pixels = frozenset(
            new
            for pixel in thing.pixels
            for new in move(*divmod(pixel, image.width), image.height, image.width)
        )
        return dataclasses.replace(thing, pixels=pixels)

    images = [Image(image.id, *resize(image.height, image.width), image.clip) for image in scene.images]
    return Scene(tuple(images), tuple(map(moved, scene.truths)), tuple(map(moved, scene.predictions)))


@pytest.mark.parametrize("first", ["check", "check_truth", "score", "Result", "read_submission", "Rle"])
def test_public_names_are_what_they_say(first):
    """Whichever name is used first, and whatever it loads, functions stay functions."""
    program = f"""
import types
import segjudge as sj
sj.{first}
import segjudge.cli.app
modules = [name for name in sj.__all__ if isinstance(getattr(sj, name), types.ModuleType)]
assert not modules, modules
assert all(callable(getattr(sj, name)) for name in sj.__all__)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# --- a perfect submission -----------------------------------------------------------------------------------


def as_predictions(truths):
    return tuple(dataclasses.replace(thing, confidence="0.9") for thing in truths if not thing.ignored)


@some
@given(task_and_scene(), WAD_SETTINGS)
def test_a_perfect_submission_scores_one(drawn, chosen):
    task_id, scene = drawn
    if task_id == "wad-2018":
        chosen = [setting for setting in chosen if setting != "absent_class=zero"]
        # A truth that an ignored region covers is no fault of the submission: its prediction is removed.
        scene = changed(scene, truths=[thing for thing in scene.truths if not thing.ignored])
    else:
        chosen = []
    result = score_scene(task_id, changed(scene, predictions=as_predictions(scene.truths)), chosen)
    # Where no class has truth there is no score; and pycocotools' own floats fall short of 1 by three bits.
    one = pytest.approx(1, abs=1e-12) if "recall=pycocotools" in chosen else 1
    assert result.score == one or (result.score is None and task_id == "wad-2018" and not scene.truths)
    values = [*result.by_class.values(), *result.by_threshold.values(), *result.by_image.values()]
    assert all(value is None or value == one for value in values)


@some
@given(task_and_scene())
def test_no_score_leaves_zero_to_one(drawn):
    result = score_scene(*drawn)
    values = [
        result.score,
        *result.by_class.values(),
        *result.by_threshold.values(),
        *result.by_image.values(),
    ]
    assert all(value is None or 0 <= value <= 1 for value in values)


# --- orders, chunks, workers --------------------------------------------------------------------------------


def shuffled(path, numbers_of_rows):
    header, *rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(header + b"".join(rows[place] for place in numbers_of_rows(len(rows))))


@some
@given(task_and_scene(*TABLES), WAD_SETTINGS, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bit(drawn, chosen, random):
    task_id, scene = drawn
    chosen = chosen if task_id == "wad-2018" else []

    def order(count):
        return random.sample(range(count), count)

    with TemporaryDirectory() as folder:
        written = WRITERS[task_id](scene, Path(folder))
        first = numbers(scored(task_id, written, chosen))
        shuffled(written.submission, order)
        assert numbers(scored(task_id, written, chosen)) == first
        shuffled(written.truth, order)
        shuffled(written.images, order)
        assert numbers(scored(task_id, written, chosen)) == first


@few
@given(scenes("emoji", max_images=4), st.randoms(use_true_random=False))
def test_the_order_of_samples_changes_no_bit(scene, random):
    mixed = changed(scene, images=random.sample(scene.images, len(scene.images)))
    assert numbers(score_scene("emoji", scene)) == numbers(score_scene("emoji", mixed))


@few
@given(
    task_and_scene(*TABLES, max_images=6),
    st.integers(1, 3),
    st.sampled_from([1, 40, 100, 1 << 20]),
    st.integers(1, 3),
)
def test_chunks_and_workers_change_no_bit(drawn, workers, size, most):
    task_id, scene = drawn
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        written = WRITERS[task_id](scene, Path(folder))
        first = numbers(scored(task_id, written))
        patch.setattr("segjudge.chunks._MOST", size)
        patch.setattr("segjudge.chunks._MOST_IMAGES", most)
        assert numbers(scored(task_id, written, workers=workers)) == first


@pytest.mark.parametrize("task_id", TABLES)
def test_chunks_of_larger_files_change_no_bit(task_id, tmp_path, monkeypatch):
    rng = np.random.default_rng(20180618)
    how = {
        "wad-2018": {"ignored": strategies.WAD_IGNORED, "disjoint_truths": "class", "decimals": 1},
        "dsb-2018": {"classes": (1,), "disjoint_predictions": True},
        "badlad": {"classes": (0, 1, 2, 3)},
    }
    scene = strategies.random_scene(rng, n_images=40, **how[task_id])
    written = WRITERS[task_id](scene, tmp_path)
    first = numbers(scored(task_id, written))
    for size, most, workers in ((1, 1, 1), (500, 3, 2), (2000, 7, 3), (1 << 22, 512, 2)):
        monkeypatch.setattr("segjudge.chunks._MOST", size)
        monkeypatch.setattr("segjudge.chunks._MOST_IMAGES", most)
        assert numbers(scored(task_id, written, workers=workers)) == first
    for block in (16, 100, 1000):
        monkeypatch.setattr("segjudge.formats.table.text._BLOCK", block)
        assert numbers(scored(task_id, written)) == first


def test_several_workers_get_several_chunks_each(tmp_path, monkeypatch):
    scene = strategies.random_scene(np.random.default_rng(5), n_images=60, classes=(1,))
    written, task = files.write_dsb(scene, tmp_path), sj.load_task("dsb-2018")
    contest = Contest.join(
        task, sj.read_submission(task, written.submission), sj.read_truth(task, written.truth), None
    )
    monkeypatch.setattr("segjudge.chunks._LEAST", 1)
    for workers in (2, 5):
        chunks = plan(contest, with_truth=True, workers=workers)
        assert 5 * workers <= len(chunks) <= 8 * workers
        assert sorted(np.concatenate([places for places, _ in chunks]).tolist()) == list(range(60))
    assert len(plan(contest, with_truth=True)) == 1


def test_worker_processes_change_no_bit(tmp_path, monkeypatch):
    scene = strategies.random_scene(
        np.random.default_rng(5), n_images=6, classes=(1,), heights=(4, 9), widths=(4, 9)
    )
    written = files.write_emoji(scene, tmp_path)
    first = numbers(scored("emoji", written))
    monkeypatch.setattr("segjudge.chunks._MOST_IMAGES", 2)
    assert numbers(scored("emoji", written, workers=2)) == first


def tallies(task_id, written, most):
    """The tallies of the chunks of a contest, and what scores them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("segjudge.chunks._MOST_IMAGES", most)
        task = sj.load_task(task_id)
        truth, submission = sj.read_truth(task, written.truth), sj.read_submission(task, written.submission)
        contest = Contest.join(task, submission, truth, None)
        reader = Reader.of(contest, None, with_truth=True)
        parts = [reader.run(where, scored=flag).tally for where, flag in plan(contest, with_truth=True)]
        facts = Facts(tuple(task.classes), np.flatnonzero(contest.scored), None)
    return [part for part in parts if part is not None], lambda tally: task.metric.score(
        tally, facts, frozenset(PARTS[task_id])
    )


@some
@given(task_and_scene(max_images=5), st.randoms(use_true_random=False))
def test_tallies_add_in_any_order_and_grouping(drawn, random):
    task_id, scene = drawn
    with TemporaryDirectory() as folder:
        written = WRITERS[task_id](scene, Path(folder))
        parts, score = tallies(task_id, written, 1)
        (whole,), _ = tallies(task_id, written, 99)
    kind = type(whole)
    first = score(whole)
    assert score(kind.sum(parts)) == first
    random.shuffle(parts)
    assert score(kind.sum(parts)) == first
    added = parts[0]
    for part in parts[1:]:
        added = part + added
    assert score(added) == first
    middle = len(parts) // 2
    if middle:
        assert score(kind.sum(parts[:middle]) + kind.sum(parts[middle:])) == first


# --- symmetries ---------------------------------------------------------------------------------------------

TURNED = {"row": "column", "column": "row"}


@some
@given(task_and_scene(), WAD_SETTINGS)
def test_turning_every_image_changes_nothing(drawn, chosen):
    task_id, scene = drawn
    chosen = chosen if task_id == "wad-2018" else []
    turned = rewritten(scene, lambda y, x, h, w: [x * h + y], lambda h, w: (w, h))
    assert numbers(score_scene(task_id, scene, chosen)) == numbers(score_scene(task_id, turned, chosen))


@some
@given(task_and_scene(*TABLES))
def test_turning_every_image_and_the_order_keeps_the_text(drawn):
    """The same runs, read in the other order for images with height and width exchanged."""
    task_id, scene = drawn
    order = sj.load_task(task_id).order
    with TemporaryDirectory() as folder:
        written = WRITERS[task_id](scene, Path(folder))
        first = numbers(scored(task_id, written))
        for path in (written.truth, written.images):
            header, _, rest = path.read_text().partition("\n")
            swapped = header.replace("Height", "@").replace("Width", "Height").replace("@", "Width")
            path.write_text(f"{swapped}\n{rest}")
        assert numbers(scored(task_id, written, [f"order={TURNED[order]}"])) == first


@some
@given(task_and_scene(), st.integers(2, 3), st.integers(1, 3), WAD_SETTINGS)
def test_enlarging_every_pixel_changes_nothing(drawn, down, across, chosen):
    task_id, scene = drawn
    chosen = chosen if task_id == "wad-2018" else []
    larger = rewritten(
        scene,
        lambda y, x, _, w: [
            (y * down + i) * w * across + x * across + j for i in range(down) for j in range(across)
        ],
        lambda h, w: (h * down, w * across),
    )
    assert numbers(score_scene(task_id, scene, chosen)) == numbers(score_scene(task_id, larger, chosen))


@some
@given(task_and_scene(), WAD_SETTINGS)
def test_mirroring_every_image_changes_nothing(drawn, chosen):
    task_id, scene = drawn
    chosen = chosen if task_id == "wad-2018" else []
    mirrored = rewritten(scene, lambda y, x, _, w: [y * w + w - 1 - x], lambda h, w: (h, w))
    assert numbers(score_scene(task_id, scene, chosen)) == numbers(score_scene(task_id, mirrored, chosen))


@some
@given(task_and_scene("badlad", "emoji", "dsb-2018", disjoint_predictions=True))
def test_truth_and_prediction_may_change_sides(drawn):
    task_id, scene = drawn
    swapped = Scene(scene.images, scene.predictions, scene.truths)
    assert numbers(score_scene(task_id, scene)) == numbers(score_scene(task_id, swapped))


# --- average precision --------------------------------------------------------------------------------------

MAPS = {
    "halved": lambda c: c / 2,
    "squared": lambda c: c * c,
    "pressed": lambda c: c / (1 + c),
    "past one": lambda c: 40 * c + 3,
    "below zero": lambda c: c - 2,
    "tiny": lambda c: c * 1e-200,
}


@some
@given(scenes("wad-2018"), st.sampled_from(sorted(MAPS)), st.sampled_from(["free", "file"]), WAD_SETTINGS)
def test_an_increasing_map_of_confidences_changes_nothing(scene, name, ties, chosen):
    mapped = changed(
        scene,
        predictions=[
            dataclasses.replace(thing, confidence=repr(MAPS[name](float(thing.confidence))))
            for thing in scene.predictions
        ],
    )
    chosen = [*chosen, f"ties={ties}"]
    assert numbers(score_scene("wad-2018", scene, chosen)) == numbers(score_scene("wad-2018", mapped, chosen))


@some
@given(scenes("wad-2018"), st.data(), WAD_SETTINGS)
def test_a_prediction_equal_to_an_ignored_region_changes_nothing(scene, data, chosen):
    regions = [thing for thing in scene.truths if thing.ignored and thing.class_id in {0, 33, 36}]
    if not regions:
        return
    region = data.draw(st.sampled_from(regions))
    class_id = region.class_id or data.draw(st.sampled_from([33, 36]))
    confidence = data.draw(st.sampled_from(strategies.CONFIDENCES))
    more = changed(
        scene, predictions=[*scene.predictions, Thing(region.image, class_id, region.pixels, confidence)]
    )
    assert numbers(score_scene("wad-2018", scene, chosen)) == numbers(score_scene("wad-2018", more, chosen))


def at_most(value, limit):
    return value is limit or value <= limit + 1e-15


@some
@given(task_and_scene("wad-2018", "dsb-2018"), st.data())
def test_a_false_positive_never_helps(drawn, data):
    """A mask that shares no pixel with anything of the truth or of the predictions."""
    task_id, scene = drawn
    image = data.draw(st.sampled_from(scene.images))
    taken = {
        p for thing in (*scene.truths, *scene.predictions) if thing.image == image.id for p in thing.pixels
    }
    free = [pixel for pixel in range(image.height * image.width) if pixel not in taken]
    if not free:
        return
    stray = Thing(
        image.id,
        data.draw(st.sampled_from([33, 36])) if task_id == "wad-2018" else 1,
        frozenset(data.draw(st.sets(st.sampled_from(free), min_size=1))),
        data.draw(st.sampled_from(strategies.CONFIDENCES)),
    )
    before, after = (
        score_scene(task_id, scene),
        score_scene(task_id, changed(scene, predictions=[*scene.predictions, stray])),
    )
    assert (before.score is None) is (after.score is None)
    assert before.score is None or at_most(after.score, before.score)
    for name in ("by_class", "by_threshold", "by_image"):
        for key, value in getattr(before, name).items():
            assert value is None or at_most(getattr(after, name)[key], value)


@some
@given(scenes("wad-2018"))
def test_an_object_that_is_lost_never_helps(scene):
    """Of a perfect submission any part is worth less, the more so the less it is."""
    perfect = as_predictions(scene.truths)
    scores = [
        score_scene("wad-2018", changed(scene, predictions=perfect[:count]), ["ignore_scope=class"]).score
        for count in range(len(perfect) + 1)
    ]
    defined = [score for score in scores if score is not None]
    assert defined == sorted(defined)


# --- codecs -------------------------------------------------------------------------------------------------

PICTURES = st.tuples(st.integers(1, 7), st.integers(1, 9)).flatmap(
    lambda size: st.lists(st.booleans(), min_size=size[0] * size[1], max_size=size[0] * size[1]).map(
        lambda bits: np.array(bits, bool).reshape(size)
    )
)
DIALECTS = st.one_of(
    st.just(("row", 0, " ", "|")),
    st.just(("column", 1, " ", "")),
    st.tuples(
        st.sampled_from(["row", "column"]),
        st.sampled_from([0, 1]),
        st.sampled_from([" ", ":", ";", "x", "/"]),
        st.sampled_from(["", "|", " ", "&", "_"]),
    ).filter(lambda dialect: dialect[2] != dialect[3]),
)


@many
@given(PICTURES, DIALECTS)
def test_decoding_undoes_encoding(mask, dialect):
    rle = sj.Rle(*dialect)
    text = rle.encode(mask)
    decoded = rle.decode([text], shape=mask.shape)
    np.testing.assert_array_equal(decoded.dense()[0], mask)
    assert rle.encode_masks(decoded) == [text]
    assert next(rle.explain(text, mask.shape), None) is None
    other = sj.Rle("column" if dialect[0] == "row" else "row", *dialect[1:])
    assert other.encode_masks(decoded) == [other.encode(mask)]


@many
@given(PICTURES)
def test_coco_decoding_undoes_encoding(mask):
    item = sj.CocoRle().encode(mask)
    np.testing.assert_array_equal(sj.CocoRle().decode(item).dense()[0], mask)
    assert sum(item["counts"]) == mask.size


@some
@given(PICTURES, DIALECTS)
def test_masks_of_other_number_types_and_layouts_encode_alike(mask, dialect):
    rle = sj.Rle(*dialect)
    text = rle.encode(mask)
    for other in (mask.astype(np.uint8), mask * np.uint8(255), mask.astype(float), mask.astype(np.int64),
                  mask.astype(np.int8), (mask * np.uint8(255)).view(np.bool_)):  # fmt: skip
        for laid in (other, np.asfortranarray(other), np.flip(np.flip(other, 0).copy(), 0),
                     np.repeat(other, 2, axis=1)[:, ::2], np.repeat(other[..., None], 3, axis=2)[..., 1]):  # fmt: skip
            assert rle.encode(laid) == text


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.array([0, 1, 2], np.uint8), "1, 2"),
        (np.array([0, 1, 255], np.uint8), "1, 255"),
        (np.array([0, 7], np.uint8), "7"),
        (np.array([-1, 0, 1]), "-1, 1"),
        (np.array([0, -1]), "-1"),
        (np.array([0.5, 1]), "0.5, 1.0"),
        (np.array([1, np.nan]), "1.0, nan"),
    ],
)
def test_a_mask_of_more_values_is_refused(values, said):
    for mask in (values[None], np.asfortranarray(np.tile(values, (3, 1)))):
        with pytest.raises(sj.MaskError, match=f"also holds {said}"):
            sj.Rle().encode(mask)


RUN_TEXT = st.one_of(
    st.text("0123456789 |", max_size=20),
    st.text("0123456789 |-+.,x[]e_\t", max_size=20),
    st.text(max_size=8),
    st.lists(st.tuples(st.integers(-2, 70), st.integers(-1, 12)), max_size=5).map(
        lambda runs: " ".join(f"{start} {length}" for start, length in runs)
    ),
    st.lists(st.tuples(st.integers(-2, 70), st.integers(-1, 12)), max_size=5).map(
        lambda runs: "".join(f"{start} {length}|" for start, length in runs)
    ),
    st.lists(st.tuples(st.integers(0, 70), st.integers(1, 12)), max_size=5).map(
        lambda runs: " | ".join(f" {start}  {length} " for start, length in sorted(runs))
    ),
    st.text("0123456789", min_size=16, max_size=22).map(lambda digits: f"{digits} 1"),
    st.text("0123456789", min_size=16, max_size=22).map(lambda digits: f"1 {digits}|"),
    st.integers(1, 21).map(lambda zeros: f"{'0' * zeros}3 2|"),
)
SHAPES = st.sampled_from([None, (3, 4), (8, 8), (1, 1), (50_000, 50_000)])


@settings(max_examples=1000, deadline=None)
@given(RUN_TEXT, SHAPES, DIALECTS, st.booleans())
def test_exactly_the_cells_that_kernels_refuse_are_explained(text, shape, dialect, empty_rows):
    rle = sj.Rle(*dialect)
    cell = text.encode("utf-8", "replace")
    _, status = rle.read(
        np.frombuffer(cell, np.uint8),
        np.array([0]),
        np.array([len(cell)]),
        np.array([shape or (-1, -1)], np.int64),
        Scratch(),
    )
    problems = list(rle.explain(cell.decode("utf-8", "replace"), shape, empty_rows=empty_rows))
    assert bool(problems) is bool(status[0] & kernels.BAD), (status, problems)
    assert len({problem.code for problem in problems}) == len(problems)


@many
@given(RUN_TEXT, SHAPES.filter(lambda shape: shape != (50_000, 50_000)), DIALECTS)
def test_a_text_is_a_mask_or_an_error(text, shape, dialect):
    rle = sj.Rle(*dialect)
    try:
        masks = rle.decode([text], shape)
    except sj.MaskError:
        assert list(rle.explain(text, shape))
    else:
        assert int(masks.areas[0]) == int((masks.stops - masks.starts).sum())
        assert rle.decode(rle.encode_masks(masks), shape).starts.tolist() == masks.starts.tolist()


# --- masks --------------------------------------------------------------------------------------------------

STACKS = st.tuples(
    st.integers(0, 5), st.integers(1, 6), st.integers(1, 7), st.integers(0, 2**32 - 1), st.floats(0, 1)
).map(lambda drawn: np.random.default_rng(drawn[3]).random(drawn[:3]) < drawn[4])
ORDERS = st.sampled_from(["row", "column"])


def same(one, other):
    for name in ("starts", "stops", "indptr", "shapes", "areas", "extents"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
    assert one.order == other.order


@many
@given(STACKS, ORDERS)
def test_masks_equal_their_pictures(stack, order):
    masks = Masks.from_dense(stack, order)
    if len(stack):
        np.testing.assert_array_equal(masks.dense(), stack)
    assert masks.areas.tolist() == stack.sum(axis=(1, 2)).tolist()
    for mask, (x, y, width, height) in zip(stack, masks.boxes.tolist(), strict=True):
        rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        assert (y, y + height) == ((rows[0], rows[-1] + 1) if len(rows) else (0, 0))
        assert (x, x + width) == ((columns[0], columns[-1] + 1) if len(columns) else (0, 0))
    # Canonical: sorted, disjoint, not touching.
    for begin, end in zip(masks.indptr[:-1], masks.indptr[1:], strict=True):
        assert (masks.starts[begin:end][1:] > masks.stops[begin:end][:-1]).all()
        assert (masks.stops[begin:end] > masks.starts[begin:end]).all()


@many
@given(STACKS, ORDERS)
def test_reordering_twice_gives_the_same_masks(stack, order):
    masks = Masks.from_dense(stack, order)
    other = "column" if order == "row" else "row"
    turned = masks.reordered(other)
    same(turned, Masks.from_dense(stack, other))
    same(turned.reordered(order), masks)


@many
@given(STACKS, ORDERS, st.data())
def test_parts_of_masks_are_masks(stack, order, data):
    masks = Masks.from_dense(stack, order)
    chosen = np.array(
        data.draw(st.lists(st.integers(0, len(stack) - 1), max_size=6)) if len(stack) else [], int
    )
    same(masks[chosen], Masks.from_dense(stack[chosen], order))
    cut = data.draw(st.integers(0, len(stack)))
    same(Masks.concatenate([masks[:cut], masks[cut:]], order), masks)


@many
@given(STACKS, ORDERS, st.data())
def test_overlaps_equal_those_of_the_pictures(stack, order, data):
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    other = rng.random((int(rng.integers(0, 5)), *stack.shape[1:])) < rng.random()
    groups = rng.integers(0, 3, len(stack)), rng.integers(0, 3, len(other))
    one, two = Masks.from_dense(stack, order), Masks.from_dense(other, order)
    shared = np.einsum("nhw,mhw->nm", stack.astype(int), other.astype(int))
    for pairs, expected in (
        (one.overlaps(two), shared),
        (one.overlaps(two, groups), shared * (groups[0][:, None] == groups[1])),
    ):
        table = np.zeros_like(shared)
        table[pairs.prediction, pairs.truth] = pairs.shared
        np.testing.assert_array_equal(table, expected)
        assert (pairs.shared > 0).all()
    union = stack.sum(axis=(1, 2))[:, None] + other.sum(axis=(1, 2)) - shared
    np.testing.assert_array_equal(one.overlaps(two).iou(), shared / np.maximum(union, 1))


def test_masks_of_images_of_different_sizes_do_not_meet_unless_a_size_is_unknown():
    square, wide = (Masks.from_dense(np.ones((2, *shape), bool)) for shape in ((2, 3), (3, 2)))
    unknown = sj.Rle("row", 0).decode(["0 4"])
    for one, two in ((square, wide), (Masks.concatenate([square, unknown, wide]), unknown)):
        with pytest.raises(sj.MaskError, match="different sizes"):
            one.overlaps(two)
    assert square.overlaps(unknown).shared.tolist() == [4, 4]
    assert len(square.overlaps(Masks.empty())) == len(Masks.empty().overlaps(square)) == 0


# --- forms of one file --------------------------------------------------------------------------------------


def as_parquet(path, *, binary=False, integer_ids=False):
    names = path.read_text().partition("\n")[0].split(",")
    options = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
    )
    table = pyarrow.csv.read_csv(path, convert_options=options)
    for name in names:
        place, column = table.schema.get_field_index(name), table[name]
        if name in {"EncodedPixels", "Predicted"} and binary:
            table = table.set_column(place, name, column.cast(pa.binary()))
        empty = pa.compute.any(pa.compute.equal(column, "")).as_py()
        if name in {"Confidence", "PixelCount", "LabelId"} and not empty:
            table = table.set_column(
                place, name, column.cast(pa.float64() if name == "Confidence" else pa.int32())
            )
        if name == "ImageId" and integer_ids:
            table = table.set_column(place, name, column.cast(pa.int64()))
    target = path.with_suffix(".parquet")
    pq.write_table(table, target, row_group_size=3)
    return target


def as_zip(path):
    target = path.with_suffix(".zip")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, path.name)
    return target


def as_gzip(path):
    target = path.with_name(path.name + ".gz")
    target.write_bytes(gzip.compress(path.read_bytes()))
    return target


def as_quoted(path):
    target = path.with_name("quoted_" + path.name)
    lines = path.read_text().splitlines()
    target.write_text("\r\n".join(",".join(f'"{cell}"' for cell in line.split(",")) for line in lines))
    return target


FORMS = {
    "parquet": as_parquet,
    "parquet with binary runs": lambda path: as_parquet(path, binary=True),
    "zip": as_zip,
    "gzip": as_gzip,
    "quoted": as_quoted,
}


@some
@given(task_and_scene(*TABLES), st.sampled_from(sorted(FORMS)))
def test_every_form_of_a_table_gives_the_same_bits(drawn, form):
    task_id, scene = drawn
    if form.startswith("parquet") and not (scene.predictions and scene.truths):
        return
    with TemporaryDirectory() as folder:
        written = WRITERS[task_id](scene, Path(folder))
        first = numbers(scored(task_id, written))
        change = FORMS[form]
        assert numbers(scored(task_id, written._replace(submission=change(written.submission)))) == first
        assert numbers(scored(task_id, written._replace(truth=change(written.truth)))) == first
        assert numbers(scored(task_id, written._replace(images=change(written.images)))) == first


@pytest.mark.parametrize("task_id", TABLES)
def test_standard_input_gives_the_same_object(task_id, tmp_path):
    scene = strategies.random_scene(
        np.random.default_rng(7),
        n_images=3,
        classes=(33,) if task_id == "wad-2018" else (1,),
        disjoint_predictions=True,
    )
    written = WRITERS[task_id](scene, tmp_path)
    words = ["--json", "--images", written.images]
    first = segjudge("score", task_id, written.truth, written.submission, *words).json
    data = written.submission.read_bytes()
    for given_ in (data, gzip.compress(data)):
        piped = segjudge("score", task_id, written.truth, "-", *words, stdin=given_).json
        assert {**piped, "receipt": 0} == {**first, "receipt": 0}
    piped = segjudge("score", task_id, "-", written.submission, *words, stdin=written.truth.read_bytes()).json
    assert piped["score"] == first["score"]
    assert segjudge("check", task_id, "-", *words, stdin=data).json["ok"]


def test_integers_are_ids_in_parquet(tmp_path):
    thing = Thing("12", 1, frozenset({1}))
    scene = Scene((Image("12", 2, 3), Image("7", 2, 3)), (thing,), (thing,))
    written = files.write_dsb(scene, tmp_path)
    whole = as_parquet(written.submission, integer_ids=True)
    assert scored("dsb-2018", written._replace(submission=whole)).score == 1


def test_floats_are_no_ids_in_parquet(tmp_path):
    path = tmp_path / "s.parquet"
    pq.write_table(pa.table({"ImageId": [12.0, 7.0], "EncodedPixels": ["2 1", ""]}), path)
    outcome = segjudge("check", "dsb-2018", path, "--json")
    assert outcome.status == 1
    assert outcome.json["findings"][0]["where"]["column"] == "ImageId"


def packed(folder, form):
    """A zip as another form of archive, and as a folder."""
    with zipfile.ZipFile(folder / "submission.zip") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    target = folder / form
    if form == "unpacked":
        for name, content in members.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(content)
        return target
    with tarfile.open(target, "w:" + form.partition("tar")[2].lstrip(".")) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(f"./{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return target


@settings(max_examples=12, deadline=None)
@given(scenes("emoji"))
def test_every_form_of_an_archive_gives_the_same_bits(scene):
    with TemporaryDirectory() as name:
        folder = Path(name)
        written = files.write_emoji(scene, folder)
        first = numbers(scored("emoji", written))
        for form in ("unpacked", "s.tar", "s.tar.gz", "s.tar.xz", "s.tar.bz2"):
            other = written._replace(submission=packed(folder, form))
            assert numbers(scored("emoji", other)) == first, form


def test_plain_kernels_give_the_same_score(tmp_path):
    """The numpy twins, in a process of their own, to the last bit."""
    rng = np.random.default_rng(11)
    jobs = []
    for task_id, how in (
        ("wad-2018", {"ignored": strategies.WAD_IGNORED, "disjoint_truths": "class"}),
        ("dsb-2018", {"classes": (1,), "disjoint_predictions": True}),
        ("badlad", {"classes": (0, 1, 2, 3)}),
        ("emoji", {"classes": (1,)}),
    ):
        folder = tmp_path / task_id
        folder.mkdir()
        written = WRITERS[task_id](strategies.random_scene(rng, n_images=8, **how), folder)
        jobs.append([task_id, *map(str, written), *PARTS[task_id]])
    program = """
import json, sys
import segjudge as sj
from segjudge import kernels
results = []
for task_id, truth, submission, images, *by in json.loads(sys.argv[1]):
    task = sj.load_task(task_id)
    result = sj.score(task, sj.read_truth(task, truth), sj.read_submission(task, submission), by=by,
                      images=sj.read_images(task, images))
    results.append({k: v for k, v in result.to_json().items()})
print(json.dumps([kernels.COMPILED, results]))
"""

    def run(**more):
        done = subprocess.run(
            [sys.executable, "-c", program, json.dumps(jobs)],
            env={**os.environ, **more},
            capture_output=True,
            check=True,
        )
        return json.loads(done.stdout)

    compiled, fast = run()
    twins, plain = run(SEGJUDGE_KERNELS="plain")
    assert not twins
    assert plain == fast
    if not compiled:
        pytest.skip("the extension was not built here")


# --- label maps and folders of masks ------------------------------------------------------------------------


def save(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    Picture.fromarray(array).save(path)


def wad_map(scene, image):
    labels = np.full(image.height * image.width, 255, np.uint16)
    groups = {class_id: value for value, class_id in WAD_GROUPS.items()}
    counts = {}
    for thing in scene.truths:
        if thing.image == image.id:
            number = counts[thing.class_id] = counts.get(thing.class_id, -1) + 1
            labels[sorted(thing.pixels)] = (
                groups[thing.class_id] if thing.ignored else thing.class_id * 1000 + number
            )
    return labels.reshape(image.height, image.width)


def one_region_each(scene):
    """A label map has one region of each ignored value in an image; so has the scene."""
    joined, others = {}, []
    for thing in scene.truths:
        if thing.ignored:
            joined.setdefault((thing.image, thing.class_id), set()).update(thing.pixels)
        else:
            others.append(thing)
    regions = [Thing(image, class_id, frozenset(p), ignored=True) for (image, class_id), p in joined.items()]
    return changed(scene, truths=[*others, *regions])


@some
@given(
    scenes("wad-2018", ignored=strategies.WAD_IGNORED, disjoint_truths=True),
    WAD_SETTINGS,
    st.sampled_from(["png", "tif", "folders", "zip"]),
)
def test_wad_label_maps_score_as_their_masks_in_a_table(scene, chosen, form):
    scene = one_region_each(scene)
    with TemporaryDirectory() as name:
        folder = Path(name)
        written = files.write_wad(scene, folder)
        first = numbers(scored("wad-2018", written, chosen))
        maps = folder / "maps"
        for number, image in enumerate(scene.images):
            place = maps / f"camera_{number}" if form == "folders" else maps
            ending = "_instanceIds.png" if form == "folders" else ".tif" if form == "tif" else ".png"
            save(place / f"{image.id}{ending}", wad_map(scene, image))
        if form == "zip":
            with zipfile.ZipFile(folder / "maps.zip", "w") as archive:
                for path in maps.rglob("*.png"):
                    archive.write(path, f"maps/{path.name}")
            maps = folder / "maps.zip"
        assert numbers(scored("wad-2018", written._replace(truth=maps), chosen)) == first


@some
@given(scenes("dsb-2018"), st.sampled_from(["8 bits", "16 bits", "tif 32 bits", "folders"]))
def test_dsb_label_maps_and_mask_folders_score_as_their_masks_in_a_table(scene, form):
    with TemporaryDirectory() as name:
        folder = Path(name)
        written = files.write_dsb(scene, folder)
        first = numbers(scored("dsb-2018", written))
        maps = folder / "maps"
        for image in scene.images:
            labels = np.zeros(image.height * image.width, np.int32)
            things = [thing for thing in scene.truths if thing.image == image.id]
            if form == "folders":
                save(
                    maps / image.id / "images" / f"{image.id}.png",
                    labels.astype(np.uint8).reshape(image.height, -1),
                )
                for number, thing in enumerate(things):
                    mask = np.zeros(image.height * image.width, np.uint8)
                    mask[sorted(thing.pixels)] = 255
                    save(maps / image.id / "masks" / f"{number}.png", mask.reshape(image.height, -1))
                continue
            for number, thing in enumerate(things):
                step = {"8 bits": 60, "16 bits": 16_000, "tif 32 bits": 500_000_000}[form]
                labels[sorted(thing.pixels)] = (number + 1) * step
            kind = {"8 bits": np.uint8, "16 bits": np.uint16, "tif 32 bits": np.int32}[form]
            ending = "tif" if form == "tif 32 bits" else "png"
            save(maps / f"{image.id}.{ending}", labels.astype(kind).reshape(image.height, -1))
        assert numbers(scored("dsb-2018", written._replace(truth=maps))) == first


def test_pixels_are_numbered_as_the_reference_numbers_them():
    """The one fact on which both sides of all laws rest."""
    for order in ("row", "column"):
        masks = Masks.from_dense(np.eye(6, dtype=bool).reshape(6, 2, 3), order)
        numbered = dict(zip(places(2, 3, order), range(6), strict=True))
        assert masks.starts.tolist() == [numbered[pixel] for pixel in range(6)]


# --- using it twice -----------------------------------------------------------------------------------------


def test_checking_and_scoring_the_same_objects_again_finds_the_same(tmp_path):
    truth, submission = tmp_path / "t.csv", tmp_path / "s.csv"
    truth.write_text("ImageId,LabelId,EncodedPixels,Height,Width\na,33,1 3|,4,5\n")
    submission.write_text("ImageId,LabelId,Confidence,PixelCount,EncodedPixels\na,33,1.5,3,1 3\n")
    task = sj.load_task("wad-2018")
    opened = sj.read_truth(task, truth), sj.read_submission(task, submission)
    diagnoses = [sj.check(task, opened[1], truth=opened[0]) for _ in range(2)]
    results = [sj.score(task, *opened) for _ in range(2)]
    assert diagnoses[0] == diagnoses[1] == results[0].findings == results[1].findings
    assert diagnoses[0].totals == {"confidence-range": 1, "rle-bad-delimiter": 1}
    assert results[0].by_class[33] == results[0].by_image["a"] == 1.0


# --- masks that share pixels --------------------------------------------------------------------------------


@many
@given(STACKS, st.data())
def test_the_sweep_names_every_mask_that_shares_a_pixel_and_no_other(stack, data):
    """Images with very many masks are swept; the pairs of small ones say what has to come out."""
    masks = Masks.from_dense(stack, "row")
    group = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=len(stack), max_size=len(stack))), np.int64
    )
    pairs = {tuple(pair) for pair in chunks.shared_pixels(masks, group).tolist()}
    swept = {tuple(pair) for pair in chunks._swept(masks, group).tolist()}
    assert swept <= pairs
    assert {place for pair in swept for place in pair} == {place for pair in pairs for place in pair}


def test_the_sweep_remembers_a_run_that_reaches_over_others():
    stack = np.zeros((3, 1, 12), np.bool_)
    stack[0] = True
    stack[1, 0, 2:4] = True
    stack[2, 0, 6:8] = True
    masks = Masks.from_dense(stack, "row")
    assert chunks._swept(masks, np.zeros(3, np.int64)).tolist() == [[0, 1], [0, 2]]


def test_an_image_with_very_many_masks_is_swept(monkeypatch):
    stack = np.zeros((chunks._PAIRWISE + 2, 20, 20), np.bool_)
    for number, mask in enumerate(stack):
        mask.ravel()[number] = True
    stack[7].ravel()[9] = True  # the pixel of mask 9
    masks = Masks.from_dense(stack, "column")
    used = []
    sweep = chunks._swept
    monkeypatch.setattr(chunks, "_swept", lambda *given_: used.append(1) or sweep(*given_))
    assert chunks.shared_pixels(masks, np.zeros(len(stack), np.int64)).tolist() == [[7, 9]]
    assert used
