"""The page docs/operations.md: its commands run as they stand there, and print what it shows.

All commands run, in order, and their questions are answered. Each run writes the page with its own
output into build/test/operations.md: if commands print something else now, copy it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kafka_spark_source.testing import KafkaCluster
from tests.fakes.registry import registry
from tests.integration.operations_scene import SUBJECTS, VARIABLES, Scene
from tests.own_process import ROOT
from tests.terminal import ENVIRONMENT
from tests.transcripts import Command, commands_in, with_outputs

pytestmark = [pytest.mark.integration, pytest.mark.newest, pytest.mark.timeout(300)]

PAGE = ROOT / "docs" / "operations.md"
MADE = ROOT / "build" / "test" / "operations.md"

# What happens before a command.
BEFORE: Mapping[str, Callable[[Scene], None]] = {
    "pykafka txn list -b localhost:9092 --prefix orders-copy": Scene.begin_transaction,
    "pykafka checkpoint show checkpoints/orders": Scene.end_micro_batch,
    "pykafka peek orders --context prod --from -2h -n 100 -o json \\\n"
    "    | pykafka write orders-test -b localhost:9092": Scene.reach_production,
}

# What differs from run to run, and what stands for it. The widths of columns, and the words at
# which lines end, follow from it.
VARIES = {
    r"\s+": " ",
    r"\d{4}-\d\d-\d\d\b": "DAY",
    r"\d\d:\d\d:\d\d(\.\d{3})?Z": "TIME",
    r"before-rewind-\S+": "before-rewind-TIME",
    r"\b\d+ h \d+ min\b|\b\d+ min \d+ s\b|\b\d+\.\d s\b": "DURATION",
    r"\b\d+ ms (behind|ahead of)": "DURATION behind",
    r"\(\d+ ms\)": "(DURATION)",
    r"metadata: \S+,": "metadata: CLUSTER,",
    r"producer id: cluster: \d+": "producer id: cluster: ID",
}


def same_in_each_run(command: Command) -> str:
    output = command.output
    for pattern, word in VARIES.items():
        output = re.sub(pattern, word, output)
    return f"$ {command.line} {output.strip()}"


def outputs_of(commands: list[Command], kafka: KafkaCluster, folder: Path) -> list[str]:
    outputs = []
    with registry(SUBJECTS) as known:
        scene = Scene(kafka, known.url, folder)
        scene.begin()
        with scene.member():
            for command in commands:
                if command.line in BEFORE:
                    BEFORE[command.line](scene)
                outputs.append(scene.terminal.run(command.line))
    return outputs


@pytest.mark.slow
def test_the_page_shows_what_its_commands_print(
    guarded: KafkaCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PAGE.read_text()
    commands = commands_in(page)
    assert {*BEFORE} <= {each.line for each in commands}
    monkeypatch.chdir(tmp_path)
    for name in ("PYKAFKA_CONTEXT", "PYKAFKA_BOOTSTRAP_SERVERS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (ENVIRONMENT | VARIABLES).items():
        monkeypatch.setenv(name, value)
    made = with_outputs(page, outputs_of(commands, guarded, tmp_path))
    MADE.parent.mkdir(parents=True, exist_ok=True)
    MADE.write_text(made)
    shown, printed = ([*map(same_in_each_run, each)] for each in (commands, commands_in(made)))
    changes = "\n".join(difflib.unified_diff(shown, printed, str(PAGE), str(MADE), lineterm=""))
    assert not changes, changes
