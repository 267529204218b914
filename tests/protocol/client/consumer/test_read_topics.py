"""Reads that follow a topic: each record once and in order, or an error, never a gap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.errors import LogTruncatedError, TopicGoneError
from kafka_protocol.client.consumer.read_topics import ReadTopics
from kafka_protocol.columnar.reading.batch_columns import take_batch_columns
from kafka_protocol.columnar.reading.decode import decode_batches
from kafka_protocol.errors import BrokerError, DataLossError, KafkaError
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.records.transactions import COMMIT
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import PartitionLog, in_transaction
from tests.times import shorten

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)
_IDLE_MS = 300


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, topic_grace_ms=10, topic_changed_ms=30)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        cluster.add_topic("orders")
        yield cluster


class Follower:
    """A read from the beginning that follows: `poll` looks once, and reads what is new."""

    def __init__(self, client: Cluster, numbers: list[int] | None = None) -> None:
        self.topics = ReadTopics(client, ["orders"], numbers, Deadline.after(5_000))
        self.positions: dict[TopicPartition, int] = {}
        self.values: defaultdict[TopicPartition, list[bytes | None]] = defaultdict(list)

    def poll(self) -> None:
        for each in self.topics.new_ranges(self.positions):
            for fetched in self.topics.fetch(each, _IDLE_MS, take_batch_columns):
                for batch in decode_batches(
                    [fetched], ["value"], max_decompressed_bytes=1_000, target_bytes=1_000
                ):
                    self.values[each.topic_partition] += batch.column("value").to_pylist()
            self.positions[each.topic_partition] = each.until_offset


def client_of(cluster: FakeCluster, **options: object) -> Cluster:
    return cluster.client(topic_propagation_max_ms=200, retry_backoff_max_ms=10, **options)


def add_partition(cluster: FakeCluster) -> None:
    cluster.add_partitions("orders", len(cluster.topics["orders"].partitions) + 1)


def test_partitions_that_are_added_are_read_from_their_beginning(cluster: FakeCluster) -> None:
    with closing(client_of(cluster)) as client:
        follower, only_first = Follower(client), Follower(client, [0])
        cluster.append(FIRST, b"a")
        follower.poll()
        add_partition(cluster)
        cluster.append(SECOND, b"b", b"c")
        cluster.append(FIRST, b"d")
        follower.poll()
        assert follower.values == {FIRST: [b"a", b"d"], SECOND: [b"b", b"c"]}
        only_first.poll()
        assert only_first.values == {FIRST: [b"a", b"d"]}


@pytest.mark.parametrize("records", [0, 1, 2, 3])
def test_a_topic_that_was_created_again(cluster: FakeCluster, records: int) -> None:
    """With fewer records, as many, or more."""
    cluster.append(FIRST, b"a", b"b")
    with closing(client_of(cluster)) as client:
        follower = Follower(client)
        follower.poll()
        cluster.add_topic("orders")
        if records:
            cluster.append(FIRST, *[b"new"] * records)
        with pytest.raises(
            TopicGoneError, match="its topic re-created, and was read up to offset 2"
        ):
            follower.poll()
    assert follower.values == {FIRST: [b"a", b"b"]}


def test_a_topic_that_is_created_again_before_its_records_are_fetched(
    cluster: FakeCluster,
) -> None:
    with closing(client_of(cluster)) as client:
        follower = Follower(client)
        cluster.append(FIRST, b"a")
        (new,) = follower.topics.new_ranges({})
        cluster.add_topic("orders")
        cluster.append(FIRST, b"b")
        with pytest.raises(TopicGoneError):
            list(follower.topics.fetch(new, _IDLE_MS))


def test_a_topic_that_was_deleted(cluster: FakeCluster) -> None:
    with closing(client_of(cluster)) as client:
        follower = Follower(client)
        cluster.delete_topic("orders")
        with pytest.raises(TopicGoneError, match="was deleted"):
            follower.poll()
        with pytest.raises(BrokerError, match="Cannot read topic 'orders'"):
            Follower(client)


def test_a_partition_that_is_gone_for_a_while(cluster: FakeCluster) -> None:
    """A broker that is behind lacks it; for good, it is an error."""

    def lack(response: MetadataResponse) -> None:
        for topic in response.topics:
            del topic.partitions[1:]

    add_partition(cluster)
    with closing(client_of(cluster)) as client:
        follower = Follower(client)
        cluster.add_fault(MetadataRequest, faults.changed(lack))
        with pytest.raises(TopicGoneError, match="unknown to the brokers for 200 ms"):
            follower.poll()
        with pytest.raises(BrokerError, match="Cannot read partition 1 of topic 'orders', which"):
            Follower(client, [1])


@pytest.mark.parametrize("release", ["99", "2.7.0"])
def test_a_log_that_ends_before_the_position(cluster: FakeCluster, release: str) -> None:
    """Without ids, the end of the log is all that a topic that was created again shows."""
    cluster.nodes[1].become(release)
    cluster.append(FIRST, b"a")
    cluster.append(FIRST, b"b")
    with closing(client_of(cluster)) as client:
        follower = Follower(client)
        follower.poll()
        cluster.log(FIRST).truncate(1)
        with pytest.raises(
            DataLossError, match="The read stands at offset 2 of orders-0, whose log ends at 1"
        ):
            follower.poll()


@pytest.mark.parametrize("values", [[b"c"], [b"c", b"d"]], ids=["to it", "beyond it"])
def test_a_log_that_was_cut_and_has_grown_since(cluster: FakeCluster, values: list[bytes]) -> None:
    """If it has grown to the position, no record is new, so no Fetch of records would show it."""
    cluster.append(FIRST, b"a")
    cluster.append(FIRST, b"b")
    with closing(client_of(cluster)) as client:
        follower = Follower(client)
        follower.poll()
        cluster.log(FIRST).truncate(1)
        cluster.move_leader(FIRST, 1)
        cluster.append(FIRST, *values)
        with pytest.raises(LogTruncatedError):
            follower.poll()


def test_a_new_leader_is_checked_once(cluster: FakeCluster) -> None:
    cluster.append(FIRST, b"a")
    with closing(client_of(cluster)) as client:
        follower = Follower(client)
        follower.poll()
        cluster.move_leader(FIRST, 1)
        before = len(cluster.asked(FetchRequest))
        follower.poll()
        follower.poll()
        assert len(cluster.asked(FetchRequest)) - before == 1
        cluster.append(FIRST, b"b")
        follower.poll()
        assert follower.values == {FIRST: [b"a", b"b"]}


def test_records_that_were_deleted_before_they_were_read(cluster: FakeCluster) -> None:
    with closing(client_of(cluster)) as client:
        follower = Follower(client)
        follower.poll()
        for value in (b"a", b"b", b"c"):
            cluster.append(FIRST, value)
            follower.positions[FIRST] = 0
        cluster.log(FIRST).delete_before(2)
        with pytest.raises(KafkaError, match=r"offset 0 of orders-0 is not in the log"):
            follower.poll()
    assert follower.values == {}


def test_an_open_transaction_is_not_a_shorter_log(cluster: FakeCluster) -> None:
    """Another reader of the group, without read_committed, has come further."""
    cluster.append(FIRST, b"a")
    log = cluster.log(FIRST)
    log.append(in_transaction(7, b"b", b"c"))
    with closing(client_of(cluster, isolation_level="read_committed")) as client:
        follower = Follower(client)
        follower.positions[FIRST] = 3
        follower.poll()
        assert follower.positions == {FIRST: 3}
        log.end_transaction(7, COMMIT)
        cluster.append(FIRST, b"d")
        follower.poll()
        assert follower.values == {FIRST: [b"d"]}
        follower.positions[FIRST] = 9
        with pytest.raises(DataLossError, match="stands at offset 9 of orders-0, whose log ends"):
            follower.poll()


class History:
    """A topic to which things happen, and a read that follows it."""

    def __init__(self, cluster: FakeCluster, client: Cluster) -> None:
        cluster.add_topic("orders")
        self.follower = Follower(client)
        self.is_lost = False
        self._cluster = cluster
        self._numbers = count()

    @property
    def logs(self) -> dict[TopicPartition, PartitionLog]:
        count = len(self._cluster.topics["orders"].partitions)
        partitions = (TopicPartition("orders", number) for number in range(count))
        return {each: self._cluster.log(each) for each in partitions}

    def append(self) -> None:
        for tp in self.logs:
            self._cluster.append(tp, *[b"%d" % next(self._numbers) for _ in range(2)])

    def add_partition(self) -> None:
        add_partition(self._cluster)

    def create_again(self) -> None:
        self._cluster.add_topic("orders", len(self.logs))
        self.is_lost = True

    def cut(self) -> None:
        """An unclean leader election. Nothing is lost for a read that was not so far."""
        log = self.logs[FIRST]
        if log.end_offset > log.start_offset:
            log.truncate(log.end_offset - 2)
            self._cluster.move_leader(FIRST, 1)  # with the next epoch
            self.is_lost |= log.end_offset < self.follower.positions.get(FIRST, 0)

    def delete(self) -> None:
        log = self.logs[FIRST]
        if log.end_offset > log.start_offset:
            log.delete_before(log.start_offset + 2)
            self.is_lost |= self.follower.positions.get(FIRST, log.end_offset) < log.start_offset

    def poll(self) -> None:
        self.follower.poll()
        assert self.follower.values.keys() <= self.logs.keys()
        for tp, log in self.logs.items():
            read = self.follower.values[tp]
            assert read[max(0, len(read) - len(log.values)) :] == log.values


EVENTS = [History.append, History.add_partition, History.create_again, History.cut, History.delete]


@pytest.mark.no_cover
@example([History.append, History.poll, History.cut])
@example([History.append, History.append, History.cut, History.poll, History.delete])
@given(st.lists(st.sampled_from([*EVENTS, History.append, *[History.poll] * 3]), max_size=15))
def test_each_record_is_read_once_and_in_order_or_there_is_an_error(
    events: list[Callable[[History], None]],
) -> None:
    with FakeCluster() as cluster, closing(client_of(cluster)) as client:
        history = History(cluster, client)
        for event in [*events, History.append, History.poll]:
            if event is History.poll and history.is_lost:
                with pytest.raises(KafkaError):
                    history.poll()
                return
            event(history)
