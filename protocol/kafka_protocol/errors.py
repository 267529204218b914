"""Kafka's error codes as one table, and the exceptions of this package.

Every module of the package may import this one. It must not import any of them, do I/O, or contain
a payload or a secret. Sources: Kafka's protocol guide, "Error Codes"; KIP-467 (record errors),
KIP-951 (leader hints).

The type of an exception names the cause:

* `KafkaConfigError`: the caller's options;
* `EncodeError`: the caller's values do not fit the wire format;
* `ProtocolError` and its subclasses: the peer violated the protocol;
* `BrokerError`: the broker returned an error code;
* `BrokerConnectionError`, `KafkaTimeoutError`: the network, or no response;
* `DataLossError`: requested records are no longer in the log.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafka_protocol.topic_partition import TopicPartition


class Refresh(Enum):
    """The information that a client must refresh before a retry."""

    METADATA = "metadata"
    COORDINATOR = "coordinator"
    CONTROLLER = "controller"


RETRIABLE = True


class ErrorCode(IntEnum):
    """Kafka's error codes: code, whether it is retriable, and the cache to refresh before a retry.

    The flags equal the Java client's (`RetriableException`, `InvalidMetadataException`,
    `RefreshRetriableException`); a test compares them with the 4.4.0 jar.
    """

    retriable: bool
    refresh: Refresh | None

    def __new__(
        cls, code: int, retriable: bool = False, refresh: Refresh | None = None
    ) -> ErrorCode:
        """A row of the table."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.retriable = retriable
        member.refresh = refresh
        return member

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2, RETRIABLE
    UNKNOWN_TOPIC_OR_PARTITION = 3, RETRIABLE, Refresh.METADATA
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5, RETRIABLE, Refresh.METADATA
    NOT_LEADER_OR_FOLLOWER = 6, RETRIABLE, Refresh.METADATA
    REQUEST_TIMED_OUT = 7, RETRIABLE
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9, RETRIABLE, Refresh.METADATA
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13, RETRIABLE, Refresh.METADATA
    COORDINATOR_LOAD_IN_PROGRESS = 14, RETRIABLE
    COORDINATOR_NOT_AVAILABLE = 15, RETRIABLE, Refresh.COORDINATOR
    NOT_COORDINATOR = 16, RETRIABLE, Refresh.COORDINATOR
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19, RETRIABLE
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, RETRIABLE
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41, RETRIABLE, Refresh.CONTROLLER
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51, RETRIABLE
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56, RETRIABLE, Refresh.METADATA
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    REASSIGNMENT_IN_PROGRESS = 60
    DELEGATION_TOKEN_AUTH_DISABLED = 61
    DELEGATION_TOKEN_NOT_FOUND = 62
    DELEGATION_TOKEN_OWNER_MISMATCH = 63
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65
    DELEGATION_TOKEN_EXPIRED = 66
    INVALID_PRINCIPAL_TYPE = 67
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70, RETRIABLE
    INVALID_FETCH_SESSION_EPOCH = 71, RETRIABLE
    LISTENER_NOT_FOUND = 72, RETRIABLE, Refresh.METADATA
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74, RETRIABLE, Refresh.METADATA
    UNKNOWN_LEADER_EPOCH = 75, RETRIABLE
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78, RETRIABLE
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80, RETRIABLE, Refresh.METADATA
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, RETRIABLE, Refresh.METADATA
    ELECTION_NOT_NEEDED = 84, RETRIABLE, Refresh.METADATA
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88, RETRIABLE
    THROTTLING_QUOTA_EXCEEDED = 89, RETRIABLE
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INCONSISTENT_VOTER_SET = 94
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    PRINCIPAL_DESERIALIZATION_FAILURE = 97
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100, RETRIABLE, Refresh.METADATA
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INCONSISTENT_TOPIC_ID = 103, RETRIABLE, Refresh.METADATA
    INCONSISTENT_CLUSTER_ID = 104
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106, RETRIABLE
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    OFFSET_MOVED_TO_TIERED_STORAGE = 109
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    UNKNOWN_CONTROLLER_ID = 116
    UNKNOWN_SUBSCRIPTION_ID = 117
    TELEMETRY_TOO_LARGE = 118
    INVALID_REGISTRATION = 119
    TRANSACTION_ABORTABLE = 120
    INVALID_RECORD_STATE = 121
    SHARE_SESSION_NOT_FOUND = 122, RETRIABLE
    INVALID_SHARE_SESSION_EPOCH = 123, RETRIABLE
    FENCED_STATE_EPOCH = 124
    INVALID_VOTER_KEY = 125
    DUPLICATE_VOTER = 126
    VOTER_NOT_FOUND = 127
    INVALID_REGULAR_EXPRESSION = 128
    REBOOTSTRAP_REQUIRED = 129
    STREAMS_INVALID_TOPOLOGY = 130
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131
    STREAMS_TOPOLOGY_FENCED = 132
    SHARE_SESSION_LIMIT_REACHED = 133, RETRIABLE
    GROUP_DELETION_FAILED = 134
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = 135
    CONTROLLER_ID_NOT_REGISTERED = 136

    @classmethod
    def lookup(cls, code: int) -> ErrorCode:
        """The member for `code`; an unknown code counts as UNKNOWN_SERVER_ERROR."""
        return _BY_CODE.get(code, cls.UNKNOWN_SERVER_ERROR)


_BY_CODE = {int(error): error for error in ErrorCode}

