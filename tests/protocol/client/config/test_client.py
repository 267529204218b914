"""The kafka.* options: accepted values, refused values, and error texts."""

from __future__ import annotations

import logging

import pytest

from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.config.java_names import REFUSED
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.records.compression import CompressionCodec
from tests.secret_check import PASSWORD

SERVERS = {"bootstrap.servers": "localhost:9092"}


def config_of(**options: str) -> ClientConfig:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return ClientConfig.from_options(SERVERS | named)


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("a:1", [("a", 1)]),
        (" a:1 , b.example:65535,", [("a", 1), ("b.example", 65535)]),
        ("[::1]:9092", [("::1", 9092)]),
        ("PLAINTEXT://a:1", [("a", 1)]),
    ],
    ids=["one", "two", "IPv6", "listener"],
)
def test_bootstrap_servers(text: str, addresses: list[tuple[str, int]]) -> None:
    config = ClientConfig.from_options({"bootstrap.servers": text})
    assert config.bootstrap_servers == tuple(Address(*pair) for pair in addresses)


@pytest.mark.parametrize(
    "text", ["", " , ", "a", "a:", ":1", "a:0", "a:65536", "a:b", "a b:1", "::1:9"]
)
def test_bootstrap_servers_refused(text: str) -> None:
    with pytest.raises(
        KafkaConfigError, match=r"^Option 'kafka\.bootstrap\.servers' has the value"
    ):
        ClientConfig.from_options({"bootstrap.servers": text})


def test_bootstrap_servers_missing() -> None:
    with pytest.raises(KafkaConfigError, match=r"'kafka\.bootstrap\.servers' must be specified"):
        ClientConfig.from_options({})


def test_str_of_addresses() -> None:
    assert [str(Address("a", 1)), str(Address("::1", 2))] == ["a:1", "[::1]:2"]


def test_values_are_typed() -> None:
    config = config_of(
        request_timeout_ms=" 5 ", check_crcs="FALSE", compression_type="Lz4", acks="-1"
    )
    assert config.request_timeout_ms == 5
    assert config.check_crcs is False
    assert config.compression_type is CompressionCodec.LZ4
    assert config.acks == -1


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("request.timeout.ms", "soon", "a whole number from 1 to"),
        ("request.timeout.ms", "0", "from 1 to"),
        ("check.crcs", "yes", "true or false"),
        ("compression.type", "brotli", "one of none, gzip, snappy, lz4, zstd"),
        ("security.protocol", "TLS", "must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ("isolation.level", "serializable", "must be one of read_uncommitted, read_committed"),
        ("broker.version.fallback", "0.8.1", "older than 0.8.2 are not supported"),
        ("broker.version.fallback", "old", "must be a release of Kafka"),
        ("max.decompressed.batch.bytes", str(2**31 - 1), "from 1 to 1073741824"),
    ],
)
def test_bad_values_name_the_option(name: str, value: str, reason: str) -> None:
    with pytest.raises(KafkaConfigError, match=f"^Option 'kafka.{name}' has the value.*{reason}"):
        ClientConfig.from_options(SERVERS | {name: value})


def test_unknown_option_suggests_the_nearest_name() -> None:
    with pytest.raises(
        KafkaConfigError, match=r"not known; did you mean 'kafka\.compression\.type'"
    ):
        config_of(compresion_type="lz4")


def test_the_prefix_of_spark_is_too_much_here() -> None:
    with pytest.raises(KafkaConfigError, match=r"'kafka\.linger\.ms': without Spark, .* no prefix"):
        ClientConfig.from_options(SERVERS | {"kafka.linger.ms": "5"})


def test_unknown_option_without_a_similar_name() -> None:
    with pytest.raises(KafkaConfigError, match=r"^Option 'kafka\.xyzzy' is not known$"):
        config_of(xyzzy="1")


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused_options_name_the_alternative_and_no_value(name: str) -> None:
    with pytest.raises(
        KafkaConfigError, match=rf"^Option 'kafka\.{name}' is not supported: \w"
    ) as caught:
        ClientConfig.from_options(SERVERS | {name: PASSWORD})
    assert PASSWORD not in str(caught.value)


def test_security_options_are_read_with_the_others() -> None:
    config = config_of(security_protocol="ssl", ssl_ca_location="/ca.pem", client_id="x")
    assert config.security == SecurityOptions(protocol="SSL", truststore_location="/ca.pem")
    assert config.client_id == "x"


def test_options_without_effect_give_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        config_of(max_poll_records="500")
    assert "kafka.max.poll.records has no effect" in caplog.text


def test_configs_are_hashable() -> None:
    assert len({config_of(), config_of(), config_of(acks="all", client_id="x")}) == 2
