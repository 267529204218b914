"""CreateTopics (key 19). KIP-4. Ask the controller; a KRaft broker forwards."""

from kafka_protocol.wire.schema import (
    Request,
    Response,
    Struct,
    boolean,
    field,
    int8,
    int16,
    int32,
    string,
    uuid,
)


class CreateTopicsResponse(Response, api_key=19, versions="0-7", flexible="5+"):
    """v3+: throttled after the response (KIP-219). v5+: with the topic's configs (KIP-525)."""

    throttle_time_ms: int32 = field(versions="2+", ignorable=True)

    class CreatableTopicResult(Struct):
        """The outcome for one topic."""

        name: string = field()
        topic_id: uuid = field(versions="7+", ignorable=True)
        # TOPIC_ALREADY_EXISTS, INVALID_TOPIC_EXCEPTION, INVALID_PARTITIONS,
        # INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT, INVALID_CONFIG,
        # POLICY_VIOLATION: see their names; nothing was created.
        # NOT_CONTROLLER: send it to the one in Metadata.
        # REQUEST_TIMED_OUT: created, but not known to all brokers yet.
        # THROTTLING_QUOTA_EXCEEDED: v6+ (KIP-599).
        # TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED: the principal lacks CREATE.
        error_code: int16 = field()
        error_message: string | None = field(versions="1+", nullable="0+", ignorable=True)
        topic_config_error_code: int16 = field(versions="5+", tag=0, ignorable=True)
        num_partitions: int32 = field(versions="5+", default=-1, ignorable=True)
        replication_factor: int16 = field(versions="5+", default=-1, ignorable=True)

        class CreatableTopicConfigs(Struct):
            """One configuration of the new topic."""

            name: string = field(versions="5+")
            value: string | None = field(versions="5+", nullable="5+")
            read_only: boolean = field(versions="5+")
            config_source: int8 = field(versions="5+", default=-1, ignorable=True)
            is_sensitive: boolean = field(versions="5+")

        # Null if the principal lacks DESCRIBE_CONFIGS.
        configs: list[CreatableTopicConfigs] | None = field(
            versions="5+", nullable="5+", ignorable=True
        )

    topics: list[CreatableTopicResult] = field()


class CreateTopicsRequest(
    Request, api_key=19, versions="0-7", flexible="5+", response=CreateTopicsResponse
):
    """v4+: partitions and replicas may be -1, the broker's defaults (KIP-464)."""

    class CreatableTopic(Struct):
        """One topic."""

        name: string = field()
        num_partitions: int32 = field()  # -1 with assignments
        replication_factor: int16 = field()

        class CreatableReplicaAssignment(Struct):
            """A partition placed by hand."""

            partition_index: int32 = field()
            broker_ids: list[int32] = field()

        assignments: list[CreatableReplicaAssignment] = field()

        class CreatableTopicConfig(Struct):
            """One configuration."""

            name: string = field()
            value: string | None = field(nullable="0+")

        configs: list[CreatableTopicConfig] = field()

    topics: list[CreatableTopic] = field()
    timeout_ms: int32 = field(default=60_000)
    validate_only: boolean = field(versions="1+")
