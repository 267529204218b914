"""ListPartitionReassignments (key 46): partitions on the move (KIP-455). Ask the controller."""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int16, int32, string


class ListPartitionReassignmentsResponse(Response, api_key=46, versions="0", flexible="0+"):
    """The reassignments in progress."""

    throttle_time_ms: int32 = field()
    # NOT_CONTROLLER: send it to the controller.
    # CLUSTER_AUTHORIZATION_FAILED: DESCRIBE on the cluster is lacking.
    error_code: int16 = field()
    error_message: string | None = field(nullable="0+")

    class OngoingTopicReassignment(Struct):
        """The partitions of one topic."""

        name: string = field()

        class OngoingPartitionReassignment(Struct):
            """The current, added and removed replicas of a partition."""

            partition_index: int32 = field()
            replicas: list[int32] = field()
            adding_replicas: list[int32] = field()
            removing_replicas: list[int32] = field()

        partitions: list[OngoingPartitionReassignment] = field()

    topics: list[OngoingTopicReassignment] = field()


class ListPartitionReassignmentsRequest(
    Request, api_key=46, versions="0", flexible="0+", response=ListPartitionReassignmentsResponse
):
    """Null means all topics."""

    timeout_ms: int32 = field(default=60000)

    class ListPartitionReassignmentsTopics(Struct):
        """The partitions of one topic."""

        name: string = field()
        partition_indexes: list[int32] = field()

    topics: list[ListPartitionReassignmentsTopics] | None = field(nullable="0+", default=None)
