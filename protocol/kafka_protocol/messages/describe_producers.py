"""DescribeProducers (key 61): the producers of partitions and their transactions (KIP-664).

Ask the leader: this finds the transaction that holds the last stable offset back.
"""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int16, int32, int64, string


class DescribeProducersResponse(Response, api_key=61, versions="0", flexible="0+"):
    """A result for each partition."""

    throttle_time_ms: int32 = field()

    class TopicResponse(Struct):
        """The partitions of one topic."""

        name: string = field()

        class PartitionResponse(Struct):
            """The producers of one partition."""

            partition_index: int32 = field()
            # NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION: refresh metadata.
            # TOPIC_AUTHORIZATION_FAILED: READ is lacking.
            error_code: int16 = field()
            error_message: string | None = field(nullable="0+", default=None)

            class ProducerState(Struct):
                """A producer; current_txn_start_offset is -1 outside a transaction."""

                producer_id: int64 = field()
                producer_epoch: int32 = field()
                last_sequence: int32 = field(default=-1)
                last_timestamp: int64 = field(default=-1)
                coordinator_epoch: int32 = field()
                current_txn_start_offset: int64 = field(default=-1)

            active_producers: list[ProducerState] = field()

        partitions: list[PartitionResponse] = field()

    topics: list[TopicResponse] = field()


class DescribeProducersRequest(
    Request, api_key=61, versions="0", flexible="0+", response=DescribeProducersResponse
):
    """Partitions by name."""

    class TopicRequest(Struct):
        """The partitions of one topic."""

        name: string = field()
        partition_indexes: list[int32] = field()

    topics: list[TopicRequest] = field()
