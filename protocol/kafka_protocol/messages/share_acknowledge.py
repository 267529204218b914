"""ShareAcknowledge (key 79): acknowledge records of a share group (KIP-932).

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
    string,
    uuid,
)


class ShareAcknowledgeResponse(Response, api_key=79, versions="1-2", flexible="0+"):
    """The outcome, then for each partition."""

    throttle_time_ms: int32 = field()
    # SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH: begin a new session.
    # SHARE_SESSION_LIMIT_REACHED: the broker has no room for one more session.
    # GROUP_AUTHORIZATION_FAILED: READ is lacking.
    error_code: int16 = field()
    error_message: string | None = field(nullable="0+", default=None)
    acquisition_lock_timeout_ms: int32 = field(versions="2+", ignorable=True)

    class ShareAcknowledgeTopicResponse(Struct):
        """Partitions of one topic."""

        topic_id: uuid = field()

        class PartitionData(Struct):
            """The outcome for one partition."""

            partition_index: int32 = field()
            # INVALID_RECORD_STATE: this member does not hold the records any more.
            # INVALID_REQUEST: offsets that overlap or go back, or no such type.
            # NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH: see current_leader.
            # UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR: refresh metadata.
            # TOPIC_AUTHORIZATION_FAILED: READ is lacking.
            error_code: int16 = field()
            error_message: string | None = field(nullable="0+", default=None)

            class LeaderIdAndEpoch(Struct):
                """The leader, with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH."""

                leader_id: int32 = field()
                leader_epoch: int32 = field()

            current_leader: LeaderIdAndEpoch = field()

        partitions: list[PartitionData] = field()

    responses: list[ShareAcknowledgeTopicResponse] = field()

    class NodeEndpoint(Struct):
        """The address of a broker that `current_leader` names."""

        node_id: int32 = field()
        host: string = field()
        port: int32 = field()
        rack: string | None = field(nullable="0+", default=None)

    node_endpoints: list[NodeEndpoint] = field(at_most=MAX_ELEMENTS)


class ShareAcknowledgeRequest(
    Request, api_key=79, versions="1-2", flexible="0+", response=ShareAcknowledgeResponse
):
    """v2+: records can be renewed (KIP-1222)."""

    group_id: string | None = field(nullable="0+", default=None)
    member_id: string | None = field(nullable="0+")
    share_session_epoch: int32 = field()
    is_renew_ack: boolean = field(versions="2+")

    class AcknowledgeTopic(Struct):
        """Partitions of one topic."""

        topic_id: uuid = field()

        class AcknowledgePartition(Struct):
            """The records to acknowledge in one partition."""

            partition_index: int32 = field()

            class AcknowledgementBatch(Struct):
                """Types: 0 gap, 1 accept, 2 release, 3 reject, 4 renew (v2+)."""

                first_offset: int64 = field()
                last_offset: int64 = field()
                acknowledge_types: list[int8] = field()

            acknowledgement_batches: list[AcknowledgementBatch] = field()

        partitions: list[AcknowledgePartition] = field()

    topics: list[AcknowledgeTopic] = field()
