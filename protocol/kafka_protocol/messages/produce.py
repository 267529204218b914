"""Produce (key 0): append record batches to partitions. Ask the leader.

A batch is appended whole or not at all. With `acks=0` the broker sends no response.
"""

from kafka_protocol.wire.schema import (
    MAX_ELEMENTS,
    Request,
    Response,
    Struct,
    field,
    int16,
    int32,
    int64,
    records_,
    string,
    uuid,
)

ACKS_ALL = -1


class ProduceResponse(Response, api_key=0, versions="0-13", flexible="9+"):
    """One outcome per partition."""

    class TopicProduceResponse(Struct):
        """The partitions of one topic."""

        name: string = field(versions="0-12", ignorable=True)
        topic_id: uuid = field(versions="13+", ignorable=True)  # KIP-516

        class PartitionProduceResponse(Struct):
            """The outcome for one batch."""

            index: int32 = field()
            # NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR (v4+),
            #   UNKNOWN_TOPIC_ID (v13+): refresh metadata; nothing was appended.
            # REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND: appended, perhaps not kept.
            # NOT_ENOUGH_REPLICAS: nothing was appended.
            # CORRUPT_MESSAGE: the CRC failed on the way, or a compacted topic got a null key.
            # MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE: send smaller batches.
            # INVALID_TIMESTAMP, INVALID_RECORD (v8+: which one): the topic's rules reject it.
            # UNSUPPORTED_COMPRESSION_TYPE: zstd below v7.
            # UNSUPPORTED_FOR_MESSAGE_FORMAT: transactions on a topic of an old format.
            # DUPLICATE_SEQUENCE_NUMBER: already in the log, so a success.
            # OUT_OF_ORDER_SEQUENCE_NUMBER, UNKNOWN_PRODUCER_ID: earlier batches are missing.
            # INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, INVALID_PRODUCER_ID_MAPPING,
            #   TRANSACTION_ABORTABLE (v11+): abort the transaction, or give up.
            # TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED,
            #   TRANSACTIONAL_ID_AUTHORIZATION_FAILED: the principal lacks WRITE.
            error_code: int16 = field()
            base_offset: int64 = field()
            # -1 unless the topic stamps records itself (LogAppendTime).
            log_append_time_ms: int64 = field(versions="2+", default=-1, ignorable=True)
            log_start_offset: int64 = field(versions="5+", default=-1, ignorable=True)

            class BatchIndexAndErrorMessage(Struct):
                """A record that made the broker refuse the batch (KIP-467)."""

                batch_index: int32 = field(versions="8+")
                batch_index_error_message: string | None = field(
                    versions="8+", nullable="8+", default=None
                )

            record_errors: list[BatchIndexAndErrorMessage] = field(versions="8+", ignorable=True)
            error_message: string | None = field(
                versions="8+", nullable="8+", default=None, ignorable=True
            )

            class LeaderIdAndEpoch(Struct):
                """The new leader, with NOT_LEADER_OR_FOLLOWER."""

                leader_id: int32 = field(versions="10+", default=-1)
                leader_epoch: int32 = field(versions="10+", default=-1)

            current_leader: LeaderIdAndEpoch = field(versions="10+", tag=0)  # KIP-951

        partition_responses: list[PartitionProduceResponse] = field()

    responses: list[TopicProduceResponse] = field()
    throttle_time_ms: int32 = field(versions="1+", ignorable=True)

    class NodeEndpoint(Struct):
        """The address of a broker that `current_leader` names."""

        node_id: int32 = field(versions="10+")
        host: string = field(versions="10+")
        port: int32 = field(versions="10+")
        rack: string | None = field(versions="10+", nullable="10+", default=None)

    node_endpoints: list[NodeEndpoint] = field(versions="10+", tag=0, at_most=MAX_ELEMENTS)


class ProduceRequest(Request, api_key=0, versions="0-13", flexible="9+", response=ProduceResponse):
    """v2+: magic 1. v3+: magic 2, one batch per partition. v7+: zstd (KIP-110).

    v12+ in a transaction also adds the partition to it (KIP-890), where the cluster has
    transaction.version 2.
    """

    transactional_id: string | None = field(versions="3+", nullable="3+", default=None)
    acks: int16 = field()  # 0 none, 1 the leader, -1 all in-sync replicas
    timeout_ms: int32 = field()  # how long the leader may wait for the replicas

    class TopicProduceData(Struct):
        """The partitions of one topic."""

        name: string = field(versions="0-12", ignorable=True)
        topic_id: uuid = field(versions="13+", ignorable=True)

        class PartitionProduceData(Struct):
            """A record batch for one partition."""

            index: int32 = field()
            records: records_ | None = field(nullable="0+")

        partition_data: list[PartitionProduceData] = field()

    topic_data: list[TopicProduceData] = field()
