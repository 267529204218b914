"""OffsetCommit (key 8): keep a group's offsets. Ask the group's coordinator.

v0 writes to ZooKeeper. A client that is not a member of the group sends generation -1 and no member
id; the coordinator takes that while the group has no members.
"""

from kafka_protocol.wire.schema import (
    Request,
    Response,
    Struct,
    field,
    int16,
    int32,
    int64,
    string,
    uuid,
)


class OffsetCommitResponse(Response, api_key=8, versions="0-10", flexible="8+"):
    """v4+: throttled after the response (KIP-219). v10+: topics by id (KIP-848)."""

    throttle_time_ms: int32 = field(versions="3+", ignorable=True)

    class OffsetCommitResponseTopic(Struct):
        """The partitions of one topic."""

        name: string = field(versions="0-9", ignorable=True)
        topic_id: uuid = field(versions="10+", ignorable=True)

        class OffsetCommitResponsePartition(Struct):
            """The outcome for one partition."""

            partition_index: int32 = field()
            # NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE: find the coordinator again.
            # COORDINATOR_LOAD_IN_PROGRESS: it is reading its log; retry.
            # UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION: the group has members, or others by now.
            # REBALANCE_IN_PROGRESS: join again first.
            # STALE_MEMBER_EPOCH: v9+; the member's epoch is not the group's (KIP-848).
            # GROUP_ID_NOT_FOUND: v9+; a generation was named, and the group is gone.
            # FENCED_INSTANCE_ID: v7+; another client has the instance id (KIP-345).
            # OFFSET_METADATA_TOO_LARGE: the metadata exceeds offset.metadata.max.bytes.
            # INVALID_COMMIT_OFFSET_SIZE: all of it together makes too large a record.
            # UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID (v10+): no such topic.
            # GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED: READ is lacking.
            error_code: int16 = field()

        partitions: list[OffsetCommitResponsePartition] = field()

    topics: list[OffsetCommitResponseTopic] = field()


class OffsetCommitRequest(
    Request, api_key=8, versions="0-10", flexible="8+", response=OffsetCommitResponse
):
    """v6+: with leader epochs (KIP-320). v7+: static members (KIP-345).

    v9+: for groups of the new protocol too, and v10+ with topic ids (KIP-848).
    """

    group_id: string = field()
    generation_id_or_member_epoch: int32 = field(versions="1+", default=-1, ignorable=True)
    member_id: string = field(versions="1+", ignorable=True)
    group_instance_id: string | None = field(versions="7+", nullable="7+", default=None)
    # Gone with KIP-211: a group keeps its offsets while it has members.
    retention_time_ms: int64 = field(versions="2-4", default=-1, ignorable=True)

    class OffsetCommitRequestTopic(Struct):
        """The partitions of one topic."""

        name: string = field(versions="0-9", ignorable=True)
        topic_id: uuid = field(versions="10+", ignorable=True)

        class OffsetCommitRequestPartition(Struct):
            """The offset at which the group continues in one partition."""

            partition_index: int32 = field()
            committed_offset: int64 = field()
            committed_leader_epoch: int32 = field(versions="6+", default=-1, ignorable=True)
            commit_timestamp: int64 = field(versions="1", default=-1)
            committed_metadata: string | None = field(nullable="0+")

        partitions: list[OffsetCommitRequestPartition] = field()

    topics: list[OffsetCommitRequestTopic] = field()
