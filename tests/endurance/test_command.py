"""What the commands share, with a run that does nothing."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.endurance.command import Command, Report, add_seed, execute


def command_with(problems: Sequence[str], given: list[argparse.Namespace]) -> Command:
    def draw(plt: Any) -> Any:
        figure, _axes = plt.subplots()
        return figure

    def run(arguments: argparse.Namespace, folder: Path, console: Console) -> Report:
        given.append(arguments)
        (folder / "kept").touch()
        return Report(["a table"], {"seed": arguments.seed}, draw, problems)

    return Command("nothing", "Does nothing.", 30, run, add_seed)


@pytest.mark.parametrize("problems", [[], ["copy [0]: 1 lost"]])
def test_problems_keep_the_files_and_fail(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    problems: list[str],
) -> None:
    pytest.importorskip("matplotlib", reason="it is installed by `make torture`")
    monkeypatch.setattr(sys, "argv", ["nothing", "--seed", "7", "--results", str(tmp_path)])
    earlier = tmp_path / "run" / "of an earlier run"
    earlier.mkdir(parents=True)
    given: list[argparse.Namespace] = []
    assert execute(command_with(problems, given)) == len(problems)
    assert (given[0].seed, given[0].minutes) == (7, 30)
    assert not earlier.exists()
    assert (tmp_path / "run" / "kept").exists() == bool(problems)
    shown = capsys.readouterr().out
    assert "a table" in shown
    assert ("PROBLEM: copy [0]: 1 lost" in shown) == bool(problems)
    assert json.loads((tmp_path / "nothing.json").read_text()) == {"seed": 7, "problems": problems}
    assert (tmp_path / "nothing.png").exists()


def test_the_seed_is_another_one_each_time() -> None:
    seeds = set()
    for _ in range(3):
        parser = argparse.ArgumentParser()
        add_seed(parser)
        seeds.add(parser.parse_args([]).seed)
    assert len(seeds) > 1
