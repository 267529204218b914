"""InitProducerId (key 22): an id and epoch for an idempotent or transactional producer.

KIP-98; KIP-360 (v3+: bump the epoch of an id that one has). v6 (two-phase commit, KIP-939) is
marked unstable in Kafka 4.3, so it is not declared.
"""

from kafka_protocol.wire.schema import Request, Response, field, int16, int32, int64, string


class InitProducerIdResponse(Response, api_key=22, versions="0-5", flexible="2+"):
    """v1+: throttled after the response (KIP-219)."""

    throttle_time_ms: int32 = field(ignorable=True)
    # COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR: find it anew.
    # CONCURRENT_TRANSACTIONS: the last transaction is still being ended; try again.
    # INVALID_TRANSACTION_TIMEOUT: above the broker's transaction.max.timeout.ms.
    # INVALID_PRODUCER_EPOCH, PRODUCER_FENCED (v4+): another producer took the id over.
    # TRANSACTION_ABORTABLE: v5+ (KIP-890).
    # TRANSACTIONAL_ID_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED: WRITE, or
    #   IDEMPOTENT_WRITE on brokers below 2.8, is lacking.
    error_code: int16 = field()
    producer_id: int64 = field(default=-1)
    producer_epoch: int16 = field()


class InitProducerIdRequest(
    Request, api_key=22, versions="0-5", flexible="2+", response=InitProducerIdResponse
):
    """To the transaction coordinator; to any broker where `transactional_id` is null."""

    transactional_id: string | None = field(nullable="0+")
    transaction_timeout_ms: int32 = field()
    producer_id: int64 = field(versions="3+", default=-1)
    producer_epoch: int16 = field(versions="3+", default=-1)
