"""Draws the benchmark's picture: time against work, and speed against threads.

    python plots.py FIGURES.json PICTURE.png

Run with the peers' Python, which has matplotlib. FIGURES.json: `work` (tool: pairs of images and seconds) and
`threads` (work: pairs of threads and seconds).
"""

import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

COLOURS = {
    "segjudge": "#00796b",
    "ultrafast-pycocotools": "#c77700",
    "vernier": "#6a4fb3",
    "hotcoco": "#c0392b",
    "faster-coco-eval": "#6b7785",
    "pycocotools": "#9aa5b1",
}


def main() -> None:
    figures = json.loads(Path(sys.argv[1]).read_text())
    mpl.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained", width_ratios=(3, 2))
    work(left, figures["work"])
    threads(right, figures["threads"])
    figure.savefig(sys.argv[2], dpi=140)


def work(axes, lines: dict) -> None:
    for name, points in lines.items():
        images, seconds = zip(*points, strict=True)
        own = name == "segjudge"
        axes.plot(
            images, seconds, marker="o", markersize=4, color=COLOURS.get(name),
            linewidth=2.4 if own else 1.3, zorder=3 if own else 2, label=name,
        )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="images", ylabel="seconds, one thread")
    axes.set_title("COCO, from files to the twelve numbers", loc="left", fontweight="bold")
    ticks = sorted({images for points in lines.values() for images, _ in points})
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(axis="y", color="#e3e7ea")
    axes.legend(frameon=False, fontsize=8)


def threads(axes, lines: dict) -> None:
    most = 1
    for place, (name, points) in enumerate(lines.items()):
        counts, seconds = zip(*points, strict=True)
        most = max(most, *counts)
        speeds = [seconds[0] / value for value in seconds]
        axes.plot(
            counts, speeds, marker="os^D"[place % 4], color=list(COLOURS.values())[place % 6], label=name
        )
    axes.plot([1, most], [1, most], color="#9aa5b1", linestyle=":", label="all of each CPU")
    axes.set(xlabel="threads, each with a CPU", ylabel="times as fast as one")
    axes.set_xticks(range(1, most + 1))
    axes.set_title("segjudge, by threads", loc="left", fontweight="bold")
    axes.grid(axis="y", color="#e3e7ea")
    axes.legend(frameon=False, fontsize=8)


if __name__ == "__main__":
    main()
