"""A simulated and a real broker behind one face, and their answers in one form.

Ids, addresses and times differ from broker to broker: here they are replaced by what they stand
for, in the order in which they first appear.
"""

from __future__ import annotations

import socket
import time as real_time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar, cast

from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.records.batch import BatchHeader, read_batches
from kafka_protocol.records.record import decode_records
from kafka_protocol.versions.connection import Connection
from kafka_protocol.wire.primitives import ZERO_UUID
from kafka_protocol.wire.schema import Request, Response, Struct
from tests.simulation.kafka.cluster import SimulatedCluster
from tests.simulation.kafka.handlers.table import HANDLERS
from tests.simulation.kafka.world import START_MS, Client, VirtualTime

R = TypeVar("R", bound=Response)

CLOSED: Final = "the broker closed the connection"

# What is not compared, and why.
LEFT_OUT: Final[Mapping[str, str]] = {
    "cluster_id": "each cluster has its own",
    "host": "an address",
    "port": "an address",
    "throttle_time_ms": "a real broker is busy with other tests",
    "error_message": "words for people; the simulated ones are shorter",
    "batch_index_error_message": "words for people",
    "coordinator_epoch": "the epoch of the leader of an internal topic, which other tests use too",
    "transaction_start_time_ms": "a time",
    "last_timestamp": "a time: that of a marker",
    "finalized_features": "the client uses none; the simulated brokers tell transaction.version",
    "finalized_features_epoch": "as finalized_features",
    "supported_features": "as finalized_features",
}
# The APIs that simulated brokers have; real ones have more.
_HANDLED: Final = frozenset(kind.api_key for kind in HANDLERS)
_YEAR_MS: Final = 365 * 86_400_000
# Lists in no order, and what they are sorted by here.
_SORTED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "configs": lambda config: config.name,
    "results_by_partition": lambda result: result.partition_index,
    "partitions": lambda row: getattr(row, "partition_index", 0) if row else 0,
    "api_keys": lambda found: found.api_key,
    "active_producers": lambda producer: (producer.producer_epoch, producer.last_sequence),
}
_NODES: Final = frozenset({"node_id", "leader_id", "controller_id"})
_PRODUCERS: Final = "producer_id"
_TIMES: Final = frozenset({"log_append_time_ms"})


class Peer(Protocol):
    """One broker, as scripts see it."""

    def ask(self, request: Request, kind: type[R], version: int | None = None) -> R | None:
        """Send a request, note the answer; None if the broker closed the connection."""

    def pause(self, ms: float) -> None:
        """Let time pass."""

    @property
    def notes(self) -> Notes:
        """The answers so far."""


