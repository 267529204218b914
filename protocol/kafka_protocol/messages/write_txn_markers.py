"""WriteTxnMarkers (key 27): a transaction's coordinator has its markers written (KIP-98).

Between brokers only, to the leaders of the transaction's partitions.
"""

from kafka_protocol.wire.schema import (
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
)


class WriteTxnMarkersResponse(Response, api_key=27, versions="0-2", flexible="1+"):
    """A result for each marker."""

    class WritableTxnMarkerResult(Struct):
        """The outcome for one producer."""

        producer_id: int64 = field()

        class WritableTxnMarkerTopicResult(Struct):
            """The partitions of one topic."""

            name: string = field()

            class WritableTxnMarkerPartitionResult(Struct):
                """The outcome for one partition."""

                partition_index: int32 = field()
                # NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION: refresh metadata, retry.
                # INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED: somebody newer has taken
                #   over.
                # UNSUPPORTED_FOR_MESSAGE_FORMAT: the log cannot hold markers.
                error_code: int16 = field()

            partitions: list[WritableTxnMarkerPartitionResult] = field()

        topics: list[WritableTxnMarkerTopicResult] = field()

    markers: list[WritableTxnMarkerResult] = field()


class WriteTxnMarkersRequest(
    Request, api_key=27, versions="0-2", flexible="1+", response=WriteTxnMarkersResponse
):
    """v2+: with the producer's transaction version (KIP-1228)."""

    class WritableTxnMarker(Struct):
        """A transaction that ends: committed or aborted."""

        producer_id: int64 = field()
        producer_epoch: int16 = field()
        transaction_result: boolean = field()

        class WritableTxnMarkerTopic(Struct):
            """The partitions of one topic."""

            name: string = field()
            partition_indexes: list[int32] = field()

        topics: list[WritableTxnMarkerTopic] = field()
        coordinator_epoch: int32 = field()
        transaction_version: int8 = field(versions="2+", ignorable=True)

    markers: list[WritableTxnMarker] = field()
