"""The producer's options: their values, and how they depend on each other, as in Java."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.config.java_names import PRODUCER_WITHOUT_EFFECT
from kafka_protocol.client.config.option import declared_in
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.records.compression import Compression, CompressionCodec

SERVERS = {"bootstrap.servers": "localhost:9092"}
LARGEST = 2**31 - 1

# The numeric options, with their lowest and highest value.
NUMBERS = {
    "batch.size": (1, LARGEST),
    "compression.gzip.level": (-1, 9),
    "compression.lz4.level": (1, 17),
    "compression.zstd.level": (-131072, 22),
    "delivery.timeout.ms": (1, LARGEST),
    "max.block.ms": (1, LARGEST),
    "max.in.flight.requests.per.connection": (1, LARGEST),
    "max.request.size": (1, LARGEST),
    "retries": (0, LARGEST),
    "transaction.timeout.ms": (1, LARGEST),
}


def config_of(options: Mapping[str, str]) -> ClientConfig:
    return ClientConfig.from_options(SERVERS | dict(options))


def value_of(name: str, options: Mapping[str, str]) -> object:
    return getattr(config_of(options), declared_in(ClientConfig)[name])


def test_defaults_that_differ_from_java() -> None:
    assert value_of("max.request.size", {}) == 16 * 1024 * 1024
    assert value_of("batch.size", {}) == 1_000_000


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_at_their_bounds(name: str) -> None:
    lowest, highest = NUMBERS[name]
    # Options that would contradict the bounds.
    others = {"request.timeout.ms": "1", "max.request.size": str(LARGEST)}
    others |= {"enable.idempotence": "false"}
    assert value_of(name, others | {name: f" {lowest} "}) == lowest
    assert value_of(name, others | {name: str(highest)}) == highest
    for beyond in (lowest - 1, highest + 1, -(10**11), 10**11):
        with pytest.raises(
            KafkaConfigError,
            match=rf"^Option 'kafka\.{name}' has the value '{beyond}': it must be .*{highest}$",
        ):
            config_of({name: str(beyond)})


def test_gzip_level_0_is_refused() -> None:
    with pytest.raises(KafkaConfigError, match=r"gzip\.level' has the value '0': .* 1 to 9, or -1"):
        config_of({"compression.gzip.level": "0"})


@pytest.mark.parametrize(
    ("options", "compression"),
    [
        ({}, (CompressionCodec.NONE, None)),
        ({"compression.type": "snappy"}, (CompressionCodec.SNAPPY, None)),
        ({"compression.type": "GZIP"}, (CompressionCodec.GZIP, -1)),
        ({"compression.type": " gzip", "compression.gzip.level": "9"}, (CompressionCodec.GZIP, 9)),
        ({"compression.type": "lz4"}, (CompressionCodec.LZ4, None)),
        ({"compression.type": "lz4", "compression.lz4.level": "8"}, (CompressionCodec.LZ4, 8)),
        # Java's default level means the fast method, even if it is given.
        ({"compression.type": "lz4", "compression.lz4.level": "9"}, (CompressionCodec.LZ4, None)),
        ({"compression.type": "zstd"}, (CompressionCodec.ZSTD, 3)),
        ({"compression.type": "zstd", "compression.zstd.level": "-5"}, (CompressionCodec.ZSTD, -5)),
        # The level of another codec.
        ({"compression.type": "zstd", "compression.gzip.level": "9"}, (CompressionCodec.ZSTD, 3)),
        ({"compression.gzip.level": "9"}, (CompressionCodec.NONE, None)),
    ],
    ids=lambda value: ",".join(map(str, value)) or "default",
)
def test_codec_and_level_together(
    options: dict[str, str], compression: tuple[CompressionCodec, int | None]
) -> None:
    assert config_of(options).compression == Compression(*compression)


@pytest.mark.parametrize(
    ("text", "acks"), [("all", -1), (" ALL ", -1), ("-1", -1), (" 1", 1), ("1", 1)]
)
def test_acks(text: str, acks: int) -> None:
    assert config_of({"acks": text}).acks == acks


@pytest.mark.parametrize(
    "text", ["", " ", "2", "-2", "+1", "01", "1.0", "none", "leader", "9" * 99]
)
def test_unknown_acks(text: str) -> None:
    with pytest.raises(KafkaConfigError) as caught:
        config_of({"acks": text})
    expected = "it must be all, -1 or 1"
    assert str(caught.value) == f"Option 'kafka.acks' has the value {text!r}: {expected}"


def test_acks_0_is_refused_with_the_reason() -> None:
    with pytest.raises(
        KafkaConfigError, match=r"'0': .* whether a record was written; it must be all, -1 or 1$"
    ):
        config_of({"acks": "0"})


@given(
    idempotence=st.sampled_from([None, "true", "false"]),
    acks=st.sampled_from([None, "all", "-1", "1"]),
    retries=st.sampled_from([None, "0", "1", "5"]),
    in_flight=st.sampled_from([None, "1", "5", "6", "100"]),
)
def test_idempotence_and_the_options_it_needs(
    idempotence: str | None, acks: str | None, retries: str | None, in_flight: str | None
) -> None:
    options = {
        "enable.idempotence": idempotence,
        "acks": acks,
        "retries": retries,
        "max.in.flight.requests.per.connection": in_flight,
    }
    given = {name: text for name, text in options.items() if text is not None}
    is_possible = acks != "1" and retries != "0" and in_flight not in ("6", "100")
    if idempotence == "true" and not is_possible:
        with pytest.raises(KafkaConfigError, match=r"^Option 'kafka\.enable\.idempotence' needs "):
            config_of(given)
    else:
        is_enabled = is_possible and idempotence != "false"
        assert config_of(given).enable_idempotence is is_enabled


def test_the_error_names_all_that_idempotence_needs() -> None:
    with pytest.raises(
        KafkaConfigError,
        match=r"needs kafka\.acks=all and kafka\.retries of at least 1 and "
        r"kafka\.max\.in\.flight\.requests\.per\.connection of at most 5: ",
    ):
        config_of(
            {
                "enable.idempotence": "true",
                "acks": "1",
                "retries": "0",
                "max.in.flight.requests.per.connection": "6",
            }
        )


def test_idempotence_is_turned_off_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert config_of({"acks": "1", "retries": "0"}).enable_idempotence is False
    (line,) = caplog.messages
    assert "kafka.enable.idempotence is off" in line
    assert "kafka.acks=all and kafka.retries" in line


@pytest.mark.parametrize(
    "options", [{}, {"enable.idempotence": "false", "acks": "1"}, {"enable.idempotence": "true"}]
)
def test_idempotence_as_given_or_as_default_is_not_logged(
    options: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    config_of(options)
    assert caplog.messages == []


def test_delivery_timeout_is_not_below_the_request_timeout() -> None:
    with pytest.raises(
        KafkaConfigError,
        match=r"^Option 'kafka\.delivery\.timeout\.ms' \(29999\) must not be below "
        r"'kafka\.request\.timeout\.ms' \(30000\)",
    ):
        config_of({"delivery.timeout.ms": "29999"})
    both = {"delivery.timeout.ms": "500", "request.timeout.ms": "500"}
    assert config_of(both).delivery_timeout_ms == 500


def test_default_delivery_timeout_grows_with_the_request_timeout() -> None:
    assert config_of({"request.timeout.ms": "180000"}).delivery_timeout_ms == 180_000


def test_no_batch_is_larger_than_a_request() -> None:
    assert config_of({"max.request.size": "1000"}).batch_bytes == 1000
    assert config_of({"batch.size": "999", "max.request.size": "1000"}).batch_bytes == 999


@pytest.mark.parametrize("name", ["transactional.id", "transaction.two.phase.commit.enable"])
def test_transactions_need_the_option_delivery_guarantee(name: str) -> None:
    with pytest.raises(
        KafkaConfigError,
        match=rf"^Option 'kafka\.{name}' is not supported: .*deliveryGuarantee=exactly_once",
    ):
        config_of({name: "true"})


@pytest.mark.parametrize("name", sorted(PRODUCER_WITHOUT_EFFECT))
def test_options_without_effect(name: str, caplog: pytest.LogCaptureFixture) -> None:
    assert config_of({name: "anything"}) == config_of({})
    assert caplog.messages == [f"The option kafka.{name} has no effect in pykafka."]
