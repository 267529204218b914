"""Log lines on stderr: with our name, where nobody has configured logging."""

from __future__ import annotations

import subprocess
import sys

import pytest

WARN = """
import logging
{configuration}
import kafka_spark_source
kafka_spark_source.name_our_lines()
for name in ("kafka_spark_source.worker.worker", "kafka_formats.topic", "kafka_protocol", "other"):
    logging.getLogger(name).warning("from %s", name)
logging.getLogger("kafka_protocol").info("not a warning")
"""
OURS = ["kafka_spark_source.worker.worker", "kafka_formats.topic", "kafka_protocol"]


def stderr_with(configuration: str) -> list[str]:
    code = WARN.format(configuration=configuration)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    return done.stderr.decode().splitlines()


def test_our_lines_have_our_name() -> None:
    ours = [f"pykafka: from {name}" for name in OURS]
    assert stderr_with("") == [*ours, "from other"]


@pytest.mark.parametrize(
    ("configuration", "lines"),
    [
        (
            "logging.basicConfig(format='mine: %(message)s', level=logging.WARNING)",
            [f"mine: from {name}" for name in [*OURS, "other"]],
        ),
        (
            "logging.getLogger('kafka_protocol').addHandler(logging.NullHandler())",
            [*(f"pykafka: from {name}" for name in OURS[:2]), "from other"],
        ),
    ],
    ids=["of everything", "of one package"],
)
def test_a_configuration_of_the_users_counts(configuration: str, lines: list[str]) -> None:
    assert stderr_with(configuration) == lines
