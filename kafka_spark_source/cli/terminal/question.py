"""The question before a change that cannot be undone."""

from __future__ import annotations

import sys

from kafka_spark_source.cli.terminal import console


def is_sure(question: str, expected: str) -> bool:
    """Whether the user answers a question with the expected word; never without a terminal."""
    if not sys.stdin.isatty():
        return False
    console.print_question(f"{question} ({expected})")
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        # Ctrl-D: what is printed next begins a line.
        sys.stderr.write("\n")
    return answer.strip() == expected
