"""The command line: verbs that parse, call one function, and print."""

from segjudge.cli.app import app, main, program

__all__ = ["app", "main", "program"]
