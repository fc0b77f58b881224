"""A stretch of street with everything on it, and where it all is at any time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from segjudge.data.streets import people, scenery, vehicles
from segjudge.data.streets.camera import Part, Pose
from segjudge.data.streets.ground import MOODS, Mood, Road
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CAR", "RIDER", "Street", "Thing", "build"]

CAR, MOTORCYCLE, BICYCLE, PERSON, RIDER, TRUCK, BUS, TRICYCLE = 33, 34, 35, 36, 37, 38, 39, 40

_MAKERS: dict[int, Callable[[np.random.Generator], tuple[list[Part], float, float]]] = {
    CAR: vehicles.car, TRUCK: vehicles.truck, BUS: vehicles.bus, TRICYCLE: vehicles.tricycle,
    MOTORCYCLE: people.motorcycle, BICYCLE: people.bicycle,
}  # fmt: skip
_GROUPS = {
    CAR: 161,
    MOTORCYCLE: 162,
    BICYCLE: 163,
    PERSON: 164,
    RIDER: 165,
    TRUCK: 166,
    BUS: 167,
    TRICYCLE: 168,
}
_STEPS = 2 * math.pi / 1.3  # radians of a walker's swing to a metre


@dataclass(frozen=True, slots=True)
class Thing:
    """Something on or beside the road; `value` is the label map's: of scenery, of a class, of a group."""

    value: int
    x: float
    z: float
    heading: float
    speed: tuple[float, float]  # metres a second along x and z
    length: float
    width: float
    parts: tuple[Part, ...] = ()
    clothes: people.Clothes | None = None
    tall: float = 1.7
    bag: bool = False
    phase: float = 0.0

    def pose(self, seconds: float) -> Pose:
        """Where it is after this time."""
        return Pose(self.x + self.speed[0] * seconds, self.z + self.speed[1] * seconds, self.heading)

    def form(self, seconds: float) -> tuple[Part, ...]:
        """Its parts at this time: walkers move their limbs."""
        if self.clothes is None:
            return self.parts
        phase = self.phase + math.hypot(*self.speed) * seconds * _STEPS
        return tuple(people.walker(self.clothes, phase, self.tall, bag=self.bag))


@dataclass(frozen=True, slots=True)
class Street:
    """All of a clip but the time."""

    road: Road
    mood: Mood
    things: tuple[Thing, ...]
    speed: float  # the camera's, metres a second
    seed: int  # of what does not change from frame to frame


def build(rng: np.random.Generator) -> Street:
    """A street with its traffic."""
    lane = float(rng.uniform(3.2, 3.7))
    ahead, behind = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    own = int(rng.integers(ahead))
    left = -lane * (own + 0.5)
    road = Road(
        left=left - lane * behind - 1.0,
        right=left + lane * ahead + float(rng.uniform(1.2, 3.2)),
        median=left,
        lane=lane,
        crossing=float(rng.uniform(14, 60)),
        pavement=float(rng.uniform(2.5, 5)),
        fence=bool(rng.random() < 0.45),
        verge=bool(rng.random() < 0.5),
    )
    mood = MOODS[rng.choice(len(MOODS), p=[0.4, 0.3, 0.18, 0.12])]
    speed = float(rng.uniform(0.5, 7))
    things = [*_traffic(rng, road, ahead, behind, own, speed), *_parked(rng, road), *_walkers(rng, road)]
    things += [*_groups(rng, road), *_beside(rng, road)]
    return Street(road, mood, tuple(things), speed, int(rng.integers(1 << 30)))


def _vehicle(
    rng: np.random.Generator,
    value: int,
    x: float,
    z: float,
    heading: float,
    speed: tuple[float, float],
    *,
    rider: bool = False,
) -> list[Thing]:
    parts, length, width = _MAKERS[value](rng)
    things = [Thing(value, x, z, heading, speed, length, width, tuple(parts))]
    if rider:
        seat = 0.82 if value == MOTORCYCLE else 0.93
        body = people.rider(people.dressed(rng), seat, helmet=value == MOTORCYCLE and rng.random() < 0.7)
        nearer = z - 0.02 * math.cos(heading)
        things.append(Thing(RIDER, x, nearer, heading, speed, length, width, tuple(body)))
    return things


