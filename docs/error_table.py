"""The meaning of the error conditions, and the cure of each: the table in docs/errors.md.

Text only. `tests/test_docs.py` compares the names with the code.
"""

from __future__ import annotations

from typing import Final

# The condition, as the error shows it in brackets -> its meaning, its cure.
CONDITIONS: Final = {
    "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE": (
        "Offsets of the read are not in the log: retention or DeleteRecords removed them, or an "
        "unclean leader election truncated the log.",
        "Read from `earliest`, or set `failOnDataLoss=false` to continue with the records that are "
        "left. Raise the topic's retention if the lag of a query is often that long.",
    ),
    "KAFKA_DATA_LOSS.PARTITIONS_DELETED": (
        "A topic or partition of the read was deleted, or the topic was created again.",
        "Start with a new checkpoint: [operations](operations.md"
        "#it-fails-after-a-topic-was-created-again). With `failOnDataLoss=false` the query "
        "continues.",
    ),
    "KAFKA_DATA_LOSS.PARTITIONS_NOT_SELECTED": (
        "`subscribe`, `subscribePattern` or `assign` no longer selects partitions that the "
        "checkpoint contains.",
        "Select them again, or set `failOnDataLoss=false` until a micro-batch has ended. A topic "
        "that is selected again later is read from its beginning.",
    ),
    "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED": (
        "A log ends before the offset of the checkpoint: the topic was created again, or lost "
        "records.",
        "As for `PARTITIONS_DELETED`.",
    ),
    "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS": (
        "A new partition has no earliest offset: it was probably deleted at once.",
        "Check the topic, and start the query again.",
    ),
    "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO": (
        "The first records of a new partition were deleted before the query read it.",
        "Set `failOnDataLoss=false` to start at the first record that is left; use a shorter "
        "trigger.",
    ),
    "LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW": (
        "Partitions disappeared, or their topic was created again, during a run of "
        "`Trigger.AvailableNow`.",
        "Start the run again.",
    ),
    "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED": (
        "The partitions changed during a run of `Trigger.AvailableNow`.",
        "Start the run again.",
    ),
    "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED": (
        "A checkpoint is ahead of a log at the start of a run of `Trigger.AvailableNow`.",
        "Check whether the topic was created again; if so, use a new checkpoint.",
    ),
    "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_LATEST_WITH_TRIGGER_AVAILABLENOW": (
        "A log became shorter during a run of `Trigger.AvailableNow`.",
        "Start the run again.",
    ),
    "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED": (
        "The JSON of `startingOffsets` or `endingOffsets` names other partitions than the read.",
        "Name every partition: -2 for earliest, -1 for latest.",
    ),
    "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED": (
        "The JSON of `startingOffsetsByTimestamp` or `endingOffsetsByTimestamp` names other "
        "partitions than the read.",
        "Name every partition, and no others.",
    ),
    "KAFKA_TOPIC_OFFSET_DOES_NOT_MATCH_ASSIGNED": (
        "The JSON of an option with offsets names a topic that the query does not read.",
        "Remove the topic from the option.",
    ),
    "KAFKA_SCHEMA_EVOLVED": (
        "A payload has a newer version of its subject, with fields that the query's columns lack, "
        "and `value.schema.evolution` or `key.schema.evolution` is `restart`.",
        "Start the query again: [schema evolution](schema-evolution.md).",
    ),
    "KAFKA_SCHEMA_INCOMPATIBLE": (
        "As for `KAFKA_SCHEMA_EVOLVED`, but the newer version cannot be read into the query's "
        "columns.",
        "Start the query again if its sink takes the types of that version.",
    ),
    "KAFKA_OLDER_SCHEMA": (
        "A payload has a schema with fields or values that the query's columns lack, and it is "
        "not a newer version, so that a restart does not help; `value.schema.evolution` or "
        "`key.schema.evolution` is `exact`, as it is by default in `topics_to_tables`.",
        "Register a version with all fields, or set the option to `restart`: "
        "[schema evolution](schema-evolution.md#exact).",
    ),
    "KAFKA_NULL_TOPIC_IN_DATA": (
        "A written row has no topic.",
        "Set the option `topic`, or fill the column `topic`.",
    ),
    "KAFKA_UPSERT_NULL_KEY": (
        "A record has no key, and `envelope=upsert` needs one: it has one row for each key.",
        "Set `upsert.nullKeys=keep` to treat null as a key, or read the topic without "
        "the envelope.",
    ),
    "KAFKA_MALFORMED_RECORD_TIMESTAMP": (
        "A record has a timestamp that Spark's microseconds cannot hold.",
        "Leave the column `timestamp` out with `.schema(...)`, or start after the record.",
    ),
}
