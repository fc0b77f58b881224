"""Results as people read them, and as programs do."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from segjudge.cli.running import Output
    from segjudge.demo import Road
    from segjudge.errors import SubmissionError
    from segjudge.findings import Diagnosis, Finding
    from segjudge.result import Result
    from segjudge.task import Task

__all__ = [
    "diagnosis",
    "doctor",
    "refused",
    "result",
    "road",
    "roads",
    "stream",
    "task",
    "trained",
    "written",
]

_INDENT = "    "


def task(shown: Task, output: Output) -> None:
    """Every setting of a task, the other values it may have, and the page's words."""
    if output.as_json:
        output.object(
            {
                "task": shown.id,
                "title": shown.title,
                "classes": {str(number): name for number, name in shown.classes.items()},
                "ignored": {str(value): class_id for value, class_id in shown.ignored.items()},
                "columns": list(shown.submission.columns),
                "settings": shown.settings,
                "choices": {name: shown.choices(name) for name in shown.settings},
                "words": dict(shown.words),
            }
        )
        return
    output.line(f"{shown.id}: {shown.title}")
    output.line(f"submission: {','.join(shown.submission.columns)}")
    if shown.classes:
        output.line("classes: " + ", ".join(f"{number} {name}" for number, name in shown.classes.items()))
    output.line()
    for name, value in shown.settings.items():
        output.line(f"{name} = {_setting(value)}   ({shown.choices(name)})")
        output.line(
            f"{_INDENT}“{shown.words[name]}”" if name in shown.words else f"{_INDENT}the page is silent"
        )
    output.line()
    output.line("Change a setting with --set name=value.")


def doctor(facts: dict[str, Any], output: Output) -> None:
    """What the installation has."""
    if output.as_json:
        output.object(facts)
        return
    output.line(f"segjudge {facts['segjudge']}, Python {facts['python']}, {facts['machine']}")
    slow = (
        ""
        if facts["kernels"] == "compiled"
        else ": same results, much slower. Install a C compiler and reinstall"
    )
    output.line(f"kernels: {facts['kernels']}{slow}")
    output.line("libraries: " + ", ".join(f"{name} {number}" for name, number in facts["libraries"].items()))
    for extra, there in facts["extras"].items():
        output.line(
            f"extra {extra}: {'installed' if there else f'''pip install 'segjudge[{extra}]' '''.strip()}"
        )


def diagnosis(found: Diagnosis, output: Output, *, streamed: bool) -> None:
    """The findings of a check."""
    if output.as_json:
        if streamed:
            ending = {"ok": found.ok, "totals": dict(found.totals)}
            opening = "" if found.totals else '{"findings": ['
            sys.stdout.write(f"{opening}], {json.dumps(ending)[1:]}\n")
        else:
            output.object(found.to_json())
        return
    if not streamed:
        for finding in found.findings:
            output.line(_told(finding))
    output.line(_summary(found, streamed=streamed))


def stream(output: Output) -> Callable[[Finding], None]:
    """A sink that prints each finding as it comes, for `--all`."""
    first = True

    def sink(finding: Finding) -> None:
        nonlocal first
        if output.as_json:
            text = json.dumps(finding.to_json(), ensure_ascii=False)
            sys.stdout.write(f'{{"findings": [{text}' if first else f", {text}")
        else:
            output.line(_told(finding))
        first = False

    return sink


def refused(loaded: Task, error: SubmissionError, output: Output) -> None:
    """A submission that is not scored, and why."""
    found = error.diagnosis
    if output.as_json:
        output.object(
            {
                "task": loaded.id,
                "score": None,
                "points": None,
                **found.to_json(),
                "truth_findings": [],
                "settings": loaded.settings,
            }
        )
        return
    for finding in found.findings:
        output.line(_told(finding))
    output.line(_summary(found))
    output.line("Not scored: a submission with errors is refused whole.")


def result(scored: Result, loaded: Task, output: Output) -> None:
    """A score, its parts, and what it was made of."""
    if output.as_json:
        output.object(scored.to_json())
        return
    for finding in (*scored.findings.findings, *scored.truth_findings.findings):
        output.aside(_told(finding))
    output.line(f"{loaded.id}: {_number(scored.score)}{_points(scored.points)}")
    for title, parts in _tables(scored, loaded):
        output.line()
        width = max([len(title), *(len(name) for name, _ in parts)])
        output.line(f"{title:{width}}  score")
        for name, value in parts:
            output.line(f"{name:{width}}  {_number(value)}")
    counts = scored.counts
    output.aside(
        f"{_counted(counts['images'], 'image')}, {_counted(counts['truths'], 'truth')} "
        f"({_counted(counts['ignored'], 'ignored region')}), {_counted(counts['predictions'], 'prediction')}"
    )


def written(target: str, facts: Mapping[str, int], output: Output, found: Diagnosis | None = None) -> None:
    """A file or folder that was made."""
    findings = [finding.to_json() for finding in found.findings] if found else []
    if output.as_json:
        output.object({"written": target, **facts, "findings": findings})
        return
    for finding in found.findings if found else ():
        output.aside(_told(finding))
    output.line(f"{target}: " + ", ".join(f"{count} {name}" for name, count in facts.items()))


