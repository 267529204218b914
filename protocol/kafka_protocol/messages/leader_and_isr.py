"""LeaderAndIsr (key 4): the controller sends a broker the partitions that it leads or follows.

Between brokers only, with ZooKeeper; Kafka 4.0 dropped it. It is declared for tools that read
captured traffic, and since the 0.10 guide has it.
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
    uuid,
)


class LeaderAndIsrPartitionError(Struct):
    """The outcome for one partition."""

    topic_name: string = field(versions="0-4", ignorable=True)
    partition_index: int32 = field()
    # STALE_CONTROLLER_EPOCH, STALE_BROKER_EPOCH: one side was replaced meanwhile.
    # INCONSISTENT_TOPIC_ID: v5+; the broker has another topic of this name.
    # KAFKA_STORAGE_ERROR: the log folder is offline.
    error_code: int16 = field()


class LeaderAndIsrResponse(Response, api_key=4, versions="0-7", flexible="4+"):
    """v5+: by topic id (KIP-516)."""

    # STALE_CONTROLLER_EPOCH, STALE_BROKER_EPOCH: one side was replaced meanwhile.
    # INCONSISTENT_TOPIC_ID: v5+; the broker has another topic of this name.
    # KAFKA_STORAGE_ERROR: the log folder is offline.
    error_code: int16 = field()
    partition_errors: list[LeaderAndIsrPartitionError] = field(versions="0-4")

    class LeaderAndIsrTopicError(Struct):
        """The outcome for the partitions of one topic."""

        topic_id: uuid = field(versions="5+")
        partition_errors: list[LeaderAndIsrPartitionError] = field(versions="5+")

    topics: list[LeaderAndIsrTopicError] = field(versions="5+")


class LeaderAndIsrPartitionState(Struct):
    """The leader and the replicas of a partition."""

    topic_name: string = field(versions="0-1", ignorable=True)
    partition_index: int32 = field()
    controller_epoch: int32 = field()
    leader: int32 = field()
    leader_epoch: int32 = field()
    isr: list[int32] = field()
    partition_epoch: int32 = field()
    replicas: list[int32] = field()
    adding_replicas: list[int32] = field(versions="3+", ignorable=True)
    removing_replicas: list[int32] = field(versions="3+", ignorable=True)
    is_new: boolean = field(versions="1+", ignorable=True)
    leader_recovery_state: int8 = field(versions="6+")


class LeaderAndIsrRequest(
    Request, api_key=4, versions="0-7", flexible="4+", response=LeaderAndIsrResponse
):
    """v1+: `is_new`. v2+: the broker epoch guards against a broker that has restarted (KIP-380).

    v5+: topic ids (KIP-516). v6+: unclean elections (KIP-704). v7+: controllers of KRaft (KIP-866).
    """

    controller_id: int32 = field()
    is_kraft_controller: boolean = field(versions="7+")
    controller_epoch: int32 = field()
    broker_epoch: int64 = field(versions="2+", default=-1, ignorable=True)
    type: int8 = field(versions="5+")
    ungrouped_partition_states: list[LeaderAndIsrPartitionState] = field(versions="0-1")

    class LeaderAndIsrTopicState(Struct):
        """The partitions of one topic."""

        topic_name: string = field(versions="2+")
        topic_id: uuid = field(versions="5+", ignorable=True)
        partition_states: list[LeaderAndIsrPartitionState] = field(versions="2+")

    topic_states: list[LeaderAndIsrTopicState] = field(versions="2+")

    class LeaderAndIsrLiveLeader(Struct):
        """The address of a leader that is named above."""

        broker_id: int32 = field()
        host_name: string = field()
        port: int32 = field()

    live_leaders: list[LeaderAndIsrLiveLeader] = field()
