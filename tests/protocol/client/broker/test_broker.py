"""One connection brought up, against a scripted broker and strangers on the port."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TypeAlias

import pytest

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.client import Address, ClientConfig
from kafka_protocol.errors import (
    BrokerConnectionError,
    BrokerError,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
    UnsupportedVersionError,
)
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.schema import Request, VersionRange
from tests.fakes.broker import Close, Handler, ScriptedBroker, encode_response, versions_of

SOON = 5_000


def config(**options: object) -> ClientConfig:
    base = ClientConfig(bootstrap_servers=(Address("localhost", 1),))
    return replace(base, **options)  # type: ignore[arg-type]


BringUp: TypeAlias = Callable[..., Broker]


@pytest.fixture
def bring_up() -> Iterator[BringUp]:
    """Makes brokers, and closes them behind the test."""
    with ExitStack() as brokers:

        def make(address: Address, **options: object) -> Broker:
            broker = Broker(address, 7, config(**options), Deadline.after(SOON))
            brokers.callback(broker.close)
            return broker

        yield make


def metadata(broker: Broker, needed: VersionRange | None = None) -> MetadataResponse:
    return broker.request(
        MetadataRequest(topics=[]), MetadataResponse, Deadline.after(SOON), needed
    )


CLUSTER = MetadataResponse(cluster_id="c")


@contextmanager
def stranger(reply: bytes) -> Iterator[Address]:
    """Something that is no broker: says its piece to whoever connects, then closes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            sock, _ = listener.accept()
            with sock:
                sock.recv(4096)
                sock.sendall(reply)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Address("127.0.0.1", listener.getsockname()[1])
        thread.join(timeout=10)


def test_brings_up_and_asks(bring_up: BringUp) -> None:
    with ScriptedBroker({MetadataRequest: lambda _r, _v: CLUSTER}) as fake:
        broker = bring_up(fake.address)
        assert metadata(broker).cluster_id == "c"
        assert [version for _, version in fake.requests] == [4, 13]
        software = fake.requests[0][0]
        assert isinstance(software, ApiVersionsRequest)
        assert software.client_software_name == "pyspark-pykafka"
        assert str(broker) == f"broker 7 ({fake.address})"
        assert "open" in repr(broker)
        broker.close()
        broker.close()
        assert "closed" in repr(broker)


def test_needed_versions_narrow_the_choice(bring_up: BringUp) -> None:
    with ScriptedBroker({MetadataRequest: lambda _r, _v: CLUSTER}) as fake:
        broker = bring_up(fake.address)
        metadata(broker, VersionRange(4, 8))
        assert fake.requests[-1][1] == 8
        with pytest.raises(UnsupportedVersionError, match=r"^broker 7 .*no common version"):
            metadata(broker, VersionRange(14, 20))
        assert metadata(broker).cluster_id == "c", "nothing was sent, so nothing is out of step"


def test_fault_11_steps_down_to_what_the_broker_names(bring_up: BringUp) -> None:
    def answer(_request: ApiVersionsRequest, version: int) -> ApiVersionsResponse:
        refusal = versions_of(highest=2)
        if version > 2:
            refusal.error_code = 35
        return refusal

    with ScriptedBroker({ApiVersionsRequest: answer}) as fake:
        bring_up(fake.address)
        assert [version for _, version in fake.requests] == [4, 2]


def test_fault_11_a_broker_that_never_agrees_is_left_soon(bring_up: BringUp) -> None:
    answer = ApiVersionsResponse(error_code=35)
    with ScriptedBroker({ApiVersionsRequest: lambda _r, _v: answer}) as fake:
        with pytest.raises(BrokerError, match=r"ApiVersions v0.*UNSUPPORTED_VERSION"):
            bring_up(fake.address)
        assert [version for _, version in fake.requests] == [4, 0]
        assert fake.connections == 1


# --- Brokers that do not answer ApiVersions -----------------------------------------------------


def close(_request: Request, _version: int) -> None:
    raise Close


def silent(_request: Request, _version: int) -> None:
    return None


