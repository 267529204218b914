"""TLS and SASL with real brokers, and through Spark (faults 3, 51, 52, 53, 54)."""

from __future__ import annotations

import base64
import json
import pickle
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.broker.api_versions import bring_up
from kafka_protocol.client.broker.authenticate import authenticate
from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.broker.connection import Wire
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.fetch import fetch_range
from kafka_protocol.errors import (
    AuthenticationError,
    BrokerConnectionError,
    KafkaError,
    ProtocolError,
    TlsError,
)
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_protocol.negotiation import BrokerVersions
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.options.read import parse_batch_options
from kafka_spark_source.source import KafkaDataSource
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.plugin import ClusterFactory
from tests.fakes import tls
from tests.integration.conftest import SOON_MS
from tests.integration.test_client import numbered, write
from tests.secret_check import PASSWORD, guard

pytestmark = pytest.mark.integration

REAUTHENTICATE_MS = 3_000
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


@pytest.fixture(scope="module")
def sasl(kafka_cluster_factory: ClusterFactory) -> KafkaCluster:
    """SASL_SSL with every mechanism that wants nobody else, and sessions of 3 seconds."""
    mechanisms = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
    cluster = kafka_cluster_factory(
        security="SASL_SSL",
        config={
            "sasl.enabled.mechanisms": mechanisms,
            # Its validator of unsigned tokens is what a broker uses where none is named.
            "listener.name.sasl_ssl.oauthbearer.sasl.jaas.config": f"{MODULE} required;",
            "connections.max.reauth.ms": str(REAUTHENTICATE_MS),
        },
    )
    guard(cluster.password)
    return cluster


@pytest.fixture(scope="module")
def mutual(
    kafka_cluster_factory: ClusterFactory, tmp_path_factory: pytest.TempPathFactory
) -> KafkaCluster:
    """SSL, and every client shows a certificate."""
    authority = tmp_path_factory.mktemp("trust") / "ca.pem"
    authority.write_text(tls.authority_pem())
    return kafka_cluster_factory(
        security="SSL",
        config={
            "ssl.client.auth": "required",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(authority),
        },
    )


@pytest.fixture(scope="module")
def old(kafka_cluster_factory: ClusterFactory) -> KafkaCluster:
    """SASL without TLS, on a broker that knows no sessions."""
    cluster = kafka_cluster_factory("1.1.1", security="SASL_PLAINTEXT")
    guard(cluster.password)
    return cluster


