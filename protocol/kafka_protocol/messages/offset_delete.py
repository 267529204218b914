"""OffsetDelete (key 47): forget a group's offsets of some topics (KIP-496).

Ask the group's coordinator.
"""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int16, int32, string


class OffsetDeleteResponse(Response, api_key=47, versions="0"):
    """The outcome, then for each partition."""

    # NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS: retry.
    # GROUP_ID_NOT_FOUND: no such group. NON_EMPTY_GROUP: it has members of another protocol.
    # GROUP_AUTHORIZATION_FAILED: DELETE is lacking.
    error_code: int16 = field()
    throttle_time_ms: int32 = field(ignorable=True)

    class OffsetDeleteResponseTopic(Struct):
        """The partitions of one topic."""

        name: string = field()

        class OffsetDeleteResponsePartition(Struct):
            """The outcome for one partition."""

            partition_index: int32 = field()
            # GROUP_SUBSCRIBED_TO_TOPIC: a member reads the topic.
            # UNKNOWN_TOPIC_OR_PARTITION: no such partition.
            # TOPIC_AUTHORIZATION_FAILED: READ is lacking.
            error_code: int16 = field()

        partitions: list[OffsetDeleteResponsePartition] = field()

    topics: list[OffsetDeleteResponseTopic] = field()


class OffsetDeleteRequest(Request, api_key=47, versions="0", response=OffsetDeleteResponse):
    """One group at a time."""

    group_id: string = field()

    class OffsetDeleteRequestTopic(Struct):
        """The partitions of one topic."""

        name: string = field()

        class OffsetDeleteRequestPartition(Struct):
            """A partition."""

            partition_index: int32 = field()

        partitions: list[OffsetDeleteRequestPartition] = field()

    topics: list[OffsetDeleteRequestTopic] = field()