def empty_list(_request: ListOffsetsRequest, _version: int) -> ListOffsetsResponse:
    return ListOffsetsResponse()


QUICK = 200  # ms of patience with a silent broker


@pytest.mark.parametrize("refuse", [close, silent])
def test_fault_11_an_old_broker_is_proven_old_before_anything_is_assumed(
    bring_up: BringUp, refuse: Callable[[Request, int], None]
) -> None:
    handlers = {ApiVersionsRequest: refuse, ListOffsetsRequest: empty_list}
    with ScriptedBroker(handlers) as fake:
        broker = bring_up(fake.address, api_version_request_timeout_ms=QUICK)
        assert broker.versions.range_of(ListOffsetsRequest) == VersionRange(0, 0)
        assert fake.connections <= 3, "no storm"
        with pytest.raises(
            UnsupportedVersionError,
            match=r"needs 4-13, the broker offers 0 \(assumed of Kafka 0.8.2.*Kafka 0.11 or newer",
        ):
            metadata(broker, VersionRange(4, 13))
        assert not broker.is_closed, "nothing was sent"


def test_fault_11_the_fallback_is_an_option(bring_up: BringUp) -> None:
    handlers = {ApiVersionsRequest: close, ListOffsetsRequest: empty_list}
    with ScriptedBroker(handlers) as fake:
        assumed = bring_up(fake.address, broker_version_fallback="0.9.0.1").versions
        assert assumed.range_of(FetchRequest) == VersionRange(0, 1)
        with pytest.raises(BrokerConnectionError, match="closed the connection"):
            bring_up(fake.address, broker_version_fallback="0.10.0")


def test_fault_11_a_broker_that_need_not_be_asked(bring_up: BringUp) -> None:
    with ScriptedBroker({ListOffsetsRequest: empty_list}) as fake:
        versions = bring_up(fake.address, api_version_request=False).versions
        assert versions.range_of(ListOffsetsRequest) == VersionRange(0, 0)
        assert not fake.requests


def test_fault_11_a_newer_broker_that_restarts_is_not_taken_for_an_old_one(
    bring_up: BringUp,
) -> None:
    def close_once(_request: ApiVersionsRequest, _version: int) -> ApiVersionsResponse:
        if fake.connections == 1:
            raise Close
        return versions_of(MetadataRequest, ListOffsetsRequest)

    handlers: dict[type[Request], Handler] = {
        ApiVersionsRequest: close_once,
        ListOffsetsRequest: empty_list,
        MetadataRequest: lambda _r, _v: CLUSTER,
    }
    with ScriptedBroker(handlers) as fake:
        broker = bring_up(fake.address)
        assert broker.versions.range_of(MetadataRequest) == MetadataRequest.versions
        assert metadata(broker).cluster_id == "c"


@pytest.mark.parametrize("old_request", [empty_list, close])
def test_fault_11_a_newer_broker_that_is_late_is_not_taken_for_an_old_one(
    bring_up: BringUp, old_request: Callable[[ListOffsetsRequest, int], ListOffsetsResponse | None]
) -> None:
    asked = threading.Event()

    def late(_request: ApiVersionsRequest, _version: int) -> ApiVersionsResponse:
        assert asked.wait(SOON / 1000), "the old request did not come"
        return versions_of(MetadataRequest, ListOffsetsRequest)

    def probed(request: ListOffsetsRequest, version: int) -> ListOffsetsResponse | None:
        asked.set()
        return old_request(request, version)

    handlers: dict[type[Request], Handler] = {
        ApiVersionsRequest: late,
        ListOffsetsRequest: probed,
        MetadataRequest: lambda _r, _v: CLUSTER,
    }
    with ScriptedBroker(handlers) as fake:
        broker = bring_up(fake.address, api_version_request_timeout_ms=QUICK)
        assert broker.versions.range_of(MetadataRequest) == MetadataRequest.versions
        assert metadata(broker).cluster_id == "c"


