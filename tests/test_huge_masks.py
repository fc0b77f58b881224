"""Pictures of 50,000 x 50,000 pixels: nothing overflows, and what is kept is runs, not pixels."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

import segjudge as sj
from segjudge.masks import Masks
from tests.running import segjudge

SIDE = 50_000
SHAPE = (SIDE, SIDE)
PIXELS = SIDE * SIDE
MEMORY = 50 << 20

WAD = sj.Rle(order="row", origin=0, after="|")
BADLAD = sj.Rle(order="column", origin=1)


@pytest.fixture
def small_memory():
    """Fails a test whose Python and numpy memory passes 50 MiB."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MEMORY


def box(rle, top, left, height, width):
    """The text of a rectangle, a run for each line that it crosses."""
    first, count = (top, height) if rle.order == "row" else (left, width)
    offset, length = (left, width) if rle.order == "row" else (top, height)
    if length == SIDE:
        runs = [(first * SIDE, count * SIDE)]
    else:
        runs = [(line * SIDE + offset, length) for line in range(first, first + count)]
    written = [f"{start + rle.origin} {run}" for start, run in runs]
    return "".join(f"{run}|" for run in written) if rle.after else " ".join(written)


@pytest.mark.parametrize("rle", [WAD, BADLAD], ids=["row", "column"])
@pytest.mark.parametrize(
    ("corner", "size"),
    [
        ((0, 0), (SIDE, SIDE)),
        ((0, 0), (SIDE, 49_999)),
        ((1, 1), (49_999, 49_999)),
        ((49_999, 49_999), (1, 1)),
        ((49_999, 0), (1, SIDE)),
        ((0, 49_999), (SIDE, 1)),
        ((20_000, 33_000), (17_000, 16_999)),
    ],
)
def test_a_rectangle_is_read_and_written(rle, corner, size, small_memory):
    text = box(rle, *corner, *size)
    masks = rle.decode([text], shape=SHAPE)
    assert masks.areas.tolist() == [size[0] * size[1]]
    assert masks.boxes.tolist() == [[corner[1], corner[0], size[1], size[0]]]
    assert masks.stops[-1] <= PIXELS
    assert (
        rle.encode_masks(masks) == [text]
        or rle.decode(rle.encode_masks(masks), SHAPE).areas[0] == masks.areas[0]
    )


@pytest.mark.parametrize("rle", [WAD, BADLAD], ids=["row", "column"])
def test_the_border_of_the_picture_is_exact(rle):
    last = PIXELS - 1 + rle.origin
    assert rle.decode([f"{last} 1{rle.after}"], shape=SHAPE).starts.tolist() == [PIXELS - 1]
    for cell in (f"{last} 2{rle.after}", f"{last + 1} 1{rle.after}", f"{rle.origin} {PIXELS + 1}{rle.after}"):
        (problem,) = rle.explain(cell, SHAPE)
        assert problem.code == "rle-out-of-bounds"
        assert str(last) in problem.message
        with pytest.raises(sj.MaskError):
            rle.decode([cell], shape=SHAPE)


@pytest.mark.parametrize("rle", [WAD, BADLAD], ids=["row", "column"])
def test_overlaps_beyond_31_bits(rle, small_memory):
    cells = [
        box(rle, 0, 0, SIDE, SIDE),
        box(rle, 0, 0, SIDE, 49_998),
        box(rle, 1, 0, 49_998, SIDE),
        box(rle, 7, 11, 30_000, 40_000),
    ]
    masks = rle.decode(cells, shape=SHAPE)
    pairs = masks.overlaps(masks)
    shared = np.zeros((4, 4), np.int64)
    shared[pairs.prediction, pairs.truth] = pairs.shared
    areas = [PIXELS, SIDE * 49_998, 49_998 * SIDE, 30_000 * 40_000]
    assert masks.areas.tolist() == areas
    expected = [
        [areas[0], areas[1], areas[2], areas[3]],
        [areas[1], areas[1], 49_998 * 49_998, areas[3]],
        [areas[2], 49_998 * 49_998, areas[2], areas[3]],
        [areas[3], areas[3], areas[3], areas[3]],
    ]
    assert shared.tolist() == expected
    assert pairs.iou()[1, 2] == 49_998 * 49_998 / (areas[1] + areas[2] - 49_998 * 49_998)


def test_whole_lines_turn_into_whole_columns(small_memory):
    """Reordering draws the box of a mask, so the mask is a narrow one."""
    masks = WAD.decode([box(WAD, 0, 3, SIDE, 7)], shape=SHAPE)
    turned = masks.reordered("column")
    assert (turned.starts.tolist(), turned.stops.tolist()) == ([3 * SIDE], [10 * SIDE])
    again = turned.reordered("row")
    np.testing.assert_array_equal(again.starts, masks.starts)
    assert BADLAD.encode_masks(masks) == [f"{3 * SIDE + 1} {7 * SIDE}"]


def test_thresholds_are_exact_beyond_53_bits():
    """Shared and union differ from the threshold by one pixel of two and a half billion."""
    rle = sj.Rle(order="row", origin=0, after="|")
    whole = rle.decode([f"0 {PIXELS}|"], shape=SHAPE)
    for k in range(10, 20):
        limit = PIXELS * k // 20
        parts = rle.decode([f"0 {limit - 1}|", f"0 {limit}|", f"0 {limit + 1}|"], shape=SHAPE)
        pairs = parts.overlaps(whole)
        assert pairs.exceeds(Fraction(k, 20)).tolist() == [False, False, True]
        assert pairs.exceeds(Fraction(k, 20), strict=False).tolist() == [False, True, True]
    odd = Fraction(999_983, 1_000_000)
    limit = PIXELS * 999_983 // 1_000_000
    parts = rle.decode([f"0 {limit}|", f"0 {limit + 1}|"], shape=SHAPE)
    assert parts.overlaps(whole).exceeds(odd).tolist() == [False, True]


