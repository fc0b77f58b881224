"""Opening tables: which file form, which columns, what is wrong with the header."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segjudge.findings import Collector, Where
from segjudge.formats.copies import byte_file
from segjudge.formats.opening import existing, plain_file
from segjudge.formats.table.index import build_index
from segjudge.formats.table.parquet import is_parquet, open_parquet
from segjudge.formats.table.text import QuotedText, open_text, rewritten

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from segjudge.crew import Crew
    from segjudge.formats.opening import Workspace
    from segjudge.formats.receipts import Receipt
    from segjudge.formats.table.index import Table
    from segjudge.formats.table.text import TextTable
    from segjudge.task import TableForm, TruthForm

__all__ = ["check_header_names", "open_any_text", "open_submission_table", "open_truth_table"]

SIZE_COLUMNS = {"Height": "height", "Width": "width"}


def open_submission_table(
    path: str | Path,
    label: str,
    form: TableForm,
    findings: Collector,
    workspace: Workspace,
    crew: Crew | None = None,
    receipt: Receipt | None = None,
) -> Table | None:
    """The index of a participant's table; the header must be the page's, in "the exact order"."""
    return _open(
        path, label, form.columns, findings, form.max_unpacked, workspace,
        lambda text, found: check_header(text, form.columns, found), crew, receipt,
    )  # fmt: skip


def open_truth_table(
    path: str | Path,
    label: str,
    form: TruthForm,
    max_unpacked: int,
    findings: Collector,
    workspace: Workspace,
    crew: Crew | None = None,
    receipt: Receipt | None = None,
) -> Table | None:
    """The index of a host's table; columns in any order, Height and Width may be there."""
    roles = {**form.columns, **SIZE_COLUMNS}
    return _open(
        path, label, roles, findings, max_unpacked, workspace,
        lambda text, found: _check_truth_header(text, form.columns, found), crew, receipt,
    )  # fmt: skip


def _open(
    path: str | Path,
    label: str,
    roles: Mapping[str, str],
    findings: Collector,
    max_unpacked: int,
    workspace: Workspace,
    header_holds: Callable[[TextTable, Collector], bool],
    crew: Crew | None,
    receipt: Receipt | None,
) -> Table | None:
    plain = plain_file(existing(path, workspace), label, findings, max_unpacked, workspace)
    if plain is None:
        return None
    ids = [name for name, role in roles.items() if role in {"image", "image-class"}]
    # What a first, fast reading finds is forgotten when a quote sign asks for the careful one.
    trial = Collector(findings.cap)
    try:
        text = open_any_text(plain, label, ids, trial, workspace)
        table = build_index(text, roles, trial, crew, receipt) if text and header_holds(text, trial) else None
    except QuotedText:
        trial = Collector(findings.cap)
        text = rewritten(plain, label, trial, workspace)
        table = build_index(text, roles, trial, crew) if text and header_holds(text, trial) else None
    findings.absorb(trial)
    return table


def open_any_text(
    path: Path, label: str, ids: list[str], findings: Collector, workspace: Workspace
) -> TextTable | None:
    """The text of a CSV or Parquet file."""
    if is_parquet(path):
        return open_parquet(path, label, ids, findings, workspace)
    return open_text(byte_file(path, workspace), label, findings)


def check_header(text: TextTable, columns: Mapping[str, str], findings: Collector) -> bool:
    """Whether a table's header names these columns in this order; a finding where it does not."""
    return check_header_names(list(text.header), list(columns), Where(file=text.label, row=1), findings)


def check_header_names(found: list[str], wanted: list[str], where: Where, findings: Collector) -> bool:
    """The same for a header that has been read."""
    if found == wanted:
        return True
    for mark, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "pipes")):
        if len(found) == 1 and mark in found[0] and len(wanted) > 1:
            findings.add(
                "bad-delimiter",
                where,
                f"The fields are separated by {name}, not by commas.",
                "Write a comma-separated file (pandas: to_csv(path, index=False)).",
            )
            return False
    findings.add(
        "bad-header",
        where,
        f"The header is {_line(found)}; this task's is {_line(wanted)}.",
        _header_advice(found, wanted),
    )
    return False


def _header_advice(found: list[str], wanted: list[str]) -> str:
    if sorted(found) == sorted(wanted):
        return "The columns are in another order: the page asks for all fields “with the exact order”."
    extra = [name for name in found if name not in wanted]
    lacking = [name for name in wanted if name not in found]
    if extra and not lacking:
        index = " It is pandas' index: write with to_csv(path, index=False)." if _is_index(extra[0]) else ""
        return f"Remove the column {extra[0]!r}.{index}"
    if extra and lacking:
        import difflib  # noqa: PLC0415 - few headers are misspelt

        folded = {name.casefold(): name for name in extra}
        near = difflib.get_close_matches(lacking[0].casefold(), folded, n=1)
        if near:
            return f"{folded[near[0]]!r} should be spelt {lacking[0]!r}."
        if len(found) == len(wanted) and len(lacking) == len(wanted):
            return "Is the header line missing? It stands above the first row."
    return f"The column {lacking[0]!r} is missing." if lacking else "Name every column once."


def _is_index(name: str) -> bool:
    return name == "" or name.startswith("Unnamed")


def _check_truth_header(text: TextTable, columns: Mapping[str, str], findings: Collector) -> bool:
    lacking = [name for name in columns if name not in text.header]
    twice = sorted({name for name in text.header if text.header.count(name) > 1})
    if lacking or twice:
        reason = (
            f"the column {lacking[0]!r} is missing" if lacking else f"the column {twice[0]!r} stands twice"
        )
        findings.add(
            "bad-header",
            Where(file=text.label, row=1),
            f"The header is {_line(list(text.header))}: {reason}.",
            f"A truth of this task has {_line(list(columns))}, and may have Height,Width.",
        )
        return False
    if ("Height" in text.header) != ("Width" in text.header):
        findings.add(
            "bad-header", Where(file=text.label, row=1), "Height and Width stand together or not at all."
        )
        return False
    strangers = [name for name in text.header if name not in columns and name not in SIZE_COLUMNS]
    if strangers:
        findings.add(
            "bad-header",
            Where(file=text.label, row=1),
            f"The column {strangers[0]!r} has no meaning here and is not read.",
            level="warning",
        )
    return True


def _line(names: list[str]) -> str:
    line = ",".join(names)
    return repr(line if len(line) <= 120 else line[:119] + "…")
