"""ShareGroupHeartbeat (key 76): join, stay in and leave a share group (KIP-932).

Ask the group's coordinator. v0 was an early access and is not spoken.
"""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int16, int32, string, uuid


class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic_id: uuid = field()
    partitions: list[int32] = field()


class ShareGroupHeartbeatResponse(Response, api_key=76, versions="1", flexible="0+"):
    """A null assignment is unchanged."""

    throttle_time_ms: int32 = field()
    # NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE: find the coordinator again.
    # COORDINATOR_LOAD_IN_PROGRESS: retry.
    # UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH: join anew with epoch 0.
    # GROUP_MAX_SIZE_REACHED: the brokers' group.share.max.size.
    # GROUP_ID_NOT_FOUND: the group is of another kind.
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


class ShareGroupHeartbeatRequest(
    Request, api_key=76, versions="1", flexible="0+", response=ShareGroupHeartbeatResponse
):
    """A null field is unchanged since the last heartbeat.

    The epoch is 0 to join, -1 to leave.
    """

    group_id: string = field()
    member_id: string = field()
    member_epoch: int32 = field()
    rack_id: string | None = field(nullable="0+", default=None)
    subscribed_topic_names: list[string] | None = field(nullable="0+", default=None)
