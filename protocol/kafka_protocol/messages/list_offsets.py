"""ListOffsets (key 2): the offset of a position or a time in each partition. Ask the leader.

v0 (Kafka 0.8 to 0.10.0) knows no times of records, only segments: it lists offsets, newest first.
"""

from kafka_protocol.wire.schema import (
    Request,
    Response,
    Struct,
    field,
    int8,
    int16,
    int32,
    int64,
    string,
)

# Positions that stand for a timestamp.
LATEST_TIMESTAMP = -1  # the high watermark; the last stable offset under read_committed
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3  # v7+, KIP-734
EARLIEST_LOCAL_TIMESTAMP = -4  # v8+, KIP-405
LATEST_TIERED_TIMESTAMP = -5  # v9+, KIP-1005
EARLIEST_PENDING_UPLOAD_TIMESTAMP = -6  # v11+, KIP-1023


class ListOffsetsResponse(Response, api_key=2, versions="0-11", flexible="6+"):
    """v3+: throttled after the response (KIP-219)."""

    throttle_time_ms: int32 = field(versions="2+", ignorable=True)

    class ListOffsetsTopicResponse(Struct):
        """The partitions of one topic."""

        name: string = field()

        class ListOffsetsPartitionResponse(Struct):
            """One partition; offset and timestamp are -1 if all records are older."""

            partition_index: int32 = field()
            # NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION: refresh metadata.
            # FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH: v4+; the client's or the broker's
            #   metadata is old.
            # OFFSET_NOT_AVAILABLE: v5+; a new leader does not know its high watermark yet.
            # LEADER_NOT_AVAILABLE: below v5, instead of OFFSET_NOT_AVAILABLE.
            # UNSUPPORTED_FOR_MESSAGE_FORMAT: the log has no timestamps (magic 0).
            # TOPIC_AUTHORIZATION_FAILED: the principal lacks DESCRIBE.
            error_code: int16 = field()
            old_style_offsets: list[int64] = field(versions="0")
            timestamp: int64 = field(versions="1+", default=-1)
            offset: int64 = field(versions="1+", default=-1)
            leader_epoch: int32 = field(versions="4+", default=-1)

        partitions: list[ListOffsetsPartitionResponse] = field()

    topics: list[ListOffsetsTopicResponse] = field()


class ListOffsetsRequest(
    Request, api_key=2, versions="0-11", flexible="6+", response=ListOffsetsResponse
):
    """v10+: may wait for remote storage, up to `timeout_ms` (KIP-1075)."""

    replica_id: int32 = field()  # -1 for a client
    isolation_level: int8 = field(versions="2+")

    class ListOffsetsTopic(Struct):
        """The partitions of one topic."""

        name: string = field()

        class ListOffsetsPartition(Struct):
            """One question."""

            partition_index: int32 = field()
            current_leader_epoch: int32 = field(versions="4+", default=-1, ignorable=True)
            timestamp: int64 = field()  # ms, or one of the positions above
            max_num_offsets: int32 = field(versions="0", default=1)

        partitions: list[ListOffsetsPartition] = field()

    topics: list[ListOffsetsTopic] = field()
    timeout_ms: int32 = field(versions="10+", ignorable=True)
