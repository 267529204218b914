"""ShareGroupDescribe (key 77): state and members of share groups (KIP-932).

Ask their coordinator. v0 was an early access and is not spoken.
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
    uuid,
)


class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic_id: uuid = field()
    topic_name: string = field()
    partitions: list[int32] = field()


class Assignment(Struct):
    """The partitions that a member reads."""

    topic_partitions: list[TopicPartitions] = field()


class ShareGroupDescribeResponse(Response, api_key=77, versions="1", flexible="0+"):
    """A result for each group."""

    throttle_time_ms: int32 = field()

    class DescribedGroup(Struct):
        """A group."""

        # GROUP_ID_NOT_FOUND: no such group, or it is of another kind.
        # INVALID_GROUP_ID: it is empty.
        # NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS: retry.
        # GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED: DESCRIBE is lacking.
        error_code: int16 = field()
        error_message: string | None = field(nullable="0+", default=None)
        group_id: string = field()
        group_state: string = field()
        group_epoch: int32 = field()
        assignment_epoch: int32 = field()
        assignor_name: string = field()

        class Member(Struct):
            """A member."""

            member_id: string = field()
            rack_id: string | None = field(nullable="0+", default=None)
            member_epoch: int32 = field()
            client_id: string = field()
            client_host: string = field()
            subscribed_topic_names: list[string] = field()
            assignment: Assignment = field()

        members: list[Member] = field()
        authorized_operations: int32 = field(default=-2147483648)

    groups: list[DescribedGroup] = field()


class ShareGroupDescribeRequest(
    Request, api_key=77, versions="1", flexible="0+", response=ShareGroupDescribeResponse
):
    """Can ask for the operations that the client may do."""

    group_ids: list[string] = field()
    include_authorized_operations: boolean = field()
