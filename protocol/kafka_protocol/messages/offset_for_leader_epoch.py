"""OffsetForLeaderEpoch (key 23): the end of a leader epoch (KIP-101, KIP-320). For the leader.

A log that ends earlier than the reader's position was truncated: records were lost.
"""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int16, int32, int64, string


class OffsetForLeaderEpochResponse(Response, api_key=23, versions="0-4", flexible="4+"):
    """v2+: throttled after the response (KIP-219)."""

    throttle_time_ms: int32 = field(versions="2+", ignorable=True)

    class OffsetForLeaderTopicResult(Struct):
        """The partitions of one topic."""

        topic: string = field()

        class EpochEndOffset(Struct):
            """The largest epoch up to the requested one, and its end; -1 without such an epoch."""

            # FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH: one side's metadata is old.
            # NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION: refresh metadata.
            # TOPIC_AUTHORIZATION_FAILED: DESCRIBE is lacking.
            error_code: int16 = field()
            partition: int32 = field()
            leader_epoch: int32 = field(versions="1+", default=-1, ignorable=True)
            end_offset: int64 = field(default=-1)

        partitions: list[EpochEndOffset] = field()

    topics: list[OffsetForLeaderTopicResult] = field()


class OffsetForLeaderEpochRequest(
    Request, api_key=23, versions="0-4", flexible="4+", response=OffsetForLeaderEpochResponse
):
    """v2+: fenced by the leader's own epoch. v3+: with the sender's id (KIP-320)."""

    # A consumer is -1; -2 may read above the high watermark.
    replica_id: int32 = field(versions="3+", default=-2, ignorable=True)

    class OffsetForLeaderTopic(Struct):
        """The partitions of one topic."""

        topic: string = field()

        class OffsetForLeaderPartition(Struct):
            """The epoch to look up."""

            partition: int32 = field()
            current_leader_epoch: int32 = field(versions="2+", default=-1, ignorable=True)
            leader_epoch: int32 = field()

        partitions: list[OffsetForLeaderPartition] = field()

    topics: list[OffsetForLeaderTopic] = field()
