"""AddOffsetsToTxn (key 25): a group's offsets join a transaction (KIP-98).

Ask the transaction's coordinator; TxnOffsetCommit to the group's coordinator follows.
"""

from kafka_protocol.wire.schema import Request, Response, field, int16, int32, int64, string


class AddOffsetsToTxnResponse(Response, api_key=25, versions="0-4", flexible="3+"):
    """v1+: throttled after the response (KIP-219)."""

    throttle_time_ms: int32 = field()
    # NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE: find the coordinator again.
    # COORDINATOR_LOAD_IN_PROGRESS, CONCURRENT_TRANSACTIONS: retry; the last one is still ending.
    # INVALID_PRODUCER_EPOCH (v0-1), PRODUCER_FENCED (v2+): a newer producer has the id.
    # INVALID_PRODUCER_ID_MAPPING: the transactional id has another producer id, or expired.
    # INVALID_TXN_STATE: not in this state of the transaction.
    # TRANSACTIONAL_ID_AUTHORIZATION_FAILED: WRITE is lacking.
    # GROUP_AUTHORIZATION_FAILED: READ on the group is lacking.
    # TRANSACTION_ABORTABLE: v4+; abort, then go on.
    error_code: int16 = field()


class AddOffsetsToTxnRequest(
    Request, api_key=25, versions="0-4", flexible="3+", response=AddOffsetsToTxnResponse
):
    """v4+: may be answered with TRANSACTION_ABORTABLE (KIP-890)."""

    transactional_id: string = field()
    producer_id: int64 = field()
    producer_epoch: int16 = field()
    group_id: string = field()
