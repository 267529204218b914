"""What a command line of a page names exists: commands, arguments, targets, modules, files."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pytest
from packaging.requirements import Requirement

from kafka_spark_source.cli.command import _joined
from kafka_spark_source.cli.parsers.program import program
from tests.pages.statements import ROOT

_STOPS: Final = ("|", "||", ">", ">>", "&&")
_MAKEFILE: Final = (ROOT / "Makefile").read_text()
# Arguments of other programs, by whose they are.
FLAGS_OF_OTHERS: Final = {
    "examples/README.md": ("--servers", "--registry"),
    "spark-submit": ("--deploy-mode", "--packages"),
    "examples/streaming_orders.py": ("--available-now",),
}
_EXTRAS: Final = re.compile(r"^([\w-]+) = \[", re.MULTILINE)


def mistakes_in(line: str, *, is_inline: bool) -> list[str]:
    """What is wrong with a command line; of a command in the text, arguments may be left out."""
    line = re.sub(r"^\w+=\$\((.*)\)$", r"\1", line)  # START=$(pykafka ...)
    words = shlex.split(line, comments=not is_inline)
    stages = [
        [*group] for is_stop, group in groupby(words, lambda word: word in _STOPS) if not is_stop
    ]
    return [each for stage in stages[:1] for each in _mistakes(stage, is_inline=is_inline)] + [
        each
        for stage in stages[1:]
        for each in _mistakes_behind(stages[0], stage, is_inline=is_inline)
    ]


def flags() -> set[str]:
    """The arguments of all commands of `pykafka`."""
    return {name for parser in _parsers(program()) for name in parser._option_string_actions}


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from _parsers(each)


def _mistakes_behind(first: list[str], stage: list[str], *, is_inline: bool) -> list[str]:
    """`pykafka topics list | describe` names two commands; elsewhere a pipe goes on."""
    if first[0] == "pykafka" and is_inline and len(stage) == 1:
        return _mistakes([*first[:-1], *stage], is_inline=True)
    return _mistakes(stage, is_inline=is_inline)


def _mistakes(words: list[str], *, is_inline: bool) -> list[str]:
    program_, *arguments = words
    if program_ == "pykafka":
        return _of_pykafka(arguments, is_inline=is_inline)
    if program_ == "make":
        return _of_make(arguments)
    if program_.endswith("python"):
        return _of_python(arguments)
    if program_.endswith("pip"):
        return _of_pip(arguments)
    return []


def _of_pykafka(arguments: list[str], *, is_inline: bool) -> list[str]:
    given = _joined(["--help" if each == "COMMAND" else each for each in arguments])
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(argparse.ArgumentParser, "error", _raise)
        patches.setattr(argparse.ArgumentParser, "print_help", lambda *_: None)
        try:
            _program().parse_args(given)
        except _WrongError as error:
            is_left_out = is_inline and re.search(r"are required|expected .*argument", str(error))
            return [] if is_left_out else [str(error)]
        except SystemExit as end:
            return [] if not end.code else [str(end)]
    return []


@cache
def _program() -> argparse.ArgumentParser:
    return program()


class _WrongError(Exception):
    """What argparse says about arguments."""


def _raise(_parser: argparse.ArgumentParser, message: str) -> Any:
    raise _WrongError(message)


def _of_make(arguments: list[str]) -> list[str]:
    targets = [each for each in arguments if "=" not in each]
    variables = [each.partition("=")[0] for each in arguments if "=" in each]
    rules = re.sub(r"^\.PHONY:", "", _MAKEFILE, flags=re.MULTILINE)
    return [
        f"the Makefile has no target {each}"
        for each in targets
        if not re.search(rf"^([\w$() -]+ )?{each}( [\w$() -]+)?:", rules, re.MULTILINE)
    ] + [
        f"the Makefile has no variable {each}"
        for each in variables
        if not re.search(rf"\$\(({each}[:)]|if \$\({each}\))", _MAKEFILE)
    ]


def _of_python(arguments: list[str]) -> list[str]:
    match arguments:
        case ["-m", "pip", *rest]:
            return _of_pip(rest)
        case ["-m", name, *rest]:
            missing = [] if find_spec(name) else [f"there is no module {name}"]
            paths = [each for each in rest if each.endswith(".py") and not (ROOT / each).exists()]
            return [*missing, *(f"there is no file {each}" for each in paths)]
        case [path, *_] if path.endswith(".py") and not (ROOT / path).exists():
            return [f"there is no file {path}"]
    return []


def _of_pip(arguments: list[str]) -> list[str]:
    if arguments[:1] != ["install"]:
        return []
    mistakes = []
    for each in arguments[1:]:
        if match := re.fullmatch(r"\.\[(.*)\]", each):
            mistakes += [
                f"no extra {name}" for name in match[1].split(",") if name not in _extras()
            ]
        elif not each.startswith(("-", ".", "/")):
            Requirement(each)
    return mistakes


@cache
def _extras() -> frozenset[str]:
    text = Path(ROOT / "pyproject.toml").read_text()
    table = text.split("[project.optional-dependencies]\n")[1].split("\n[")[0]
    return frozenset(_EXTRAS.findall(table))
