"""EndTxn (key 26): commit or abort a transaction (KIP-98). Ask its coordinator.

Safe to send again with the same producer epoch. v5+: the epoch goes up with each transaction, so
that a late one cannot end the next (KIP-890).
"""

from kafka_protocol.wire.schema import (
    Request,
    Response,
    boolean,
    field,
    int16,
    int32,
    int64,
    string,
)


class EndTxnResponse(Response, api_key=26, versions="0-5", flexible="3+"):
    """v5+: the producer id and epoch for the next transaction."""

    throttle_time_ms: int32 = field()
    # NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE: find the coordinator again.
    # COORDINATOR_LOAD_IN_PROGRESS, CONCURRENT_TRANSACTIONS: retry; the last one is still ending.
    # INVALID_PRODUCER_EPOCH (v0-1), PRODUCER_FENCED (v2+): a newer producer has the id.
    # INVALID_PRODUCER_ID_MAPPING: the transactional id has another producer id, or expired.
    # INVALID_TXN_STATE: not in this state of the transaction.
    # TRANSACTIONAL_ID_AUTHORIZATION_FAILED: WRITE is lacking.
    # TRANSACTION_ABORTABLE: v4+; abort, then go on.
    error_code: int16 = field()
    producer_id: int64 = field(versions="5+", default=-1, ignorable=True)
    producer_epoch: int16 = field(versions="5+", default=-1, ignorable=True)


class EndTxnRequest(Request, api_key=26, versions="0-5", flexible="3+", response=EndTxnResponse):
    """`committed`: commit or abort."""

    transactional_id: string = field()
    producer_id: int64 = field()
    producer_epoch: int16 = field()
    committed: boolean = field()
