"""The gallery's files, findings and scores are what segjudge says today, and its advice mends them."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from pathlib import Path

import click
import pytest
from PIL import Image

from segjudge.cli import app
from segjudge.codecs import Rle
from tests.running import segjudge

DOCS = Path(__file__).parent.parent / "docs"


def loaded():
    spec = importlib.util.spec_from_file_location("generate_gallery", DOCS / "generate_gallery.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # a dataclass looks its module up
    spec.loader.exec_module(module)
    return module


gallery = loaded()
TEXT = (DOCS / "gallery.md").read_text(encoding="utf-8")
BLOCKS = {block[1]: block[0] for block in gallery.SHOWN.finditer(TEXT)}


def test_the_page_shows_ten_mistakes_and_all_that_the_generator_knows():
    assert list(BLOCKS) == list(gallery.MISTAKES)
    assert len(re.findall(r"^## \d+\. ", TEXT, re.MULTILINE)) == len(BLOCKS) == 10


@pytest.mark.parametrize("name", gallery.MISTAKES)
def test_a_block_of_the_page_is_what_segjudge_says(name):
    assert BLOCKS[name] == gallery.block(name), "run python docs/generate_gallery.py"


@pytest.mark.parametrize("name", gallery.MISTAKES)
def test_every_mistake_has_a_small_picture_on_the_page(name):
    path = DOCS / "pictures" / f"gallery-{name}.png"
    assert f"(pictures/{path.name})" in TEXT
    assert path.stat().st_size < 30_000
    with Image.open(path) as picture:
        assert picture.width <= 800


@pytest.mark.parametrize(
    ("setting", "codec"),
    [("order=row", Rle(order="row", origin=1)), ("origin=0", Rle(order="column", origin=0))],
)
def test_reading_a_file_as_it_was_meant_and_encoding_it_mends_it(setting, codec, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gallery.write_cells(gallery.cells(), [codec.encode(mask) for mask in gallery.cells()])
    score = ["score", "dsb-2018", "truth.csv", "--json"]
    assert segjudge(*score, "submission.csv").json["score"] < 0.9
    read = ["decode", "dsb-2018", "submission.csv", "--images", "images.csv", "-o", "masks"]
    assert segjudge(*read, "--set", setting).status == 0
    assert segjudge("encode", "dsb-2018", "masks", "--images", "images.csv", "-o", "mended.csv").status == 0
    assert segjudge(*score, "mended.csv").json["score"] == 1


@pytest.mark.parametrize("name", ["first-steps.md", "low-score.md", "gallery.md"])
def test_the_commands_of_a_page_are_such_as_segjudge_takes(name):
    commands = re.findall(r"^(?:\$ )?segjudge (.+)$", (DOCS / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) > 8
    for command in commands:
        verb, *words = shlex.split(command)
        context = click.Context(app)
        app.get_command(context, verb).make_context(verb, words, parent=context)