@pytest.mark.parametrize("pixels", [20 * 10**12, 1 << 53, 10**14, 6 * 10**17, 9 * 10**17])
@pytest.mark.parametrize("threshold", [Fraction(1, 2), Fraction(19, 20), Fraction(123_457, 1_000_000)])
def test_no_size_of_a_mask_makes_a_hit(pixels, threshold):
    """Without the image's size a mask may claim to be of any: it is still not its truth of ten pixels."""
    claimed, truth = WAD.decode([f"0 {pixels}|"]), WAD.decode(["5 10|"])
    for least in (None, threshold):
        assert not claimed.overlaps(truth, least=least).exceeds(threshold, strict=False).any()
        assert claimed.overlaps(claimed, least=least).exceeds(threshold).tolist() == [True]


def test_wad_files(tmp_path, small_memory):
    rows = [box(WAD, 0, 0, SIDE, 30_000), box(WAD, 0, 30_000, SIDE, 20_000)]
    size = f"{SIDE},{SIDE}"
    (tmp_path / "t.csv").write_text(
        "ImageId,LabelId,EncodedPixels,Height,Width\n"
        f"x,33,{rows[0]},{size}\nx,33,{rows[1]},{size}\nx,36,0 {PIXELS}|,{size}\n"
    )
    half = box(WAD, 0, 0, SIDE, 18_000)  # IoU 3/5
    (tmp_path / "s.csv").write_text(
        "ImageId,LabelId,Confidence,PixelCount,EncodedPixels\n"
        f"x,33,0.9,{SIDE * 18_000},{half}\nx,33,0.8,{SIDE * 20_000},{rows[1]}\nx,36,0.7,{PIXELS},0 {PIXELS}|\n"
    )
    outcome = segjudge(
        "score", "wad-2018", tmp_path / "t.csv", tmp_path / "s.csv", "--by", "class", "--json", "--workers", 1
    )
    assert outcome.status == 0
    # Class 33: both found at two thresholds; at the other eight one stray before one hit, recall one half.
    car = (2 + 8 * (51 / 101) / 2) / 10
    assert outcome.json["by_class"]["36"] == 1
    assert outcome.json["by_class"]["33"] == pytest.approx(car, abs=1e-12)
    assert outcome.json["score"] == pytest.approx((1 + car) / 2, abs=1e-12)


def test_badlad_files(tmp_path, small_memory):
    (tmp_path / "t.csv").write_text(
        f"Id,Predicted,Height,Width\nx_0,1 {PIXELS},{SIDE},{SIDE}\nx_1,{PIXELS} 1,{SIDE},{SIDE}\n"
        f"x_2,,{SIDE},{SIDE}\nx_3,1 {PIXELS // 2},{SIDE},{SIDE}\n"
    )
    (tmp_path / "s.csv").write_text(
        f"Id,Predicted\nx_0,1 {PIXELS - 1}\nx_1,1 {PIXELS}\nx_2,\nx_3,{PIXELS // 4 + 1} {PIXELS // 2}\n"
    )
    outcome = segjudge("score", "badlad", tmp_path / "t.csv", tmp_path / "s.csv", "--by", "image", "--json")
    expected = {"x_0": 2 * (PIXELS - 1) / (2 * PIXELS - 1), "x_1": 2 / (PIXELS + 1), "x_2": 1, "x_3": 0.5}
    assert outcome.json["by_image"] == pytest.approx(expected, abs=1e-15)
    outcome = segjudge(
        "score", "badlad", tmp_path / "t.csv", tmp_path / "s.csv", "--set", "average=pixels", "--json"
    )
    both = 2 * (PIXELS - 1 + 1 + PIXELS // 4) / (2 * PIXELS - 1 + PIXELS + 1 + PIXELS)
    assert outcome.json["score"] == pytest.approx(both, abs=1e-12)


def test_dsb_files(tmp_path, small_memory):
    (tmp_path / "t.csv").write_text(
        f"ImageId,EncodedPixels,Height,Width\nx,1 {PIXELS // 2},{SIDE},{SIDE}\nx,{PIXELS} 1,{SIDE},{SIDE}\n"
    )
    (tmp_path / "s.csv").write_text(
        f"ImageId,EncodedPixels\nx,1 {PIXELS // 4 + 1}\nx,{PIXELS} 1\nx,{PIXELS - 1} 2\n"
    )
    checked = segjudge("check", "dsb-2018", tmp_path / "s.csv", "--truth", tmp_path / "t.csv", "--json")
    assert checked.json["totals"] == {"masks-overlap": 1}
    scored = segjudge(
        "score", "dsb-2018", tmp_path / "t.csv", tmp_path / "s.csv", "--set", "overlapping=allow", "--json"
    )
    # At 0.5 two of three hit both truths (2 / 3); above, the half one fails: one hit of 3 + 2 - 1.
    assert scored.json["score"] == pytest.approx((2 / 3 + 9 / 4) / 10, abs=1e-12)


def test_a_million_runs(small_memory):
    """Every other pixel of forty lines: as many runs as pixels over two."""
    starts = np.arange(0, 40 * SIDE, 4, dtype=np.int64)
    masks = Masks.from_runs(
        "row", starts, starts + 1, np.array([0, len(starts)]), np.array([SHAPE], np.int64)
    )
    (text,) = WAD.encode_masks(masks)
    again = WAD.decode([text], shape=SHAPE)
    np.testing.assert_array_equal(again.starts, starts)
    assert again.overlaps(masks).shared.tolist() == [len(starts)]
