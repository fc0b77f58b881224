"""COCO's detection evaluation, slowly: one loop per rule of its page, sets of pixels, nothing vectorised.

"The following 12 metrics are used for characterizing the performance of an object detector on COCO." Floats
are the point here: thresholds and recall levels are numbers in equal steps, and compared as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Pixels: TypeAlias = frozenset[int]

THRESHOLDS = (*(0.5 + step * ((0.95 - 0.5) / 9) for step in range(9)), 0.95)
LEVELS = (*(step * (1.0 / 100) for step in range(100)), 1.0)
RANGES = {"all": (0, 1e10), "small": (0, 1024), "medium": (1024, 9216), "large": (9216, 1e10)}
CAPS = (1, 10, 100)


@dataclass(frozen=True)
class Object:
    """An annotation, or a result with its confidence; `area` is what an area range looks at."""

    image: int
    class_id: int
    pixels: Pixels
    area: float
    confidence: float = 1.0
    crowd: bool = False
    ignore: bool = False


@dataclass(frozen=True)
class Scene:
    """A data set of images of one size; annotations and results stand in file order."""

    images: tuple[int, ...]
    classes: tuple[int, ...]
    height: int
    width: int
    truths: tuple[Object, ...]
    predictions: tuple[Object, ...]


@dataclass(frozen=True)
class Match:
    """What became of one result at one threshold in one area range."""

    confidence: float
    rank: int
    truth: int | None  # place among the annotations of its image and class
    dropped: bool


def overlap(prediction: Object, truth: Object) -> float:
    """Pixels of both over pixels of either; of a crowd, over those of the result."""
    both = len(prediction.pixels & truth.pixels)
    whole = len(prediction.pixels) if truth.crowd else len(prediction.pixels | truth.pixels)
    return both / whole if both else 0.0


def outside(thing: Object, area: str) -> bool:
    least, most = RANGES[area]
    return thing.area < least or thing.area > most


def most_confident(predictions: list[Object]) -> list[Object]:
    """The first hundred, the most confident first, equals in file order."""
    return sorted(predictions, key=lambda thing: -thing.confidence)[: CAPS[-1]]


def matches(predictions: list[Object], truths: list[Object], area: str, threshold: float) -> list[Match]:
    """The results of an image and class, each with the annotation that it takes.

    Every result in turn takes the free annotation that it overlaps most, the later of equals. What does not
    count is taken only where nothing that counts is left; a crowd is never used up.
    """
    aside = [truth.crowd or truth.ignore or outside(truth, area) for truth in truths]
    taken: set[int] = set()
    found = []
    for rank, prediction in enumerate(most_confident(predictions)):
        chosen = None
        for wanted in (False, True):
            if chosen is not None:
                break
            for place, truth in enumerate(truths):
                if aside[place] != wanted or (place in taken and not truth.crowd):
                    continue
                value = overlap(prediction, truth)
                if value >= threshold and (chosen is None or value >= overlap(prediction, truths[chosen])):
                    chosen = place
        dropped = outside(prediction, area) if chosen is None else aside[chosen]
        if chosen is not None:
            taken.add(chosen)
        found.append(Match(prediction.confidence, rank, chosen, dropped))
    return found


@dataclass(frozen=True)
class Curve:
    """Precision at each recall level, the confidence that reaches it, and the largest recall."""

    precision: list[float]
    confidence: list[float]
    recall: float


def curve(scene: Scene, class_id: int, area: str, threshold: float, cap: int) -> Curve | None:
    """The curve of a class over all images; None where no annotation counts."""
    ranked: list[Match] = []
    count = 0
    for image in sorted(scene.images):
        truths = [t for t in scene.truths if (t.image, t.class_id) == (image, class_id)]
        predictions = [p for p in scene.predictions if (p.image, p.class_id) == (image, class_id)]
        ranked += [m for m in matches(predictions, truths, area, threshold) if m.rank < cap]
        count += sum(not (t.crowd or t.ignore or outside(t, area)) for t in truths)
    if not count:
        return None
    ranked.sort(key=lambda match: -match.confidence)
    tp = fp = 0
    points: list[tuple[float, float]] = []
    for match in ranked:
        tp += match.truth is not None and not match.dropped
        fp += match.truth is None and not match.dropped
        points.append((tp / count, tp / (fp + tp + 2.0**-52)))
    precision, confidence = [], []
    for level in LEVELS:
        reached = [place for place, (recall, _) in enumerate(points) if recall >= level]
        precision.append(max((points[place][1] for place in reached), default=0.0))
        confidence.append(ranked[reached[0]].confidence if reached else 0.0)
    return Curve(precision, confidence, points[-1][0] if points else 0.0)


def twelve(scene: Scene) -> dict[str, float | None]:
    """AP, AP50, AP75, APs, APm, APl, AR1, AR10, AR100, ARs, ARm, ARl; None where nothing counts."""

    def precision(area: str, chosen: tuple[float, ...] = THRESHOLDS) -> float | None:
        curves = [curve(scene, c, area, t, CAPS[-1]) for c in scene.classes for t in chosen]
        return _mean([value for known in curves if known for value in known.precision])

    def recall(area: str, cap: int) -> float | None:
        curves = [curve(scene, c, area, t, cap) for c in scene.classes for t in THRESHOLDS]
        return _mean([known.recall for known in curves if known])

    sizes = ("small", "medium", "large")
    return {
        "AP": precision("all"),
        "AP50": precision("all", THRESHOLDS[:1]),
        "AP75": precision("all", THRESHOLDS[5:6]),
        **{f"AP{size[0]}": precision(size) for size in sizes},
        **{f"AR{cap}": recall("all", cap) for cap in CAPS},
        **{f"AR{size[0]}": recall(size, CAPS[-1]) for size in sizes},
    }


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
