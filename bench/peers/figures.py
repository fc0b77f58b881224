"""What the picture shows, taken from the tables."""

from collections.abc import Iterable

from parts import SLOW, Table

Points = list[tuple[int, float]]  # at so many images or threads, seconds


def figures(tables: Iterable[Table]) -> dict[str, dict]:
    """What plots.py draws; each of the three is empty where no line has two points.

    `work`: by tool, seconds by images, of COCO in process on one thread. `threads`: by title and fast tool,
    seconds by threads, of the most images. `tables`: by title, for each competition's largest files, seconds
    of whole processes: segjudge's by threads and those of the usual pipeline, which knows one.
    """
    tables = [table for table in tables if table.pair is not None and not table.pair.sample]
    coco = [
        table
        for table in tables
        if table.pair.task == "coco" and table.pair.boxes and table.kind == "in process"
    ]
    most = max((table.pair.images for table in coco), default=0)
    by_threads = lines((table.threads, table) for table in coco if table.pair.images == most)
    fast = {tool: points for tool, points in by_threads.items() if tool not in SLOW}
    return {
        "work": lines((table.pair.images, table) for table in coco if table.threads == 1),
        "threads": {f"COCO, {most:,} images": fast} if fast else {},
        "tables": competitions(table for table in tables if table.kind == "whole process"),
    }


def lines(tables: Iterable[tuple[int, Table]]) -> dict[str, Points]:
    """By tool the points of a line, where it has two at least."""
    found: dict[str, dict[int, float]] = {}
    for at, table in tables:
        for tool, timing in table.timings.items():
            found.setdefault(tool, {})[at] = timing.seconds
    return {tool: sorted(points.items()) for tool, points in found.items() if len(points) > 1}


def competitions(tables: Iterable[Table]) -> dict[str, dict]:
    """By title, the largest files of each competition."""
    largest: dict[str, Table] = {}
    for table in tables:
        task = table.pair.task
        if task not in largest or largest[task].pair.size < table.pair.size:
            largest[task] = table
    return {
        table.title: {
            "segjudge": [(threads, timing.seconds) for threads, timing in table.own()],
            "usual": [timing.seconds for _, timing in table.others()],
        }
        for table in largest.values()
        if len(table.own()) > 1
    }
