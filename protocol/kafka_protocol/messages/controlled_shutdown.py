"""ControlledShutdown (key 7): a stopping broker requests new leaders from the controller.

To the controller, with ZooKeeper; Kafka 4.0 dropped it. v0 is the one request whose header has no
client id.
"""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int16, int32, int64, string


class ControlledShutdownResponse(Response, api_key=7, versions="0-3", flexible="3+"):
    """A partition that the broker still leads."""

    # NOT_CONTROLLER: send it to the controller.
    # STALE_BROKER_EPOCH: v2+; the broker has registered anew.
    # BROKER_NOT_AVAILABLE: the controller does not know the broker.
    error_code: int16 = field()

    class RemainingPartition(Struct):
        """A partition that could not be moved."""

        topic_name: string = field()
        partition_index: int32 = field()

    remaining_partitions: list[RemainingPartition] = field()


class ControlledShutdownRequest(
    Request, api_key=7, versions="0-3", flexible="3+", response=ControlledShutdownResponse
):
    """v2+: the broker epoch guards against a broker that has restarted (KIP-380)."""

    broker_id: int32 = field()
    broker_epoch: int64 = field(versions="2+", default=-1, ignorable=True)
