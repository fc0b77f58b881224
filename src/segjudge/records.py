"""`dataclasses.dataclass` for classes that are many: methods come into being when they are first wanted.

The standard decorator compiles four methods or more for each class, half a millisecond; the forty classes
of a score would take as long as half of numpy. Here methods that need no code of their own are shared, and
`__init__` is compiled for the first instance. All else is the standard library's: `fields`, `replace`,
`asdict` and type checkers see its classes.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass

__all__ = ["dataclass"]

_set = object.__setattr__


if not TYPE_CHECKING:

    def dataclass(*, slots: bool, frozen: bool = False, eq: bool = True) -> Callable[[type], type]:
        """`dataclasses.dataclass`, for classes with slots.

        >>> @dataclass(frozen=True, slots=True)
        ... class Size:
        ...     height: int
        ...     width: int = 1
        >>> Size(3), Size(3) == Size(3, 1), dataclasses.replace(Size(3), width=2)
        (Size(height=3, width=1), True, Size(height=3, width=2))
        """
        shared = _EQUAL if eq else {}
        if frozen:
            shared = shared | _FROZEN | ({"__hash__": _hash} if eq else {})

        def decorate(cls: type) -> type:
            own = cls.__dict__.keys()
            made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
            for name, method in (_SHARED | shared).items():
                if name not in own:
                    setattr(made, name, method)
            made.__init__ = _Init(made, frozen=frozen)
            return made

        return decorate


class _Init:
    """Stands for the `__init__` of a class until somebody looks for it."""

    def __init__(self, owner: type, *, frozen: bool) -> None:
        self.owner = owner
        self.frozen = frozen

    def __get__(self, instance: object | None, owner: type) -> Any:  # noqa: ANN401 - a function, or a method
        init = _compiled(self.owner, frozen=self.frozen)
        type.__setattr__(self.owner, "__init__", init)
        return init if instance is None else init.__get__(instance, owner)


def _compiled(cls: type, *, frozen: bool) -> Callable[..., None]:
    """The `__init__` that takes the fields of a class."""
    fields = dataclasses.fields(cls)
    names = {"_set": _set, "_missing": dataclasses.MISSING}
    for field in fields:
        names |= {f"_default_{field.name}": field.default, f"_new_{field.name}": field.default_factory}
    places = [field for field in fields if not field.kw_only]
    words = [field for field in fields if field.kw_only]
    parameters = ["self", *map(_parameter, places), *(["*"] if words else []), *map(_parameter, words)]
    assign = "_set(self, {0!r}, {1})" if frozen else "self.{0} = {1}"
    lines = [assign.format(field.name, _given(field)) for field in fields]
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n    ".join(lines or ["pass"])
    exec(f"def __init__({', '.join(parameters)}):\n    {body}", names)  # noqa: S102 - as dataclasses does
    init: Any = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__module__ = cls.__module__
    init.__annotations__ = {field.name: field.type for field in fields} | {"return": None}
    return init  # type: ignore[no-any-return]


def _parameter(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return f"{field.name}=_default_{field.name}"
    return field.name if field.default_factory is dataclasses.MISSING else f"{field.name}=_missing"


def _given(field: dataclasses.Field[Any]) -> str:
    """What a field is set to."""
    if field.default_factory is dataclasses.MISSING:
        return field.name
    return f"_new_{field.name}() if {field.name} is _missing else {field.name}"


# ----------------------------------------------------------------------------- what all classes share


def _values(self: Any) -> tuple[Any, ...]:  # noqa: ANN401 - any of the classes
    return tuple(getattr(self, field.name) for field in dataclasses.fields(self))


def _repr(self: Any) -> str:  # noqa: ANN401
    shown = (
        f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr
    )
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: object) -> bool:  # noqa: ANN401
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:  # noqa: ANN401
    return hash(_values(self))


def _setattr(self: object, name: str, value: object) -> None:  # noqa: ARG001 - the signature is Python's
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: object, name: str) -> None:  # noqa: ARG001
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _setstate(self: Any, state: tuple[Any, ...]) -> None:  # noqa: ANN401
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        _set(self, field.name, value)


_SHARED = {"__repr__": _repr}
_EQUAL = {"__eq__": _eq, "__hash__": None}
_FROZEN = {
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _values,
    "__setstate__": _setstate,
}
