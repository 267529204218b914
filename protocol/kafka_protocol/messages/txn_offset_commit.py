"""TxnOffsetCommit (key 28): offsets that count once a transaction commits (KIP-98).

Ask the group's coordinator, after AddOffsetsToTxn (below v5).
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


class TxnOffsetCommitResponse(Response, api_key=28, versions="0-6", flexible="3+"):
    """v1+: throttled after the response (KIP-219). v6+: topics by id (KIP-1319)."""

    throttle_time_ms: int32 = field()

    class TxnOffsetCommitResponseTopic(Struct):
        """The partitions of one topic."""

        name: string = field(versions="0-5", ignorable=True)
        topic_id: uuid = field(versions="6+", ignorable=True)

        class TxnOffsetCommitResponsePartition(Struct):
            """The outcome for one partition."""

            partition_index: int32 = field()
            # NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE: find the group's coordinator again.
            # COORDINATOR_LOAD_IN_PROGRESS: retry; below v2 it is COORDINATOR_NOT_AVAILABLE.
            # INVALID_PRODUCER_EPOCH, PRODUCER_FENCED: a newer producer has the transactional id.
            # ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID: v3+; the group went on
            #   without this member, so abort.
            # OFFSET_METADATA_TOO_LARGE: the metadata exceeds offset.metadata.max.bytes.
            # GROUP_ID_NOT_FOUND, STALE_MEMBER_EPOCH: v6+; as above, with the new group protocol.
            # UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID (v6+): no such topic.
            # GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED: READ is lacking.
            # TRANSACTIONAL_ID_AUTHORIZATION_FAILED: WRITE is lacking.
            # TRANSACTION_ABORTABLE: v4+; abort, then go on (KIP-890).
            error_code: int16 = field()

        partitions: list[TxnOffsetCommitResponsePartition] = field()

    topics: list[TxnOffsetCommitResponseTopic] = field()


class TxnOffsetCommitRequest(
    Request, api_key=28, versions="0-6", flexible="3+", response=TxnOffsetCommitResponse
):
    """v2+: with leader epochs (KIP-320). v3+: fenced by the group's generation (KIP-447).

    v6+: with topic ids (KIP-1319).
    """

    transactional_id: string = field()
    group_id: string = field()
    producer_id: int64 = field()
    producer_epoch: int16 = field()
    generation_id_or_member_epoch: int32 = field(versions="3+", default=-1)
    member_id: string = field(versions="3+")
    group_instance_id: string | None = field(versions="3+", nullable="3+", default=None)

    class TxnOffsetCommitRequestTopic(Struct):
        """The partitions of one topic."""

        name: string = field(versions="0-5", ignorable=True)
        topic_id: uuid = field(versions="6+", ignorable=True)

        class TxnOffsetCommitRequestPartition(Struct):
            """The offset at which the group continues in one partition."""

            partition_index: int32 = field()
            committed_offset: int64 = field()
            committed_leader_epoch: int32 = field(versions="2+", default=-1, ignorable=True)
            committed_metadata: string | None = field(nullable="0+")

        partitions: list[TxnOffsetCommitRequestPartition] = field()

    topics: list[TxnOffsetCommitRequestTopic] = field()
