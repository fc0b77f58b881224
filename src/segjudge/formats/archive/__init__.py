"""Folders, zips and tars as one type: a `Tree` of named members that are read, never unpacked.

What a file is, its first bytes decide, not its name, and nothing is ever written beside or outside
the submission.
"""

from segjudge.formats.archive.digest import digest
from segjudge.formats.archive.faults import MAX_MEMBERS, MemberFault
from segjudge.formats.archive.members import Tree
from segjudge.formats.archive.names import left_behind
from segjudge.formats.archive.opening import open_tree
from segjudge.formats.archive.paths import find_members, resolve

__all__ = [
    "MAX_MEMBERS",
    "MemberFault",
    "Tree",
    "digest",
    "find_members",
    "left_behind",
    "open_tree",
    "resolve",
]
