"""Streets seen from a car: clips of frames, instances of seven classes, groups, void, and all that hides them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from segjudge.data.paint import Box, Canvas, Sprite, circle
from segjudge.data.scene import Scene, blurred, eight_bits, finished
from segjudge.data.streets.camera import Camera, painted
from segjudge.data.streets.ground import backdrop
from segjudge.data.streets.world import RIDER, Street, Thing, build
from segjudge.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CLASSES", "FRAMES", "SIZE", "StreetScene", "street_clip", "street_scene"]

#: A quarter of the competition's 2710 x 3384 a side.
SIZE = (678, 846)
FRAMES = 5  # of a clip
CLASSES = (33, 34, 35, 36, 38, 39, 40)

_SECONDS = 0.4  # between frames
_PER_CLASS = 1000
_VOID, _ROVER = 65535, 1
_LEAST = 100 / (2710 * 3384)  # share of the image below which annotators let an instance be
_FAR = 95.0  # metres beyond which nothing that moves is drawn


@dataclass(frozen=True, slots=True)
class StreetScene(Scene):
    """A frame with the label map that the competition keeps."""

    values: NDArray[np.uint16]  # (H, W) class * 1000 + instance; groups, void and scenery as they stand


def street_clip(seed: list[int]) -> Street:
    """The street that the frames of a clip share."""
    return build(np.random.default_rng(seed))


def street_scene(street: Street, frame: int, size: tuple[int, int] = SIZE) -> StreetScene:
    """A frame of a clip, as the camera on the moving car takes it."""
    seconds = frame * _SECONDS
    height, width = size
    focal = 0.68 * width
    camera = Camera(size, focal, height * 0.578, width * 0.5, 1.75, 0.0, street.speed * seconds)
    rng = np.random.default_rng([street.seed, frame])
    picture, ground = backdrop(camera, street.road, street.mood, np.random.default_rng(street.seed))
    view = _View(Canvas(picture), ground, street, camera)
    order = sorted(street.things, key=lambda thing: -_distance(thing, camera, seconds))
    for thing in order:
        view.add(thing, seconds)
    view.add_hood()
    return view.taken(rng)


def _distance(thing: Thing, camera: Camera, seconds: float) -> float:
    """Metres to the nearest point of what a thing stands on."""
    pose = thing.pose(seconds)
    along, across = abs(math.cos(pose.heading)), abs(math.sin(pose.heading))
    deep = (thing.length * along + thing.width * across) / 2
    wide = (thing.length * across + thing.width * along) / 2
    ahead = pose.z - camera.z - 0.6 * deep
    return math.hypot(ahead, 0.3 * max(0.0, abs(pose.x - camera.x) - wide))


class _View:
    """A frame while it is painted."""

    def __init__(self, canvas: Canvas, values: NDArray[np.uint16], street: Street, camera: Camera) -> None:
        self.canvas = canvas
        self.values = values
        self.camera = camera
        self.mood = street.mood
        sun = np.array(street.mood.sun)
        self.sun = sun / np.linalg.norm(sun)
        self.counts: dict[int, int] = {}
        self.numbers: list[int] = []  # value of each object

    def add(self, thing: Thing, seconds: float) -> None:
        """Paint a thing over all that lies behind it."""
        pose = thing.pose(seconds)
        ahead = pose.z - self.camera.z
        if ahead > (_FAR if thing.value > 160 or thing.value in (*CLASSES, RIDER) else 170):
            return
        sprite = painted(thing.form(seconds), pose, self.camera, self.sun)
        if sprite is None:
            return
        if thing.value not in (97, 113, 67):
            self._cast_shadow(thing, seconds)
        shown = sprite.hazed(self.mood.haze, 1 - math.exp(-max(0.0, ahead) / self.mood.sight))
        region = np.s_[shown.box.top : shown.box.bottom, shown.box.left : shown.box.right]
        if thing.value in CLASSES:
            instance = self.counts.get(thing.value, 0)
            self.counts[thing.value] = instance + 1
            self.canvas.place(shown, thing.value)
            value = thing.value * _PER_CLASS + instance
            self.numbers.append(value)
        else:
            self.canvas.place(shown)
            value = thing.value
            if value == RIDER:
                instance = self.counts.get(value, 0)
                self.counts[value] = instance + 1
                value = value * _PER_CLASS + instance
        self.values[region][shown.mask] = value

    def _cast_shadow(self, thing: Thing, seconds: float) -> None:
        """Darken the ground under and beside a thing."""
        pose, u, v = thing.pose(seconds), thing.length / 2 + 0.1, thing.width / 2 + 0.1
        corners = pose.world(np.array([(-u, -v, 0.02), (-u, v, 0.02), (u, v, 0.02), (u, -v, 0.02)]))
        corners = self.camera.cut(corners)
        if len(corners) < 3:
            return
        pixels = self.camera.pixels(corners)
        shape = Sprite.around(pixels, self.canvas.shape, 2)
        if shape is None:
            return
        shape.fill(pixels, (0, 0, 0))
        ahead = max(1.0, pose.z - self.camera.z)
        self.canvas.shade(shape.done(), self.mood.shadow, 0.16 * self.camera.focal / ahead)

    def add_hood(self) -> None:
        """The front of the camera's own car, at the picture's foot."""
        height, width = self.canvas.shape
        sprite = Sprite(Box(0, int(height * 0.93), width, height), 2)
        sprite.fill(circle(width / 2, height * 1.16, width * 0.62, height * 0.2, corners=120), (34, 36, 40))
        sprite.fill(circle(width / 2, height * 1.18, width * 0.6, height * 0.2, corners=120), (48, 51, 56))
        hood = sprite.done()
        self.canvas.place(hood)
        self.values[hood.box.top : hood.box.bottom][hood.mask] = _ROVER

    def taken(self, rng: np.random.Generator) -> StreetScene:
        """The frame through lens and sensor, with its label map."""
        height, width = self.canvas.shape
        areas = np.bincount(self.canvas.owner.ravel(), minlength=len(self.numbers) + 1)
        small = np.flatnonzero((areas[1:] > 0) & (areas[1:] < max(6, _LEAST * height * width))) + 1
        tiny = np.isin(self.canvas.owner, small)
        self.values[tiny] = _VOID
        self.canvas.owner[tiny] = 0
        down = np.linspace(-1, 1, height, dtype=np.float32)[:, None]
        across = np.linspace(-1, 1, width, dtype=np.float32)[None, :]
        picture = self.canvas.picture * np.array(self.mood.tint, np.float32)
        picture *= (1 - 0.1 * (down**2 + across**2))[..., None]
        picture = blurred(picture, 0.45 * width / 846)
        picture += rng.standard_normal((height, width, 1), np.float32) * np.float32(3.2)
        scene = finished(self.canvas, eight_bits(picture))
        return StreetScene(scene.picture, scene.owner, scene.class_ids, scene.whole, self.values)
