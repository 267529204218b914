"""AlterPartitionReassignments (key 45): move partitions to other brokers (KIP-455).

Ask the controller. Null replicas cancel a move.
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
)


class AlterPartitionReassignmentsResponse(Response, api_key=45, versions="0-1", flexible="0+"):
    """v1+: with whether the replication factor may change (KIP-860)."""

    throttle_time_ms: int32 = field()
    allow_replication_factor_change: boolean = field(versions="1+", default=True, ignorable=True)
    # NOT_CONTROLLER: send it to the controller.
    # CLUSTER_AUTHORIZATION_FAILED: ALTER on the cluster is lacking.
    error_code: int16 = field()
    error_message: string | None = field(nullable="0+")

    class ReassignableTopicResponse(Struct):
        """The partitions of one topic."""

        name: string = field()

        class ReassignablePartitionResponse(Struct):
            """The outcome for one partition."""

            partition_index: int32 = field()
            # NO_REASSIGNMENT_IN_PROGRESS: there is nothing to cancel.
            # INVALID_REPLICA_ASSIGNMENT: no replicas, unknown ones, or one twice.
            # INVALID_REPLICATION_FACTOR: v1+; their number may not change.
            # UNKNOWN_TOPIC_OR_PARTITION: no such partition.
            error_code: int16 = field()
            error_message: string | None = field(nullable="0+")

        partitions: list[ReassignablePartitionResponse] = field()

    responses: list[ReassignableTopicResponse] = field()


class AlterPartitionReassignmentsRequest(
    Request, api_key=45, versions="0-1", flexible="0+", response=AlterPartitionReassignmentsResponse
):
    """v1+: can refuse to change the replication factor (KIP-860)."""

    timeout_ms: int32 = field(default=60000)
    allow_replication_factor_change: boolean = field(versions="1+", default=True)

    class ReassignableTopic(Struct):
        """The partitions of one topic."""

        name: string = field()

        class ReassignablePartition(Struct):
            """A partition and its new replicas."""

            partition_index: int32 = field()
            replicas: list[int32] | None = field(nullable="0+", default=None)

        partitions: list[ReassignablePartition] = field()

    topics: list[ReassignableTopic] = field()
