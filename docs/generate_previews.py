"""Writes docs/pictures/<task>.png and the table of figures in docs/data.md from the generators."""

from __future__ import annotations

import colorsys
from pathlib import Path

import numpy as np
from PIL import Image

from segjudge.data import SET_IN_FONTS, TASKS, Scene, difficulty, scenes
from segjudge.task import load_task

HERE = Path(__file__).parent
SEED = 2018
IMAGES = {"wad-2018": 15, "badlad": 8, "dsb-2018": 20, "emoji": 40}  # of the table
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
FONTS_BEGIN, FONTS_END = "<!-- figures of fonts -->", "<!-- end of figures of fonts -->"

# For each task: how many scenes, every how manieth, scenes in a row, width of a scene in pixels.
SHEETS = {
    "wad-2018": (4, 5, 1, 300),
    "badlad": (6, 1, 3, 150),
    "dsb-2018": (8, 1, 2, 170),
    "emoji": (12, 1, 3, 120),
}
FONT_SHEETS = {"badlad": (3, 1, 3, 150), "emoji": (6, 1, 3, 120)}
GAP = 6


def overlaid(scene: Scene) -> np.ndarray:
    """The scene's picture, pale, with each object in a colour of its own."""
    picture = scene.picture[..., :3].astype(np.float32)
    grey = picture.mean(axis=2, keepdims=True) * 0.6 + 40
    result = np.repeat(grey, 3, axis=2)
    colours = np.array(
        [colorsys.hsv_to_rgb(n * 0.381966 % 1, 0.75, 1.0) for n in range(len(scene.whole) + 1)]
    )
    inside = scene.owner > 0
    result[inside] = result[inside] * 0.4 + colours[scene.owner[inside]] * 255 * 0.6
    return result.astype(np.uint8)


def sheet(task_id: str, art: str = "drawn") -> Image.Image:
    """Scenes of a task, each beside what is true of it."""
    count, step, across, width = (SHEETS if art == "drawn" else FONT_SHEETS)[task_id]
    made = list(scenes(task_id, images=(count - 1) * step + 1, seed=SEED, art=art))[::step]
    tiles = []
    for scene in made:
        height = round(width * scene.shape[0] / scene.shape[1])
        pair = [Image.fromarray(part) for part in (scene.picture[..., :3], overlaid(scene))]
        tiles.append([part.resize((width, height), Image.Resampling.LANCZOS) for part in pair])
    rows = [tiles[first : first + across] for first in range(0, len(tiles), across)]
    heights = [max(pair[0].height for pair in row) + GAP for row in rows]
    picture = Image.new("RGB", (across * 2 * (width + GAP) - GAP, sum(heights) - GAP), (255, 255, 255))
    top = 0
    for row, height in zip(rows, heights, strict=True):
        for place, pair in enumerate(row):
            for half, part in enumerate(pair):
                picture.paste(part, ((2 * place + half) * (width + GAP), top))
        top += height
    return picture.quantize(200, dither=Image.Dither.NONE)


def table(art: str = "drawn") -> str:
    """The figures of all tasks that have this art, as a table in Markdown."""
    lines = [
        "| task | images | objects an image | median area (px) | of the image | touching | hidden | cut | classes |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for task_id in TASKS if art == "drawn" else SET_IN_FONTS:
        figures = difficulty(task_id, seed=SEED, images=IMAGES[task_id], art=art)
        names = load_task(task_id).classes
        classes = figures["classes"].items()
        shares = ", ".join(f"{names[key]} {share:.0%}" for key, share in classes if key in names)
        lines.append(
            f"| `{task_id}` | {figures['images']} | {figures['objects']:.1f} | {figures['median_area']:.0f} "
            f"| {figures['median_share']:.2%} | {figures['touching']:.0%} | {figures['hidden']:.0%} "
            f"| {figures['cut']:.0%} | {shares or 'one'} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Write everything."""
    (HERE / "pictures").mkdir(exist_ok=True)
    for task_id in TASKS:
        sheet(task_id).save(HERE / "pictures" / f"{task_id}.png", optimize=True)
    for task_id in SET_IN_FONTS:
        sheet(task_id, "fonts").save(HERE / "pictures" / f"{task_id}-fonts.png", optimize=True)
    page = HERE / "data.md"
    text = page.read_text(encoding="utf-8")
    for begin, end, art in ((BEGIN, END, "drawn"), (FONTS_BEGIN, FONTS_END, "fonts")):
        before, after = text[: text.index(begin) + len(begin)], text[text.index(end) :]
        text = f"{before}\n\n{table(art)}\n\n{after}"
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
