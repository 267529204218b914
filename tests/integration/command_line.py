"""`pykafka` in the process of a test, on the session's broker, and a topic for it."""

from __future__ import annotations

import pytest

from kafka_spark_source import cli
from kafka_spark_source.testing import KafkaCluster
from tests.integration.conftest import MakeTopic
from tests.witness import produce


class Command:
    """Runs `pykafka` in this process, for one broker."""

    def __init__(self, servers: str, capsys: pytest.CaptureFixture[str]) -> None:
        self._servers = servers
        self._capsys = capsys
        self.errors = ""

    def __call__(self, *arguments: str, code: int = 0, connects: bool = True) -> str:
        given = [*arguments, *(["-b", self._servers] if connects else [])]
        self._capsys.readouterr()
        assert cli.main(given) == code
        out, self.errors = self._capsys.readouterr()
        return out


@pytest.fixture
def pykafka(kafka_cluster: KafkaCluster, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(kafka_cluster.bootstrap_servers, capsys)


@pytest.fixture
def topic(kafka_cluster: KafkaCluster, make_topic: MakeTopic) -> str:
    """With the values a0 to a4 in partition 0, and b0 to b2 in partition 1."""
    name = make_topic(2)
    produce(kafka_cluster.bootstrap_servers, name, [f"a{number}" for number in range(5)])
    produce(kafka_cluster.bootstrap_servers, name, [f"b{number}" for number in range(3)], 1)
    return name
