"""DescribeLogDirs (key 35): sizes of the logs of a broker, by folder (KIP-113). Ask each broker."""

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


class DescribeLogDirsResponse(Response, api_key=35, versions="0-5", flexible="2+"):
    """v1+: throttled after the response (KIP-219). v4+: also the size of the disk (KIP-827)."""

    throttle_time_ms: int32 = field()
    # CLUSTER_AUTHORIZATION_FAILED: v3+; DESCRIBE on the cluster is lacking.
    error_code: int16 = field(versions="3+", ignorable=True)

    class DescribeLogDirsResult(Struct):
        """A folder."""

        # KAFKA_STORAGE_ERROR: the folder is offline.
        error_code: int16 = field()
        log_dir: string = field()

        class DescribeLogDirsTopic(Struct):
            """The partitions of one topic."""

            name: string = field()

            class DescribeLogDirsPartition(Struct):
                """A log: its bytes on disk, and the lag in offsets of a copy that is being made."""

                partition_index: int32 = field()
                partition_size: int64 = field()
                offset_lag: int64 = field()
                is_future_key: boolean = field()

            partitions: list[DescribeLogDirsPartition] = field()

        topics: list[DescribeLogDirsTopic] = field()
        total_bytes: int64 = field(versions="4+", default=-1, ignorable=True)
        usable_bytes: int64 = field(versions="4+", default=-1, ignorable=True)
        is_cordoned: boolean = field(versions="5+", ignorable=True)  # KIP-1066

    results: list[DescribeLogDirsResult] = field()


class DescribeLogDirsRequest(
    Request, api_key=35, versions="0-5", flexible="2+", response=DescribeLogDirsResponse
):
    """Null means all topics."""

    class DescribableLogDirTopic(Struct):
        """The partitions of one topic."""

        topic: string = field()
        partitions: list[int32] = field()

    topics: list[DescribableLogDirTopic] | None = field(nullable="0+")
