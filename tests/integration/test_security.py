"""TLS and SASL with real brokers, and through Spark (faults 3, 51, 52, 53, 54)."""

from __future__ import annotations

import base64
import json
import pickle
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.broker.api_versions import negotiate_versions
from kafka_protocol.client.broker.authenticate import authenticate
from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.broker.connection import BrokerConnection
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.admin import NewTopic, create_topic
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
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_protocol.versions.negotiation import BrokerVersions
from kafka_spark_source.diagnosis.diagnosis import Job, diagnose
from kafka_spark_source.diagnosis.findings import Finding, Result
from kafka_spark_source.options.read import parse_batch_options
from kafka_spark_source.source import KafkaDataSource
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.plugin import ClusterFactory
from kafka_spark_source.testing.processes import waiting
from tests.fakes import tls
from tests.integration.clients import SOON_MS, connected, soon
from tests.integration.topics import numbered, write_batches
from tests.secret_check import PASSWORD, guard

pytestmark = pytest.mark.integration

REAUTHENTICATE_MS = 2_000
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


@pytest.fixture(scope="module")
def sasl(own_clusters: ClusterFactory) -> KafkaCluster:
    """SASL_SSL with every mechanism that needs no other server, and sessions of 2 seconds."""
    mechanisms = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
    cluster = own_clusters(
        security="SASL_SSL",
        config={
            "sasl.enabled.mechanisms": mechanisms,
            # Without a validator class a broker takes unsigned tokens.
            "listener.name.sasl_ssl.oauthbearer.sasl.jaas.config": f"{MODULE} required;",
            "connections.max.reauth.ms": str(REAUTHENTICATE_MS),
        },
    )
    guard(cluster.password)
    return cluster


@pytest.fixture(scope="module")
def mutual(own_clusters: ClusterFactory, tmp_path_factory: pytest.TempPathFactory) -> KafkaCluster:
    """SSL, with certificates of clients required."""
    authority = tmp_path_factory.mktemp("trust") / "ca.pem"
    authority.write_text(tls.authority_pem())
    return own_clusters(
        security="SSL",
        config={
            "ssl.client.auth": "required",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(authority),
        },
    )


@pytest.fixture(scope="module")
def old(own_clusters: ClusterFactory) -> KafkaCluster:
    """SASL without TLS, on a broker without sessions (KIP-368)."""
    cluster = own_clusters("1.1.1", security="SASL_PLAINTEXT")
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


def ask(options: Mapping[str, str]) -> None:
    with connected(options) as cluster:
        cluster.topics([], soon())


def refused(options: Mapping[str, str], kind: type[KafkaError], reason: str) -> None:
    """Without a retry. A broker delays its response to a failed login by 100 ms."""
    started = time.monotonic()
    with pytest.raises(kind, match=reason) as caught:
        ask(options)
    assert not caught.value.retriable
    assert time.monotonic() - started < 3


# --- Accepted -----------------------------------------------------------------------------------


def test_options_of_java(sasl: KafkaCluster) -> None:
    """As Kafka's documentation shows them: JAAS and a trust store."""
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_broker_without_sessions(old: KafkaCluster) -> None:
    ask(old.client_options)


@contextmanager
def connection_to_0_11(cluster: KafkaCluster) -> Iterator[BrokerConnection]:
    """A connection whose client takes the broker for one without SaslAuthenticate."""
    config = ClientConfig.from_options(user(cluster, "PLAIN"))
    first = BrokerConnection(config.bootstrap_servers[0], config, soon())
    connection = negotiate_versions(first, lambda: first, config, soon())
    assert connection.protocol.versions is not None
    ranges = dict(connection.protocol.versions.ranges)
    del ranges[SaslAuthenticateRequest.api_key]
    connection.protocol.versions = BrokerVersions(ranges, "as of 0.11")
    with closing(connection):
        yield connection


@pytest.mark.slow
def test_tokens_in_bare_frames(old: KafkaCluster) -> None:
    """The form of brokers below 1.0 (KIP-43), which newer ones still accept."""
    security = ClientConfig.from_options(user(old, "PLAIN")).security
    with connection_to_0_11(old) as connection:
        assert authenticate(connection, security, soon()) is None
        connection.send(MetadataRequest(topics=[]), soon())
        assert isinstance(connection.receive(soon()), MetadataResponse)
    with connection_to_0_11(old) as connection:
        with pytest.raises(AuthenticationError, match=r"brokers below 1\.0 do so"):
            authenticate(connection, replace(security, password=Secret(PASSWORD)), soon())


