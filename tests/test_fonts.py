"""Art out of installed fonts: what is parted stays apart, what is missing is told, and what is drawn is true."""

import contextlib
import importlib.util
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import segjudge as sj
from segjudge.cli.making import make_data
from segjudge.data import ARTS, PARTS, SET_IN_FONTS, TASKS, make, scenes
from segjudge.data.emoji import KINDS, glyph_scene, glyphs, kinds_of
from segjudge.data.emoji.glyphs import Glyph, Glyphs, emoji_of, glyphs_of
from segjudge.data.fonts import characters, installed, missing_font
from segjudge.data.pages import bengali
from segjudge.data.paint import Placement
from tests.running import segjudge

DOCS = Path(__file__).parent.parent / "docs"
EMOJI_FONT = installed(["NotoColorEmoji.ttf"])
BENGALI_FONTS = {part: installed(bengali.FACES[part]) for part in bengali.FACES}
with_emoji = pytest.mark.skipif(not EMOJI_FONT, reason="Noto Color Emoji is not installed")
with_bengali = pytest.mark.skipif(
    not all(BENGALI_FONTS.values()), reason="Bengali fonts of both parts are not installed"
)


def font(*subtables, tables=("cmap", "CBDT")):
    """A font file of nothing but a map of characters."""
    head = struct.pack(">HH", 0, len(subtables))
    at = 4 + 8 * len(subtables)
    records, bodies = b"", b""
    for subtable in subtables:
        records += struct.pack(">HHL", 3, 10, at + len(bodies))
        bodies += subtable
    begin = 12 + 16 * len(tables)
    directory = b"".join(struct.pack(">4sLLL", name.encode(), 0, begin, 0) for name in tables)
    return b"\0\1\0\0" + struct.pack(">HHHH", len(tables), 0, 0, 0) + directory + head + records + bodies


def groups(*ranges):
    body = b"".join(struct.pack(">LLL", first, last, 1) for first, last in ranges)
    return struct.pack(">HHLLL", 12, 0, 16 + len(body), 0, len(ranges)) + body


def segments(*ranges):
    ranges = (*ranges, (0xFFFF, 0xFFFF))
    starts, ends = zip(*ranges, strict=True)
    count = len(ranges)
    body = struct.pack(f">{count}HH{count}H", *ends, 0, *starts) + bytes(4 * count)
    return struct.pack(">HHHHHHH", 4, 14 + len(body), 0, 2 * count, 0, 0, 0) + body


# ------------------------------------------------------------------------------------------ font files


def test_characters_are_those_of_all_maps_that_a_font_has():
    tables, points = characters(font(segments((0x41, 0x43)), groups((0x43, 0x44), (0x1F600, 0x1F601))))
    assert tables == {"cmap", "CBDT"}
    assert points == (0x41, 0x42, 0x43, 0x44, 0x1F600, 0x1F601)


@settings(deadline=None)
@given(st.binary(max_size=80) | st.integers(0, 90).map(lambda n: font(groups((5, 9)))[:n]))
def test_what_is_no_font_is_a_value_error(data):
    with contextlib.suppress(ValueError):
        tables, points = characters(data)
        assert "cmap" in tables
        assert list(points) == sorted(set(points))


def test_a_range_beyond_unicode_is_no_font():
    with pytest.raises(ValueError, match="no font"):
        characters(font(groups((0, 0xFFFFFFFF))))


