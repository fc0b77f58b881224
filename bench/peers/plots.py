"""Draws the benchmark's picture: time against the amount of work, and against threads.

    python plots.py FIGURES.json PICTURE.png

Run with the peers' Python, which has matplotlib. figures.py says what FIGURES.json holds.
"""

import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

COLOURS = {
    "segjudge": "#00796b",
    "ultrafast-pycocotools": "#c77700",
    "vernier": "#6a4fb3",
    "hotcoco": "#c0392b",
    "faster-coco-eval": "#4b6584",
    "pycocotools": "#8795a1",
}
TASK_COLOURS = ("#00796b", "#c77700", "#6a4fb3")
PALE = "#8795a1"
GAP = 0.052  # between names, of the height of the axes


def main() -> None:
    figures = json.loads(Path(sys.argv[1]).read_text())
    mpl.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    shown = [name for name in PANELS if figures[name]]
    mosaic = [shown] if len(shown) < 3 else [[shown[0]] * 2, shown[1:]]
    figure, axes = plt.subplot_mosaic(
        mosaic, figsize=(9.6 if len(shown) > 1 else 6, 3.8 * len(mosaic)), layout="constrained"
    )
    ends = {name: PANELS[name](axes[name], figures[name]) for name in shown}
    for name, place in axes.items():
        label(place, ends[name])
    figure.savefig(sys.argv[2], dpi=140)


def work(axes, lines: dict) -> list:
    """COCO's time by the number of images, both logarithmic."""
    for name, points in lines.items():
        line(axes, name, points)
    axes.set(xscale="log", yscale="log", xlabel="images", ylabel="time, one thread")
    axes.set_title("COCO, from files to the twelve numbers", loc="left", fontweight="bold")
    ticks = sorted({images for points in lines.values() for images, _ in points})
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", which="minor", length=0)
    times(axes)
    return [(name, *points[-1], COLOURS.get(name)) for name, points in lines.items()]


def threads(axes, found: dict) -> list:
    """segjudge and the fast tools by threads, from zero."""
    ((title, lines),) = found.items()
    for name, points in lines.items():
        line(axes, name, points)
    one = lines["segjudge"][0][1] if "segjudge" in lines else None
    counts = sorted({count for points in lines.values() for count, _ in points})
    if one is not None:
        axes.plot(counts, [one / count for count in counts], color=PALE, linestyle=":", zorder=1)
    by_threads(axes, counts)
    axes.set_ylim(bottom=0)
    axes.set_title(f"{title}, in process", loc="left", fontweight="bold")
    times(axes)
    ends = [(name, *points[-1], COLOURS.get(name)) for name, points in lines.items()]
    ideal = [] if one is None else [("segjudge, evenly shared", counts[-1], one / counts[-1], PALE)]
    return ends + ideal


def tables(axes, found: dict) -> list:
    """segjudge on the competitions' files by threads, and the usual pipeline, which knows one; both whole."""
    ends, counts = [], set()
    for colour, (title, sides) in zip(TASK_COLOURS, found.items(), strict=False):
        at, seconds = zip(*sides["segjudge"], strict=True)
        counts |= set(at)
        axes.plot(at, seconds, marker="o", markersize=4, color=colour, linewidth=2.2)
        axes.plot([1] * len(sides["usual"]), sides["usual"], "D", markerfacecolor="white", color=colour)
        ends.append((title, at[-1], seconds[-1], colour))
        ends += [("usual pipeline", 1, value, colour) for value in sides["usual"]]
    axes.set_yscale("log")
    by_threads(axes, sorted(counts))
    axes.set_title("segjudge on CSV files, whole process", loc="left", fontweight="bold")
    times(axes)
    return ends


PANELS = {"work": work, "threads": threads, "tables": tables}


def line(axes, name: str, points: list) -> None:
    at, seconds = zip(*points, strict=True)
    own = name == "segjudge"
    axes.plot(
        at, seconds, marker="o", markersize=4, color=COLOURS.get(name),
        linewidth=2.4 if own else 1.3, zorder=3 if own else 2,
    )  # fmt: skip


def by_threads(axes, counts: list) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.set(xlabel="threads, each with a CPU", ylabel="time")


def times(axes) -> None:
    """Seconds as people write them, and pale lines across."""
    if axes.get_yscale() == "log":
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(written))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y", color="#e3e7ea")
    axes.set_axisbelow(True)


def written(seconds: float, _place) -> str:
    return f"{seconds:g} s" if seconds >= 0.1 or not seconds else f"{seconds * 1e3:g} ms"


def label(axes, ends: list) -> None:
    """Names at the right of the lines' last points, moved apart where they would touch."""
    to_axes = axes.transData + axes.transAxes.inverted()
    placed = sorted((to_axes.transform((x, y)).tolist(), name, colour) for name, x, y, colour in ends)
    for column in sorted({round(at[0], 3) for at, _, _ in placed}):
        mine = sorted(
            (at[1], at[0], name, colour) for at, name, colour in placed if round(at[0], 3) == column
        )
        heights = apart([height for height, *_ in mine])
        for height, (_, x, name, colour) in zip(heights, mine, strict=True):
            axes.annotate(
                name, (x, height), (8, 0), xycoords="axes fraction", textcoords="offset points", va="center",
                color=colour, fontsize=8, fontweight="bold" if name == "segjudge" else "normal",
            )  # fmt: skip


def apart(heights: list[float]) -> list[float]:
    """The same heights, ascending, moved as little as gives each its room."""
    groups: list[list] = []  # of those that push each other: middle, how many
    for height in heights:
        groups.append([height, 1])
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < GAP * (groups[-1][1] + groups[-2][1]) / 2:
            middle, count = groups.pop()
            before = groups[-1]
            total = before[1] + count
            before[0], before[1] = (before[0] * before[1] + middle * count) / total, total
    return [middle + GAP * (place - (count - 1) / 2) for middle, count in groups for place in range(count)]


if __name__ == "__main__":
    main()