# --- Refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_fault_52_wrong_password(sasl: KafkaCluster, mechanism: str) -> None:
    refused(
        user(sasl, mechanism) | {"sasl.password": PASSWORD},
        AuthenticationError,
        rf"{mechanism} to .*: the broker refused: Authentication failed",
    )


@pytest.mark.slow
def test_fault_52_unknown_mechanism(old: KafkaCluster) -> None:
    refused(
        user(old, "SCRAM-SHA-512"),
        AuthenticationError,
        r"does not offer SCRAM-SHA-512, but PLAIN; see kafka\.sasl\.mechanism",
    )


def test_fault_51_unknown_authority(sasl: KafkaCluster) -> None:
    options = without(user(sasl), "ssl.")
    refused(options, TlsError, r"not trusted here; set kafka\.ssl\.truststore\.location")


def test_fault_51_wrong_host_name(sasl: KafkaCluster) -> None:
    """The certificate is for localhost and 127.0.0.1, and not for how IPv6 writes the latter."""
    port = sasl.brokers[0].port
    options = user(sasl) | {"bootstrap.servers": f"[::ffff:127.0.0.1]:{port}"}
    refused(options, TlsError, "not for that host; connect by a name that is in it")


@pytest.mark.slow
@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_fault_51_missing_client_certificate(mutual: KafkaCluster, version: str) -> None:
    options = mutual.client_options | limited_to(version)
    refused(options, TlsError, r"client's certificate.*set kafka\.ssl\.keystore\.location")


def test_plaintext_to_a_tls_listener(sasl: KafkaCluster) -> None:
    options = {"bootstrap.servers": sasl.bootstrap_servers}
    refused(options, ProtocolError, r"speaks TLS; set kafka\.security\.protocol to SSL")


@pytest.mark.parametrize("cluster", ["kafka_cluster", pytest.param("old", marks=pytest.mark.slow)])
def test_tls_to_a_plaintext_listener(cluster: str, request: pytest.FixtureRequest) -> None:
    kafka: KafkaCluster = request.getfixturevalue(cluster)
    options = {"bootstrap.servers": kafka.bootstrap_servers, "security.protocol": "SSL"}
    reason = r"responds there without TLS; .*set kafka\.security\.protocol to PLAINTEXT"
    refused(options, TlsError, reason)


def test_no_sasl_to_a_listener_with_it(sasl: KafkaCluster) -> None:
    options = without(sasl.client_options, "sasl.") | {"security.protocol": "SSL"}
    refused(options, AuthenticationError, r"expects SASL \(.*SCRAM-SHA-512.*\); .* to SASL_SSL")


def test_sasl_to_a_listener_without_it(kafka_cluster: KafkaCluster) -> None:
    options = {
        "bootstrap.servers": kafka_cluster.bootstrap_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": PASSWORD,
    }
    refused(options, AuthenticationError, "the listener does not expect SASL")


@pytest.mark.slow
def test_the_next_server_is_used_if_one_is_not_trusted(sasl: KafkaCluster) -> None:
    """Fault 1. A password that one broker refused is not sent to the next."""
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


def bearer(sasl: KafkaCluster, callback: str) -> dict[str, str]:
    return without(sasl.client_options, "sasl.") | {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.callback": f"{__name__}:{callback}",
    }


def test_token_of_a_callback(sasl: KafkaCluster) -> None:
    ask(bearer(sasl, "unsigned_token"))


def test_token_that_is_none(sasl: KafkaCluster) -> None:
    refused(bearer(sasl, "nonsense"), AuthenticationError, "the broker refused")


