"""What notebooks and spreadsheets get: one line, HTML that is well formed and harmless, CSV that reads back."""

import base64
import csv
import dataclasses
import io
import re
import tracemalloc
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import segjudge as sj
from segjudge import display
from segjudge.errors import UsageError
from segjudge.findings import Diagnosis, Finding, Where
from segjudge.masks import Masks
from segjudge.result import Result

EXAMPLES = Path(__file__).parent.parent / "examples"
HOSTILE = '<script>alert("&")</script>'
VOID = {"img"}


class Page(HTMLParser):
    """A reader that insists on closed, properly nested elements and keeps what it saw."""

    def __init__(self, text):
        super().__init__()
        self.stack, self.tags, self.images, self.rows, self.words = [], set(), [], [], ""
        self.feed(text)
        self.close()
        assert not self.stack, f"left open: {self.stack}"
        assert not self.tags & {"script", "link", "style", "iframe", "a"}

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")
        if tag == "img":
            self.images.append(dict(attrs))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack, f"</{tag}> without a beginning"
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.words += data
        if {"td", "th"} & set(self.stack):
            self.rows[-1][-1] += data


def page(shown):
    return Page(shown._repr_html_())


def table(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def result_of(**changes):
    values = {
        "task": "wad-2018",
        "score": 0.6653471,
        "points": None,
        "by_class": {33: 0.5, 36: None},
        "by_threshold": {Fraction(1, 2): 1 / 3, Fraction(11, 20): 0.0},
        "by_image": {"a,b": 0.1, HOSTILE: None},
        "counts": {"images": 12, "truths": 30, "ignored": 1, "predictions": 28},
        "findings": Diagnosis(),
        "truth_findings": Diagnosis(),
        "settings": {},
        "receipt": {},
        "by": frozenset({"class", "threshold", "image"}),
    }
    return Result(**(values | changes))


def diagnosis_of(*findings, **totals):
    counted = {}
    for finding in findings:
        counted[finding.code] = counted.get(finding.code, 0) + 1
    counted |= {code.replace("_", "-"): number for code, number in totals.items()}
    refusing = {finding.code for finding in findings if finding.level == "error"}
    return Diagnosis(findings, counted, sum(counted[code] for code in refusing))


WARNING = Finding("rle-unsorted", "warning", Where("s.csv", 3), "Runs are not sorted.", "Sort them.")
ERROR = Finding("missing-id", "error", Where("s.csv", image=HOSTILE), f"{HOSTILE} has no row.", "Write one.")
NOTE = Finding("extra-file", "note", Where("s.zip", member="b.png"), "b.png is not read.")


# ------------------------------------------------------------------------------------------------ reprs


def test_a_result_is_one_line():
    found = diagnosis_of(WARNING, rle_unsorted=2)
    assert repr(result_of(findings=found)) == (
        "Result(wad-2018: 0.665347, 12 images, 30 truths, 28 predictions, 2 warnings)"
    )


def test_a_result_names_points_what_is_undefined_and_faults_of_the_truth():
    one = {"images": 1, "truths": 1, "ignored": 0, "predictions": 0}
    assert repr(result_of(score=None, counts=one, truth_findings=diagnosis_of(WARNING))) == (
        "Result(wad-2018: undefined, 1 image, 1 truth, 0 predictions, 1 warning about the truth)"
    )
    assert "0.665347, 87.50 points, 12 images" in repr(result_of(points=87.5))


def test_metrics_and_areas_stand_in_json_html_and_csv():
    shown = result_of(
        metrics={"AP": 0.5, "APs": None}, by_area={"all": 0.5, "small": None}, by=frozenset({"area"})
    )
    assert shown.to_json()["metrics"] == {"AP": 0.5, "APs": None}
    assert shown.to_json()["by_area"] == {"all": 0.5, "small": None}
    assert ["APs", "undefined"] in page(shown).rows
    assert ["small", "undefined"] in page(shown).rows
    assert table(shown.to_csv("area")) == [["area", "score"], ["all", "0.5"], ["small", ""]]


def test_a_result_without_other_metrics_has_no_such_key():
    assert "metrics" not in result_of().to_json()
    assert "by_area" not in result_of().to_json()


def test_a_diagnosis_counts_all_that_was_found_not_what_was_kept():
    assert repr(Diagnosis()) == "Diagnosis(ok: no findings)"
    assert repr(diagnosis_of(ERROR, WARNING, NOTE, missing_id=30)) == (
        "Diagnosis(not ok: 30 errors, 1 warning, 1 note)"
    )
    assert repr(diagnosis_of(NOTE)) == "Diagnosis(ok: 1 note)"


def test_a_task_is_one_line():
    task = sj.load_task("dsb-2018")
    assert repr(task) == f"Task(dsb-2018: {task.title!r}, {len(task.settings)} settings)"
    assert ", 7 classes, " in repr(sj.load_task("wad-2018"))


# ------------------------------------------------------------------------------------------------- HTML


def test_findings_are_shown_as_they_are_and_nothing_in_them_is_an_element():
    shown = page(diagnosis_of(ERROR, WARNING, NOTE))
    assert ["error", "missing-id", f"s.csv {HOSTILE}", f"{HOSTILE} has no row.", "Write one."] in shown.rows
    assert ["warning", "rle-unsorted", "s.csv:3", "Runs are not sorted.", "Sort them."] in shown.rows
    assert "The file is refused: 1 error, 1 warning, 1 note." in shown.words
    assert "not shown" not in shown.words


def test_totals_are_exact_and_what_is_not_shown_is_said():
    shown = page(diagnosis_of(ERROR, missing_id=1234))
    assert ["missing-id", "1234"] in shown.rows
    assert "1233 more findings not shown" in shown.words


def test_a_long_list_of_findings_is_cut():
    many = [
        dataclasses.replace(WARNING, where=Where("s.csv", row)) for row in range(2, 2 + 3 * display.MOST_ROWS)
    ]
    shown = page(diagnosis_of(*many))
    assert sum(row[0] == "warning" for row in shown.rows) == display.MOST_ROWS
    assert f"{2 * display.MOST_ROWS} more findings not shown" in shown.words
    assert "accepted: 150 warnings." in shown.words


def test_no_findings_are_said_to_be_none():
    assert page(Diagnosis()).words == "No findings: the file is fine."


def test_names_that_no_page_can_hold_are_shown_all_the_same():
    odd = dataclasses.replace(ERROR, message="a\udcffb\0c")
    shown = page(diagnosis_of(odd))
    shown.words.encode("utf-8")
    assert "a\\udcffb\N{REPLACEMENT CHARACTER}c" in shown.words


def test_a_result_shows_its_score_its_parts_and_its_findings():
    shown = page(result_of(points=50.0, findings=diagnosis_of(WARNING)))
    assert "wad-2018: 0.665347 (50.00 points)" in shown.words
    assert "12 images, 30 truths, 1 ignored region, 28 predictions" in shown.words
    for row in (["33", "0.500000"], ["36", "undefined"], ["0.55", "0.000000"], [HOSTILE, "undefined"]):
        assert row in shown.rows
    assert "SubmissionThe file is accepted: 1 warning." in shown.words
    assert "Truth" not in shown.words


def test_a_result_of_many_images_shows_the_first_ones():
    shown = page(result_of(by_image={f"image {number}": 0.25 for number in range(1000)}))
    assert sum(row[0].startswith("image ") for row in shown.rows) == display.MOST_ROWS
    assert "950 more rows not shown: to_csv('image') has all." in shown.words


def test_parts_that_were_not_asked_for_are_not_shown():
    assert page(result_of(by=frozenset({"class"}))).words.count("By ") == 1


@pytest.mark.parametrize("name", ["wad-2018", "badlad", "dsb-2018", "emoji"])
def test_a_task_shows_every_setting_its_choices_and_the_words_of_the_page(name):
    task = sj.load_task(name)
    shown = page(task)
    rows = {row[0]: row[1:] for row in shown.rows}
    for setting in task.settings:
        assert rows[setting][1:] == [task.choices(setting), task.words.get(setting, "the page is silent")]
    assert rows["missing" if "missing" in task.settings else "order"][0] == str(
        task.settings.get("missing", task.settings.get("order"))
    )
    assert all(words in shown.words for words in task.words.values())
    assert all([str(number), words] in shown.rows for number, words in task.classes.items())


def test_a_hosts_own_task_cannot_bring_elements_in():
    task = dataclasses.replace(
        sj.load_task("wad-2018"), title=HOSTILE, words={"strict": HOSTILE}, classes={1: HOSTILE}
    )
    shown = page(task)
    assert shown.words.count(HOSTILE) == 3


# ------------------------------------------------------------------------------------------------ masks


def drawn(element):
    assert element["src"].startswith("data:image/png;base64,")
    data = base64.b64decode(element["src"].partition(",")[2], validate=True)
    with Image.open(io.BytesIO(data)) as picture:
        picture.load()
        return np.asarray(picture)


@pytest.mark.parametrize("order", ["row", "column"])
def test_a_small_mask_is_drawn_pixel_by_pixel_and_enlarged(order):
    mask = np.array([[0, 1, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0]], bool)
    shown = page(Masks.from_dense([mask], order))
    (element,) = shown.images
    assert np.array_equal(drawn(element), mask * 255)
    assert (element["width"], element["height"]) == ("160", "120")
    assert element["alt"] == "Mask 0: 4 pixels in 3 × 4"
    assert shown.rows[1][:4] == ["0", "3 × 4", "4", "1, 0, 2, 3"]


@pytest.mark.parametrize("shape", [(1, 1), (1, 1_000_000), (161, 160), (500, 333), (1999, 2000), (319, 2)])
def test_a_thumbnail_has_at_most_its_side_and_loses_no_lonely_pixel(shape):
    mask = np.zeros(shape, bool)
    mask[-1, -1] = True
    (element,) = page(Masks.from_dense([mask])).images
    picture = drawn(element)
    assert max(picture.shape) <= 160
    assert max(int(element["width"]), int(element["height"])) <= 160
    assert picture[-1, -1] == 255
    assert np.count_nonzero(picture) == 1


def test_four_masks_are_shown_and_the_others_counted():
    shown = page(Masks.from_dense(np.ones((7, 2, 2), bool)))
    assert len(shown.images) == 4
    assert "7 masks in row order, 7 runs, 28 pixels" in shown.words
    assert "3 more masks not shown." in shown.words


def test_a_huge_mask_is_described_without_being_drawn():
    huge = Masks.from_runs(
        "row", np.array([5]), np.array([9]), np.array([0, 1]), np.array([[1_000_000, 1_000_000]])
    )
    tracemalloc.start()
    try:
        shown = page(huge)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert shown.rows[1] == ["0", "1000000 × 1000000", "4", "5, 0, 4, 1", "not drawn"]
    assert peak < 1 << 20


@pytest.mark.parametrize(
    ("masks", "rows"),
    [
        (Masks.empty(), []),
        (Masks.empty(shapes=[(0, 5)]), [["0", "0 × 5", "0", "0, 0, 0, 0", "not drawn"]]),
        (Masks.empty(shapes=[(-1, -1)]), [["0", "unknown", "0", "", "not drawn"]]),
    ],
)
def test_masks_without_pixels_or_sizes_are_shown_too(masks, rows):
    assert page(masks).rows[1:] == rows


# -------------------------------------------------------------------------------------------------- CSV


def test_parts_of_a_result_read_back_exactly():
    result = result_of()
    assert table(result.to_csv("class")) == [["class", "score"], ["33", "0.5"], ["36", ""]]
    assert table(result.to_csv("threshold")) == [
        ["threshold", "score"],
        ["0.5", repr(1 / 3)],
        ["0.55", "0.0"],
    ]
    assert table(result.to_csv("image")) == [["image", "score"], ["a,b", "0.1"], [HOSTILE, ""]]
    assert table(result.to_csv("class", names={33: "car"})) == [
        ["class", "name", "score"],
        ["33", "car", "0.5"],
        ["36", "", ""],
    ]


@pytest.mark.parametrize("part", ["image", "by_class", ""])
def test_a_part_that_a_result_lacks_is_refused(part):
    with pytest.raises(UsageError, match="Its parts: class"):
        result_of(by=frozenset({"class"})).to_csv(part)


def test_findings_have_a_column_for_everything():
    where = Where("s.csv", 7, "Id", 0, "i", "33", "m.png")
    rows = table(
        diagnosis_of(Finding("bad-type", "error", where, "It is, well, bad.", "Say “no”.\nTwice.")).to_csv()
    )
    assert rows == [
        ["code", "level", "file", "row", "column", "entry", "image", "class", "member", "message", "advice"],
        [
            "bad-type",
            "error",
            "s.csv",
            "7",
            "Id",
            "0",
            "i",
            "33",
            "m.png",
            "It is, well, bad.",
            "Say “no”.\nTwice.",
        ],
    ]


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_text_of_a_participant_becomes_a_formula(sign):
    text = f"{sign}cmd|' /C calc'!A0"
    where = Where(file=text, column=text, image=text, class_=text, member=text)
    header, row = table(diagnosis_of(Finding("unknown-id", "error", where, text, text)).to_csv())
    cells = dict(zip(header, row, strict=True))
    for name in ("file", "column", "image", "class", "member", "message", "advice"):
        assert cells[name] == "'" + text


def test_no_findings_are_a_header_alone():
    assert len(table(Diagnosis().to_csv())) == 1


@given(st.lists(st.tuples(st.text(), st.none() | st.floats(allow_nan=False) | st.integers())))
def test_any_text_and_number_reads_back(rows):
    back = table(display.csv_text(("text", "number"), rows))
    assert back[0] == ["text", "number"]
    assert [text for text, _ in back[1:]] == [text for text, _ in rows]
    for (_, read), (_, number) in zip(back[1:], rows, strict=True):
        assert read == "" if number is None else type(number)(read) == number


def test_numpy_numbers_are_plain_numbers():
    assert display.csv_text(("a", "b"), [(np.float64(0.1), np.int64(3))]) == "a,b\n0.1,3\n"


# -------------------------------------------------------------------------------------------- from files


def test_a_scored_file_shows_what_json_says():
    task = sj.load_task("wad-2018")
    folder = EXAMPLES / "wad-2018"
    result = sj.score(
        task, sj.read_truth(task, folder / "truth.csv"), sj.read_submission(task, folder / "good.csv")
    )
    data = result.to_json()
    counts = data["counts"]
    assert re.fullmatch(
        rf"Result\(wad-2018: {data['score']:.6f}, {counts['images']} images, {counts['truths']} truths, "
        rf"{counts['predictions']} predictions(, .*)?\)",
        repr(result),
    )
    for part in result.by:
        rows = table(result.to_csv(part))[1:]
        assert {key: float(value) if value else None for key, value in rows} == data[f"by_{part}"]
    shown = page(result)
    assert all(
        [name, f"{value:.6f}"] in shown.rows for name, value in data["by_image"].items() if value is not None
    )
