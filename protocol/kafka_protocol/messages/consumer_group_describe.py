"""ConsumerGroupDescribe (key 69): state and members of groups of the new protocol (KIP-848).

Ask their coordinator.
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


class ConsumerGroupDescribeResponse(Response, api_key=69, versions="0-1", flexible="0+"):
    """A result for each group."""

    throttle_time_ms: int32 = field()

    class DescribedGroup(Struct):
        """A group."""

        # GROUP_ID_NOT_FOUND: no such group, or it is a classic one. INVALID_GROUP_ID: it is empty.
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
            instance_id: string | None = field(nullable="0+", default=None)
            rack_id: string | None = field(nullable="0+", default=None)
            member_epoch: int32 = field()
            client_id: string = field()
            client_host: string = field()
            subscribed_topic_names: list[string] = field()
            subscribed_topic_regex: string | None = field(nullable="0+", default=None)
            assignment: Assignment = field()
            target_assignment: Assignment = field()
            # -1 unknown, 0 of the classic protocol, 1 of the new one (KIP-1099).
            member_type: int8 = field(versions="1+", default=-1, ignorable=True)

        members: list[Member] = field()
        authorized_operations: int32 = field(default=-2147483648)

    groups: list[DescribedGroup] = field()


class ConsumerGroupDescribeRequest(
    Request, api_key=69, versions="0-1", flexible="0+", response=ConsumerGroupDescribeResponse
):
    """Can ask for the operations that the client may do."""

    group_ids: list[string] = field()
    include_authorized_operations: boolean = field()
