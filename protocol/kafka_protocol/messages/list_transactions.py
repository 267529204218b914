"""ListTransactions (key 66): the transactions that a broker coordinates (KIP-664).

Ask every broker.
"""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int16, int32, int64, string


class ListTransactionsResponse(Response, api_key=66, versions="0-2", flexible="0+"):
    """The transactions that matched."""

    throttle_time_ms: int32 = field()
    # COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS: the list may lack some; retry.
    # INVALID_REGULAR_EXPRESSION: v2+; RE2 cannot read the pattern.
    error_code: int16 = field()
    unknown_state_filters: list[string] = field()

    class TransactionState(Struct):
        """A transaction."""

        transactional_id: string = field()
        producer_id: int64 = field()
        transaction_state: string = field()

    transaction_states: list[TransactionState] = field()


class ListTransactionsRequest(
    Request, api_key=66, versions="0-2", flexible="0+", response=ListTransactionsResponse
):
    """v1+: by duration (KIP-994). v2+: by a pattern of ids (KIP-1152)."""

    state_filters: list[string] = field()
    producer_id_filters: list[int64] = field()
    duration_filter: int64 = field(versions="1+", default=-1)
    transactional_id_pattern: string | None = field(versions="2+", nullable="2+", default=None)
