"""Tables of masks: CSV and Parquet, plain or packed, indexed once and read a chunk of images at a time."""

from segjudge.formats.table.index import Table
from segjudge.formats.table.reading import open_submission_table, open_truth_table
from segjudge.formats.table.source import TableSource

__all__ = ["Table", "TableSource", "open_submission_table", "open_truth_table"]
