"""CreatePartitions (key 37): give topics more partitions (KIP-195). Ask the controller.

Keyed records go to other partitions from then on.
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


class CreatePartitionsResponse(Response, api_key=37, versions="0-3", flexible="2+"):
    """v1+: throttled after the response (KIP-219)."""

    throttle_time_ms: int32 = field()

    class CreatePartitionsTopicResult(Struct):
        """The outcome for one topic."""

        name: string = field()
        # NOT_CONTROLLER: send it to the controller.
        # INVALID_PARTITIONS: not more than there are. REASSIGNMENT_IN_PROGRESS: wait for it.
        # INVALID_REPLICA_ASSIGNMENT: not one assignment for each new partition, or unknown brokers.
        # UNKNOWN_TOPIC_OR_PARTITION: no such topic. POLICY_VIOLATION: too many at once.
        # THROTTLING_QUOTA_EXCEEDED: v3+; wait for throttle_time_ms.
        # TOPIC_AUTHORIZATION_FAILED: ALTER is lacking.
        error_code: int16 = field()
        error_message: string | None = field(nullable="0+", default=None)

    results: list[CreatePartitionsTopicResult] = field()


class CreatePartitionsRequest(
    Request, api_key=37, versions="0-3", flexible="2+", response=CreatePartitionsResponse
):
    """v3+: may be answered with THROTTLING_QUOTA_EXCEEDED (KIP-599)."""

    class CreatePartitionsTopic(Struct):
        """A topic and how many partitions it will have."""

        name: string = field()
        count: int32 = field()

        class CreatePartitionsAssignment(Struct):
            """The replicas of one new partition."""

            broker_ids: list[int32] = field()

        assignments: list[CreatePartitionsAssignment] | None = field(nullable="0+")

    topics: list[CreatePartitionsTopic] = field()
    timeout_ms: int32 = field()
    validate_only: boolean = field()