def _traffic(
    rng: np.random.Generator, road: Road, ahead: int, behind: int, own: int, camera: float
) -> list[Thing]:
    """Vehicles on the lanes, and two-wheelers along the right kerb."""
    things: list[Thing] = []
    for lane in range(-behind, ahead):
        with_us = lane >= 0
        x = road.median + road.lane * (lane + 0.5)
        z = float(rng.uniform(9, 20) if lane == own else rng.uniform(3, 20))
        pace = camera + float(rng.uniform(-1, 1.5))
        while z < 66:
            value = int(rng.choice([CAR, BUS, TRUCK, TRICYCLE], p=[0.76, 0.09, 0.1, 0.05]))
            middle = z + {BUS: 6.0, TRUCK: 4.5}.get(value, 2.3)
            heading = float(rng.normal(0, 0.03)) + (0 if with_us else math.pi)
            speed = pace if with_us else -float(rng.uniform(3, 4))
            things += _vehicle(rng, value, x + float(rng.normal(0, 0.2)), middle, heading, (0.0, speed))
            z = middle + {BUS: 6.5, TRUCK: 5.0}.get(value, 2.8) + float(rng.exponential(13)) + 1.5
    for x, heading in ((road.right - 0.8, 0.0), (road.left + 0.8, math.pi)):
        z = float(rng.uniform(5, 18))
        while z < 55:
            value = int(rng.choice([BICYCLE, MOTORCYCLE, TRICYCLE], p=[0.45, 0.4, 0.15]))
            pace = float(rng.uniform(2, 4)) * (1 if heading == 0 else -1)
            turn = heading + float(rng.normal(0, 0.06))
            things += _vehicle(
                rng, value, x + float(rng.normal(0, 0.15)), z, turn, (0.0, pace), rider=value != TRICYCLE
            )
            z += float(rng.exponential(22)) + 3
    return things


def _parked(rng: np.random.Generator, road: Road) -> list[Thing]:
    """Cars at the kerb, a row of bicycles on the pavement, now and then a car that crosses."""
    things: list[Thing] = []
    if rng.random() < 0.4:
        start, count = float(rng.uniform(8, 40)), int(rng.integers(2, 7))
        for place in range(count):
            things += _vehicle(
                rng, CAR, road.right + 1.3, start + 5.6 * place, float(rng.normal(0, 0.03)), (0.0, 0.0)
            )
    if rng.random() < 0.6:
        side = 1 if rng.random() < 0.7 else -1
        kerb = (road.right if side > 0 else road.left) + side * float(rng.uniform(0.6, 1.2))
        start = float(rng.uniform(7, 30))
        value = BICYCLE if rng.random() < 0.65 else MOTORCYCLE
        for place in range(rng.integers(2, 6)):
            turn = math.pi / 2 * side + float(rng.normal(0, 0.25)) + (0.9 if value == BICYCLE else 0.6)
            things += _vehicle(
                rng, value, kerb + float(rng.normal(0, 0.1)), start + 0.75 * place, turn, (0.0, 0.0)
            )
    if rng.random() < 0.3:
        z, sign = float(rng.uniform(16, 45)), 1 if rng.random() < 0.5 else -1
        value = int(rng.choice([CAR, TRUCK, BUS, TRICYCLE], p=[0.7, 0.12, 0.1, 0.08]))
        things += _vehicle(rng, value, float(rng.uniform(-6, 6)), z, sign * math.pi / 2, (sign * 3.0, 0.0))
    return things


def _person(rng: np.random.Generator, x: float, z: float, heading: float, pace: float) -> Thing:
    speed = (pace * math.sin(heading), pace * math.cos(heading))
    return Thing(
        PERSON, x, z, heading, speed, 0.5, 0.5,
        clothes=people.dressed(rng), tall=float(rng.normal(1.68, 0.09)), bag=bool(rng.random() < 0.3),
        phase=float(rng.uniform(0, 6.28)),
    )  # fmt: skip


def _walkers(rng: np.random.Generator, road: Road) -> list[Thing]:
    things = []
    for side, kerb in ((-1, road.left), (1, road.right)):
        for _ in range(rng.poisson(3.2)):
            x, z = kerb + side * float(rng.uniform(0.5, road.pavement)), float(rng.uniform(5, 48))
            heading = (0.0 if rng.random() < 0.5 else math.pi) + float(rng.normal(0, 0.2))
            things += [
                _person(rng, x + 0.55 * friend, z + 0.1 * friend, heading, float(rng.uniform(0.9, 1.5)))
                for friend in range(1 + (rng.random() < 0.35))
            ]
    if rng.random() < 0.55:
        for _ in range(rng.integers(1, 6)):
            x = float(rng.uniform(road.left + 1, road.right - 1))
            heading = math.pi / 2 * (1 if rng.random() < 0.5 else -1) + float(rng.normal(0, 0.1))
            z = road.crossing + float(rng.uniform(0.3, 3.2))
            things.append(_person(rng, x, z, heading, float(rng.uniform(1.0, 1.7))))
    return things


