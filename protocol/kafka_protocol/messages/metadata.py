"""Metadata (key 3): the brokers, the topics, and the leaders of partitions.

Any broker responds. Topics by name, all of them, or (v12+) by id (KIP-516).
"""

from kafka_protocol.wire.schema import (
    MAX_ELEMENTS,
    Request,
    Response,
    Struct,
    boolean,
    field,
    int16,
    int32,
    string,
    uuid,
)

# "Not asked for", in the bit fields of KIP-430.
AUTHORIZED_OPERATIONS_UNKNOWN = -(2**31)


class MetadataResponse(Response, api_key=3, versions="0-13", flexible="9+"):
    """v6+: throttled after the response (KIP-219)."""

    throttle_time_ms: int32 = field(versions="3+", ignorable=True)

    class MetadataResponseBroker(Struct):
        """A live broker, with the listener that clients of this connection's listener use."""

        node_id: int32 = field()
        host: string = field()
        port: int32 = field()
        rack: string | None = field(versions="1+", nullable="1+", default=None, ignorable=True)

    brokers: list[MetadataResponseBroker] = field(at_most=MAX_ELEMENTS)
    cluster_id: string | None = field(versions="2+", nullable="2+", default=None, ignorable=True)
    # -1 while no controller is elected. A KRaft broker names a random live broker, which forwards.
    controller_id: int32 = field(versions="1+", default=-1, ignorable=True)

    class MetadataResponseTopic(Struct):
        """A requested topic; for a request of all, an existing one."""

        # UNKNOWN_TOPIC_OR_PARTITION: no such topic, or this broker has not heard of it yet.
        # UNKNOWN_TOPIC_ID: the same for an id.
        # LEADER_NOT_AVAILABLE: the topic is being created.
        # INVALID_TOPIC_EXCEPTION: no legal name.
        # TOPIC_AUTHORIZATION_FAILED: the principal lacks DESCRIBE.
        error_code: int16 = field()
        name: string | None = field(nullable="12+")
        topic_id: uuid = field(versions="10+", ignorable=True)
        is_internal: boolean = field(versions="1+", ignorable=True)

        class MetadataResponsePartition(Struct):
            """A partition, its leader and replicas."""

            # LEADER_NOT_AVAILABLE: leader_id is -1.
            # REPLICA_NOT_AVAILABLE: a replica is down; v0 only, harmless to a client.
            # LISTENER_NOT_FOUND: the leader has no listener of this name (KIP-302).
            error_code: int16 = field()
            partition_index: int32 = field()
            leader_id: int32 = field()
            leader_epoch: int32 = field(versions="7+", default=-1, ignorable=True)  # KIP-320
            replica_nodes: list[int32] = field()
            isr_nodes: list[int32] = field()
            offline_replicas: list[int32] = field(versions="5+", ignorable=True)  # KIP-112

        partitions: list[MetadataResponsePartition] = field()
        topic_authorized_operations: int32 = field(
            versions="8+", default=AUTHORIZED_OPERATIONS_UNKNOWN
        )

    topics: list[MetadataResponseTopic] = field(repeats=True)
    cluster_authorized_operations: int32 = field(
        versions="8-10", default=AUTHORIZED_OPERATIONS_UNKNOWN
    )
    # REBOOTSTRAP_REQUIRED: the client's view is of another cluster (KIP-1102).
    error_code: int16 = field(versions="13+", ignorable=True)


class MetadataRequest(
    Request, api_key=3, versions="0-13", flexible="9+", response=MetadataResponse
):
    """v0: an empty list means all topics. v1+: null means all, an empty list no topic."""

    class MetadataRequestTopic(Struct):
        """A topic by name; v12+ also by id, with a null name. Brokers below 3.1 ignore the id."""

        topic_id: uuid = field(versions="10+", ignorable=True)
        name: string | None = field(nullable="10+")

    topics: list[MetadataRequestTopic] | None = field(nullable="1+")
    # Below v4 a broker with auto.create.topics.enable creates the requested topics.
    allow_auto_topic_creation: boolean = field(versions="4+", default=True)
    include_cluster_authorized_operations: boolean = field(versions="8-10")
    include_topic_authorized_operations: boolean = field(versions="8+")
