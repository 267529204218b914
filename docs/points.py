"""The points of the design pages: invariants and traps that have caused bugs.

Text only. `tests/test_points.py` checks that each point of the pages is here once, that its mark
stands at one place in the code, as `# point: old-brokers`, and that its test exists and is small.
A test fails without the marked code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Point(NamedTuple):
    """The bold words of a point on its page, and the test that explains it."""

    words: str
    test: str = ""


# By page and mark.
POINTS: Final[Mapping[str, Mapping[str, Point]]] = {
    "design-kafka.md": {
        "api-versions-header": Point(
            "ApiVersions responses have header v0",
            "tests/protocol/wire/test_framing.py::test_response_header_version",
        ),
        "old-brokers": Point(
            "A broker older than 0.10 does not know ApiVersions",
            "tests/protocol/client/broker/test_broker.py::"
            "test_fault_11_a_slow_new_broker_is_not_taken_for_old",
        ),
        "closed-on-api-versions": Point(
            "Azure Event Hubs and some proxies close the connection on ApiVersions v4 and later",
            "tests/protocol/client/broker/test_broker.py::"
            "test_fault_11_a_broker_that_closes_on_a_newer_version",
        ),
        "broker-identity": Point(
            "ApiVersions v5 names the broker that the client means",
            "tests/protocol/client/broker/test_identity.py::"
            "test_fault_65_another_broker_of_the_cluster_is_named",
        ),
        "created-topics": Point(
            "Metadata below v4 creates topics",
            "tests/protocol/client/cluster/test_cluster.py::test_reading_never_creates_a_topic",
        ),
        "segment-times": Point(
            "ListOffsets v0 finds offsets by the times of segments only",
            "tests/protocol/client/consumer/test_list_offsets_faults.py::"
            "test_brokers_that_know_only_the_times_of_segments_are_refused",
        ),
        "produce-magic": Point(
            "Produce must match the batch's magic",
            "tests/protocol/client/producer/test_producer_faults.py::"
            "test_the_leaders_version_of_produce_decides_the_magic",
        ),
        "stale-topic-id": Point(
            "A response with another topic id may be stale",
            "tests/protocol/client/consumer/test_topic_watch.py::"
            "test_fault_24_several_responses_have_another_id_for_a_while",
        ),
        "fetch-ahead-gap": Point(
            "Fetches to a far broker start at offsets that are not reached yet",
            "tests/protocol/client/consumer/test_fetch_ahead.py::"
            "test_records_between_two_responses_are_fetched_again",
        ),
        "repeated-requests": Point(
            "Equal requests are encoded once, equal responses decoded once",
            "tests/protocol/versions/test_connection.py::test_repeated_response_is_decoded_once",
        ),
        "forgotten-clusters": Point(
            "The pool may forget a cluster while a task uses it",
            "tests/protocol/client/test_pool.py::test_a_cluster_in_use_is_never_closed",
        ),
        "paused-leader": Point(
            "A broker that was paused answers for a moment as the leader that it was",
            "tests/protocol/client/consumer/test_stale_leaders.py::"
            "test_the_end_is_that_of_the_new_leader",
        ),
        "aborted-records": Point(
            "Aborted records arrive with the others",
            "tests/protocol/records/test_fetch_response.py::"
            "test_a_marker_before_the_position_ends_an_aborted_transaction",
        ),
        "cut-batch": Point(
            "The last batch of a response may be cut short",
            "tests/protocol/records/test_batch.py::test_fault_29_incomplete_last_batch_is_dropped",
        ),
        "offset-gaps": Point(
            "Offsets have gaps",
            "tests/protocol/client/consumer/test_fetch_faults.py::"
            "test_fault_34_a_range_with_gaps_is_read_to_its_end",
        ),
        "earlier-records": Point(
            "A response can begin before the requested offset",
            "tests/protocol/client/consumer/test_fetch.py::"
            "test_a_batch_before_the_position_yields_no_offset_twice",
        ),
        "old-high-watermark": Point(
            "The high watermark can be older than the batches beside it",
            "tests/protocol/client/consumer/test_fetch.py::"
            "test_a_batch_behind_a_stale_high_watermark_is_fetched_again",
        ),
        "lagging-follower": Point(
            "A lagging follower reports `diverging_epoch` and OFFSET_OUT_OF_RANGE too.",
            "tests/protocol/client/consumer/test_replica.py::"
            "test_fault_21_after_a_replica_s_error_the_leader_is_read",
        ),
        "throttled-response": Point(
            "A throttled response is empty",
            "tests/protocol/records/test_fetch_response.py::"
            "test_fault_41_an_empty_response_over_a_quota",
        ),
        "fetch-in-flight": Point(
            "Closing a range closes its connection if a Fetch is in flight",
            "tests/protocol/client/consumer/test_fetch.py::"
            "test_a_range_that_is_left_with_a_fetch_in_flight_closes_its_connection",
        ),
        "empty-range": Point(
            "A range without records sends no Fetch",
            "tests/protocol/client/consumer/test_log_bounds.py::"
            "test_fault_24_a_re_created_empty_topic_is_detected",
        ),
        "unchecked-offsets": Point(
            "No checksum covers the offset of a batch or message",
            "tests/protocol/records/test_message_set.py::"
            "test_fault_31_a_flipped_offset_begins_a_new_message_set",
        ),
        "relative-offsets": Point(
            "Relative offsets in a wrapper need not start at 0",
            "tests/protocol/columnar/reading/test_decode.py::"
            "test_relative_offsets_where_compaction_removed_the_first_messages",
        ),
        "wrapper-checksum": Point(
            "The checksum of a wrapper is checked, not the checksums of its messages.",
            "tests/protocol/records/test_message_set.py::"
            "test_fault_31_every_flipped_byte_is_detected",
        ),
        "lz4-checksum": Point(
            "lz4 in magic 0 has a wrong header checksum",
            "tests/protocol/columnar/writing/test_encode.py::"
            "test_lz4_of_magic_0_has_the_wrong_checksum_of_old_brokers",
        ),
        "zstd-size": Point(
            "zstandard ignores `max_output_size`",
            "tests/protocol/records/test_compression.py::test_fault_33_limit_is_exact",
        ),
        "snappy-import": Point(
            "`records` imports pyarrow for raw snappy",
            "tests/protocol/client/test_imports.py::test_the_plain_client_loads_no_heavy_module",
        ),
        "slow-extend": Point("`array.extend` is slow for a list"),
        "slow-dataclasses": Point("`dataclasses` compile text for each class"),
        "late-refusal": Point(
            "With TLS 1.3 a missing client certificate shows at the first read",
            "tests/protocol/client/network/test_connect.py::"
            "test_fault_51_missing_or_refused_client_certificates",
        ),
        "write-timeout": Point(
            "`SSLSocket.sendall` restarts its timeout for each TLS record",
            "tests/protocol/client/network/test_transport.py::"
            "test_the_deadline_of_a_write_covers_all_its_tls_records",
        ),
        "private-key-file": Point(
            "`ssl` loads a private key only from a file",
            "tests/protocol/client/network/test_tls.py::test_client_keys_in_every_form",
        ),
        "session-renewal": Point(
            "A session may be renewed only with no request in flight",
            "tests/protocol/client/broker/test_authenticate.py::"
            "test_fault_53_responses_in_flight_are_read_before_a_renewal",
        ),
        "wrong-password": Point(
            "A wrong password is final for the whole cluster, a bad certificate for one address",
            "tests/protocol/client/broker/test_authenticate.py::test_a_refusal_is_not_retried",
        ),
    },
    "design-formats.md": {
        "own-memory": Point(
            "Batches that leave `columnar` and `kafka_formats` own their memory",
            "tests/protocol/columnar/arrays/test_arrow_memory.py::test_arrow_owns_the_memory",
        ),
        "no-pandas": Point(
            "pyarrow imports pandas",
            "tests/test_worker_imports.py::test_records_are_read_and_written_without_pandas",
        ),
        "receive-buffers": Point(
            "No receive buffer is used twice",
            "tests/protocol/wire/test_framing.py::test_each_frame_keeps_its_bytes",
        ),
        "view-sizes": Point(
            "Large values are copied once, by a cast of views",
            "tests/protocol/columnar/arrays/test_views.py::test_more_than_a_binary_array_can_have",
        ),
        "op-column": Point(
            "Batches and streams both have the column `op`",
            "tests/spark/test_schema.py::test_an_envelope_adds_a_column_before_those_of_a_mode",
        ),
        "whole-partitions": Point(
            "With `envelope=upsert` one task reads the whole range of a partition.",
            "tests/spark/reading/test_upsert.py::test_filters_leave_out_whole_partitions_only",
        ),
        "key-buckets": Point(
            "The keys of a partition share a remainder of their murmur2 hash",
            "tests/formats/upsert/test_spill.py::test_keys_of_one_partition_are_spread",
        ),
        "group-by-memory": Point(
            "The memory of Arrow's `group_by` grows with the number of keys",
            "tests/formats/upsert/test_upsert.py::"
            "test_the_keys_of_one_buffer_or_bucket_are_grouped_at_a_time",
        ),
        "unnamed-files": Point(
            "A task yields its first rows after its last Fetch.",
            "tests/formats/upsert/test_upsert.py::test_files_are_gone_when_a_reader_stops_early",
        ),
    },
    "design-spark.md": {
        "hide-traceback": Point(
            "Spark hides Python stacks if SPARK_HIDE_TRACEBACK is set.",
            "tests/spark/worker/test_errors.py::test_a_bug_keeps_its_traceback",
        ),
        "batch-or-stream": Point(
            "`load()` does not show whether it is for a batch or a stream.",
            "tests/spark/test_source.py::test_stream_only_options_are_refused_by_the_batch_reader",
        ),
        "refused-stream": Point(
            "Spark hides an error in `streamReader()`",
            "tests/spark/test_source.py::test_a_refused_stream_raises_at_the_first_call",
        ),
        "sparks-options": Point(
            "Spark passes its own options to the sink",
            "tests/spark/options/test_write.py::test_all_options_of_a_write",
        ),
        "session-marks": Point(
            "The driver's processes share one folder",
            "tests/spark/worker/test_worker.py::test_marks_of_a_session",
        ),
        "empty-partition": Point(
            "`partitions()` must return a list",
            "tests/spark/reading/test_input_partition.py::"
            "test_the_partition_that_spark_makes_of_an_empty_list_has_no_rows",
        ),
        "late-ends": Point(
            "`partitions()` runs once for each `load()`",
            "tests/spark/planning/test_batch.py::"
            "test_only_the_outer_edges_of_a_split_range_are_bound_late",
        ),
        "exact-schema": Point(
            "Yielded Arrow batches must have exactly Spark's schema",
            "tests/spark/columns/test_arrow_types.py::test_parts_are_null_or_not_in_both",
        ),
        "pushdown-off": Point(
            "Spark 4.1 to 4.3 keep pushed filters for the DataFrame's next query",
            "tests/spark/options/test_read.py::test_a_read_needs_brokers_and_topics_only",
        ),
        "two-readers": Point(
            "Spark refuses a reader with `pushFilters` while its configuration turns pushdown off",
            "tests/spark/test_source.py::test_only_a_reader_that_wants_filters_can_take_them",
        ),
        "timestamp-limit": Point(
            "An upper limit of `timestamp` is never pushed down",
            "tests/spark/planning/test_predicates.py::"
            "test_filters_that_are_not_understood_are_ignored",
        ),
        "repeated-start": Point(
            "Spark calls `initialOffset()` again when it repeats the first micro-batch",
            "tests/spark/streaming/test_micro_batches.py::"
            "test_the_first_micro_batch_reads_the_same_when_run_again",
        ),
        "empty-offset": Point(
            "Spark's own connector takes `{}` for a missing offset",
            "tests/spark/streaming/test_stream_reader.py::"
            "test_an_empty_offset_is_logged_with_the_topic_name",
        ),
        "same-text": Point(
            "An end with nothing to read repeats the text of the start",
            "tests/spark/streaming/test_stream_reader.py::"
            "test_reader_42_an_end_with_nothing_to_read_has_the_text_of_the_start",
        ),
        "trigger-once": Point(
            "Trigger.Once is visible only through its limit",
            "tests/spark/streaming/test_stream_reader.py::test_reader_42_the_default_read_limit",
        ),
        "re-created-topic": Point(
            "A re-created topic takes a micro-batch of its own",
            "tests/spark/streaming/test_micro_batches_loss.py::"
            "test_fault_24_a_recreated_topic_is_read_from_its_beginning",
        ),
        "start-not-passed": Point(
            "PySpark before 4.2 does not pass the start of a micro-batch.",
            "tests/spark/streaming/test_stream_reader.py::"
            "test_reader_40_a_query_continues_after_the_last_planned_end",
        ),
        "late-commit": Point(
            "Spark calls `commit(end)` with the next micro-batch",
            "tests/spark/streaming/test_micro_batches.py::"
            "test_finished_offsets_are_committed_by_the_next_micro_batch",
        ),
        "sail-types": Point(
            "Sail's conversion of a schema fails for timestamps",
            "tests/spark/test_sail.py::test_schemas_are_arrows",
        ),
        "sail-schema": Point(
            "A batch must have exactly the schema that `schema()` returned",
            "tests/spark/test_sail.py::test_batches_get_the_schema_of_sail",
        ),
        "no-task-context": Point(
            "All tasks run in threads of the server",
            "tests/spark/test_sail.py::test_readers_and_writers_are_pickled",
        ),
        "sail-streams": Point(
            "`readStream` becomes a batch read",
            "tests/spark/test_sail.py::test_what_needs_spark_is_refused",
        ),
        "claim-travels": Point(
            "Spark creates the data source twice for each micro-batch",
            "tests/spark/test_source.py::"
            "test_only_the_source_that_plans_a_micro_batch_takes_the_prefix_over",
        ),
        "local-properties": Point(
            "A task finds its query and micro-batch in its local properties",
            "tests/spark/test_source.py::test_the_local_properties_of_a_task_name_its_micro_batch",
        ),
        "forgotten-outcome": Point(
            "A coordinator knows the outcome of a transaction only until the id begins another one",
            "tests/protocol/client/producer/test_transaction_outcome.py::"
            "test_records_show_the_outcome",
        ),
        "own-epoch": Point(
            "Every transaction begins with its own InitProducerId",
            "tests/protocol/client/producer/test_transactions.py::"
            "test_all_releases_get_transactions_of_version_1",
        ),
        "commit-log-end": Point(
            "The commit log is read to the high watermark, not to the last stable offset",
            "tests/spark/writing/test_commit_log.py::test_a_claim_does_not_wait_for_other_prefixes",
        ),
    },
}

# Marks of points that cost only time, which benchmarks measure: they have no test.
MEASURED: Final = frozenset({"slow-extend", "slow-dataclasses"})

# Points of Spark's own behaviour, which no code of ours takes care of.
WITHOUT_CODE: Final[Mapping[str, tuple[str, ...]]] = {
    "design-spark.md": (
        "PySpark's workers are the `python3` of the PATH",
        "`start()` of a streaming write calls no Python.",
        "Two queries from one DataFrame with a watermark",
        "`StackOverflowError` in `isInterruptionException`",
        "A DataFrame whose planning failed fails again",
    ),
}
