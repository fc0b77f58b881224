"""Records are `dataclasses` in all that can be told from outside, but for how soon their methods are there."""

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from dataclasses import field
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segjudge.records import dataclass

KINDS = [{"frozen": frozen, "eq": eq} for frozen in (True, False) for eq in (True, False)]


def class_of(decorator, **kinds):
    @decorator(slots=True, **kinds)
    class Thing:
        """A thing."""

        shown: int
        hidden: str = field(default="h", repr=False)
        made: list = field(default_factory=list)
        word: float = field(default=0.5, kw_only=True)
        total: ClassVar[int] = 7

        def twice(self):
            return 2 * self.shown

    return Thing


@dataclass(frozen=True, slots=True)
class Kept:
    """At the top of a module, so that it can be pickled."""

    first: int
    rest: tuple = ()


@dataclass(slots=True)
class Counted:
    """Made after its fields are there."""

    count: int
    doubled: int = 0

    def __post_init__(self):
        self.doubled = 2 * self.count


@pytest.mark.parametrize("kinds", KINDS, ids=str)
@given(
    shown=st.integers(),
    others=st.fixed_dictionaries(
        {},
        optional={"hidden": st.text(), "made": st.lists(st.integers()), "word": st.floats(allow_nan=False)},
    ),
)
def test_a_record_is_what_the_standard_library_makes_of_the_class(kinds, shown, others):
    own, known = class_of(dataclass, **kinds)(shown, **others), None
    known = class_of(dataclasses.dataclass, **kinds)(shown, **others)
    assert repr(own) == repr(known)
    assert dataclasses.asdict(own) == dataclasses.asdict(known)
    assert own.twice() == known.twice()
    assert repr(dataclasses.replace(own, shown=1)) == repr(dataclasses.replace(known, shown=1))
    assert (own == copy.copy(own)) is kinds["eq"]
    assert own != known
    with pytest.raises(TypeError):
        type(own)()
    assert not hasattr(own, "__dict__")


@pytest.mark.parametrize("kinds", KINDS, ids=str)
def test_the_signature_is_that_of_the_standard_library(kinds):
    own, known = (
        inspect.signature(class_of(decorator, **kinds)) for decorator in (dataclass, dataclasses.dataclass)
    )
    assert [(p.name, p.kind) for p in own.parameters.values()] == [
        (p.name, p.kind) for p in known.parameters.values()
    ]


def test_frozen_records_stay_as_they_are():
    kept = Kept(1)
    for change in (lambda: setattr(kept, "first", 2), lambda: delattr(kept, "first")):
        with pytest.raises(dataclasses.FrozenInstanceError, match="first"):
            change()
    assert kept == Kept(1)
    assert hash(kept) == hash(Kept(1))
    assert {kept: "found"}[Kept(1)] == "found"


def test_lists_are_not_shared_between_instances():
    kind = class_of(dataclass)
    kind(1).made.append(2)
    assert kind(1).made == []


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_records_travel(protocol):
    kept = Kept(1, (2, 3))
    assert pickle.loads(pickle.dumps(kept, protocol)) == kept
    assert pickle.loads(pickle.dumps(Counted(4), protocol)) == Counted(4)


def test_what_follows_the_fields_is_done():
    assert Counted(4).doubled == 8
    assert Counted(count=5) != Counted(4)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counted(4))


def test_own_methods_go_before_those_that_are_shared():
    @dataclass(frozen=True, slots=True)
    class Named:
        """With words of its own."""

        name: str

        def __repr__(self):
            return self.name

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 3

    assert repr(Named("a")) == "a"
    assert Named("a") == Named("b")
    assert hash(Named("a")) == 3


def test_a_score_does_not_compile_the_methods_of_classes_it_has_no_use_for():
    program = """
import builtins
import dataclasses

compiled = []
standard = builtins.exec
builtins.exec = lambda *arguments: (compiled.append(arguments[0]), standard(*arguments))[1]
import segjudge.scoring
methods = [code for code in compiled if isinstance(code, str) and "def __init__" in code]
print(len(methods))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 5
