"""Names of members: how they are cleaned before anybody sees them, and how a message shows them."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["PLAIN_PATHS", "clean", "left_behind", "plain", "shown"]

#: Advice for whoever wrote a path that is none.
PLAIN_PATHS = "Use paths inside the archive, such as predictions/test_0_mask.png."


def clean(raw: str) -> str | None:
    r"""A member's name as everybody uses it; None where it is unsafe.

    Backslashes become slashes, `./` goes, letters are in Unicode NFC.

    >>> clean(".\\masks\\a.png"), clean("../a.png"), clean("C:/a.png")
    ('masks/a.png', None, None)
    """
    text = raw.replace("\\", "/")
    parts = [part for part in text.split("/") if part not in {"", "."}]
    if text.startswith("/") or "\0" in text or ".." in parts:
        return None
    if parts and re.match("[A-Za-z]:", parts[0]):
        return None
    name = unicodedata.normalize("NFC", "/".join(parts))
    return name.encode("utf-8", "backslashreplace").decode()


def left_behind(name: str) -> bool:
    """True for what macOS and Windows put into folders by themselves."""
    parts = name.split("/")
    return (
        "__MACOSX" in parts
        or parts[-1].startswith("._")
        or parts[-1].lower() in {".ds_store", "thumbs.db", "desktop.ini"}
    )


def plain(name: str) -> str:
    """A name for a message: short, and without what a terminal would obey."""
    short = name if len(name) <= 160 else f"{name[:159]}…"
    return short if short.isprintable() else short.encode("unicode_escape").decode()


def shown(name: str) -> str:
    """A name for a message, in quotes."""
    return f"'{plain(name)}'"
