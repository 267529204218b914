"""AlterReplicaLogDirs (key 34): move replicas between the folders of a broker (KIP-113).

Ask the broker that holds them.
"""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int16, int32, string


class AlterReplicaLogDirsResponse(Response, api_key=34, versions="0-2", flexible="2+"):
    """v1+: throttled after the response (KIP-219)."""

    throttle_time_ms: int32 = field()

    class AlterReplicaLogDirTopicResult(Struct):
        """The partitions of one topic."""

        topic_name: string = field()

        class AlterReplicaLogDirPartitionResult(Struct):
            """The outcome for one partition."""

            partition_index: int32 = field()
            # LOG_DIR_NOT_FOUND: the broker has no such folder.
            # REPLICA_NOT_AVAILABLE: not on this broker yet; its folder is set for later.
            # KAFKA_STORAGE_ERROR: the folder is offline.
            # CLUSTER_AUTHORIZATION_FAILED: ALTER on the cluster is lacking.
            error_code: int16 = field()

        partitions: list[AlterReplicaLogDirPartitionResult] = field()

    results: list[AlterReplicaLogDirTopicResult] = field()


class AlterReplicaLogDirsRequest(
    Request, api_key=34, versions="0-2", flexible="2+", response=AlterReplicaLogDirsResponse
):
    """A folder at a time."""

    class AlterReplicaLogDir(Struct):
        """A folder and its future replicas."""

        path: string = field()

        class AlterReplicaLogDirTopic(Struct):
            """The partitions of one topic."""

            name: string = field()
            partitions: list[int32] = field()

        topics: list[AlterReplicaLogDirTopic] = field()

    dirs: list[AlterReplicaLogDir] = field()
