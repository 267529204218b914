"""The instrument itself: a record that nobody addressed to a topic is found."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import Producer as OtherName

from kafka_spark_source.testing import KafkaCluster
from tests import witness
from tests.addressed import Addressed, all_addressed, lengths
from tests.integration.conftest import MakeTopic

pytestmark = pytest.mark.integration


class Writer:
    """Has the options of a DataFrameWriter."""


@pytest.fixture
def servers(kafka_cluster: KafkaCluster) -> str:
    return kafka_cluster.bootstrap_servers


def write(stray: confluent_kafka.Producer, topic: str) -> None:
    """With a producer that the instrument does not see if it was there before."""
    stray.produce(topic, b"a")
    assert stray.flush(30) == 0


def test_a_topic_that_is_longer_than_it_should_be(servers: str, make_topic: MakeTopic) -> None:
    topic, other = make_topic(2), make_topic()
    stray = confluent_kafka.Producer({"bootstrap.servers": servers})
    witness.produce(servers, topic, ["before"])
    with pytest.MonkeyPatch.context() as patches:
        addressed = Addressed(servers, patches)
        witness.produce(servers, topic, ["a"])
        write(OtherName({"bootstrap.servers": servers}), topic)
        assert addressed.misdirected() == {}
        write(stray, topic)
        write(stray, other)
        assert addressed.misdirected() == {topic: (2, 3), other: (0, 1)}
        of_writer: dict[str, Any] = {"kafka.bootstrap.servers": servers, "Topic": other}
        addressed._note(Writer(), of_writer, of_writer=True)
        assert addressed.misdirected() == {topic: (2, 3)}
        addressed._note(Writer(), {"kafka.bootstrap.servers": servers}, of_writer=True)
        assert addressed.misdirected() == {}  # by a column of the rows, perhaps


def test_the_marker_of_an_earlier_transaction_is_no_record(
    servers: str, make_topic: MakeTopic
) -> None:
    """The broker ends a transaction that a test left open, perhaps during another test."""
    topic = make_topic()
    config = {"bootstrap.servers": servers, "transactional.id": topic}
    earlier = confluent_kafka.Producer(config)
    earlier.init_transactions(30)
    earlier.begin_transaction()
    write(earlier, topic)
    with all_addressed(servers):
        earlier.abort_transaction(30)
    assert lengths(servers)[topic] == 2


def test_topics_that_writes_name_are_not_judged(servers: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    with pytest.MonkeyPatch.context() as patches:
        addressed = Addressed(servers, patches)
        addressed._note(Writer(), {"deadLetterTopic": topic}, of_writer=False)
        assert addressed.named == {topic}


def test_a_record_fails_the_test_that_wrote_it(servers: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    stray = confluent_kafka.Producer({"bootstrap.servers": servers})
    with pytest.raises(AssertionError, match=f"nobody addressed .*{topic}': \\(0, 1\\)"):
        with all_addressed(servers):
            write(stray, topic)
    assert lengths(servers)[topic] == 1


def test_a_job_tells_what_it_names(servers: str, make_topic: MakeTopic) -> None:
    """A job may write into the topics that it names, and into no others."""
    named, other = make_topic(), make_topic()
    stray = confluent_kafka.Producer({"bootstrap.servers": servers})
    with pytest.raises(AssertionError, match=f"{other}': \\(0, 1\\)") as raised:
        with all_addressed(servers) as addressed:
            job = [sys.executable, "-c", _JOB, "tests.jobs.made_up", named]
            subprocess.run(job, check=True)
            assert not addressed.is_blind
            write(stray, named)
            write(stray, other)
    assert named not in str(raised.value)


# Its writer has no JVM.
_JOB = """
import sys
import tests.jobs
from pyspark.sql import DataFrameWriter
writer = DataFrameWriter.__new__(DataFrameWriter)
try:
    writer.option("topic", sys.argv[2])
except AttributeError:
    pass
"""


def test_another_process_may_write_anywhere(servers: str) -> None:
    with all_addressed(servers) as addressed:
        subprocess.run([sys.executable, "-c", ""], check=True)
        assert addressed.is_blind
