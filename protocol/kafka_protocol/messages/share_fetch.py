"""ShareFetch (key 78): acquire records of a share group, and acknowledge others (KIP-932).

Ask the partitions' leader. v0 was an early access and is not spoken.
"""

from kafka_protocol.wire.schema import (
    MAX_ELEMENTS,
    Request,
    Response,
    Struct,
    boolean,
    field,
    int8,
    int16,
    int32,
    int64,
    records_,
    string,
    uuid,
)


class ShareFetchResponse(Response, api_key=78, versions="1-2", flexible="0+"):
    """Records, and which of them this member has acquired."""

    throttle_time_ms: int32 = field()
    # SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH: begin a new session.
    # SHARE_SESSION_LIMIT_REACHED: the broker has no room for one more session.
    # GROUP_AUTHORIZATION_FAILED: READ is lacking.
    # INVALID_REQUEST: the first request of a session acknowledges something.
    error_code: int16 = field()
    error_message: string | None = field(nullable="0+", default=None)
    acquisition_lock_timeout_ms: int32 = field(versions="1+")

    class ShareFetchableTopicResponse(Struct):
        """Partitions of one topic."""

        topic_id: uuid = field()

        class PartitionData(Struct):
            """A partition."""

            partition_index: int32 = field()
            # NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH: see current_leader.
            # UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR: refresh metadata.
            # CORRUPT_MESSAGE: the broker's own copy is damaged.
            # TOPIC_AUTHORIZATION_FAILED: READ is lacking.
            error_code: int16 = field()
            error_message: string | None = field(nullable="0+", default=None)
            # INVALID_RECORD_STATE: this member does not hold the records any more.
            # INVALID_REQUEST: offsets that overlap or go back, or no such type.
            # Or any code that `error_code` can be.
            acknowledge_error_code: int16 = field()
            acknowledge_error_message: string | None = field(nullable="0+", default=None)

            class LeaderIdAndEpoch(Struct):
                """The leader, with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH."""

                leader_id: int32 = field()
                leader_epoch: int32 = field()

            current_leader: LeaderIdAndEpoch = field()
            records: records_ | None = field(nullable="0")

            class AcquiredRecords(Struct):
                """A range that this member holds, with both ends; how often it was delivered."""

                first_offset: int64 = field()
                last_offset: int64 = field()
                delivery_count: int16 = field()

            acquired_records: list[AcquiredRecords] = field()

        partitions: list[PartitionData] = field()

    responses: list[ShareFetchableTopicResponse] = field()

    class NodeEndpoint(Struct):
        """The address of a broker that `current_leader` names."""

        node_id: int32 = field()
        host: string = field()
        port: int32 = field()
        rack: string | None = field(nullable="0+", default=None)

    node_endpoints: list[NodeEndpoint] = field(at_most=MAX_ELEMENTS)


class ShareFetchRequest(
    Request, api_key=78, versions="1-2", flexible="0+", response=ShareFetchResponse
):
    """v2+: `share_acquire_mode` (KIP-1206), and renewal (KIP-1222)."""

    group_id: string | None = field(nullable="0+", default=None)
    member_id: string | None = field(nullable="0+")
    share_session_epoch: int32 = field()
    max_wait_ms: int32 = field()
    min_bytes: int32 = field()
    max_bytes: int32 = field(default=0x7FFFFFFF)
    max_records: int32 = field(versions="1+")
    batch_size: int32 = field(versions="1+")
    share_acquire_mode: int8 = field(versions="2+", ignorable=True)
    is_renew_ack: boolean = field(versions="2+")

    class FetchTopic(Struct):
        """Partitions of one topic."""

        topic_id: uuid = field()

        class FetchPartition(Struct):
            """A partition to read, and the records to acknowledge."""

            partition_index: int32 = field()

            class AcknowledgementBatch(Struct):
                """Types: 0 gap, 1 accept, 2 release, 3 reject, 4 renew (v2+)."""

                first_offset: int64 = field()
                last_offset: int64 = field()
                acknowledge_types: list[int8] = field()

            acknowledgement_batches: list[AcknowledgementBatch] = field()

        partitions: list[FetchPartition] = field()

    topics: list[FetchTopic] = field()

    class ForgottenTopic(Struct):
        """Partitions to drop from the session."""

        topic_id: uuid = field()
        partitions: list[int32] = field()

    forgotten_topics_data: list[ForgottenTopic] = field()
