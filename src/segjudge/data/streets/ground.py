"""Sky and road as the camera sees them, computed pixel by pixel: no edge of a lane is jagged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjudge.data.scene import clouds
from segjudge.records import dataclass

if TYPE_CHECKING:
    from segjudge.data.streets.camera import Camera

__all__ = ["Mood", "Road", "backdrop"]

Floats = NDArray[np.float32]

SKY, ROAD, PAVEMENT, GREEN, NOTHING = 17, 49, 50, 113, 255


@dataclass(frozen=True, slots=True)
class Mood:
    """Light and weather."""

    zenith: tuple[int, int, int]
    haze: tuple[int, int, int]
    tint: tuple[float, float, float]
    sun: tuple[float, float, float]  # direction towards it
    shadow: float
    sight: float  # metres until haze has taken two thirds
    cover: float  # clouds


MOODS = (
    Mood((104, 152, 210), (206, 220, 232), (1.0, 1.0, 1.0), (0.5, 0.75, -0.43), 0.55, 260, 14),
    Mood((176, 182, 190), (206, 208, 210), (0.92, 0.94, 0.97), (0.1, 0.98, -0.15), 0.35, 170, 10),
    Mood((120, 140, 186), (244, 208, 168), (1.08, 0.97, 0.82), (-0.8, 0.4, -0.45), 0.5, 200, 16),
    Mood((66, 74, 104), (150, 138, 142), (0.62, 0.62, 0.72), (0.0, 0.9, -0.4), 0.25, 150, 8),
)


@dataclass(frozen=True, slots=True)
class Road:
    """A straight road's cross-section, in metres to the right of the camera's lane's middle."""

    left: float  # kerb
    right: float  # kerb
    median: float  # the line between directions
    lane: float
    crossing: float  # where along the road a zebra crossing lies
    pavement: float  # width
    fence: bool  # on the median
    verge: bool  # grass behind the pavement, or paving


def backdrop(
    camera: Camera, road: Road, mood: Mood, rng: np.random.Generator
) -> tuple[Floats, NDArray[np.uint16]]:
    """The picture (H, W, 3) of sky and ground, and the value of each pixel in the label map."""
    height, width = camera.shape
    picture = np.empty((height, width, 3), np.float32)
    values = np.full((height, width), SKY, np.uint16)
    edge = int(np.ceil(camera.horizon)) + 1
    picture[:edge] = _sky(camera, mood, rng, edge)
    rows = np.arange(edge, height, dtype=np.float32) + np.float32(0.5)
    ahead = np.float32(camera.focal * camera.height) / (rows - np.float32(camera.horizon))
    columns = np.arange(width, dtype=np.float32) + np.float32(0.5 - camera.centre)
    x = columns[None, :] * (ahead / np.float32(camera.focal))[:, None] + np.float32(camera.x)
    z = ahead + np.float32(camera.z)
    foot = (ahead / np.float32(camera.focal))[:, None]
    picture[edge:], values[edge:] = _surface(x, z, foot, road, camera, rng)
    share = 1 - np.exp(-ahead / np.float32(mood.sight))
    picture[edge:] += (np.array(mood.haze, np.float32) - picture[edge:]) * share[:, None, None]
    return picture, values


def _sky(camera: Camera, mood: Mood, rng: np.random.Generator, rows: int) -> Floats:
    height = np.linspace(0, 1, rows, dtype=np.float32)[:, None, None] ** 1.6
    sky = np.array(mood.zenith, np.float32) * (1 - height) + np.array(mood.haze, np.float32) * height
    fluff = clouds(rng, (rows, camera.shape[1]), 5, 3)
    sky = sky + np.clip(fluff, -0.2, 2)[..., None] * np.float32(mood.cover)
    return np.asarray(sky, np.float32)


def _within(place: Floats, low: float, high: float, foot: Floats) -> Floats:
    """How much of each pixel lies between two lines, given the pixel's size on the ground."""
    reach = np.minimum(place - np.float32(low), np.float32(high) - place)
    share: Floats = np.clip(reach / foot + np.float32(0.5), 0, 1)
    return share


def _surface(
    x: Floats, z: Floats, foot: Floats, road: Road, camera: Camera, rng: np.random.Generator
) -> tuple[Floats, NDArray[np.uint16]]:
    rough = clouds(rng, x.shape, 40, 3) * 1.2
    shade = np.float32(96) + rough * 1.6 + 4 * np.cos((x - 0.0) * np.float32(4 * np.pi / road.lane))
    picture = np.repeat(shade[..., None], 3, axis=2) * np.array([1, 1, 1.02], np.float32)
    long = np.asarray(foot * (z - np.float32(camera.z))[:, None] / np.float32(camera.height), np.float32)
    _mark_lanes(picture, x, z, foot, long, road)
    zebra = _within(z[:, None], road.crossing, road.crossing + 3.5, long)
    bars = np.clip((np.abs((x % 1.0) - 0.5) - 0.25) / np.maximum(foot, 0.02) + 0.5, 0, 1)
    _blend(picture, zebra * bars * _within(x, road.left + 0.4, road.right - 0.4, foot), (196, 196, 192), 0.85)
    values = np.full(x.shape, ROAD, np.uint16)
    for side, kerb in ((-1, road.left), (1, road.right)):
        out = (x - np.float32(kerb)) * side
        _blend(picture, _within(out, 0.0, 200.0, foot), (150, 146, 140), 1.0)
        slabs = np.clip(1 - np.abs(out % 0.6 - 0.3) / np.maximum(foot * 2, 0.03), 0, 1) * (foot < 0.06)
        _blend(picture, slabs * (out > 0.2), (122, 118, 112), 0.4)
        _blend(picture, _within(out, 0.0, 0.18, foot), (182, 180, 176), 1.0)
        beyond = _within(out, road.pavement, 300.0, foot)
        values[out > 0] = PAVEMENT
        if road.verge:
            _blend(picture, beyond, (92, 116, 66), 1.0)
            picture += (beyond * rough * 7)[..., None]
            values[out > road.pavement] = GREEN
        else:
            _blend(picture, beyond, (164, 158, 148), 1.0)
    return picture, values


def _mark_lanes(picture: Floats, x: Floats, z: Floats, foot: Floats, long: Floats, road: Road) -> None:
    dash = np.clip((1.5 - np.abs((z % 9.0) - 4.5))[:, None] / long + 0.5, 0, 1)
    line = road.median + road.lane
    while line < road.right - 1.0:
        _blend(picture, _within(x, line - 0.08, line + 0.08, foot) * dash, (206, 206, 202), 0.9)
        line += road.lane
    line = road.median - road.lane
    while line > road.left + 1.0:
        _blend(picture, _within(x, line - 0.08, line + 0.08, foot) * dash, (206, 206, 202), 0.9)
        line -= road.lane
    for middle in (road.median - 0.14, road.median + 0.14):
        _blend(picture, _within(x, middle - 0.07, middle + 0.07, foot), (214, 176, 70), 0.9)
    for kerb in (road.left + 0.35, road.right - 0.35):
        _blend(picture, _within(x, kerb - 0.06, kerb + 0.06, foot), (202, 202, 198), 0.8)


def _blend(picture: Floats, share: Floats, colour: tuple[int, int, int], strength: float) -> None:
    """Paint a colour over this share of each pixel; most columns hold none of it, and are left alone."""
    columns = np.flatnonzero(share.any(axis=0))
    if len(columns):
        touched = np.s_[:, columns[0] : columns[-1] + 1]
        part = picture[touched]
        part += (np.array(colour, np.float32) - part) * (share[touched] * np.float32(strength))[..., None]
