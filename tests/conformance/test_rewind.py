"""`pykafka checkpoint rewind` on the checkpoints of both connectors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_spark_source import cli
from kafka_spark_source.testing import KafkaCluster
from tests.conformance.streams import LiveTopics, Streams, both
from tests.integration.test_rewind import let_rest, lose_commit

pytestmark = [pytest.mark.integration, pytest.mark.spark]


@both
def test_a_query_reads_from_there_on(
    streams: Streams, live: LiveTopics, kafka: KafkaCluster, tmp_path: Path, connector: str
) -> None:
    """After a micro-batch that has ended, and after one that has not."""
    topic = live.fill(5, 3)
    stream = streams.make(connector, subscribe=topic)
    checkpoint = tmp_path / "checkpoint-0"

    def rewind(*offsets: int) -> None:
        let_rest(checkpoint)
        to = json.dumps({topic: dict(enumerate(offsets))})
        given = ["checkpoint", "rewind", str(checkpoint), "--to", to, "--yes"]
        assert cli.main([*given, "-b", kafka.bootstrap_servers]) == 0

    stream.run()
    rewind(2, 3)
    stream.run()
    assert stream.spans == [
        {f"{topic}-0": (0, 5), f"{topic}-1": (0, 3)},
        {f"{topic}-0": (2, 5)},
    ]
    lose_commit(checkpoint, 1)
    rewind(1, 2)
    stream.run()
    assert stream.spans[2:] == [{f"{topic}-0": (1, 5), f"{topic}-1": (2, 3)}]
    assert stream.ends[:2] == 2 * [{topic: {"0": 1, "1": 2}}]  # the second is without records
