"""Several ranges -> record batches, with one Fetch for many partitions of a leader.

For small ranges, where a request for each costs more than its records. Reads partitions that answer
without an error. Leaves the others to `fetch_rest`, which waits, retries, and notices data loss:
after an error of a partition its range, after an error of a broker all ranges that it leads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from kafka_protocol.client.broker.broker import SentRequest
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.exchange import group_by_leader
from kafka_protocol.client.cluster.metadata import Leader, Topic, has_topic_id
from kafka_protocol.client.consumer.fetch_request import (
    FIRST_BY_ID,
    OVERHEAD_BYTES,
    FetchLimits,
    PartlyRead,
    WantedPartition,
    fetch_request,
)
from kafka_protocol.client.consumer.fetch_size import FetchSize
from kafka_protocol.client.consumer.replica import ReadReplica
from kafka_protocol.errors import BrokerError, CorruptRecordError, KafkaError
from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.records.fetch_response import (
    Fetched,
    PartitionData,
    TakeBatches,
    TakenBatches,
)
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.primitives import ZERO_UUID
from kafka_protocol.wire.schema import VersionRange

# The first version whose responses have a limit for all partitions together (KIP-74).
_WITH_MAX_BYTES: Final = VersionRange(3, FetchRequest.versions.highest)
_WITH_MAX_BYTES_BY_NAME: Final = VersionRange(3, FIRST_BY_ID - 1)

# A request and a response with more partitions take longer to write and to read than their way.
_MAX_PARTITIONS: Final = 100

# About the size of an Arrow batch.
_MAX_BYTES: Final = 4 * 1024 * 1024

# With more bytes of later ranges than this, a Fetch is for one range only.
_MAX_HELD_BYTES: Final = 8 * 1024 * 1024

# The records are there, as planned, so the broker has nothing to wait for.
_MAX_WAIT_MS: Final = 0


class FetchTogether:
    """Reads ranges of different partitions, one after the other. The caller closes it.

    A Fetch to each leader is sent at once. Batches of later ranges are held until their turn, so
    the order of ranges does not depend on the brokers.

    Args:
        cluster: The cluster.
        ranges: One for each partition; they are moved forward.
        take: Which batches of a response are yielded, as for `fetch_range`.
    """

    def __init__(self, cluster: Cluster, ranges: Iterable[PartlyRead], take: TakeBatches) -> None:
        self._cluster = cluster
        self._take = take
        self._held = _Held()
        self._readers: dict[int, _BrokerReader] = {}
        deadline = Deadline.after(cluster.config.request_timeout_ms)
        by_partition = {each.rest.topic_partition: each for each in ranges if not each.is_done}
        try:
            by_leader, _ = group_by_leader(cluster, by_partition, deadline)
        except KafkaError:
            return  # no broker can be reached: `fetch_range` waits for one
        rack = cluster.config.client_rack
        for node_id, partitions in by_leader.items():
            led = [
                _Led(by_partition[tp], ReadReplica(tp, rack), *at) for tp, at in partitions.items()
            ]
            self._read_from(node_id, led)

    def __repr__(self) -> str:
        return f"<FetchTogether from {len(self._readers)} brokers>"

    def fetched_of(self, topic_partition: TopicPartition) -> Iterator[Fetched]:
        """The batches of a range that come at once, in order, in windows that do not overlap.

        Where the range is not done after it, it needs attention.
        """
        while True:
            yield from self._held.take(topic_partition)
            reader = self._reader_of(topic_partition)
            if reader is None:
                return
            reader.receive()
            for replica, moved in reader.take_redirected().items():
                self._read_from(replica, moved)

    def close(self) -> None:
        """Abandon the Fetches in flight."""
        for reader in self._readers.values():
            reader.close()

    def _reader_of(self, topic_partition: TopicPartition) -> _BrokerReader | None:
        readers = (each for each in self._readers.values() if each.reads(topic_partition))
        return next(readers, None)

    def _read_from(self, node_id: int, partitions: Iterable[_Led]) -> None:
        if node_id not in self._readers:
            self._readers[node_id] = _BrokerReader(self._cluster, node_id, self._take, self._held)
        self._readers[node_id].add(partitions)


class _Held:
    """Received batches of ranges that the reader has not reached yet."""

    def __init__(self) -> None:
        self._fetched: dict[TopicPartition, list[tuple[Fetched, int]]] = defaultdict(list)
        self.bytes = 0

    def __repr__(self) -> str:
        return f"<_Held, {self.bytes:,} bytes>"

    def add(self, fetched: Fetched, size: int) -> None:
        self._fetched[fetched.window.topic_partition].append((fetched, size))
        self.bytes += size

    def take(self, topic_partition: TopicPartition) -> Iterator[Fetched]:
        for fetched, size in self._fetched.pop(topic_partition, ()):
            self.bytes -= size
            yield fetched


class _Led(NamedTuple):
    """A range, the replica to read it from, and its leader and topic in metadata."""

    range: PartlyRead
    replica: ReadReplica
    leader: Leader
    topic: Topic

    @property
    def has_another_id(self) -> bool:
        """Whether the topic is another one than the range was planned for."""
        planned = self.range.topic_id or ZERO_UUID
        return has_topic_id(self.topic) and planned not in (ZERO_UUID, self.topic.topic_id)


class _BrokerReader:
    """The ranges to read from one broker, and the Fetch in flight to it."""

    def __init__(self, cluster: Cluster, node_id: int, take: TakeBatches, held: _Held) -> None:
        self._cluster = cluster
        self._node_id = node_id
        self._take = take
        self._held = held
        self._waiting: dict[TopicPartition, _Led] = {}  # the asked ones, too
        self._sizes = defaultdict[str, FetchSize](partial(FetchSize, cluster.config))  # of topics
        self._asked: list[_Led] = []
        self._redirected: defaultdict[int, list[_Led]] = defaultdict(list)
        self._has_checked_ids = False
        self._sent: SentRequest | None = None

    def __repr__(self) -> str:
        return f"<_BrokerReader of {len(self._waiting)} ranges at broker {self._node_id}>"

    def reads(self, topic_partition: TopicPartition) -> bool:
        """Whether more may come of a range."""
        return topic_partition in self._waiting

    def add(self, partitions: Iterable[_Led]) -> None:
        """Read these too."""
        self._waiting |= {
            each.range.rest.topic_partition: each for each in partitions if not each.has_another_id
        }
        if self._sent is None:
            self._send()

    def take_redirected(self) -> dict[int, list[_Led]]:
        """The ranges to read from other replicas, by node id (KIP-392)."""
        redirected, self._redirected = self._redirected, defaultdict(list)
        return redirected

    def receive(self) -> None:
        """Receive and hold the next batches, and send the next Fetch before they are decoded."""
        sent, self._sent = self._sent, None
        if sent is None:
            self._waiting.clear()
            return
        deadline = Deadline.after(self._cluster.config.request_timeout_ms)
        try:
            response = sent.broker.receive(sent, FetchResponse, deadline)
            if response.error_code:
                raise BrokerError(response.error_code, f"Fetch to {sent.broker}")
        except KafkaError as error:
            self._leave_all(error)
            return
        self._take_all(response)
        self._send()

    def close(self) -> None:
        """Abandon the Fetch in flight and close its connection, since nothing will read from it."""
        if self._sent is not None:
            self._sent.broker.close()
            self._sent = None

    # --- Sending ---------------------------------------------------------------------------------

    def _send(self) -> None:
        """Send a Fetch for the next ranges, if there are any and the broker can be reached."""
        if not self._waiting:
            return
        deadline = Deadline.after(self._cluster.config.request_timeout_ms)
        try:
            broker = self._cluster.broker(self._node_id, deadline)
            version = broker.choose(FetchRequest, self._needed())
            if version < FIRST_BY_ID:
                self._leave_other_topics(deadline)
            count = _MAX_PARTITIONS if self._held.bytes <= _MAX_HELD_BYTES else 1
            self._asked = [*islice(self._waiting.values(), count)]
            if self._asked:
                request = self._request(version)
                self._sent = broker.send(request, deadline, VersionRange(version, version))
        except KafkaError as error:
            self._leave_all(error)

    def _needed(self) -> VersionRange:
        has_ids = all(has_topic_id(each.topic) for each in self._waiting.values())
        return _WITH_MAX_BYTES if has_ids else _WITH_MAX_BYTES_BY_NAME

    def _leave_other_topics(self, deadline: Deadline) -> None:
        """Compare ids with new metadata, since a Fetch by name cannot check them."""
        names = {each.topic.name for each in self._waiting.values() if has_topic_id(each.topic)}
        if not names or self._has_checked_ids:
            return
        topics = self._cluster.topics(names, deadline)
        self._has_checked_ids = True
        now = {
            tp: each._replace(topic=topics.get(each.topic.name, each.topic))
            for tp, each in self._waiting.items()
        }
        self._waiting = {tp: each for tp, each in now.items() if not each.has_another_id}

    def _request(self, version: int) -> FetchRequest:
        config = self._cluster.config
        limit = max(1, config.max_response_bytes - len(self._asked) * OVERHEAD_BYTES)
        max_bytes = min(max(_MAX_BYTES, config.max_partition_fetch_bytes), limit)
        wanted = [
            WantedPartition(
                each.range.rest.topic_partition,
                each.range.rest.from_offset,
                each.range.epoch,
                min(self._sizes[each.topic.name].for_offsets(each.range.rest.size), max_bytes),
                each.leader,
                each.topic,
            )
            for each in self._asked
        ]
        limits = FetchLimits(max_bytes, _MAX_WAIT_MS)
        return fetch_request(wanted, limits, config, version, config.client_rack)

    # --- Responses -------------------------------------------------------------------------------

    def _take_all(self, response: FetchResponse) -> None:
        """Hold the batches of a response, and leave the ranges that are done or need attention."""
        received = {
            (topic.topic or topic.topic_id, data.partition_index): data
            for topic in response.responses
            for data in topic.partitions
        }
        unfinished: list[TopicPartition] = []
        has_progress = False
        for each in self._asked:
            rest, topic = each.range.rest, each.topic
            tp = rest.topic_partition
            data = received.get((topic.name, tp.partition)) or received.get(
                (topic.topic_id, tp.partition)
            )
            taken = self._taken(each, data)
            if taken is None:
                del self._waiting[tp]
                continue
            if taken.position > rest.from_offset:
                has_progress = True
                self._sizes[topic.name].note(taken, rest.from_offset)
                each.range.rest = rest._replace(from_offset=taken.position)
                each.range.epoch = taken.epoch
                if data and taken.batches:
                    self._held.add(Fetched(rest, taken.batches), len(data.records or b""))
            if each.range.is_done:
                del self._waiting[tp]
            else:
                unfinished.append(tp)
        if not has_progress:
            # The limit of bytes explains why some have no records, but not why all lack them.
            for tp in unfinished:
                del self._waiting[tp]

    def _taken(self, led: _Led, data: PartitionData | None) -> TakenBatches | None:
        """The batches of a partition; None if its range has to be read alone."""
        rest = led.range.rest
        if data is None:
            return None
        if data.error_code:
            error = BrokerError(data.error_code, "Fetch")
            self._cluster.forget_if_stale(error, rest.topic_partition.topic)
            return None
        if led.replica.follow(data.preferred_read_replica, self._node_id):
            self._redirected[data.preferred_read_replica].append(led)
            return None
        if data.diverging_epoch.end_offset >= 0:
            return None
        try:
            taken = self._take(data, rest, check_crcs=self._cluster.config.check_crcs)
        except CorruptRecordError:
            return None
        has_older_only = not taken.is_empty and taken.position <= rest.from_offset
        return None if has_older_only else taken

    def _leave_all(self, error: KafkaError) -> None:
        for each in self._waiting.values():
            self._cluster.forget_if_stale(error, each.topic.name)
        self._waiting.clear()
