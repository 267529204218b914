"""AddPartitionsToTxn (key 24): partitions join a transaction before the first record (KIP-98).

Ask the transaction's coordinator. v4+ is for brokers only, which verify with it (KIP-890): clients
stay at v3, and need it no more where brokers have transactions of version 2 (Kafka 4.0).
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
)


class AddPartitionsToTxnPartitionResult(Struct):
    """The outcome for one partition."""

    partition_index: int32 = field()
    # NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE: find the coordinator again.
    # COORDINATOR_LOAD_IN_PROGRESS, CONCURRENT_TRANSACTIONS: retry; the last one is still ending.
    # INVALID_PRODUCER_EPOCH (v0-1), PRODUCER_FENCED (v2+): a newer producer has the id.
    # INVALID_PRODUCER_ID_MAPPING: the transactional id has another producer id, or expired.
    # INVALID_TXN_STATE: not in this state of the transaction.
    # TRANSACTIONAL_ID_AUTHORIZATION_FAILED: WRITE is lacking.
    # OPERATION_NOT_ATTEMPTED: another partition failed, so this one was not added.
    # UNKNOWN_TOPIC_OR_PARTITION, TOPIC_AUTHORIZATION_FAILED: of this partition.
    # TRANSACTION_ABORTABLE: v5+; abort, then go on.
    partition_error_code: int16 = field()


class AddPartitionsToTxnTopicResult(Struct):
    """The partitions of one topic."""

    name: string = field()
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = field()


class AddPartitionsToTxnResponse(Response, api_key=24, versions="0-5", flexible="3+"):
    """v1+: throttled after the response (KIP-219)."""

    throttle_time_ms: int32 = field()
    # CLUSTER_AUTHORIZATION_FAILED: only brokers may send v4+.
    error_code: int16 = field(versions="4+", ignorable=True)

    class AddPartitionsToTxnResult(Struct):
        """The outcome for one transaction."""

        transactional_id: string = field(versions="4+")
        topic_results: list[AddPartitionsToTxnTopicResult] = field(versions="4+")

    results_by_transaction: list[AddPartitionsToTxnResult] = field(versions="4+")
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = field(versions="0-3")


class AddPartitionsToTxnTopic(Struct):
    """The partitions of one topic."""

    name: string = field()
    partitions: list[int32] = field()


class AddPartitionsToTxnRequest(
    Request, api_key=24, versions="0-5", flexible="3+", response=AddPartitionsToTxnResponse
):
    """v4+: several transactions at once, `verify_only` adds nothing."""

    class AddPartitionsToTxnTransaction(Struct):
        """A transaction and its new partitions."""

        transactional_id: string = field(versions="4+")
        producer_id: int64 = field(versions="4+")
        producer_epoch: int16 = field(versions="4+")
        verify_only: boolean = field(versions="4+")
        topics: list[AddPartitionsToTxnTopic] = field(versions="4+")

    transactions: list[AddPartitionsToTxnTransaction] = field(versions="4+")
    v3_and_below_transactional_id: string = field(versions="0-3")
    v3_and_below_producer_id: int64 = field(versions="0-3")
    v3_and_below_producer_epoch: int16 = field(versions="0-3")
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = field(versions="0-3")