def trained(target: str, record: Mapping[str, Any], output: Output) -> None:
    """A run that came to its end: its metric, and what to do with it."""
    if output.as_json:
        output.object({"run": target, **record})
        return
    kind = "out of fold" if "folds" in record else "on validation images"
    output.line(f"{target}: {_number(record['metric'])} {kind}{_points(record['points'])}")


def roads(travelled: Sequence[Road], output: Output, kept: str | None) -> None:
    """One line for each task of a demo."""
    if output.as_json:
        output.object({"demo": [_road_json(road) for road in travelled]})
        return
    output.line("A submission as a fair model would make it, on generated data:")
    output.line()
    output.line(
        f"{'task':9}  {'images':>6}  {'truths':>6}  {'predictions':>11}  {'score':>8}  what the score is"
    )
    for road in travelled:
        counts = road.result.counts
        output.line(
            f"{road.task.id:9}  {counts['images']:6}  {counts['truths']:6}  {counts['predictions']:11}  "
            f"{_number(road.result.score):>8}  {_MEANING[road.task.id]}{_points(road.result.points)}"
        )
    output.line()
    if kept:
        output.line(f"The files lie in {kept}.")
    output.line("See one in detail, and keep its files:  segjudge demo emoji")


def road(travelled: Road, output: Output) -> None:
    """One task of a demo in detail, and what to try next."""
    if output.as_json:
        output.object(_road_json(travelled))
        return
    name, folder = travelled.task.id, travelled.submission.parent
    maker = "predictions as a fair model would make them"
    output.line(f"Made in {folder}:")
    if travelled.run is not None:
        maker = "what the model predicts for data/"
        output.line(f"{_INDENT}train/          images to learn from, with truth; none of them is in data/")
        output.line(f"{_INDENT}run/            the trained model, its metrics and sample pictures")
    output.line(f"{_INDENT}data/           images and their truth, in the competition's own form")
    output.line(f"{_INDENT}images.csv      sizes of the images")
    output.line(f"{_INDENT}{travelled.submission.name:14}  {maker}")
    output.line()
    result(travelled.result, travelled.task, output)
    output.line()
    output.line("Try next:")
    files = f"{name} {folder}/data {travelled.submission} --images {travelled.images}"
    for words, command in (
        ("what is each setting?", f"segjudge show {name}"),
        ("score it yourself, image by image", f"segjudge score {files} --by image"),
        (
            "look at the masks",
            f"segjudge decode {name} {travelled.submission} --images {travelled.images} -o masks",
        ),
        (
            "an empty submission to start from",
            f"segjudge sample {name} --images {travelled.images} -o {_empty(travelled)}",
        ),
    ):
        output.line(f"{_INDENT}{command}\n{_INDENT}{_INDENT}{words}")


def _empty(travelled: Road) -> str:
    return f"empty{travelled.submission.suffix}"


_MEANING = {
    "wad-2018": "average precision over classes and thresholds",
    "badlad": "Dice of each page and class, averaged",
    "dsb-2018": "precision of each image over thresholds, averaged",
    "emoji": "IoU of each picture, averaged",
}


def _road_json(road: Road) -> dict[str, Any]:
    files = {"truth": str(road.truth), "images": str(road.images), "submission": str(road.submission)}
    files |= {} if road.run is None else {"run": str(road.run)}
    return {"files": files, **road.result.to_json()}


def _tables(scored: Result, loaded: Task) -> list[tuple[str, list[tuple[str, float | None]]]]:
    from segjudge.task import decimal_text  # noqa: PLC0415

    tables: list[tuple[str, list[tuple[str, float | None]]]] = []
    if scored.metrics:
        tables.append(("metric", list(scored.metrics.items())))
    if "class" in scored.by:
        names = scored.class_names or loaded.classes
        named = [
            (f"{number} {names.get(number, '')}".rstrip(), value) for number, value in scored.by_class.items()
        ]
        tables.append(("class", named))
    if "threshold" in scored.by:
        tables.append(("threshold", [(decimal_text(t), value) for t, value in scored.by_threshold.items()]))
    if "area" in scored.by:
        tables.append(("area", list(scored.by_area.items())))
    if "image" in scored.by:
        tables.append(("image", list(scored.by_image.items())))
    return tables


def _told(finding: Finding) -> str:
    place = str(finding.where)
    head = f"{place}: {finding.level} {finding.code}" if place else f"{finding.level} {finding.code}"
    advice = f"\n{_INDENT}→ {finding.advice}" if finding.advice else ""
    return f"{head}\n{_INDENT}{finding.message}{advice}"


def _summary(found: Diagnosis, *, streamed: bool = False) -> str:
    total = sum(found.totals.values())
    more = total - len(found.findings)
    hidden = f" ({more} more of the same kinds: --all shows them)" if more > 0 and not streamed else ""
    if not total:
        return "No findings: the file is fine."
    kinds = ", ".join(f"{count} {code}" for code, count in sorted(found.totals.items()))
    verdict = "The file is refused" if found.errors else "The file is accepted"
    return f"{verdict}: {kinds}{hidden}."


def _setting(value: Any) -> str:  # noqa: ANN401 - settings are texts, numbers, truths and lists
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.6f}"


def _points(points: float | None) -> str:
    return "" if points is None else f"  ({points:.2f} points)"