def test_the_own_folder_is_searched_first(tmp_path, monkeypatch):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    mine = tmp_path / "deep" / "er" / "NotoColorEmoji.ttf"
    mine.write_bytes(b"")
    monkeypatch.setenv("SEGJUDGE_FONTS", str(tmp_path))
    assert installed(["none.ttf", "NotoColorEmoji.ttf"]) == {"NotoColorEmoji.ttf": mine}


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine with no font but those in a folder of its own."""
    monkeypatch.setattr("segjudge.data.fonts.PLACES", (str(tmp_path / "fonts"),))
    monkeypatch.delenv("SEGJUDGE_FONTS", raising=False)
    glyphs_of.cache_clear()
    yield tmp_path / "fonts"
    glyphs_of.cache_clear()


@pytest.mark.parametrize(
    ("task_id", "part", "package"),
    [
        ("emoji", "all", "apt install fonts-noto-color-emoji"),
        ("badlad", "train", "apt install fonts-noto-core fonts-lohit-beng-bengali"),
        ("badlad", "test", "apt install fonts-beng-extra"),
        ("badlad", "all", "apt install fonts-noto-core fonts-lohit-beng-bengali fonts-beng-extra"),
    ],
)
def test_a_missing_font_is_told_with_its_package_before_anything_is_written(
    bare, task_id, part, package, tmp_path
):
    with pytest.raises(sj.UsageError, match=package) as caught:
        make(task_id, tmp_path / "set", images=1, seed=0, art="fonts", part=part)
    assert str(bare) in str(caught.value)
    assert not (tmp_path / "set").exists()
    told = segjudge("make-data", task_id, "-o", tmp_path / "set", "--art", "fonts", "--part", part, "--json")
    assert told.status == 2
    assert package in told.json["error"]["advice"]


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"<html>", "no font that can be read"), (font(groups((0x1F600, 0x1F601)), tables=["cmap"]), "CBDT")],
)
def test_a_font_that_cannot_be_used_is_named(bare, data, words):
    bare.mkdir()
    (bare / "NotoColorEmoji.ttf").write_bytes(data)
    with pytest.raises(sj.UsageError, match=words) as caught:
        scenes("emoji", images=1, seed=0, art="fonts")
    assert "NotoColorEmoji.ttf" in str(caught.value)


def test_bengali_that_cannot_be_shaped_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(bengali, "installed", lambda names: {names[0]: tmp_path / names[0]})
    monkeypatch.setattr(bengali.features, "check", lambda _: False)
    with pytest.raises(sj.UsageError, match="without raqm"):
        bengali.faces_of("train")


def test_a_face_that_is_no_font_is_named(tmp_path):
    (tmp_path / "Ani.ttf").write_bytes(b"")
    with pytest.raises(sj.UsageError, match=r"Ani\.ttf is no font"):
        bengali.shaped(np.random.default_rng(0), tmp_path / "Ani.ttf", 12)


def test_the_advice_names_a_way_without_fonts():
    assert "drawn art does" in str(missing_font("X", ["p"]))


# ------------------------------------------------------------------------------------------------ parts


@settings(deadline=None)
@given(st.sets(st.integers(0, 0x10FFFF), max_size=200))
def test_glyphs_are_parted_whole_and_neighbours_together(points):
    ordered = sorted(points)
    train, test, whole = (emoji_of(ordered, part) for part in ("train", "test", "all"))
    assert sorted(train + test) == whole
    assert not {point // 8 for point in train} & {point // 8 for point in test}
    assert set(whole) <= points


def test_about_a_quarter_of_the_glyphs_is_held_back():
    points = list(range(0x1F300, 0x1FB00))
    assert 0.15 < len(emoji_of(points, "test")) / len(emoji_of(points, "all")) < 0.35


@pytest.mark.parametrize(
    "point", [0x23, 0xA9, 0x200D, 0x20E3, 0xFE0F, 0x1F1E6, 0x1F3FB, 0x1F7E5, 0x2B1B, 0xFE82C]
)
def test_parts_of_emoji_and_flat_shapes_are_no_emoji(point):
    assert emoji_of([point], "all") == []


def test_kinds_of_drawn_emoji_are_parted_whole():
    train, test = kinds_of("train"), kinds_of("test")
    assert set(train) | set(test) == set(kinds_of("all")) == set(KINDS)
    assert not set(train) & set(test)
    assert len(test) == 6
    assert train[0] is KINDS[0]  # faces are trained on


def test_faces_of_type_are_parted():
    assert not set(bengali.FACES["train"]) & set(bengali.FACES["test"])


@pytest.mark.parametrize("task_id", TASKS)
def test_parts_share_no_picture_and_are_as_large_as_asked(task_id):
    pictures = {
        scene.picture.tobytes()
        for part in PARTS
        for scene in scenes(task_id, images=2, seed=3, size=(96, 128), part=part)
    }
    assert len(pictures) == 2 * len(PARTS)


@pytest.mark.parametrize(
    ("task_id", "options", "words"),
    [
        ("emoji", {"art": "oil"}, "no art 'oil'"),
        ("emoji", {"part": "half"}, "a part 'half'"),
        ("wad-2018", {"art": "fonts"}, "Nothing in the images of wad-2018"),
        ("dsb-2018", {"art": "fonts"}, "badlad, emoji"),
    ],
)
def test_arts_and_parts_that_are_none_are_told(task_id, options, words):
    with pytest.raises(sj.UsageError, match=words):
        scenes(task_id, images=1, seed=0, **options)


def test_the_verb_offers_the_arts_and_parts_that_there_are():
    choices = {option.name: option.type for option in make_data.params}
    assert tuple(choices["art"].choices) == ARTS
    assert tuple(choices["part"].choices) == PARTS


def test_the_verb_writes_another_set_for_another_part(tmp_path):
    for part in ("train", "test"):
        done = segjudge("make-data", "emoji", "-o", tmp_path / part, "--images", 1, "--part", part)
        assert done.status == 0
    both = [(tmp_path / part / "images" / "train_0.png").read_bytes() for part in ("train", "test")]
    assert both[0] != both[1]


# ---------------------------------------------------------------------------------------------- drawing


def block(wide, tall, colour=(200, 30, 60, 255)):
    return Glyph(Image.new("RGBA", (wide, tall), colour))


@settings(deadline=None, max_examples=60)
@given(
    wide=st.integers(20, 140),
    tall=st.integers(20, 140),
    radius=st.floats(8, 40),
    angle=st.floats(-3, 3),
    squeeze=st.sampled_from([-1.1, -1.0, 0.9, 1.0]),
)
def test_a_glyph_covers_the_area_that_its_placement_gives_it(wide, tall, radius, angle, squeeze):
    painted = block(wide, tall).painted(Placement(70.3, 68.9, radius, angle, squeeze), (140, 140))
    across, down = (2 * radius * side / max(wide, tall) for side in (wide * abs(squeeze), tall))
    assert abs(painted.mask.sum() - across * down) <= 1.4 * (
        across + down
    )  # two thirds of a pixel along its outline
    rows, columns = np.nonzero(painted.mask)
    assert rows.mean() + painted.box.top + 0.5 == pytest.approx(68.9, abs=0.8)
    assert columns.mean() + painted.box.left + 0.5 == pytest.approx(70.3, abs=0.8)
    assert (painted.rgb[painted.alpha == 255] == (200, 30, 60)).all()


def test_a_glyph_turns_and_mirrors_as_drawings_do():
    image = Image.new("RGBA", (64, 64), (0, 0, 0, 0))
    image.paste((255, 255, 255, 255), (0, 0, 32, 32))  # its upper left
    for angle, squeeze, wanted in ((0.0, 1.0, (-1, -1)), (0.0, -1.0, (-1, 1)), (np.pi / 2, 1.0, (-1, 1))):
        placement = Placement(50, 50, 30, angle, squeeze)
        painted = Glyph(image).painted(placement, (100, 100))
        rows, columns = np.nonzero(painted.mask)
        middle = np.array([rows.mean() + painted.box.top, columns.mean() + painted.box.left]) - 49.5
        assert np.sign(middle).tolist() == list(wanted)
        corner = placement.of(np.array([(-0.5, -0.5)]))[0] - 50
        assert middle.tolist() == pytest.approx(corner[::-1].tolist(), abs=0.6)


def test_a_glyph_outside_the_image_is_not_painted():
    assert block(30, 30).painted(Placement(-90, 20, 10), (100, 100)) is None


def test_colours_are_those_of_opaque_pixels():
    half = Image.new("RGBA", (40, 40), (9, 9, 9, 100))
    half.paste((1, 2, 3, 255), (0, 0, 3, 3))
    assert set(Glyph(half).colours(np.random.default_rng(0), 5)) == {(1, 2, 3)}
    assert block(20, 20, (1, 1, 1, 90)).colours(np.random.default_rng(0), 5) == []


class Blocks(Glyphs):
    """A stock that no font is needed for; some of it is blank."""

    def __init__(self):
        self.points = (1, 2, 3, 4)

    def _glyph(self, point):
        return block(60, 30 + 10 * point) if point % 2 else None


def test_scenes_of_glyphs_are_true_and_blank_glyphs_do_not_come():
    sizes = {Blocks().any(np.random.default_rng(seed)).image.size for seed in range(20)}
    assert sizes == {(60, 40), (60, 60)}
    for seed in range(10):
        scene = glyph_scene(np.random.default_rng(seed), (96, 128), Blocks())
        assert scene.picture.shape == (96, 128, 3)
        assert scene.owner.max() <= len(scene.whole) <= 4
        assert (scene.owner > 0).any()


def test_a_font_of_blanks_is_told(monkeypatch):
    monkeypatch.setattr(Blocks, "_glyph", lambda _self, _point: None)
    with pytest.raises(sj.UsageError, match="draws nothing"):
        Blocks().any(np.random.default_rng(0))


def test_made_up_words_are_bengali_and_signs_stand_on_letters():
    rng = np.random.default_rng(4)
    words = [bengali.made_up(rng) for _ in range(500)]
    assert len(set(words)) > 400
    for word in words:
        assert re.fullmatch("[\u0980-\u09ff]+[।,?-]?", word)
        assert not re.match("[\u0981-\u0983\u09bc-\u09cd]", word)
        assert "\u09bc" not in word  # nuktas come with their letters


# ----------------------------------------------------------------------------------- with fonts at hand


@with_emoji
def test_glyphs_of_both_parts_are_the_font_s_and_none_is_blank():
    train, test = glyphs_of("train"), glyphs_of("test")
    assert not set(train.points) & set(test.points)
    assert len(train.points) > 2 * len(test.points) > 400
    for stock in (train, test):
        for _ in range(5):
            image = stock.any(np.random.default_rng(len(stock.points))).image
            assert image.mode == "RGBA"
            assert (np.asarray(image)[..., 3] > 128).sum() >= glyphs._LEAST


@with_emoji
def test_emoji_of_a_font_come_in_the_competition_s_form(tmp_path):
    make("emoji", tmp_path / "set", images=3, seed=2, art="fonts", part="test", size=(96, 96))
    truth = sj.read_truth(sj.load_task("emoji"), tmp_path / "set")
    assert sj.check_truth(sj.load_task("emoji"), truth).findings == ()


@with_bengali
@pytest.mark.parametrize("part", bengali.FACES)
def test_every_face_has_every_letter_and_hangs_it_from_the_headline(part):
    used = {
        letter for word in (bengali.made_up(np.random.default_rng(n)) for n in range(400)) for letter in word
    }
    for face in BENGALI_FONTS[part].values():
        assert {ord(letter) for letter in used} <= set(characters(face.read_bytes())[1])
        stock = bengali.shaped(np.random.default_rng(1), face, 16, words=30)
        assert {word.shape[0] for word in stock.letters} == {stock.tall}
        assert stock.rise + 16 < stock.tall < 16 * 4
        ink = sum(word.sum(axis=1, dtype=np.int64) for word in stock.letters)
        assert abs(int(ink.argmax()) - stock.rise) <= 3  # the headline holds most ink
        line, end = stock.line(np.random.default_rng(2), 300)
        assert line.shape == (stock.tall, 300)
        assert 150 < end <= 300


@with_bengali
def test_pages_of_a_font_come_in_the_competition_s_form(tmp_path):
    make("badlad", tmp_path / "set", images=2, seed=2, art="fonts", part="train", size=(420, 300))
    task = sj.load_task("badlad")
    for name in ("truth.csv", "annotations.json"):
        assert sj.check_truth(task, sj.read_truth(task, tmp_path / "set" / name)).findings == ()


@with_emoji
@with_bengali
def test_the_figures_of_the_docs_are_what_fonts_make():
    spec = importlib.util.spec_from_file_location("generate_previews", DOCS / "generate_previews.py")
    previews = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(previews)
    page = (DOCS / "data.md").read_text(encoding="utf-8")
    told = numbers(page[page.index(previews.FONTS_BEGIN) : page.index(previews.FONTS_END)])
    found = numbers(previews.table("fonts"))
    assert len(told) == len(SET_IN_FONTS)
    for row, again in zip(told, found, strict=True):  # other versions of a font draw a little otherwise
        assert row == pytest.approx(again, rel=0.1, abs=3), "run python docs/generate_previews.py"


def numbers(text):
    rows = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("| `")]
    return [[float(n) for n in re.findall(r"\d+(?:\.\d+)?", " ".join(row[1:]))] for row in rows]


@pytest.mark.parametrize("task_id", SET_IN_FONTS)
def test_previews_of_fonts_exist_and_are_small(task_id):
    assert 10_000 < (DOCS / "pictures" / f"{task_id}-fonts.png").stat().st_size <= 250_000
