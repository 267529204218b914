"""The parser of the whole command line: each command runs, and `--help` imports little."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

import pytest

from kafka_spark_source.cli.parsers.program import program


def commands_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """What the parsers of all commands name: a module of `cli`, and a key of its COMMANDS."""
    nested = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    if not nested:
        yield parser.get_default("run")
    for action in nested:
        for each in action.choices.values():
            yield from commands_of(each)


def test_each_parser_names_a_function_and_each_function_has_a_parser() -> None:
    named = [*commands_of(program())]
    modules = {module for module, _ in named}
    runnable = {
        (module, command)
        for module in modules
        for command in importlib.import_module(f"kafka_spark_source.cli.{module}").COMMANDS
    }
    assert len(named) > 20
    assert sorted(named) == sorted(runnable)


def arguments_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    """The arguments of all commands, each with its command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from arguments_of(each)
        else:
            yield parser.prog, action


def test_each_argument_has_help() -> None:
    listed = [*arguments_of(program())]
    assert len(listed) > 100
    assert [(of, action.dest) for of, action in listed if not action.help] == []


# Commands that list nothing, each with a reason. Every other one has `-o json`.
LIST_NOTHING: Final = {
    "broker start": "prints an address with --quiet",
    "registry start": "prints an address with --quiet",
    "checkpoint export": "prints JSON",
    "dashboard": "prints JSON",
    "completion": "prints a script",
    **dict.fromkeys(("topics create", "topics delete", "groups delete"), "changes one thing"),
    **dict.fromkeys(
        ("txn abort", "broker stop", "registry stop", "write", "precompile"), "changes something"
    ),
}


def parsers_of(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser, and the parsers of all commands below it."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from parsers_of(each)


def test_each_command_that_lists_something_prints_json() -> None:
    commands = {
        each.prog.removeprefix("pykafka "): each
        for each in parsers_of(program())
        if each.get_default("run")
    }
    assert {name for name, each in commands.items() if not has_json(each)} == set(LIST_NOTHING)


def has_json(parser: argparse.ArgumentParser) -> bool:
    return any(
        {"-o", "--output"} <= {*action.option_strings} and "json" in (action.choices or ())
        for action in parser._actions
    )


def test_help_fits_a_terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = [
        (each.prog, line)
        for each in parsers_of(program())
        for line in each.format_help().split("\n")
    ]
    assert len(lines) > 500
    assert [(of, line) for of, line in lines if len(line) > 80] == []


def test_each_command_says_what_it_does() -> None:
    for each in parsers_of(program()):
        description = each.description or ""
        assert description[:1].isupper(), each.prog
        assert description.endswith("."), each.prog


@pytest.mark.parametrize("arguments", [("--help",), ("lag", "--help"), ("topics", "list", "-h")])
def test_help_imports_no_module_that_runs_a_command(arguments: tuple[str, ...]) -> None:
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        "from kafka_spark_source.cli import main\n"
        f"main({arguments!r})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert "usage: pykafka" in done.stdout
    imported = {*done.stderr.split()}
    assert "kafka_spark_source.cli.parsers.lag" in imported
    assert "kafka_spark_source.cli.lag" not in imported
    assert not {"numpy", "pyarrow", "pyspark", "rich", "shtab"} & imported