def without(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {name: value for name, value in options.items() if not name.startswith(prefix)}


def user(cluster: KafkaCluster, mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
    return without(cluster.client_options, "sasl.jaas") | {
        "sasl.mechanism": mechanism,
        "sasl.username": cluster.username or "",
        "sasl.password": cluster.password or "",
    }


@contextmanager
def connected(options: Mapping[str, str]) -> Iterator[Cluster]:
    cluster = Cluster(ClientConfig.from_options(options))
    try:
        yield cluster
    finally:
        cluster.close()


def ask(options: Mapping[str, str]) -> None:
    with connected(options) as cluster:
        cluster.topics([], Deadline.after(SOON_MS))


def refused(options: Mapping[str, str], kind: type[KafkaError], reason: str) -> None:
    """At once: a broker lets a failed login wait for 100 ms, and nobody tries again."""
    started = time.monotonic()
    with pytest.raises(kind, match=reason) as caught:
        ask(options)
    assert not caught.value.retriable
    assert time.monotonic() - started < 3


# --- Who gets in --------------------------------------------------------------------------------


def test_options_of_java(sasl: KafkaCluster) -> None:
    """As the broker's own documentation has them: JAAS and a trust store."""
    ask(sasl.client_options)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_user_and_password(sasl: KafkaCluster, mechanism: str) -> None:
    ask(user(sasl, mechanism))


def test_options_of_librdkafka(sasl: KafkaCluster) -> None:
    options = without(without(user(sasl), "ssl."), "sasl.mech")
    ask(options | {"sasl.mechanisms": "SCRAM-SHA-512", "ssl.ca.location": str(sasl.ca_file)})


def test_trust_as_one_line_of_text(sasl: KafkaCluster) -> None:
    assert sasl.ca_file is not None
    line = sasl.ca_file.read_text().replace("\n", "\\n")
    ask(without(user(sasl), "ssl.") | {"ssl.truststore.certificates": line})


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_client_certificates(mutual: KafkaCluster, version: str) -> None:
    ask(mutual.client_options | identity(tls.certificate("client")) | limited_to(version))


def identity(own: Any) -> dict[str, str]:
    chain = "".join(map(tls.pem, own.cert_chain_pems))
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": tls.pem(own.private_key_pem),
        "ssl.keystore.certificate.chain": chain,
    }


def limited_to(version: str) -> dict[str, str]:
    return {"ssl.enabled.protocols": version}


def test_a_broker_without_sessions(old: KafkaCluster) -> None:
    ask(old.client_options)


@contextmanager
def wire_to_0_11(cluster: KafkaCluster) -> Iterator[Wire]:
    """A connection to a broker that, as far as the client knows, has no SaslAuthenticate."""
    config = ClientConfig.from_options(user(cluster, "PLAIN"))
    first = Wire(config.bootstrap_servers[0], config, soon())
    wire = bring_up(first, lambda: first, config, soon())
    assert wire.connection.versions is not None
    ranges = dict(wire.connection.versions.ranges)
    del ranges[SaslAuthenticateRequest.api_key]
    wire.connection.versions = BrokerVersions(ranges, "as of 0.11")
    try:
        yield wire
    finally:
        wire.close()


def test_tokens_in_bare_frames(old: KafkaCluster) -> None:
    """As brokers below 1.0 want them (KIP-43); newer ones still understand it."""
    security = ClientConfig.from_options(user(old, "PLAIN")).security
    with wire_to_0_11(old) as wire:
        assert authenticate(wire, security, soon()) is None
        wire.send(MetadataRequest(topics=[]), soon())
        assert isinstance(wire.receive(soon()), MetadataResponse)
    with wire_to_0_11(old) as wire:
        with pytest.raises(AuthenticationError, match=r"brokers below 1\.0 do so"):
            authenticate(wire, replace(security, password=Secret(PASSWORD)), soon())


# --- Who does not -------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_wrong_password(sasl: KafkaCluster, mechanism: str) -> None:
    refused(
        user(sasl, mechanism) | {"sasl.password": PASSWORD},
        AuthenticationError,
        rf"{mechanism} to .*: the broker refused: Authentication failed",
    )


def test_wrong_password_on_an_old_broker(old: KafkaCluster) -> None:
    options = user(old, "PLAIN") | {"sasl.password": PASSWORD}
    refused(options, AuthenticationError, "the broker refused: Authentication failed")


def test_unknown_user(sasl: KafkaCluster) -> None:
    options = user(sasl) | {"sasl.username": "nobody"}
    refused(options, AuthenticationError, "the broker refused: Authentication failed")


def test_unknown_mechanism(old: KafkaCluster) -> None:
    refused(
        user(old, "SCRAM-SHA-512"),
        AuthenticationError,
        r"does not offer SCRAM-SHA-512, but PLAIN; see kafka\.sasl\.mechanism",
    )


def test_unknown_authority(sasl: KafkaCluster) -> None:
    options = without(user(sasl), "ssl.")
    refused(options, TlsError, r"not trusted here; set kafka\.ssl\.truststore\.location")


def test_wrong_host_name(sasl: KafkaCluster) -> None:
    """The certificate is for localhost and 127.0.0.1, and not for how IPv6 writes the latter."""
    port = sasl.brokers[0].port
    options = user(sasl) | {"bootstrap.servers": f"[::ffff:127.0.0.1]:{port}"}
    refused(options, TlsError, "not for that host; connect by a name that is in it")


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_missing_client_certificate(mutual: KafkaCluster, version: str) -> None:
    options = mutual.client_options | limited_to(version)
    refused(options, TlsError, r"client's certificate.*set kafka\.ssl\.keystore\.location")


def test_client_certificate_of_a_stranger(mutual: KafkaCluster) -> None:
    options = mutual.client_options | identity(tls.stranger().issue_cert("client"))
    refused(options, TlsError, r"client's certificate.*set kafka\.ssl\.keystore\.location")


def test_plaintext_to_a_tls_listener(sasl: KafkaCluster) -> None:
    options = {"bootstrap.servers": sasl.bootstrap_servers}
    refused(options, ProtocolError, r"speaks TLS; set kafka\.security\.protocol to SSL")


def test_tls_to_a_plaintext_listener(old: KafkaCluster) -> None:
    """It may pass, as far as anybody knows, so it is tried until the time for that is up."""
    options = {
        "bootstrap.servers": old.bootstrap_servers,
        "security.protocol": "SSL",
        "socket.connection.setup.timeout.ms": "1000",
    }
    with pytest.raises(BrokerConnectionError, match="TLS handshake; does this listener speak TLS"):
        ask(options)


def test_sasl_to_a_listener_without_it(kafka_cluster: KafkaCluster) -> None:
    options = {
        "bootstrap.servers": kafka_cluster.bootstrap_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": PASSWORD,
    }
    refused(options, AuthenticationError, "the listener does not want SASL")


def test_the_next_server_is_asked_where_one_cannot_be_trusted(sasl: KafkaCluster) -> None:
    """Fault 1; but a password that one broker refused is not shown to the next."""
    with tls.echoing(tls.server_context(tls.expired())) as bad:
        servers = f"127.0.0.1:{bad.port},{sasl.bootstrap_servers}"
        ask(user(sasl) | {"bootstrap.servers": servers})


# --- Tokens -------------------------------------------------------------------------------------


def unsigned_token(lifetime_s: int = 60) -> str:
    now = int(time.time())
    claims = {"sub": "alice", "iat": now, "exp": now + lifetime_s}
    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
    return ".".join(base64.urlsafe_b64encode(p).decode().rstrip("=") for p in parts) + "."


def nonsense() -> str:
    return "nonsense"


def failing() -> str:
    raise LookupError(PASSWORD)


def bearer(sasl: KafkaCluster, callback: str) -> dict[str, str]:
    return without(sasl.client_options, "sasl.") | {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.callback": f"{__name__}:{callback}",
    }


def test_token_of_a_callback(sasl: KafkaCluster) -> None:
    ask(bearer(sasl, "unsigned_token"))


@pytest.mark.parametrize(
    ("callback", "reason"),
    [("nonsense", "the broker refused"), ("failing", "failing raised LookupError")],
)
def test_token_that_is_none(sasl: KafkaCluster, callback: str, reason: str) -> None:
    refused(bearer(sasl, callback), AuthenticationError, reason)


class Endpoint(HTTPServer):
    """A token endpoint: gives tokens to whoever has the password, and counts them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), EndpointHandler)
        self.requests: list[tuple[str, str]] = []


class EndpointHandler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.requests.append((self.path, form))
        given = base64.b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
        if given == f"client:{PASSWORD}":
            self.reply(200, {"access_token": unsigned_token(), "expires_in": 2})
        else:
            self.reply(401, {"error": "invalid_client", "error_description": f"not {given}"})

    def reply(self, status: int, answer: object) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        pass


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    server = Endpoint()
    server.socket = tls.server_context(tls.certificate("localhost")).wrap_socket(
        server.socket, server_side=True
    )
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join(timeout=10)
    server.server_close()


def oidc(sasl: KafkaCluster, endpoint: Endpoint, folder: Path) -> dict[str, str]:
    (folder / "ca.pem").write_text(tls.authority_pem())
    url = f"https://localhost:{endpoint.server_port}/oauth2/token?tenant=1"
    jaas = f'{MODULE} required clientId="client" clientSecret="{PASSWORD}" scope="kafka all";'
    return without(sasl.client_options, "sasl.") | {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
        ),
        "sasl.oauthbearer.token.endpoint.url": url,
        "sasl.jaas.config": jaas,
        "https.ca.location": str(folder / "ca.pem"),
    }


def test_token_of_an_endpoint(sasl: KafkaCluster, endpoint: Endpoint, tmp_path: Path) -> None:
    """Kept for 1.6 of its 2 seconds, and got anew when the session is renewed after that."""
    options = oidc(sasl, endpoint, tmp_path)
    ask(options)
    ask(options)
    assert endpoint.requests == [
        ("/oauth2/token?tenant=1", "grant_type=client_credentials&scope=kafka+all")
    ]
    with connected(options) as cluster:
        end = time.monotonic() + REAUTHENTICATE_MS / 1000
        while time.monotonic() < end:
            cluster.topics([], Deadline.after(SOON_MS))
            time.sleep(0.1)
    assert len(endpoint.requests) == 2


def test_endpoint_that_refuses(sasl: KafkaCluster, endpoint: Endpoint, tmp_path: Path) -> None:
    options = oidc(sasl, endpoint, tmp_path)
    jaas = options["sasl.jaas.config"].replace('"client"', '"other"')
    refused(
        options | {"sasl.jaas.config": jaas},
        AuthenticationError,
        r"the token endpoint at localhost:\d+ answered 401: invalid_client: not other:\*\*\*",
    )


def test_endpoint_that_cannot_be_trusted(
    sasl: KafkaCluster, endpoint: Endpoint, tmp_path: Path
) -> None:
    options = without(oidc(sasl, endpoint, tmp_path), "https.")
    refused(options, TlsError, r"not trusted here.*token endpoint: kafka\.https\.ca\.location")


# --- Sessions (KIP-368) -------------------------------------------------------------------------


@contextmanager
def broker_of(options: Mapping[str, str]) -> Iterator[Broker]:
    config = ClientConfig.from_options(options)
    broker = Broker(config.bootstrap_servers[0], None, config, soon())
    try:
        yield broker
    finally:
        broker.close()


def soon() -> Deadline:
    return Deadline.after(SOON_MS)


def ask_for(broker: Broker, ms: float) -> None:
    """Ask again and again, always with a request ahead."""
    end = Deadline.after(ms)
    ahead = broker.send(MetadataRequest(topics=[]), soon())
    while not end.has_passed:
        due, ahead = ahead, broker.send(MetadataRequest(topics=[]), soon())
        assert broker.receive(due, MetadataResponse, soon()).brokers
    broker.receive(ahead, MetadataResponse, soon())


def test_sessions_are_renewed_with_requests_in_flight(sasl: KafkaCluster) -> None:
    with broker_of(user(sasl)) as broker:
        ask_for(broker, 2.5 * REAUTHENTICATE_MS)
        assert not broker.is_closed
        # And where nobody asked anything while the session ended.
        while not (broker._renew_at or soon()).has_passed:
            time.sleep(0.1)
        ask_for(broker, 0)


def test_sessions_that_are_not_renewed_end(
    sasl: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the test above would prove nothing."""
    monkeypatch.setattr("kafka_protocol.client.broker.authenticate._AGAIN_AFTER", (9, 9))
    with broker_of(user(sasl)) as broker:
        with pytest.raises(BrokerConnectionError):
            ask_for(broker, 2.5 * REAUTHENTICATE_MS)


def test_a_read_that_outlives_its_session(sasl: KafkaCluster) -> None:
    """Fault 53: one connection, and Fetches one ahead."""
    with connected(user(sasl) | {"max.partition.fetch.bytes": "100"}) as cluster:
        create_topic(cluster, NewTopic("long-read"), soon())
        partition = TopicPartition("long-read", 0)
        write(cluster, partition, numbered(60), batch_bytes=1)
        leader = cluster.broker(cluster.leader(partition, soon())[0].node_id, soon())
        offsets = []
        for _, batches in fetch_range(cluster, OffsetRange(partition, 0, 60), SOON_MS):
            offsets += [batch.header.base_offset for batch in batches]
            time.sleep(len(batches) * 0.1)  # a slow caller: 6 s in all
        assert offsets == [*range(60)]
        assert not leader.is_closed


# --- Through Spark ------------------------------------------------------------------------------


@pytest.mark.spark
def test_write_and_read_through_spark(sasl: KafkaCluster, spark: SparkSession) -> None:
    options = {f"kafka.{name}": value for name, value in sasl.client_options.items()}
    with connected(sasl.client_options) as cluster:
        create_topic(cluster, NewTopic("through-spark", 2), soon())
    rows = spark.range(1000).selectExpr("cast(id as string) as value")
    sink = rows.write.format("pykafka").options(**options).option("topic", "through-spark")
    sink.mode("append").save()
    read = spark.read.format("pykafka").options(**options, subscribe="through-spark").load()
    values = {int(row.value) for row in read.select("value").collect()}
    assert values == set(range(1000))


@pytest.mark.spark
def test_what_spark_shows_holds_no_secret(sasl: KafkaCluster, spark: SparkSession) -> None:
    """The plan, the error of a failed query, and what stands in either's place in a repr."""
    options = {f"kafka.{name}": value for name, value in user(sasl).items()}
    options |= {"kafka.sasl.password": PASSWORD, "subscribe": "through-spark"}
    frame = spark.read.format("pykafka").options(**options).load()
    shown = [frame._jdf.queryExecution().toString(), repr(frame)]  # type: ignore[operator]
    with pytest.raises(Exception, match="the broker refused: Authentication failed") as caught:
        frame.collect()
    kafka = parse_batch_options(options)
    config = ClientConfig.from_options(kafka.kafka)
    source = KafkaDataSource(options)
    shown += [str(caught.value), repr(source), repr(source.reader(source.schema()))]
    shown += [repr(kafka), repr(config)]
    assert pickle.loads(pickle.dumps(config)) == config
    assert not [text for text in shown if PASSWORD in text]
