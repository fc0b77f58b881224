"""Members by what people write: a path in a CSV, or the last name of a file."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from segjudge.formats.archive.faults import MemberFault
from segjudge.formats.archive.names import PLAIN_PATHS, clean, shown

if TYPE_CHECKING:
    from segjudge.formats.archive.members import Tree

__all__ = ["find_members", "resolve"]


def find_members(tree: Tree, basename: str) -> tuple[str, ...]:
    """The members whose last name is `basename`, in whatever folder; case counts."""
    wanted = unicodedata.normalize("NFC", basename)
    return tuple(name for name in tree.names if name.rpartition("/")[2] == wanted)


def resolve(tree: Tree, base: str, written: str) -> str:
    """The member that a path in a CSV means.

    The path counts from the archive's root, else from the folder `base` in which the CSV lies (``""``
    is the root). `MemberFault` with `unsafe-path` says that it would leave the archive, with
    `missing-file` that no such member exists.
    """
    name = clean(written)
    if name is None:
        raise MemberFault(
            "unsafe-path", f"The path {shown(written)} leads out of the submission.", PLAIN_PATHS
        )
    candidates = [name]
    if tree.top and name.startswith(tree.top):
        candidates.append(name.removeprefix(tree.top))
    if base.strip("/"):
        candidates.append(f"{base.strip('/')}/{name}")
    for candidate in candidates:
        if candidate in tree:
            return candidate
    raise MemberFault("missing-file", f"There is no file {shown(written)}.", _nearest(tree, name))


def _nearest(tree: Tree, name: str) -> str:
    """Advice for a path that leads nowhere: the member that was probably meant."""
    near = tree.near(name.rpartition("/")[2].casefold())
    if len(near) == 1:
        return f"Did you mean {shown(near[0])}? Upper and lower case and folders count."
    return f"Add the file, or correct the path. {PLAIN_PATHS}"
