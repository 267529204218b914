"""DeleteRecords (key 21): move the start of logs forward (KIP-107). Ask the leaders."""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int16, int32, int64, string


class DeleteRecordsResponse(Response, api_key=21, versions="0-2", flexible="2+"):
    """v1+: throttled after the response (KIP-219)."""

    throttle_time_ms: int32 = field()

    class DeleteRecordsTopicResult(Struct):
        """The partitions of one topic."""

        name: string = field()

        class DeleteRecordsPartitionResult(Struct):
            """The new first offset of a log; -1 after an error."""

            partition_index: int32 = field()
            low_watermark: int64 = field()
            # OFFSET_OUT_OF_RANGE: beyond the high watermark.
            # NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION: refresh metadata.
            # REQUEST_TIMED_OUT: followers have not confirmed; it may still happen.
            # POLICY_VIOLATION: the topic is compacted only.
            # TOPIC_AUTHORIZATION_FAILED: DELETE is lacking.
            error_code: int16 = field()

        partitions: list[DeleteRecordsPartitionResult] = field()

    topics: list[DeleteRecordsTopicResult] = field()


class DeleteRecordsRequest(
    Request, api_key=21, versions="0-2", flexible="2+", response=DeleteRecordsResponse
):
    """Waits until the followers have it too, up to `timeout_ms`."""

    class DeleteRecordsTopic(Struct):
        """The partitions of one topic."""

        name: string = field()

        class DeleteRecordsPartition(Struct):
            """The first offset to keep; -1 for the high watermark."""

            partition_index: int32 = field()
            offset: int64 = field()

        partitions: list[DeleteRecordsPartition] = field()

    topics: list[DeleteRecordsTopic] = field()
    timeout_ms: int32 = field()