def test_fault_11_a_broker_that_closes_on_everything_is_left_soon(bring_up: BringUp) -> None:
    with ScriptedBroker({ApiVersionsRequest: close, ListOffsetsRequest: close}) as fake:
        with pytest.raises(BrokerConnectionError, match="on ApiVersions as well as on an old"):
            bring_up(fake.address)
        fake.wait_for_connections(2)


def test_fault_05_a_broker_that_is_silent_on_everything(bring_up: BringUp) -> None:
    with ScriptedBroker({ApiVersionsRequest: silent, ListOffsetsRequest: silent}) as fake:
        with pytest.raises(KafkaTimeoutError, match=r"^ApiVersions to .* no answer within \d+ ms"):
            Broker(fake.address, 7, config(), Deadline.after(500))


@pytest.mark.parametrize(
    ("reply", "hint"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "an HTTP server answered; is the port right"),
        (b"\x15\x03\x01\x00\x02\x02\x16", "speaks TLS; set kafka.security.protocol"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "an SSH server answered"),
        (struct.pack(">i", -1), "frame of -1 bytes"),
        (struct.pack(">i", 3), "frame of 3 bytes"),
        (struct.pack(">i", 2**31 - 1), "frame of 2147483647 bytes"),
    ],
)
def test_fault_03_and_09_strangers_are_recognised(
    bring_up: BringUp, reply: bytes, hint: str
) -> None:
    with stranger(reply) as address, pytest.raises(ProtocolError, match=hint) as caught:
        bring_up(address)
    assert f"broker 7 ({address})" in str(caught.value)


def test_fault_04_connection_cut_at_every_byte_of_an_answer(bring_up: BringUp) -> None:
    whole = encode_response(CLUSTER, 13, 1)
    for end in range(len(whole)):

        def cut(_request: MetadataRequest, _version: int, end: int = end) -> None:
            raise Close(whole[:end])

        with ScriptedBroker({MetadataRequest: cut}) as fake:
            broker = bring_up(fake.address)
            with pytest.raises(BrokerConnectionError, match=r"^Metadata to broker 7 "):
                metadata(broker)
            assert broker.is_closed


def test_fault_05_a_silent_broker_costs_one_request_timeout(bring_up: BringUp) -> None:
    with ScriptedBroker({MetadataRequest: lambda _r, _v: None}) as fake:
        broker = bring_up(fake.address, request_timeout_ms=100)
        with pytest.raises(
            KafkaTimeoutError, match=r"Metadata to broker 7 .*no answer within 1?\d\d"
        ):
            metadata(broker)
        assert broker.is_closed


def test_fault_08_wrong_correlation_id_closes_the_connection(bring_up: BringUp) -> None:
    wrong = encode_response(CLUSTER, 13, 12345)
    with ScriptedBroker({MetadataRequest: lambda _r, _v: wrong}) as fake:
        broker = bring_up(fake.address)
        with pytest.raises(ProtocolError, match="correlation id 12345, and 1 "):
            metadata(broker)
        assert broker.is_closed


def test_fault_08_an_answer_too_many(bring_up: BringUp) -> None:
    whole = encode_response(CLUSTER, 13, 1)
    with ScriptedBroker({MetadataRequest: lambda _r, _v: whole * 2}) as fake:
        broker = bring_up(fake.address)
        metadata(broker)
        with pytest.raises(ProtocolError):
            metadata(broker)
        assert broker.is_closed


def test_fault_14_garbage_in_a_frame(bring_up: BringUp) -> None:
    frame = struct.pack(">ii", 9, 1) + b"\xff" * 5
    with ScriptedBroker({MetadataRequest: lambda _r, _v: frame}) as fake:
        broker = bring_up(fake.address)
        with pytest.raises(KafkaError, match=r"^Metadata to broker 7 "):
            metadata(broker)


def test_nobody_there(bring_up: BringUp) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = Address("127.0.0.1", listener.getsockname()[1])
    with pytest.raises(BrokerConnectionError, match=rf"^{address}: connection refused$"):
        bring_up(address)


def test_name_that_does_not_resolve(bring_up: BringUp) -> None:
    with pytest.raises(BrokerConnectionError, match="host name cannot be resolved"):
        bring_up(Address("no-such-host.invalid", 9092))
