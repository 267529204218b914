"""The error table, compared with Kafka's own, and the texts of the exceptions."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import NamedTuple

import pytest

from kafka_protocol.errors import (
    BrokerConnectionError,
    BrokerError,
    CorruptRecordError,
    DataLossError,
    DecodeError,
    EncodeError,
    ErrorCode,
    KafkaConfigError,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
    Refresh,
)
from kafka_protocol.topic_partition import TopicPartition
from tests.protocol.kafka_jar import CURRENT, KafkaJar


class JavaError(NamedTuple):
    """One line of ErrorTable.java."""

    code: int
    name: str
    is_retriable: bool
    is_invalid_metadata: bool
    is_refresh_retriable: bool


@pytest.fixture(scope="session")
def java_errors(kafka_jar: Callable[[str], KafkaJar]) -> list[JavaError]:
    rows = [line.split() for line in kafka_jar(CURRENT).run("ErrorTable.java").splitlines()]
    return [
        JavaError(int(code), name, *(flag == "true" for flag in flags))
        for code, name, *flags in rows
    ]


def test_codes_and_names_equal_kafkas(java_errors: list[JavaError]) -> None:
    assert {int(error): error.name for error in ErrorCode} == {e.code: e.name for e in java_errors}


def test_retriable_errors_equal_kafkas(java_errors: list[JavaError]) -> None:
    ours = {error.name for error in ErrorCode if error.retriable}
    assert ours == {e.name for e in java_errors if e.is_retriable}


def test_metadata_refreshing_errors_equal_kafkas(java_errors: list[JavaError]) -> None:
    ours = {error.name for error in ErrorCode if error.refresh is Refresh.METADATA}
    assert ours == {e.name for e in java_errors if e.is_invalid_metadata}


def test_coordinator_refreshing_errors_equal_kafkas(java_errors: list[JavaError]) -> None:
    ours = {error.name for error in ErrorCode if error.refresh is Refresh.COORDINATOR}
    theirs = {e.name for e in java_errors if e.is_refresh_retriable and not e.is_invalid_metadata}
    assert ours == theirs


def test_only_not_controller_refreshes_the_controller() -> None:
    ours = [error for error in ErrorCode if error.refresh is Refresh.CONTROLLER]
    assert ours == [ErrorCode.NOT_CONTROLLER]


@pytest.mark.parametrize("code", [-2, 137, 32767])
def test_fault_14_unknown_code_counts_as_unknown_server_error(code: int) -> None:
    assert ErrorCode.lookup(code) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_lookup_of_every_known_code() -> None:
    assert [ErrorCode.lookup(int(error)) for error in ErrorCode] == list(ErrorCode)


# --- Broker errors -----------------------------------------------------------------------------


def test_broker_error_names_code_context_and_explanation() -> None:
    error = BrokerError(87, "Produce to orders-3 on broker 1", "null key")
    assert str(error) == (
        "Produce to orders-3 on broker 1: the broker answered INVALID_RECORD (87): null key "
        "(for example, a compacted topic rejects records without a key)"
    )
    assert not error.retriable


def test_broker_error_without_explanation_or_advice() -> None:
    error = BrokerError(6, "Fetch of orders-3")
    assert str(error) == "Fetch of orders-3: the broker answered NOT_LEADER_OR_FOLLOWER (6)"
    assert error.retriable


def test_fault_14_unknown_code_is_kept_in_the_exception() -> None:
    error = BrokerError(9999, "Fetch of orders-3")
    assert error.code == 9999
    assert error.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert str(error) == (
        "Fetch of orders-3: the broker answered an error this client does not know (9999)"
    )
    assert not error.retriable


def test_code_minus_one_is_a_known_error() -> None:
    assert "UNKNOWN_SERVER_ERROR (-1)" in str(BrokerError(-1, "Fetch"))


# --- The other exceptions ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (CorruptRecordError("bad CRC"), "Corrupt record batch: bad CRC"),
        (CorruptRecordError("bad CRC", offset=0), "Corrupt record batch at offset 0: bad CRC"),
        (
            CorruptRecordError("bad CRC", offset=7, topic_partition=TopicPartition("orders", 3)),
            "Corrupt record batch of orders-3 at offset 7: bad CRC",
        ),
    ],
)
def test_corrupt_record_error_names_partition_and_offset(
    error: CorruptRecordError, text: str
) -> None:
    assert str(error) == text


def test_corrupt_record_error_can_be_completed_by_the_caller() -> None:
    error = CorruptRecordError("bad CRC", offset=7)
    error.topic_partition = TopicPartition("orders", 3)
    assert str(error) == "Corrupt record batch of orders-3 at offset 7: bad CRC"


def test_data_loss_error_names_condition_and_remedy() -> None:
    error = DataLossError("COULD_NOT_READ_OFFSET_RANGE", "orders-3 lost offsets 5 to 9.")
    text = str(error)
    assert text.startswith(
        "[KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE] orders-3 lost offsets 5 to 9. "
    )
    assert "set the option failOnDataLoss to false" in text


@pytest.mark.parametrize(
    "error",
    [
        BrokerError(9999, "Fetch of orders-3", "why"),
        CorruptRecordError("bad CRC", offset=7, topic_partition=TopicPartition("orders", 3)),
        DataLossError("PARTITIONS_DELETED", "orders-3 is gone."),
    ],
)
def test_errors_can_be_pickled(error: KafkaError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


@pytest.mark.parametrize(
    ("subclass", "base"),
    [
        (KafkaConfigError, ValueError),
        (EncodeError, ValueError),
        (DecodeError, ProtocolError),
        (CorruptRecordError, ProtocolError),
        (KafkaTimeoutError, TimeoutError),
    ],
)
def test_type_of_an_error_names_the_cause(
    subclass: type[KafkaError], base: type[Exception]
) -> None:
    assert issubclass(subclass, base)
    assert issubclass(subclass, KafkaError)


def test_only_network_errors_and_timeouts_are_retriable() -> None:
    assert BrokerConnectionError("").retriable
    assert KafkaTimeoutError("").retriable
    assert not ProtocolError("").retriable


def test_text_of_a_topic_partition() -> None:
    assert str(TopicPartition("my-topic", 12)) == "my-topic-12"
