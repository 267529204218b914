"""StopReplica (key 5): the controller makes a broker stop, and perhaps delete, replicas.

Between brokers only, with ZooKeeper; Kafka 4.0 dropped it.
"""

from kafka_protocol.wire.schema import (
    Request,
    Response,
    Struct,
    boolean,
    field,
    int16,
    int32,
    int64,
    string,
)


class StopReplicaResponse(Response, api_key=5, versions="0-4", flexible="2+"):
    """The outcome for all partitions, then for each."""

    # STALE_CONTROLLER_EPOCH, STALE_BROKER_EPOCH: one side was replaced meanwhile.
    # FENCED_LEADER_EPOCH: v3+; the partition has a newer leader.
    # KAFKA_STORAGE_ERROR: the log folder is offline.
    error_code: int16 = field()

    class StopReplicaPartitionError(Struct):
        """The outcome for one partition."""

        topic_name: string = field()
        partition_index: int32 = field()
        # STALE_CONTROLLER_EPOCH, STALE_BROKER_EPOCH: one side was replaced meanwhile.
        # FENCED_LEADER_EPOCH: v3+; the partition has a newer leader.
        # KAFKA_STORAGE_ERROR: the log folder is offline.
        error_code: int16 = field()

    partition_errors: list[StopReplicaPartitionError] = field()


class StopReplicaRequest(
    Request, api_key=5, versions="0-4", flexible="2+", response=StopReplicaResponse
):
    """v1+: broker epochs (KIP-380). v3+: leader epochs, deletion for each partition (KIP-570).

    v4+: controllers of KRaft (KIP-866).
    """

    controller_id: int32 = field()
    is_kraft_controller: boolean = field(versions="4+")
    controller_epoch: int32 = field()
    broker_epoch: int64 = field(versions="1+", default=-1, ignorable=True)
    delete_partitions: boolean = field(versions="0-2")

    class StopReplicaPartitionV0(Struct):
        """A partition to stop, as v0 writes it."""

        topic_name: string = field(versions="0")
        partition_index: int32 = field(versions="0")

    ungrouped_partitions: list[StopReplicaPartitionV0] = field(versions="0")

    class StopReplicaTopicV1(Struct):
        """The partitions of one topic, as v1 and v2 write them."""

        name: string = field(versions="1-2")
        partition_indexes: list[int32] = field(versions="1-2")

    topics: list[StopReplicaTopicV1] = field(versions="1-2")

    class StopReplicaTopicState(Struct):
        """The partitions of one topic."""

        topic_name: string = field(versions="3+")

        class StopReplicaPartitionState(Struct):
            """A partition to stop."""

            partition_index: int32 = field(versions="3+")
            leader_epoch: int32 = field(versions="3+", default=-1)
            delete_partition: boolean = field(versions="3+")

        partition_states: list[StopReplicaPartitionState] = field(versions="3+")

    topic_states: list[StopReplicaTopicState] = field(versions="3+")
