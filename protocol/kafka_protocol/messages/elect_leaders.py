"""ElectLeaders (key 43): make preferred replicas leaders, or any that is left (KIP-183, KIP-460).

Ask the controller. An unclean election can lose records.
"""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int8, int16, int32, string


class ElectLeadersResponse(Response, api_key=43, versions="0-2", flexible="2+"):
    """v1+: an error of the whole request."""

    throttle_time_ms: int32 = field()
    # NOT_CONTROLLER: send it to the controller.
    # CLUSTER_AUTHORIZATION_FAILED: ALTER on the cluster is lacking.
    error_code: int16 = field(versions="1+")

    class ReplicaElectionResult(Struct):
        """The partitions of one topic."""

        topic: string = field()

        class PartitionResult(Struct):
            """The outcome for one partition."""

            partition_id: int32 = field()
            # ELECTION_NOT_NEEDED: that replica leads already.
            # PREFERRED_LEADER_NOT_AVAILABLE, ELIGIBLE_LEADERS_NOT_AVAILABLE: no such replica is in
            #   sync.
            # UNKNOWN_TOPIC_OR_PARTITION: no such partition.
            error_code: int16 = field()
            error_message: string | None = field(nullable="0+")

        partition_result: list[PartitionResult] = field()

    replica_election_results: list[ReplicaElectionResult] = field()


class ElectLeadersRequest(
    Request, api_key=43, versions="0-2", flexible="2+", response=ElectLeadersResponse
):
    """v1+: `election_type` 0 for preferred, 1 for unclean. Null means all partitions."""

    election_type: int8 = field(versions="1+")

    class TopicPartitions(Struct):
        """The partitions of one topic."""

        topic: string = field()
        partitions: list[int32] = field()

    topic_partitions: list[TopicPartitions] | None = field(nullable="0+")
    timeout_ms: int32 = field(default=60000)