class Notes:
    """What a broker answered, in a form that can be compared."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, Any]] = []
        self._numbers: dict[tuple[str, Any], str] = {}

    def add(self, label: str, answer: Response | None) -> None:
        self.answers.append((label, CLOSED if answer is None else self._plain(answer)))

    def _plain(self, value: Any, name: str = "") -> Any:
        if isinstance(value, Struct):
            fields = ((f.name, getattr(value, f.name)) for f in value.__fields__)
            return {k: self._plain(v, k) for k, v in fields if k not in LEFT_OUT}
        if name == "records" and value is not None:
            return [self._batch(batch) for batch in read_batches(memoryview(value))]
        if isinstance(value, list):
            rows = sorted(value, key=_SORTED[name]) if name in _SORTED else value
            if name == "api_keys":
                rows = [row for row in rows if row.api_key in _HANDLED]
            return [self._plain(each, name) for each in rows]
        return self._plain_value(value, name)

    def _plain_value(self, value: Any, name: str) -> Any:
        if isinstance(value, uuid.UUID):
            return value if value == ZERO_UUID else self._number("topic id", value)
        if name in _TIMES:
            return "a time" if value > 0 else value
        if name == _PRODUCERS and value >= 0:
            return self._number("producer", value)
        if name in _NODES or name.endswith(("_nodes", "_replicas")):
            return value if value < 0 else "a node"
        return value

    def _number(self, kind: str, value: Any) -> str:
        count = sum(known == kind for known, _ in self._numbers)
        return self._numbers.setdefault((kind, value), f"{kind} {count + 1}")

    def _batch(self, batch: Any) -> Any:
        header = batch.header
        records = [tuple(record) for record in decode_records(batch)]
        if not isinstance(header, BatchHeader):
            return records
        if header.is_control:
            records = [(offset, key) for offset, _, key, _, _ in records]
        producer = self._plain(header.producer_id, _PRODUCERS)
        place = (header.base_offset, header.next_offset, header.partition_leader_epoch)
        rest = (header.producer_epoch, header.base_sequence, header.attributes)
        return [place, producer, rest, records]


class SimulatedPeer:
    """A simulated broker, by default the only one of its cluster."""

    def __init__(
        self,
        release: str,
        node: int = 1,
        cluster: SimulatedCluster | None = None,
        notes: Notes | None = None,
    ) -> None:
        self.notes = notes or Notes()
        self._cluster = cluster or simulated_cluster(1, release)
        self._time = cast("VirtualTime", self._cluster.scheduler)
        self._node = node
        self._client = Client(self._cluster, self._time, node)

    def ask(self, request: Request, kind: type[R], version: int | None = None) -> R | None:
        if self._client.is_closed:
            self._client = Client(self._cluster, self._time, self._node)
        version = kind.versions.highest if version is None else version
        count = len(self._client.responses)
        self._client.send(request, version)
        self._time.run_until(
            lambda: len(self._client.responses) > count or self._client.is_closed, 20_000
        )
        answer: Any = self._client.responses[count] if not self._client.is_closed else None
        self.notes.add(f"{kind.api_name} v{version}", answer)
        return cast("R | None", answer)

    def pause(self, ms: float) -> None:
        self._time.run(ms)


def simulated_cluster(nodes: int, release: str) -> SimulatedCluster:
    # The records of scripts are older than segment.ms, as for a real broker.
    time = VirtualTime(start_ms=START_MS + _YEAR_MS)
    return SimulatedCluster(time, nodes=nodes, release=release)


class RealPeer:
    """A real broker, over one connection at a time."""

    def __init__(self, address: str, notes: Notes | None = None) -> None:
        self.notes = notes or Notes()
        host, _, port = address.rpartition(":")
        self._address = (host, int(port))
        self._socket: socket.socket | None = None
        self._protocol = Connection("tests")

    def ask(self, request: Request, kind: type[R], version: int | None = None) -> R | None:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, timeout=20)
            self._protocol = Connection("tests")
        version = kind.versions.highest if version is None else version
        self._socket.sendall(b"".join(self._protocol.send(request, version=version)))
        answer: Any = self._receive()
        self.notes.add(f"{kind.api_name} v{version}", answer)
        return cast("R | None", answer)

    def _receive(self) -> Response | None:
        assert self._socket is not None
        while (response := self._protocol.next_response()) is None:
            try:
                data = self._socket.recv(65_536)
            except ConnectionResetError:
                data = b""
            if not data:
                self.close()
                return None
            self._protocol.receive_data(data)
        return response

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def pause(self, ms: float) -> None:
        real_time.sleep(ms / 1000)


@contextmanager
def real_peer(bootstrap_servers: str) -> Iterator[RealPeer]:
    peer = RealPeer(bootstrap_servers)
    try:
        yield peer
    finally:
        peer.close()


_TRIES: Final = 500
_PAUSE_MS: Final = 20


def ask_until(
    peer: Peer,
    request: Request,
    kind: type[R],
    is_settled: Callable[[R], bool],
    version: int | None = None,
) -> R:
    """Ask until an answer is as it will stay; only that one is compared."""
    for _ in range(_TRIES):
        count = len(peer.notes.answers)
        answer = peer.ask(request, kind, version)
        assert answer is not None, f"closed on {request}"
        if is_settled(answer):
            return answer
        del peer.notes.answers[count:]
        peer.pause(_PAUSE_MS)
    raise AssertionError(f"no settled answer to {request}: {answer}")


def topic_id_of(peer: Peer, name: str) -> uuid.UUID:
    """The id of a topic; the answer is compared as all are."""
    wanted = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name)])
    wanted.allow_auto_topic_creation = False
    response = peer.ask(wanted, MetadataResponse)
    assert response is not None
    return response.topics[0].topic_id