# Advice for common errors, at the end of the exception's text.
ADVICE = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: (
        "check the name, that the topic exists, and that the principal may DESCRIBE it"
    ),
    ErrorCode.INVALID_TOPIC_EXCEPTION: "topic names are 1 to 249 characters of [a-zA-Z0-9._-]",
    ErrorCode.LEADER_NOT_AVAILABLE: "check that the brokers that hold the partition are up",
    ErrorCode.MESSAGE_TOO_LARGE: ("raise the topic's max.message.bytes, or write smaller records"),
    ErrorCode.NOT_ENOUGH_REPLICAS: (
        "fewer replicas are in sync than the topic's min.insync.replicas"
    ),
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: (
        "fewer replicas are in sync than the topic's min.insync.replicas"
    ),
    ErrorCode.RECORD_LIST_TOO_LARGE: "raise the topic's segment.bytes, or write smaller records",
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: (
        "acknowledged records are no longer in the log: write all records again"
    ),
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "grant the principal READ, WRITE or DESCRIBE on it",
    ErrorCode.INVALID_TIMESTAMP: (
        "the topic's message.timestamp.before.max.ms or .after.max.ms rejects its timestamp"
    ),
    ErrorCode.INVALID_RECORD: "for example, a compacted topic rejects records without a key",
}


class KafkaError(Exception):
    """The base of all exceptions of this package.

    Attributes:
        retriable: Whether the same call may succeed later without a change.
    """

    retriable = False


class KafkaConfigError(KafkaError, ValueError):
    """An option is unknown, contradictory or has a wrong value. Never retried."""


class EncodeError(KafkaError, ValueError):
    """A value does not fit its field or the version."""


class UnsupportedVersionError(KafkaError):
    """Client and broker share no version of an API, or the broker lacks a feature."""


class ProtocolError(KafkaError):
    """The peer violated Kafka's protocol, or is not a Kafka broker."""


class OutOfStepError(ProtocolError):
    """A response does not match its request. Retriable with a new connection."""

    retriable = True


class DecodeError(ProtocolError):
    """A message or a part of it is truncated, out of bounds, or of another type."""


class CorruptRecordError(ProtocolError):
    """A record batch is damaged. It is never skipped: each read of it raises this error.

    Args:
        reason: The damage, without the payload.
        offset: The base offset of the batch, if known.
        topic_partition: The partition, if known.
    """

    def __init__(
        self,
        reason: str,
        *,
        offset: int | None = None,
        topic_partition: TopicPartition | None = None,
    ) -> None:
        self.reason = reason
        self.offset = offset
        self.topic_partition = topic_partition
        super().__init__(reason)

    def __str__(self) -> str:
        partition = f" of {self.topic_partition}" if self.topic_partition else ""
        offset = f" at offset {self.offset}" if self.offset is not None else ""
        return f"Corrupt record batch{partition}{offset}: {self.reason}"


class BrokerConnectionError(KafkaError):
    """A broker is not reachable, or the connection broke. Names the address and the reason."""

    retriable = True


class MisroutedError(BrokerConnectionError):
    """An address leads to another broker than the one in metadata (KIP-1242). Names both.

    Retriable with metadata from a bootstrap server, as in Java.
    """


class KafkaTimeoutError(KafkaError, TimeoutError):
    """A deadline passed. Names the request, the broker and the time in ms."""

    retriable = True


class AuthenticationError(KafkaError):
    """The broker or the client rejected the other's identity. Never retried: see KIP-152."""


class TlsError(AuthenticationError):
    """The TLS handshake failed: no common version or cipher suite, or a rejected certificate.

    Names the host and the option to check.
    """


class BrokerError(KafkaError):
    """A broker returned an error code.

    Args:
        code: The received code, which may be unknown to this client.
        context: The request: API, broker, topic-partition, offset.
        broker_message: The broker's own explanation, if the API has one.
    """

    def __init__(self, code: int, context: str, broker_message: str | None = None) -> None:
        self.code = code
        self.error = ErrorCode.lookup(code)
        self.context = context
        self.broker_message = broker_message
        super().__init__(code, context, broker_message)

    @property
    def retriable(self) -> bool:  # type: ignore[override]
        """Whether Kafka calls the code retriable."""
        return self.error.retriable

    def __str__(self) -> str:
        name = self.error.name if self.error == self.code else "an error this client does not know"
        message = f": {self.broker_message}" if self.broker_message else ""
        advice = f" ({ADVICE[self.error]})" if self.error in ADVICE else ""
        return f"{self.context}: the broker answered {name} ({self.code}){message}{advice}"


_GONE_FROM_LOG: Final = (
    "The records may have aged out, or the topic may have been deleted or re-created. To go on "
    "without them, set the option failOnDataLoss to false; with read_topic, which does not have "
    "it, start a new read."
)


class DataLossError(KafkaError):
    """Requested records are no longer in the log (Spark's KAFKA_DATA_LOSS conditions).

    Args:
        condition: The name after `KAFKA_DATA_LOSS.`, for example COULD_NOT_READ_OFFSET_RANGE.
        reason: One sentence with topic, partition and offsets.
        advice: What may have happened, and the cure.
    """

    def __init__(self, condition: str, reason: str, advice: str = _GONE_FROM_LOG) -> None:
        self.condition = condition
        self.reason = reason
        self.advice = advice
        super().__init__(condition, reason, advice)

    def __str__(self) -> str:
        return f"[KAFKA_DATA_LOSS.{self.condition}] {self.reason} {self.advice}"
