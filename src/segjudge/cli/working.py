"""How the judging verbs set to work: with what was begun for them, on a cluster, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from segjudge.head_start import HeadStart

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from segjudge.crew import Crew
    from segjudge.head_start import Asked

__all__ = ["head_start", "on_cluster", "side_by_side"]

First = TypeVar("First")
Second = TypeVar("Second")


def head_start(leaving: ExitStack, foreseen: HeadStart | None, asked: Asked) -> HeadStart:
    """The head start that a score has, until the verb leaves: the one that was foreseen, if it is the right one."""
    if foreseen is not None and foreseen.asked != asked:
        foreseen.close()
        foreseen = None
    return leaving.enter_context(foreseen or HeadStart(asked))


def on_cluster(leaving: ExitStack, address: str | None) -> Any:  # noqa: ANN401 - distributed is an extra
    """A client of the cluster until the verb leaves; None where none was asked for."""
    if address is None:
        return None
    from segjudge.cluster import connected  # noqa: PLC0415 - few scores need one

    return leaving.enter_context(connected(address))


def side_by_side(
    crew: Crew, first: Callable[[], First], second: Callable[[], Second]
) -> tuple[First, Second]:
    """The results of both, at the same time where there is more than one worker."""
    if crew.workers == 1:
        return first(), second()
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - one worker needs none

    # These two send their work to the crew and wait: they are no workers themselves.
    with ThreadPoolExecutor(1, "segjudge-opening") as other:
        waiting = other.submit(second)
        return first(), waiting.result()