def _groups(rng: np.random.Generator, road: Road) -> list[Thing]:
    """Crowds and queues too far and too dense to tell apart, with a group's bare value."""
    things: list[Thing] = []
    if rng.random() < 0.7:
        z = float(rng.uniform(72, 84))
        for _ in range(rng.integers(4, 10)):
            x = float(rng.uniform(road.median - road.lane * 1.5, road.right - 1.5))
            things += _as_group(_vehicle(rng, CAR, x, z + float(rng.uniform(0, 10)), 0.0, (0.0, 1.0)))
    if rng.random() < 0.4:
        side, z = (1, road.right) if rng.random() < 0.5 else (-1, road.left), float(rng.uniform(34, 52))
        for _ in range(rng.integers(5, 12)):
            x = side[1] + side[0] * float(rng.uniform(0.6, road.pavement))
            things += _as_group([_person(rng, x, z + float(rng.uniform(0, 1.2)), 0.0, 0.3)])
    if rng.random() < 0.25:
        z = float(rng.uniform(22, 40))
        for place in range(rng.integers(6, 12)):
            things += _as_group(_vehicle(rng, BICYCLE, road.right + 0.9, z + 0.35 * place, 1.2, (0.0, 0.0)))
    return things


def _as_group(things: list[Thing]) -> list[Thing]:
    return [
        Thing(
            _GROUPS[thing.value], thing.x, thing.z, thing.heading, thing.speed, thing.length, thing.width,
            thing.parts, thing.clothes, thing.tall, thing.bag, thing.phase,
        )
        for thing in things
    ]  # fmt: skip


def _still(
    value: int, x: float, z: float, parts: list[Part], length: float = 0.4, width: float = 0.4
) -> Thing:
    return Thing(value, x, z, 0.0, (0.0, 0.0), length, width, tuple(parts))


def _beside(rng: np.random.Generator, road: Road) -> list[Thing]:
    """Houses, trees, poles and the like along both kerbs."""
    things: list[Thing] = []
    for side, kerb in ((-1, road.left), (1, road.right)):
        z, back = 2.0, float(rng.uniform(4, 12))
        while z < 150:
            deep, tall = float(rng.uniform(9, 24)), float(rng.uniform(7, 34))
            x = kerb + side * (road.pavement + back + 6 + float(rng.uniform(0, 2)))
            if rng.random() < 0.85:
                things.append(
                    _still(scenery.BUILDING, x, z + deep / 2, scenery.house(rng, -side, deep, tall), deep, 12)
                )
            z += deep + float(rng.uniform(0.5, 6))
        step, z = float(rng.uniform(7, 16)), float(rng.uniform(4, 12))
        while z < 85 and rng.random() < 0.97:
            x = kerb + side * (0.9 if rng.random() < 0.6 else road.pavement + 1.2)
            things.append(_still(scenery.GREEN, x, z, scenery.tree(rng, float(rng.uniform(5, 9)))))
            z += step + float(rng.uniform(-1, 3))
        things += [
            _still(scenery.POLE, kerb + side * 0.45, z, scenery.lamp(7.5, -side))
            for z in np.arange(float(rng.uniform(5, 14)), 90, float(rng.uniform(22, 34))).tolist()
        ]
        things += [
            _still(scenery.SIGN, kerb + side * 0.5, float(rng.uniform(6, 45)), scenery.sign(rng))
            for _ in range(rng.poisson(1.4))
        ]
    if rng.random() < 0.5:
        things.append(_still(scenery.LIGHT, road.right + 0.6, road.crossing + 5, scenery.lights(rng, -1)))
    if road.fence:
        things += [
            _still(scenery.FENCE, road.median, z, scenery.fence(6.0), 6.0, 0.1)
            for z in np.arange(5.0, 60, 6).tolist()
        ]
    if rng.random() < 0.2:
        start = float(rng.uniform(8, 25))
        things += [
            _still(scenery.CONE, road.right - 1.6, start + 2.5 * place, scenery.cone(rng))
            for place in range(4)
        ]
    return things
