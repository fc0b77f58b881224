"""The rules that score best on validation images, found by the competition's own metric, one choice at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from segjudge.models.grouping import Grouping
from segjudge.models.rules import Rules, first_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from segjudge.models.judging import Judge, Said
    from segjudge.models.recipes import Recipe
    from segjudge.scoring import Result
    from segjudge.task import Task

__all__ = ["tuned"]

_THRESHOLDS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65)
_CRUMBS = (0, 8, 24, 64, 160)
_WATERSHEDS = tuple(Grouping("watershed", peak=rise, floor=0.0) for rise in (0.04, 0.08, 0.14, 0.22))
_OTHERS = (
    Grouping("centres", peak=0.2, floor=0.0), Grouping("centres", peak=0.35, floor=0.0),
    Grouping("components", floor=0.0),
)  # fmt: skip
_BY_CLASS = (
    Grouping("components", smallest=16), Grouping("centres", peak=0.1, smallest=16),
    Grouping("centres", peak=0.2, smallest=16), Grouping("centres", peak=0.35, smallest=16),
    Grouping("watershed", peak=0.3, smallest=16),
)  # fmt: skip


def tuned(task: Task, recipe: Recipe, judge: Judge, said: Sequence[Said]) -> Rules:
    """The best of the rules tried; the first ones where nothing scores, as before anything was learnt."""
    rules = first_rules(task, recipe)
    if recipe.kind == "semantic":
        return _masks(judge, said, rules)
    if len(rules.groupings) == 1:
        return _together(judge, said, rules)
    return _each_class(task, judge, said, rules)


def _masks(judge: Judge, said: Sequence[Said], rules: Rules) -> Rules:
    """Thresholds and least sizes of semantic masks; classes don't meet, so each has its own best."""
    planes = len(rules.thresholds)
    tried = [
        (value, judge.judge(said, replace(rules, thresholds=(value,) * planes))) for value in _THRESHOLDS
    ]
    rules = replace(rules, thresholds=_best_of_each(tried, planes))
    crumbs = [(value, judge.judge(said, replace(rules, smallest=(value,) * planes))) for value in _CRUMBS]
    return replace(rules, smallest=tuple(int(value) for value in _best_of_each(crumbs, planes)))


def _best_of_each(tried: Sequence[tuple[float, Result]], planes: int) -> tuple[float, ...]:
    """For each plane the value that its class scored best with."""
    best = []
    for plane in range(planes):
        scores = [
            list(result.by_class.values())[plane] if result.by_class else result.score for _, result in tried
        ]
        place = max(range(len(tried)), key=lambda k: _number(scores[k]))
        best.append(tried[place][0])
    return tuple(best)


def _together(judge: Judge, said: Sequence[Said], rules: Rules) -> Rules:
    """One grouping for all instances: the method first, then what belongs and what is too small."""
    best = _best(judge, said, [*_WATERSHEDS, *_OTHERS])
    best = _best(judge, said, [replace(best, share=share) for share in (0.5, 0.4, 0.6)])
    best = _best(judge, said, [replace(best, smallest=least) for least in (20, 8, 40)])
    best = _best(judge, said, [replace(best, floor=floor) for floor in (0.0, 0.15, 0.3, 0.45)])
    return replace(rules, groupings=(best,))


def _best(judge: Judge, said: Sequence[Said], groupings: Iterable[Grouping]) -> Grouping:
    listed = list(groupings)
    scores = [_number(judge.judge(said, Rules(groupings=(grouping,))).score) for grouping in listed]
    return listed[scores.index(max(scores))]


def _each_class(task: Task, judge: Judge, said: Sequence[Said], rules: Rules) -> Rules:
    """For each class the grouping by which it alone scores best."""
    class_ids = sorted(task.classes)
    best = list(rules.groupings)
    most = [-1.0] * len(best)

    def compete(candidates: Sequence[Grouping]) -> None:
        result = judge.judge(said, Rules(groupings=tuple(candidates)))
        for place, class_id in enumerate(class_ids):
            value = _number(result.by_class.get(class_id))
            if value > most[place]:
                most[place], best[place] = value, candidates[place]

    for grouping in _BY_CLASS:
        compete([grouping] * len(best))
    for share in (0.35, 0.65, 0.8):
        compete([replace(grouping, share=share) for grouping in best])
    for least in (8, 40):
        compete([replace(grouping, smallest=least) for grouping in best])
    return replace(rules, groupings=tuple(best))


def _number(value: float | None) -> float:
    return -1.0 if value is None else value
