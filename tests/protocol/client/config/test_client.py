"""kafka.* options: what is understood, what is refused, and in which words."""

from __future__ import annotations

import logging

import pytest

from kafka_protocol.client.config.client import Address, ClientConfig
from kafka_protocol.client.config.producer_options import PRODUCER_REFUSED
from kafka_protocol.client.config.security_options import SECURITY_REFUSED, SecurityOptions
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


def test_addresses_print_as_they_are_written() -> None:
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


def test_typing_error_gets_the_nearest_name() -> None:
    with pytest.raises(
        KafkaConfigError, match=r"not known; did you mean 'kafka\.compression\.type'"
    ):
        config_of(compresion_type="lz4")


def test_unknown_option_without_a_neighbour() -> None:
    with pytest.raises(KafkaConfigError, match=r"^Option 'kafka\.xyzzy' is not known$"):
        config_of(xyzzy="1")


@pytest.mark.parametrize(
    "name",
    [
        *sorted(SECURITY_REFUSED),
        *sorted(PRODUCER_REFUSED),
        "config.providers",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.jwt.validator.class",
        "security.providers",
    ],
)
def test_options_with_a_better_way_are_refused_without_their_value(name: str) -> None:
    with pytest.raises(
        KafkaConfigError, match=rf"^Option 'kafka\.{name}' is not supported: \w"
    ) as caught:
        ClientConfig.from_options(SERVERS | {name: PASSWORD})
    assert PASSWORD not in str(caught.value)


def test_options_of_security_are_read_with_the_others() -> None:
    config = config_of(security_protocol="ssl", ssl_ca_location="/ca.pem", client_id="x")
    assert config.security == SecurityOptions(protocol="SSL", truststore_location="/ca.pem")
    assert config.client_id == "x"


def test_typing_error_in_an_option_of_security() -> None:
    with pytest.raises(KafkaConfigError, match=r"did you mean 'kafka\.sasl\.mechanism'"):
        config_of(sasl_mechansim="PLAIN")


def test_options_of_other_machinery_are_accepted_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        config_of(max_poll_records="500")
    assert "kafka.max.poll.records has no effect" in caplog.text


def test_is_a_key() -> None:
    assert len({config_of(), config_of(), config_of(acks="all", client_id="x")}) == 2


def test_where_the_client_is() -> None:
    assert config_of().client_rack == ""
    assert config_of(client_rack=" rack-1 ").client_rack == "rack-1"


def test_how_long_word_of_a_topic_may_take() -> None:
    assert config_of().topic_propagation_max_ms == 30_000
    assert config_of(topic_metadata_propagation_max_ms="0").topic_propagation_max_ms == 0
