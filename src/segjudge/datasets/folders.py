"""What lies in a folder: pictures by name, and the words for a folder that is not the one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segjudge.errors import UsageError
from segjudge.formats.archive import left_behind

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from segjudge.task import Task

__all__ = ["by_stem", "entries", "pictures_in", "wrong_folder"]

_ENDINGS = (".png", ".jpg", ".jpeg")
_SHOWN = 4  # entries of a folder in a message
_LONG = 28  # signs of an entry's name in a message; names that are hashes have 64


def entries(folder: Path) -> list[Path]:
    """What lies in a folder, sorted by name, less what systems leave behind; nothing where there is none."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if not left_behind(path.name))


def pictures_in(folder: Path) -> list[Path]:
    """The pictures that lie in a folder itself."""
    return [path for path in entries(folder) if path.suffix.lower() in _ENDINGS and path.is_file()]


def by_stem(pictures: Iterable[Path]) -> dict[str, Path]:
    """The pictures by image id, which is the stem; raises UsageError where two have the same."""
    found: dict[str, Path] = {}
    for path in pictures:
        if path.stem in found:
            raise UsageError(
                f"Two pictures belong to the image {path.stem!r}: {found[path.stem]} and {path}.",
                "Keep one of them.",
            )
        found[path.stem] = path
    return found


def wrong_folder(task: Task, folder: Path, wanted: str, advice: str = "") -> UsageError:
    """The error that says what was looked for in a folder, and what is there."""
    return UsageError(
        f"{folder} is no data of {task.id}: looked for {wanted}; found {_described(folder)}.",
        advice or "Name the folder as the competition ships it, unpacked, or one that make-data wrote.",
    )


def _described(folder: Path) -> str:
    if not folder.exists():
        return "that it does not exist"
    if not folder.is_dir():
        return "that it is a file (unpack an archive first)"
    found = entries(folder)
    shown = [
        f"{_short(path.name)}/ ({len(entries(path)):,})" if path.is_dir() else _short(path.name)
        for path in found[:_SHOWN]
    ]
    more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
    return ", ".join(shown) + more if shown else "nothing in it"


def _short(name: str) -> str:
    """A name, the middle of a long one left out.

    >>> _short("00071198d059ba7f5914a526d124d28e6d010c92466da21d4a04cd5413362552.png")
    '00071198d059ba…413362552.png'
    """
    return name if len(name) <= _LONG else f"{name[: _LONG // 2]}…{name[1 - _LONG // 2 :]}"
