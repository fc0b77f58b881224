"""A pinhole camera on a car's roof, and solid things seen through it.

The world counts metres: x to the right, y up, z along the road. A thing has its own axes: u along its length,
v to its right, w up; at heading 0 it drives away from the camera.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjudge.data.paint import Colour, Painted, Sprite
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Ball", "Camera", "Face", "Outline", "Part", "Pose", "Stroke", "box", "extruded", "painted"]

Solid = NDArray[np.float64]  # (N, 3)
Flat = NDArray[np.float64]  # (N, 2)

_NEAR = 0.7  # metres in front of the lens, where everything is cut off


@dataclass(frozen=True, slots=True)
class Camera:
    """Where pixels look; level, straight along the road."""

    shape: tuple[int, int]
    focal: float  # pixels
    horizon: float  # row
    centre: float  # column
    height: float  # metres above the road
    x: float
    z: float

    def pixels(self, world: Solid) -> Flat:
        """(N, 2) columns and rows of points in front of the camera."""
        ahead = np.maximum(world[:, 2] - self.z, _NEAR)
        scale = self.focal / ahead
        return np.column_stack(
            [self.centre + (world[:, 0] - self.x) * scale, self.horizon + (self.height - world[:, 1]) * scale]
        )

    @property
    def place(self) -> NDArray[np.float64]:
        """The lens."""
        return np.array([self.x, self.height, self.z])

    def cut(self, polygon: Solid) -> Solid:
        """The part of a polygon in front of the lens."""
        ahead = polygon[:, 2] - self.z - _NEAR
        if (ahead >= 0).all():
            return polygon
        kept: list[NDArray[np.float64]] = []
        for number in range(len(polygon)):
            here, there = ahead[number - 1], ahead[number]
            if (here < 0) != (there < 0):
                kept.append(
                    polygon[number - 1] + (polygon[number] - polygon[number - 1]) * (here / (here - there))
                )
            if there >= 0:
                kept.append(polygon[number])
        return np.array(kept).reshape(-1, 3)


@dataclass(frozen=True, slots=True)
class Pose:
    """Where a thing stands and which way it looks."""

    x: float
    z: float
    heading: float = 0.0  # radians, to the right
    y: float = 0.0

    def world(self, own: Solid) -> Solid:
        """The thing's own u, v, w as x, y, z."""
        cos, sin = math.cos(self.heading), math.sin(self.heading)
        u, v, w = own[:, 0], own[:, 1], own[:, 2]
        return np.column_stack([self.x + u * sin + v * cos, self.y + w, self.z + u * cos - v * sin])


@dataclass(frozen=True, slots=True)
class Face:
    """A flat polygon, seen from the side where its corners run anticlockwise, and what is painted on it."""

    corners: Solid
    colour: Colour
    marks: Sequence[tuple[Solid, Colour]] = field(default=())
    matt: bool = True  # shaded by the sun


@dataclass(frozen=True, slots=True)
class Stroke:
    """A rod, cable or limb along points, of a width in metres."""

    points: Solid
    width: float
    colour: Colour


@dataclass(frozen=True, slots=True)
class Ball:
    """A round thing."""

    middle: tuple[float, float, float]
    radius: float
    colour: Colour


@dataclass(frozen=True, slots=True)
class Outline:
    """A polygon that annotators would include, paint or no paint: a wheel with its spokes."""

    corners: Solid


Part = Face | Stroke | Ball | Outline


def extruded(
    profile: Sequence[tuple[float, float, float]],
    colours: Sequence[Colour],
    side: Colour,
    marks: Sequence[tuple[Sequence[tuple[float, float]], Colour]] = (),
    edge_marks: Mapping[int, Sequence[tuple[Solid, Colour]]] | None = None,
) -> list[Part]:
    """The faces of a profile of (u, w, half width) swept across: both sides, and one face for each edge.

    The profile runs from the rear's foot up, forward and down to the front's foot. `marks` are (u, w)
    polygons on the sides; `edge_marks` lie on the face of the edge that starts at that corner.
    """
    outline = np.array(profile, np.float64)
    left = np.column_stack([outline[:, 0], -outline[:, 2], outline[:, 1]])
    right = left * (1, -1, 1)
    order = np.argsort(outline[:, 1], kind="stable")
    heights, halves = outline[order, 1], outline[order, 2]
    parts: list[Part] = []
    for sign, corners in ((-1, left[::-1]), (1, right)):
        painted_on = []
        for shape, colour in marks:
            flat = np.array(shape, np.float64)
            half = np.interp(flat[:, 1], heights, halves)
            painted_on.append((np.column_stack([flat[:, 0], sign * half, flat[:, 1]]), colour))
        parts.append(Face(corners, side, painted_on))
    for number in range(len(outline)):
        after = (number + 1) % len(outline)
        corners = np.array([left[number], left[after], right[after], right[number]])
        parts.append(Face(corners, colours[number], (edge_marks or {}).get(number, ())))
    return parts


