"""The command line: verbs that parse, call one function, and print."""

from segjudge.cli.app import app, main

__all__ = ["app", "main"]
