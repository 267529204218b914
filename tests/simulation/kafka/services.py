"""Services that speak Kafka's protocol: what is known of them that Apache Kafka does not do.

Each row follows a public page or report. It is a model of what they say; the product was not used
with the service.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_protocol.wire.api_keys import ApiKey

_UNLIMITED: Final = 100 * 1024 * 1024


class Service(NamedTuple):
    """A service.

    Attributes:
        sources: The pages and reports.
        storage_ms: The least and the most that each Fetch and Produce takes longer.
        distance_ms: How long bytes are on their way, each way.
        most_request_bytes: A larger request closes the connection.
        idle_ms: A connection without a request for so long is closed; 0 for never.
        newest_versions: A newer version of ApiVersions closes the connection.
        highest: The highest version that it has of an API.
        missing: APIs that it does not have.
        quota: The bytes of records a second that a broker moves before it throttles; 0 for all.
        has_transactions_2: Whether it has KIP-890's transactions, where its release does.
        connects: How many connections with a token a broker takes in a second; 0 for all, and
            without SASL.
        client: What its pages say that clients need, as options without `kafka.`.
    """

    sources: tuple[str, ...] = ()
    storage_ms: tuple[float, float] = (0, 0)
    distance_ms: float = 0
    most_request_bytes: int = _UNLIMITED
    idle_ms: float = 0
    newest_versions: int = 99
    highest: Mapping[int, int] = {}
    missing: frozenset[int] = frozenset()
    quota: float = 0
    has_transactions_2: bool = True
    connects: int = 0
    client: Mapping[str, str] = {}


_MICROSOFT: Final = "https://learn.microsoft.com/en-us/azure/event-hubs/apache-kafka-"
_GITHUB: Final = "https://github.com/"
APACHE: Final = "apache"
TOKENS: Final = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.callback": "tests.simulation.tokens:token",
}

SERVICES: Final[Mapping[str, Service]] = {
    APACHE: Service(),
    "eventhubs": Service(
        (f"{_MICROSOFT}configurations", f"{_MICROSOFT}troubleshooting-guide"),
        # The real 1,046,528 bytes and 240 s, smaller as the records of a run are.
        most_request_bytes=40_000,
        idle_ms=5_000,
        newest_versions=3,
        client={"max.request.size": "40000", "batch.size": "20000"},
    ),
    "msk": Service(
        (f"{_GITHUB}aws/aws-msk-iam-auth/issues/28", f"{_GITHUB}twmb/franz-go/issues/109"),
        connects=4,
        client=TOKENS,
    ),
    "confluent-cloud": Service(
        ("https://docs.confluent.io/cloud/current/clusters/client-quotas.html",),
        quota=400_000,
    ),
    "object-store": Service(
        (
            "https://buf.build/docs/bufstream/kafka-compatibility/configure-clients",
            "https://docs.warpstream.com/warpstream/reference/protocol-and-feature-support",
        ),
        storage_ms=(100, 400),
        missing=frozenset({ApiKey.OFFSET_FOR_LEADER_EPOCH}),
        client={"max.partition.fetch.bytes": "2000"},
    ),
    "far": Service(
        distance_ms=100,
        client={"max.partition.fetch.bytes": "2000"},
    ),
    "redpanda": Service(
        ("https://docs.redpanda.com/streaming/current/develop/kafka-clients/",),
        highest={ApiKey.PRODUCE: 11, ApiKey.END_TXN: 4, ApiKey.ADD_PARTITIONS_TO_TXN: 3},
        has_transactions_2=False,
    ),
    "proxy": Service(
        (
            f"{_GITHUB}kroxylicious/kroxylicious/pull/1635",
            f"{_GITHUB}kroxylicious/kroxylicious/issues/441",
        ),
        # What a proxy does not know it does not offer.
        highest={
            ApiKey.API_VERSIONS: 3,
            ApiKey.METADATA: 9,
            ApiKey.FETCH: 12,
            ApiKey.PRODUCE: 9,
            ApiKey.LIST_OFFSETS: 6,
        },
    ),
}