class Endpoint(HTTPServer):
    """A token endpoint that checks a password and keeps its requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), EndpointHandler)
        self.requests: list[tuple[str, str]] = []


class EndpointHandler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.requests.append((self.path, form))
        given = base64.b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
        assert given == f"client:{PASSWORD}"
        body = json.dumps({"access_token": unsigned_token(), "expires_in": 2}).encode()
        self.send_response(200)
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
    """A token is used for 80 % of its 2 seconds; the next session needs a new one."""
    options = oidc(sasl, endpoint, tmp_path)
    ask(options)
    ask(options)
    assert endpoint.requests == [
        ("/oauth2/token?tenant=1", "grant_type=client_credentials&scope=kafka+all")
    ]
    with connected(options) as cluster:

        def has_new_token() -> bool:
            cluster.topics([], soon())  # a request, so that the session is renewed
            return len(endpoint.requests) == 2

        assert waiting.Deadline(SOON_MS / 1_000).wait_for(has_new_token)


# --- Sessions (KIP-368) -------------------------------------------------------------------------


@contextmanager
def broker_of(options: Mapping[str, str]) -> Iterator[Broker]:
    config = ClientConfig.from_options(options)
    with closing(Broker(config.bootstrap_servers[0], None, config, soon())) as broker:
        yield broker


def send_requests_for(broker: Broker, ms: float) -> None:
    """Send requests for a while, with two in flight at a time."""
    end = Deadline.after(ms)
    ahead = broker.send(MetadataRequest(topics=[]), soon())
    while not end.has_passed:
        due, ahead = ahead, broker.send(MetadataRequest(topics=[]), soon())
        assert broker.receive(due, MetadataResponse, soon()).brokers
    broker.receive(ahead, MetadataResponse, soon())


def test_fault_53_sessions_are_renewed_with_requests_in_flight(sasl: KafkaCluster) -> None:
    with broker_of(user(sasl)) as broker:
        send_requests_for(broker, 1.5 * REAUTHENTICATE_MS)
        assert not broker.is_closed
        # Also after the session ended without a request.
        due = broker._renew_at
        assert due is not None
        assert waiting.Deadline(SOON_MS / 1_000).wait_for(lambda: due.has_passed)
        send_requests_for(broker, 0)


@pytest.mark.slow
def test_without_renewal_a_session_ends(sasl: KafkaCluster) -> None:
    """The broker does close the connection: otherwise the test above would prove nothing."""
    with broker_of(user(sasl)) as broker:
        broker._renew_at = None
        with pytest.raises(BrokerConnectionError):
            send_requests_for(broker, 2.5 * REAUTHENTICATE_MS)


@pytest.mark.slow
def test_fault_53_a_read_that_outlives_its_session(sasl: KafkaCluster) -> None:
    """One connection, with a Fetch in flight."""
    with connected(user(sasl) | {"max.partition.fetch.bytes": "100"}) as cluster:
        create_topic(cluster, NewTopic("long-read"), soon())
        partition = TopicPartition("long-read", 0)
        write_batches(cluster, partition, numbered(30), batch_bytes=1)
        leader = cluster.broker(cluster.leader(partition, soon())[0].node_id, soon())
        offsets = []
        for _, batches in fetch_range(cluster, OffsetRange(partition, 0, 30), SOON_MS):
            offsets += [batch.header.base_offset for batch in batches]
            time.sleep(len(batches) * 0.1)  # a slow caller: 3 s in all
        assert offsets == [*range(30)]
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
def test_fault_54_plans_and_errors_of_spark_hold_no_secret(
    sasl: KafkaCluster, spark: SparkSession
) -> None:
    """The plan, the error of a failed query, and each repr."""
    options = {f"kafka.{name}": value for name, value in user(sasl).items()}
    options |= {"kafka.sasl.password": PASSWORD, "subscribe": "through-spark"}
    frame = spark.read.format("pykafka").options(**options).load()
    shown = [frame._jdf.queryExecution().toString(), repr(frame)]
    with pytest.raises(Exception, match="the broker refused: Authentication failed") as caught:
        frame.collect()
    kafka = parse_batch_options(options)
    config = ClientConfig.from_options(kafka.kafka)
    source = KafkaDataSource(options)
    shown += [str(caught.value), repr(source), repr(source.reader(source.schema()))]
    shown += [repr(kafka), repr(config)]
    assert pickle.loads(pickle.dumps(config)) == config
    assert not [text for text in shown if PASSWORD in text]


# --- The doctor ---------------------------------------------------------------------------------


def last_finding(options: Mapping[str, str]) -> Finding:
    return [*diagnose(ClientConfig.from_options(options), Job())][-1]


def test_the_doctor_tells_tls_and_sasl_apart(sasl: KafkaCluster) -> None:
    config = ClientConfig.from_options(sasl.client_options)
    found = {each.step: each for each in diagnose(config, Job())}
    assert re.match(r"TLSv1\.[23], certificate of .* valid until 20\d\d-", found["TLS"].detail)
    assert (found["SASL"].result, found["SASL"].detail) == (Result.GOOD, "SCRAM-SHA-512")
    assert found["advertised"].result is Result.GOOD
    assert last_finding(without(sasl.client_options, "ssl.")).step == "TLS"
    unsecured = without(sasl.client_options, "sasl.") | {"security.protocol": "SSL"}
    bad = last_finding(unsecured)
    assert (bad.step, bad.result) == ("SASL", Result.BAD)
    assert "expects SASL" in bad.detail
    plain = {"bootstrap.servers": sasl.bootstrap_servers}
    assert last_finding(plain).step == "ApiVersions"
