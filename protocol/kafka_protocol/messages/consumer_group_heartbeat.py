"""ConsumerGroupHeartbeat (key 68): join, stay in and leave a group of the new protocol (KIP-848).

Ask the group's coordinator. A null field says that nothing changed since the last heartbeat.
"""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int16, int32, string, uuid


class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic_id: uuid = field()
    partitions: list[int32] = field()


class ConsumerGroupHeartbeatResponse(Response, api_key=68, versions="0-1", flexible="0+"):
    """A null assignment is unchanged."""

    throttle_time_ms: int32 = field()
    # NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE: find the coordinator again.
    # COORDINATOR_LOAD_IN_PROGRESS: retry.
    # UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH: give up all partitions, join anew with epoch 0.
    # UNRELEASED_INSTANCE_ID: another member still has the instance id; retry.
    # UNSUPPORTED_ASSIGNOR: the brokers' group.consumer.assignors do not name it.
    # INVALID_REGULAR_EXPRESSION: v1+; RE2 cannot read `subscribed_topic_regex`.
    # GROUP_MAX_SIZE_REACHED: the brokers' group.consumer.max.size.
    # GROUP_ID_NOT_FOUND: the group is of another kind, and cannot be converted.
    # INVALID_REQUEST: a field is missing, or cannot be.
    # GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED: READ, or DESCRIBE, is lacking.
    error_code: int16 = field()
    error_message: string | None = field(nullable="0+", default=None)
    member_id: string | None = field(nullable="0+", default=None)
    member_epoch: int32 = field()
    heartbeat_interval_ms: int32 = field()

    class Assignment(Struct):
        """The partitions that the member must read."""

        topic_partitions: list[TopicPartitions] = field()

    assignment: Assignment | None = field(nullable="0+", default=None)


class ConsumerGroupHeartbeatRequest(
    Request, api_key=68, versions="0-1", flexible="0+", response=ConsumerGroupHeartbeatResponse
):
    """v1+: the client makes up its member id (KIP-1082), and may subscribe to a pattern.

    The epoch is 0 to join, -1 to leave, -2 to leave as a static member that will be back.
    """

    group_id: string = field()
    member_id: string = field()
    member_epoch: int32 = field()
    instance_id: string | None = field(nullable="0+", default=None)
    rack_id: string | None = field(nullable="0+", default=None)
    rebalance_timeout_ms: int32 = field(default=-1)
    subscribed_topic_names: list[string] | None = field(nullable="0+", default=None)
    subscribed_topic_regex: string | None = field(versions="1+", nullable="1+", default=None)
    server_assignor: string | None = field(nullable="0+", default=None)

    class TopicPartitions(Struct):
        """Partitions of one topic."""

        topic_id: uuid = field()
        partitions: list[int32] = field()

    topic_partitions: list[TopicPartitions] | None = field(nullable="0+", default=None)
