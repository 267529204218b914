"""DeleteTopics (key 20). KIP-4; by id since v6 (KIP-516). Ask the controller."""

from kafka_protocol.wire.schema import Request, Response, Struct, field, int16, int32, string, uuid


class DeleteTopicsResponse(Response, api_key=20, versions="0-6", flexible="4+"):
    """v2+: throttled after the response (KIP-219)."""

    throttle_time_ms: int32 = field(versions="1+", ignorable=True)

    class DeletableTopicResult(Struct):
        """The outcome for one topic; the name is null for an id that the broker does not know."""

        name: string | None = field(nullable="6+")
        topic_id: uuid = field(versions="6+", ignorable=True)
        # UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID (v6+): there is no such topic.
        # TOPIC_DELETION_DISABLED: v3+; INVALID_REQUEST before. delete.topic.enable is off.
        # NOT_CONTROLLER: send it to the one in Metadata.
        # REQUEST_TIMED_OUT: the deletion continues in the background.
        # THROTTLING_QUOTA_EXCEEDED: v5+ (KIP-599).
        # TOPIC_AUTHORIZATION_FAILED: the principal lacks DELETE.
        error_code: int16 = field()
        error_message: string | None = field(
            versions="5+", nullable="5+", default=None, ignorable=True
        )

    responses: list[DeletableTopicResult] = field()


class DeleteTopicsRequest(
    Request, api_key=20, versions="0-6", flexible="4+", response=DeleteTopicsResponse
):
    """Names below v6, `topics` above."""

    class DeleteTopicState(Struct):
        """A topic by name, or by id with a null name."""

        name: string | None = field(versions="6+", nullable="6+", default=None)
        topic_id: uuid = field(versions="6+")

    topics: list[DeleteTopicState] = field(versions="6+")
    topic_names: list[string] = field(versions="0-5", ignorable=True)
    timeout_ms: int32 = field()
