"""OffsetFetch (key 9): the offsets that a group has committed. Ask the group's coordinator.

v0 reads from ZooKeeper. v8+: several groups at once, in fields of their own (KIP-709).
"""

from kafka_protocol.wire.schema import (
    Request,
    Response,
    Struct,
    boolean,
    field,
    int16,
    int32,
    int64,
    string,
    uuid,
)


class OffsetFetchResponse(Response, api_key=9, versions="0-10", flexible="6+"):
    """v4+: throttled after the response (KIP-219)."""

    throttle_time_ms: int32 = field(versions="3+", ignorable=True)

    class OffsetFetchResponseTopic(Struct):
        """The partitions of one topic; below v8."""

        name: string = field(versions="0-7")

        class OffsetFetchResponsePartition(Struct):
            """An offset, or -1 where none was committed."""

            partition_index: int32 = field(versions="0-7")
            committed_offset: int64 = field(versions="0-7")
            committed_leader_epoch: int32 = field(versions="5-7", default=-1, ignorable=True)
            metadata: string | None = field(versions="0-7", nullable="0-7")
            # UNSTABLE_OFFSET_COMMIT: v7+, `require_stable`; a transaction has yet to decide.
            # UNKNOWN_TOPIC_OR_PARTITION: v0; no such topic, or no offset was committed.
            # TOPIC_AUTHORIZATION_FAILED: DESCRIBE is lacking.
            # Below v2 also the errors of the group's own `error_code`.
            error_code: int16 = field(versions="0-7")

        partitions: list[OffsetFetchResponsePartition] = field(versions="0-7")

    topics: list[OffsetFetchResponseTopic] = field(versions="0-7")
    # NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE: find the coordinator again.
    # COORDINATOR_LOAD_IN_PROGRESS: it is reading its log; retry.
    # GROUP_AUTHORIZATION_FAILED: DESCRIBE is lacking.
    error_code: int16 = field(versions="2-7", ignorable=True)

    class OffsetFetchResponseGroup(Struct):
        """The offsets of one group."""

        group_id: string = field(versions="8+")

        class OffsetFetchResponseTopics(Struct):
            """The partitions of one topic."""

            name: string = field(versions="8-9", ignorable=True)
            topic_id: uuid = field(versions="10+", ignorable=True)  # KIP-848

            class OffsetFetchResponsePartitions(Struct):
                """An offset, or -1 where none was committed."""

                partition_index: int32 = field(versions="8+")
                committed_offset: int64 = field(versions="8+")
                committed_leader_epoch: int32 = field(versions="8+", default=-1, ignorable=True)
                metadata: string | None = field(versions="8+", nullable="8+")
                # UNSTABLE_OFFSET_COMMIT: `require_stable`; a transaction has yet to decide.
                # UNKNOWN_TOPIC_ID: v10+; no such topic.
                # TOPIC_AUTHORIZATION_FAILED: DESCRIBE is lacking.
                error_code: int16 = field(versions="8+")

            partitions: list[OffsetFetchResponsePartitions] = field(versions="8+")

        topics: list[OffsetFetchResponseTopics] = field(versions="8+")
        # As below v8, and v9+ (KIP-848), for a member's request:
        # UNKNOWN_MEMBER_ID: it was removed. STALE_MEMBER_EPOCH: its epoch is not the group's.
        error_code: int16 = field(versions="8+")

    groups: list[OffsetFetchResponseGroup] = field(versions="8+")


class OffsetFetchRequest(
    Request, api_key=9, versions="0-10", flexible="6+", response=OffsetFetchResponse
):
    """v2+: null means all topics. v7+: `require_stable` waits for open transactions (KIP-447)."""

    group_id: string = field(versions="0-7")

    class OffsetFetchRequestTopic(Struct):
        """The partitions of one topic; below v8."""

        name: string = field(versions="0-7")
        partition_indexes: list[int32] = field(versions="0-7")

    topics: list[OffsetFetchRequestTopic] | None = field(versions="0-7", nullable="2-7")

    class OffsetFetchRequestGroup(Struct):
        """A group, and the member that sends the request."""

        group_id: string = field(versions="8+")
        member_id: string | None = field(versions="9+", nullable="9+", default=None, ignorable=True)
        member_epoch: int32 = field(versions="9+", default=-1, ignorable=True)

        class OffsetFetchRequestTopics(Struct):
            """The partitions of one topic."""

            name: string = field(versions="8-9", ignorable=True)
            topic_id: uuid = field(versions="10+", ignorable=True)
            partition_indexes: list[int32] = field(versions="8+")

        topics: list[OffsetFetchRequestTopics] | None = field(versions="8+", nullable="8+")

    groups: list[OffsetFetchRequestGroup] = field(versions="8+")
    require_stable: boolean = field(versions="7+")
