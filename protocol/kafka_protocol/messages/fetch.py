"""Fetch (key 1): record batches of partitions, from an offset on. Ask the leader.

A long poll: the broker answers when `min_bytes` are there, or after `max_wait_ms`. The response
starts with the batch that holds `fetch_offset`, so earlier records can come with it; its last
batch may be cut short.
"""

from kafka_protocol.wire.schema import (
    MAX_ELEMENTS,
    Request,
    Response,
    Struct,
    field,
    int8,
    int16,
    int32,
    int64,
    records_,
    string,
    uuid,
)

# isolation_level, by the name that clients' configurations have for it.
ISOLATION_LEVELS = {"read_uncommitted": 0, "read_committed": 1}

# Session id and epoch of a fetch outside any session (KIP-227).
NO_SESSION_ID = 0
FINAL_SESSION_EPOCH = -1


class FetchResponse(Response, api_key=1, versions="0-18", flexible="12+"):
    """v2+: magic 1. v4+: magic 2. v8+: throttled after the response. v10+: zstd (KIP-110)."""

    throttle_time_ms: int32 = field(versions="1+", ignorable=True)
    # FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH: begin a new session.
    # FETCH_SESSION_TOPIC_ID_ERROR: v13+; the session mixed names and ids.
    error_code: int16 = field(versions="7+", ignorable=True)
    session_id: int32 = field(versions="7+")

    class FetchableTopicResponse(Struct):
        """The partitions of one topic."""

        topic: string = field(versions="0-12", ignorable=True)
        topic_id: uuid = field(versions="13+", ignorable=True)  # KIP-516

        class PartitionData(Struct):
            """The records of one partition from the requested offset on."""

            partition_index: int32 = field()
            # OFFSET_OUT_OF_RANGE: below log_start_offset or above the high watermark.
            # NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR (v6+):
            #   refresh metadata.
            # UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID: v13+; the topic was deleted, or re-created.
            # FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH: v9+; one side's metadata is old.
            # OFFSET_NOT_AVAILABLE: the leader does not know its high watermark yet.
            # UNSUPPORTED_COMPRESSION_TYPE: zstd in the log, requested below v10.
            # OFFSET_MOVED_TO_TIERED_STORAGE: v14+; followers only.
            # CORRUPT_MESSAGE: the broker's own log is damaged.
            # TOPIC_AUTHORIZATION_FAILED: the principal lacks READ.
            error_code: int16 = field()
            high_watermark: int64 = field()
            last_stable_offset: int64 = field(versions="4+", default=-1, ignorable=True)
            log_start_offset: int64 = field(versions="5+", default=-1, ignorable=True)

            class EpochEndOffset(Struct):
                """The last common epoch and its end; -1 without a divergence."""

                epoch: int32 = field(versions="12+", default=-1)
                end_offset: int64 = field(versions="12+", default=-1)

            diverging_epoch: EpochEndOffset = field(versions="12+", tag=0)  # KIP-595

            class LeaderIdAndEpoch(Struct):
                """The new leader, with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH."""

                leader_id: int32 = field(versions="12+", default=-1)
                leader_epoch: int32 = field(versions="12+", default=-1)

            current_leader: LeaderIdAndEpoch = field(versions="12+", tag=1)  # KIP-951

            class SnapshotId(Struct):
                """For followers of KRaft's own log (KIP-630)."""

                end_offset: int64 = field(default=-1)
                epoch: int32 = field(default=-1)

            snapshot_id: SnapshotId = field(versions="12+", tag=2)

            class AbortedTransaction(Struct):
                """Records of this producer from first_offset to its next marker are void."""

                producer_id: int64 = field(versions="4+")
                first_offset: int64 = field(versions="4+")

            # Null under read_uncommitted. Redpanda sends it unsorted.
            aborted_transactions: list[AbortedTransaction] | None = field(
                versions="4+", nullable="4+", ignorable=True
            )
            # The replica to fetch from (KIP-392); the response has no records then.
            preferred_read_replica: int32 = field(versions="11+", default=-1)
            records: records_ | None = field(nullable="0+")

        partitions: list[PartitionData] = field()

    responses: list[FetchableTopicResponse] = field()

    class NodeEndpoint(Struct):
        """The address of a broker that `current_leader` names."""

        node_id: int32 = field(versions="16+")
        host: string = field(versions="16+")
        port: int32 = field(versions="16+")
        rack: string | None = field(versions="16+", nullable="16+", default=None)

    node_endpoints: list[NodeEndpoint] = field(versions="16+", tag=0, at_most=MAX_ELEMENTS)


class FetchRequest(Request, api_key=1, versions="0-18", flexible="12+", response=FetchResponse):
    """v3+: partitions are served in the order in which they stand here (KIP-74)."""

    cluster_id: string | None = field(
        versions="12+", nullable="12+", default=None, tag=0, ignorable=True
    )
    replica_id: int32 = field(versions="0-14", default=-1)  # -1 for a client

    class ReplicaState(Struct):
        """Replaces replica_id (KIP-903); -1 for a client."""

        replica_id: int32 = field(versions="15+", default=-1)
        replica_epoch: int64 = field(versions="15+", default=-1)

    replica_state: ReplicaState = field(versions="15+", tag=1)
    max_wait_ms: int32 = field()
    min_bytes: int32 = field()
    # A larger first batch is still complete (v3+, KIP-74).
    max_bytes: int32 = field(versions="3+", default=0x7FFFFFFF, ignorable=True)
    isolation_level: int8 = field(versions="4+", ignorable=True)
    session_id: int32 = field(versions="7+", ignorable=True)
    session_epoch: int32 = field(versions="7+", default=FINAL_SESSION_EPOCH, ignorable=True)

    class FetchTopic(Struct):
        """The partitions of one topic."""

        topic: string = field(versions="0-12", ignorable=True)
        topic_id: uuid = field(versions="13+", ignorable=True)  # KIP-516

        class FetchPartition(Struct):
            """The offset to read from, and the most bytes."""

            partition: int32 = field()
            current_leader_epoch: int32 = field(versions="9+", default=-1, ignorable=True)
            fetch_offset: int64 = field()
            last_fetched_epoch: int32 = field(versions="12+", default=-1)  # KIP-595
            log_start_offset: int64 = field(versions="5+", default=-1, ignorable=True)
            partition_max_bytes: int32 = field()
            replica_directory_id: uuid = field(versions="17+", tag=0, ignorable=True)  # KIP-853
            high_watermark: int64 = field(  # KIP-1166
                versions="18+", default=2**63 - 1, tag=1, ignorable=True
            )

        partitions: list[FetchPartition] = field()

    topics: list[FetchTopic] = field()

    class ForgottenTopic(Struct):
        """Partitions to drop from an incremental session (KIP-227)."""

        topic: string = field(versions="7-12", ignorable=True)
        topic_id: uuid = field(versions="13+", ignorable=True)
        partitions: list[int32] = field(versions="7+")

    forgotten_topics_data: list[ForgottenTopic] = field(versions="7+")
    rack_id: string = field(versions="11+", ignorable=True)  # KIP-392
