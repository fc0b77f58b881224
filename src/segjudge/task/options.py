"""Options as TOML or `--set` gives them, made into what a dataclass's fields are, strictly."""

from __future__ import annotations

import dataclasses
import types
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["coerced", "decimal_text", "described", "from_text", "instance", "no_strangers", "shown"]


def instance(kind: type[Any], options: dict[str, Any], where: str) -> Any:  # noqa: ANN401
    """A dataclass of these options, every one known, needed ones there, and each of its type."""
    known = {f.name: f for f in dataclasses.fields(kind)}
    no_strangers(options, set(known), where)
    hints = get_type_hints(kind)
    values = {}
    for name, option in options.items():
        try:
            values[name] = coerced(option, hints[name])
        except ValueError as error:
            raise ValueError(f"{where} {name}: {error}; it may be {described(hints[name])}") from None
    missing = [
        name
        for name, f in known.items()
        if name not in values
        and f.default is dataclasses.MISSING
        and f.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ValueError(f"{where} lacks {', '.join(missing)}: a choice is never left to a default")
    return kind(**values)


def no_strangers(options: Mapping[str, Any], known: set[str], where: str) -> None:
    """Raise ValueError for a key that is not known."""
    strangers = sorted(set(options) - known)
    if strangers:
        raise ValueError(
            f"{where} has the unknown key {strangers[0]!r}; known are {', '.join(sorted(known))}"
        )


def coerced(value: Any, hint: Any) -> Any:  # noqa: ANN401, PLR0911, PLR0912, C901 - a few lines a kind of type
    """The value as its type wants it; raises ValueError where it does not fit."""
    origin = get_origin(hint)
    if origin in {Union, types.UnionType}:
        return (
            None if value is None else coerced(value, next(a for a in get_args(hint) if a is not type(None)))
        )
    if origin is Literal:
        allowed = get_args(hint)
        if not isinstance(value, bool):
            if value in allowed:
                return value
            if str(value) in allowed:
                return str(value)
        raise ValueError(f"it is {value!r}")
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise ValueError("it is not a list")
        return tuple(coerced(item, get_args(hint)[0]) for item in value)
    if origin is not None:
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise ValueError("it is not a table of texts")
        return dict(value)
    if hint is Fraction:
        if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
            raise ValueError(f"it is {value!r}")
        return Fraction(value)
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise ValueError("it is not a table")
        return instance(hint, {("start" if k == "from" else k): v for k, v in value.items()}, "the table")  # type: ignore[arg-type]
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise ValueError(f"it is {value!r}")
    return value


def from_text(text: str, hint: Any) -> Any:  # noqa: ANN401
    """A `--set` value as TOML would have given it."""
    if hint is bool:
        if text.lower() not in {"true", "false"}:
            raise ValueError("it is neither true nor false")
        return text.lower() == "true"
    if hint is int:
        if not text.isdigit():
            raise ValueError("it is not a whole number")
        return int(text)
    if get_origin(hint) is tuple:
        raise ValueError("it is a list, which only a task file can give")
    args = get_args(hint)
    if get_origin(hint) is Literal and all(isinstance(a, int) for a in args):
        return int(text) if text.isdigit() else text
    return text


def described(hint: Any) -> str:  # noqa: ANN401
    """What a type allows, in words."""
    origin = get_origin(hint)
    if origin in {Union, types.UnionType}:
        return described(next(a for a in get_args(hint) if a is not type(None)))
    if origin is Literal:
        return ", ".join(map(str, get_args(hint)))
    if origin is tuple:
        return "a list of tables" if dataclasses.is_dataclass(get_args(hint)[0]) else "a list of numbers"
    names = {bool: "true, false", int: "a whole number", str: "a text", Fraction: "a number"}
    return names.get(hint, "a table")


def shown(value: Any) -> Any:  # noqa: ANN401
    """A setting as `show` and the JSON give it: thresholds as shortest decimals."""
    if isinstance(value, tuple):
        return [
            decimal_text(item) if isinstance(item, Fraction) else item if isinstance(item, int) else str(item)
            for item in value
        ]
    return value


def decimal_text(value: Fraction) -> str:
    """The shortest decimal of a threshold.

    >>> decimal_text(Fraction(11, 20)), decimal_text(Fraction(1, 3))
    ('0.55', '1/3')
    """
    number = repr(float(value))
    return number if Fraction(number) == value else str(value)