def box(
    u: tuple[float, float],
    v: tuple[float, float],
    w: tuple[float, float],
    colour: Colour,
    top: Colour | None = None,
) -> list[Part]:
    """The faces of a box; it may lie off the thing's middle."""
    half, middle = (v[1] - v[0]) / 2, (v[0] + v[1]) / 2
    profile = [(u[0], w[0], half), (u[0], w[1], half), (u[1], w[1], half), (u[1], w[0], half)]
    return [
        Face(face.corners + np.array([0, middle, 0]), face.colour, face.marks)
        for face in extruded(profile, [colour, top or colour, colour, colour], colour)
        if isinstance(face, Face)
    ]


def painted(
    parts: Sequence[Part], pose: Pose, camera: Camera, sun: NDArray[np.float64], scale: int = 3
) -> Painted | None:
    """A thing as the camera sees it; None where it does not."""
    polygons = [polygon for part in parts for polygon in _polygons(part)]
    ends = np.cumsum([0, *(len(polygon) for polygon in polygons)])
    world = pose.world(np.concatenate(polygons))
    ahead = world[:, 2] - camera.z
    if ahead.min() < _NEAR and ahead.max() < _NEAR + 0.5:
        return None
    pixels = camera.pixels(world)
    metre = camera.focal / max(_NEAR, float(ahead.min()))
    sprite = Sprite.around(pixels, camera.shape, scale, margin=1.5 + metre * max(map(_thickness, parts)))
    if sprite is None:
        return None
    drawing = _Drawing(sprite, camera, sun, world, pixels, ends)
    first = np.cumsum([0, *(1 + len(part.marks) if isinstance(part, Face) else 1 for part in parts)])[:-1]
    middles = np.add.reduceat(world, ends[:-1])[first] / np.diff(ends)[first, None]
    far = -np.square(middles - camera.place).sum(axis=1)
    for number in np.argsort(far, kind="stable").tolist():
        drawing.add(parts[number], int(first[number]))
    return sprite.done()


def _polygons(part: Part) -> list[Solid]:
    if isinstance(part, Face):
        return [part.corners, *(shape for shape, _ in part.marks)]
    if isinstance(part, Ball):
        return [np.array([part.middle])]
    return [part.points if isinstance(part, Stroke) else part.corners]


def _thickness(part: Part) -> float:
    if isinstance(part, Ball):
        return part.radius
    return part.width / 2 if isinstance(part, Stroke) else 0.0


@dataclass(frozen=True, slots=True)
class _Drawing:
    """A thing's polygons, all projected at once."""

    sprite: Sprite
    camera: Camera
    sun: NDArray[np.float64]
    world: Solid
    pixels: Flat
    ends: NDArray[np.int64]

    def add(self, part: Part, number: int) -> None:
        """Draw a part whose first polygon has this number."""
        corners = slice(int(self.ends[number]), int(self.ends[number + 1]))
        if isinstance(part, Face):
            self._face(part, number)
            return
        world = self.world[corners]
        ahead = float(world[:, 2].mean()) - self.camera.z
        if ahead < _NEAR:
            return
        metre = self.camera.focal / ahead
        if isinstance(part, Stroke):
            self.sprite.line(self.pixels[corners], max(part.width * metre, 0.35), part.colour)
        elif isinstance(part, Ball):
            x, y = self.pixels[corners.start].tolist()
            self.sprite.disc(x, y, max(0.4, part.radius * metre), part.colour)
        else:
            self.sprite.claim(self.pixels[corners])

    def _face(self, face: Face, number: int) -> None:
        origin, second, third = self.world[self.ends[number] : self.ends[number] + 3].tolist()
        normal = _cross(_minus(second, origin), _minus(third, origin))
        if _dot(normal, _minus(self.camera.place.tolist(), origin)) <= 0:
            return
        gain = _gain(normal, self.sun.tolist()) if face.matt else 1.0
        self._fill(number, _times(face.colour, gain))
        for place, (_, colour) in enumerate(face.marks, start=number + 1):
            self._fill(place, _times(colour, (gain + 1) / 2))

    def _fill(self, number: int, colour: Colour) -> None:
        corners = slice(int(self.ends[number]), int(self.ends[number + 1]))
        world = self.world[corners]
        if world[:, 2].min() - self.camera.z >= _NEAR:
            self.sprite.fill(self.pixels[corners], colour)
            return
        cut = self.camera.cut(world)
        if len(cut) > 2:
            self.sprite.fill(self.camera.pixels(cut), colour)


def _minus(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def _cross(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _gain(normal: Sequence[float], sun: Sequence[float]) -> float:
    length = math.sqrt(_dot(normal, normal)) or 1.0
    return 0.62 + 0.16 * normal[1] / length + 0.42 * max(0.0, _dot(normal, sun) / length)


def _times(colour: Colour, gain: float) -> Colour:
    red, green, blue = (min(255, max(0, round(part * gain))) for part in colour)
    return red, green, blue
