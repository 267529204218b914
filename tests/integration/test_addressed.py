"""The instrument itself: a record that nobody addressed to a topic is found."""

from __future__ import annotations

from typing import Any

import confluent_kafka
import pytest

from kafka_spark_source.testing import KafkaCluster
from tests import witness
from tests.integration.addressed import Addressed
from tests.integration.conftest import MakeTopic

pytestmark = pytest.mark.integration


class Writer:
    """Has the options of a DataFrameWriter."""


def test_a_topic_that_is_longer_than_it_should_be(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic
) -> None:
    servers, topic = kafka_cluster.bootstrap_servers, make_topic(2)
    stray = confluent_kafka.Producer({"bootstrap.servers": servers})
    with pytest.MonkeyPatch.context() as patches:
        addressed = Addressed(servers, patches)
        witness.produce(servers, topic, ["a", "b"])
        assert addressed.misdirected([topic]) == {}
        stray.produce(topic, b"a", partition=1)
        assert stray.flush(30) == 0
        assert addressed.misdirected([topic]) == {topic: (2, 3)}
        of_writer: dict[str, Any] = {"kafka.bootstrap.servers": servers, "Topic": "other"}
        addressed._note(Writer(), of_writer, of_writer=True)
        assert addressed.misdirected([topic]) == {topic: (2, 3)}
        addressed._note(Writer(), {"kafka.bootstrap.servers": servers}, of_writer=True)
        assert addressed.misdirected([topic]) == {}  # by a column of the rows, perhaps


def test_topics_that_writes_name_are_not_judged(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic
) -> None:
    servers, topic = kafka_cluster.bootstrap_servers, make_topic()
    with pytest.MonkeyPatch.context() as patches:
        addressed = Addressed(servers, patches)
        addressed._note(Writer(), {"deadLetterTopic": topic}, of_writer=False)
        assert addressed.named == {topic}
