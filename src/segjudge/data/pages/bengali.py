"""Bengali type out of installed fonts: made-up words, shaped with their conjuncts and signs."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFont, features

from segjudge.data.fonts import installed, missing_font
from segjudge.data.pages.ink import Type
from segjudge.errors import UsageError
from segjudge.records import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["FACES", "faces_of", "made_up", "shaped"]

#: The faces of each part, by file; those of `train` are under the Open Font License.
FACES = {
    "train": (
        "NotoSansBengali-Regular.ttf",
        "NotoSansBengali-Bold.ttf",
        "NotoSerifBengali-Regular.ttf",
        "NotoSerifBengali-Bold.ttf",
        "Lohit-Bengali.ttf",
    ),
    "test": (
        "Mukti.ttf",
        "Muktibold.ttf",
        "JamrulNormal.ttf",
        "LikhanNormal.ttf",
        "MitraMono.ttf",
        "Ani.ttf",
    ),
}
_PACKAGES = {
    "train": ("fonts-noto-core", "fonts-lohit-beng-bengali"),
    "test": ("fonts-beng-extra",),
}

_FINE = 4  # sub-pixels to a pixel, as in drawn type
_SCRIPT = "bn"

# Consonants in about the order of their use, commoner ones more than once, and what is joined to them.
_CONSONANTS = (
    "ররররনননককককততবববসসসলললমমপপদদযহহগটশজচছখথধভষঘঝঠডঢণফ"
    "\u09dc\u09df\u09df"  # rra and yya, each as one character
)
_ENDS = "\u0982\u0983"
_SIGNS = ("া", "া", "া", "ি", "ি", "ে", "ে", "ী", "ু", "ু", "ূ", "ো", "ৈ", "ৌ", "ৃ", "ঁ")
_VOWELS = "অআইএওউঈঐ"
_CONJUNCTS = (
    "ক্ষ", "ন্ত", "স্ত", "ত্র", "প্র", "ন্দ", "স্থ", "ক্ত", "ষ্ট", "ম্ব", "ঙ্গ", "চ্ছ", "ন্ধ", "জ্ঞ", "শ্চ", "ল্প",
    "ম্প", "স্ব", "ত্ত", "র্ব", "র্ম", "ঙ্ক", "ঞ্চ", "ণ্ড", "দ্ধ", "স্ক", "ব্য", "ন্য", "র্ত", "দ্র", "গ্র", "ষ্ঠ",
)  # fmt: skip
_DIGITS = "০১২৩৪৫৬৭৮৯"
_MARKS = ("।", ",", "?", "-")


@dataclass(frozen=True, slots=True)
class Words(Type):
    """A stock of whole words at one size, instead of letters."""

    def word(self, rng: np.random.Generator) -> NDArray[np.uint8]:
        """The coverage of one of the words."""
        return self.letters[rng.integers(len(self.letters))]


def faces_of(part: str) -> tuple[Path, ...]:
    """The installed fonts of a part; raises UsageError where there is none, or none that can be shaped."""
    parts = ("train", "test") if part == "all" else (part,)
    found = installed([name for each in parts for name in FACES[each]])
    if not found:
        packages = [name for each in parts for name in _PACKAGES[each]]
        raise missing_font(f"A Bengali font of the part `{part}`", packages)
    if not features.check("raqm"):
        raise UsageError(
            "The installed Pillow cannot shape Bengali: it was built without raqm.",
            "Install Pillow's own wheel: pip install --force-reinstall pillow.",
        )
    return tuple(found.values())


def made_up(rng: np.random.Generator) -> str:
    """A word that means nothing, of one to five syllables; now and then a number, or with a sign behind it.

    >>> made_up(np.random.default_rng(1)) == made_up(np.random.default_rng(1))
    True
    """
    if rng.random() < 0.04:
        return "".join(_any(rng, _DIGITS) for _ in range(rng.integers(1, 5)))
    word = _any(rng, _VOWELS) if rng.random() < 0.15 else ""
    for _ in range(1 + min(4, int(rng.poisson(1.3)))):
        word += _any(rng, _CONJUNCTS) if rng.random() < 0.16 else _any(rng, _CONSONANTS)
        if rng.random() < 0.62:
            word += _any(rng, _SIGNS)
    if rng.random() < 0.06:
        word += _any(rng, _ENDS)
    return word + (_any(rng, _MARKS) if rng.random() < 0.12 else "")


def shaped(rng: np.random.Generator, face: Path, size: int, words: int = 90) -> Words:
    """A stock of words in this face, so large that a letter hangs `size` pixels from its headline."""
    probe = _font(face, 100)
    _, top, _, foot = probe.getbbox("ক", anchor="ls", language=_SCRIPT)
    font = _font(face, 100 * size * _FINE / max(1.0, foot - top))
    _, top, _, foot = font.getbbox("ক", anchor="ls", language=_SCRIPT)
    texts = [made_up(rng) for _ in range(words)]
    boxes = np.array([font.getbbox(text, anchor="ls", language=_SCRIPT) for text in texts])
    rise = max(2, -(int(boxes[:, 1].min() - top) // _FINE))
    drop = max(2, -(int(foot - boxes[:, 3].max()) // _FINE))
    stock = tuple(
        _coverage(font, text, box, (top - rise * _FINE, rise + size + drop))
        for text, box in zip(texts, boxes.tolist(), strict=True)
    )
    return Words(size, rise, stock, max(2, round(size * 0.42)))


def _coverage(
    font: ImageFont.FreeTypeFont, text: str, box: list[float], span: tuple[float, int]
) -> NDArray[np.uint8]:
    """The coverage of a word as tall as a line; `span` is its top below the baseline, and its rows."""
    left, right = int(box[0]), int(box[2])
    wide = max(1, -(-(right - left) // _FINE))
    fine = Image.new("L", (wide * _FINE, span[1] * _FINE))
    ImageDraw.Draw(fine).text((-left, -span[0]), text, fill=255, font=font, anchor="ls", language=_SCRIPT)
    return np.asarray(fine.reduce(_FINE))


def _any(rng: np.random.Generator, stock: str | tuple[str, ...]) -> str:
    return stock[rng.integers(len(stock))]


def _font(face: Path, size: float) -> ImageFont.FreeTypeFont:
    """The face at a size; given as bytes, because for a path Pillow would try others of the same name."""
    try:
        data = io.BytesIO(face.read_bytes())
        return ImageFont.truetype(data, size, layout_engine=ImageFont.Layout.RAQM)
    except OSError as error:
        raise UsageError(f"{face} is no font that can be read: {error}.", "Install it again.") from error
