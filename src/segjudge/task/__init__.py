"""Task: everything that an evaluation page fixes, as frozen data; TOML to Task, strictly.

A task file has the tables `[classes]`, `[ignored]`, `[submission]`, `[truth]`, `[metric]` and `[words]`.
The fields of the dataclasses are its options: an unknown key fails, and so does a missing one.
"""

from segjudge.task.forms import ArchiveForm, ResultsForm, TableForm, TruthForm
from segjudge.task.loading import builtin_ids, load_task
from segjudge.task.model import Task
from segjudge.task.options import decimal_text

__all__ = [
    "ArchiveForm",
    "ResultsForm",
    "TableForm",
    "Task",
    "TruthForm",
    "builtin_ids",
    "decimal_text",
    "load_task",
]
