"""DescribeTopicPartitions (key 75): topics page by page, with eligible leader replicas (KIP-966).

Any broker responds.
"""

from kafka_protocol.wire.schema import (
    Request,
    Response,
    Struct,
    boolean,
    field,
    int16,
    int32,
    string,
    uuid,
)


class DescribeTopicPartitionsResponse(Response, api_key=75, versions="0", flexible="0+"):
    """A cursor if there is more."""

    throttle_time_ms: int32 = field(ignorable=True)

    class DescribeTopicPartitionsResponseTopic(Struct):
        """A topic."""

        # UNKNOWN_TOPIC_OR_PARTITION: no such topic.
        # TOPIC_AUTHORIZATION_FAILED: DESCRIBE is lacking.
        error_code: int16 = field()
        name: string | None = field(nullable="0+")
        topic_id: uuid = field(ignorable=True)
        is_internal: boolean = field(ignorable=True)

        class DescribeTopicPartitionsResponsePartition(Struct):
            """A partition, its leader and replicas."""

            # LEADER_NOT_AVAILABLE: leader_id is -1. LISTENER_NOT_FOUND: it lacks this listener.
            error_code: int16 = field()
            partition_index: int32 = field()
            leader_id: int32 = field()
            leader_epoch: int32 = field(default=-1, ignorable=True)
            replica_nodes: list[int32] = field()
            isr_nodes: list[int32] = field()
            eligible_leader_replicas: list[int32] | None = field(nullable="0+", default=None)
            last_known_elr: list[int32] | None = field(nullable="0+", default=None)
            offline_replicas: list[int32] = field(ignorable=True)

        partitions: list[DescribeTopicPartitionsResponsePartition] = field()
        topic_authorized_operations: int32 = field(default=-2147483648)

    topics: list[DescribeTopicPartitionsResponseTopic] = field()

    class Cursor(Struct):
        """Where to go on."""

        topic_name: string = field()
        partition_index: int32 = field()

    next_cursor: Cursor | None = field(nullable="0+", default=None)


class DescribeTopicPartitionsRequest(
    Request, api_key=75, versions="0", flexible="0+", response=DescribeTopicPartitionsResponse
):
    """No topics means all of them."""

    class TopicRequest(Struct):
        """A topic by name."""

        name: string = field()

    topics: list[TopicRequest] = field()
    response_partition_limit: int32 = field(default=2000)

    class Cursor(Struct):
        """Where to go on."""

        topic_name: string = field()
        partition_index: int32 = field()

    cursor: Cursor | None = field(nullable="0+", default=None)
