"""DescribeTransactions (key 65): the state of transactions by id (KIP-664).

Ask their coordinator.
"""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int16, int32, int64, string


class DescribeTransactionsResponse(Response, api_key=65, versions="0", flexible="0+"):
    """A state for each transactional id."""

    throttle_time_ms: int32 = field()

    class TransactionState(Struct):
        """The state of a transactional id. The start time is -1 if no transaction is open."""

        # TRANSACTIONAL_ID_NOT_FOUND: no such id, or it has expired.
        # NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS: retry.
        # TRANSACTIONAL_ID_AUTHORIZATION_FAILED: DESCRIBE is lacking.
        error_code: int16 = field()
        transactional_id: string = field()
        transaction_state: string = field()
        transaction_timeout_ms: int32 = field()
        transaction_start_time_ms: int64 = field()
        producer_id: int64 = field()
        producer_epoch: int16 = field()

        class TopicData(Struct):
            """The partitions of one topic that take part."""

            topic: string = field()
            partitions: list[int32] = field()

        topics: list[TopicData] = field()

    transaction_states: list[TransactionState] = field()


class DescribeTransactionsRequest(
    Request, api_key=65, versions="0", flexible="0+", response=DescribeTransactionsResponse
):
    """Transactional ids."""

    transactional_ids: list[string] = field()
