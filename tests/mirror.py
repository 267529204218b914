"""Which tests a module has: those of its name in the mirrored folder, or those in a table.

`python -m tests.mirror FILE` prints them: `make test-for FILE=...` runs what it prints.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
# Each package, and the folder that mirrors it.
MIRRORS: Final = {
    "kafka_spark_source": "tests/spark",
    "protocol/kafka_formats": "tests/formats",
    "protocol/kafka_protocol": "tests/protocol",
}
_SPARK, _FORMATS, _PROTOCOL = MIRRORS
_CLI, _TOOLS, _TESTING = (f"{_SPARK}/{name}" for name in ("cli", "tools", "testing"))
_CLIENT, _COLUMNAR = f"{_PROTOCOL}/client", f"{_PROTOCOL}/columnar"

# Modules without tests of their name: their package, their names, and the file that tests them.
_ROWS: Final = (
    (_SPARK, "version", "tests/spark/cli/test_command.py"),
    (_SPARK, "prometheus", "tests/test_public_paths.py"),
    (f"{_SPARK}/changes", "apply", "tests/change_data/test_apply.py"),
    (f"{_SPARK}/changes", "expressions", "tests/spark/changes/test_old_keys.py"),
    (_CLI, "doctor", "tests/integration/test_doctor.py"),
    (_CLI, "rewind", "tests/integration/test_rewind.py"),
    (_CLI, "moves", "tests/spark/cli/test_groups.py"),
    (_CLI, "checkpoint dashboard exit_codes topics txn", "tests/spark/cli/test_operators.py"),
    (f"{_CLI}/terminal", "console", "tests/spark/cli/terminal/test_output.py"),
    (f"{_CLI}/terminal", "status_line", "tests/spark/cli/terminal/test_waits.py"),
    (
        f"{_SPARK}/diagnosis",
        "broker_clock findings reach",
        "tests/spark/diagnosis/test_diagnosis.py",
    ),
    (f"{_SPARK}/diagnosis", "environment", "tests/spark/diagnosis/test_report.py"),
    (f"{_SPARK}/functions", "arrow_udfs", "tests/integration/test_functions.py"),
    (f"{_SPARK}/lag", "group_report", "tests/spark/cli/test_groups.py"),
    (f"{_SPARK}/options", "names", "tests/spark/options/test_read.py"),
    (f"{_SPARK}/reading", "batch_reader", "tests/spark/test_source.py"),
    (f"{_SPARK}/streaming", "observed_logs", "tests/spark/streaming/test_micro_batches_loss.py"),
    (f"{_SPARK}/streaming", "reader_40 reader_42", "tests/spark/streaming/test_stream_reader.py"),
    (f"{_SPARK}/tables", "checkpoint errors session", "tests/change_data/test_topics_to_tables.py"),
    (
        f"{_SPARK}/tables",
        "backfiller backfill_plan sizes",
        "tests/change_data/test_backfill.py",
    ),
    (f"{_SPARK}/tables", "kept", "tests/spark/tables/test_late.py"),
    (f"{_SPARK}/tables", "leftovers", "tests/spark/tables/test_target.py"),
    (
        f"{_SPARK}/tables",
        "query range_source records sink",
        "tests/spark/tables/test_topic_table.py",
    ),
    (_TESTING, "errors folders", "tests/spark/testing/downloads/test_jars.py"),
    (f"{_TESTING}/broker", "cluster launcher topics", "tests/integration/test_broker_lifecycle.py"),
    (f"{_TESTING}/broker", "layout", "tests/spark/testing/broker/test_properties.py"),
    (
        f"{_TESTING}/processes",
        "supervisor waiting",
        "tests/spark/testing/processes/test_processes.py",
    ),
    (_TOOLS, "masking", "tests/spark/diagnosis/test_report.py"),
    (f"{_TOOLS}/positions", "groups", "tests/spark/cli/test_groups.py"),
    (f"{_TOOLS}/positions", "checkpoint_folder", "tests/spark/tools/positions/test_checkpoints.py"),
    (f"{_TOOLS}/positions", "moves", "tests/spark/tools/positions/test_rewind.py"),
    (f"{_TOOLS}/records", "peek", "tests/spark/cli/test_operators.py"),
    (f"{_TOOLS}/records", "write", "tests/spark/cli/test_write.py"),
    (f"{_TOOLS}/topics", "topics", "tests/spark/cli/test_operators.py"),
    (f"{_TOOLS}/topics", "topic_changes", "tests/spark/cli/test_topic_changes.py"),
    (f"{_TOOLS}/topics", "record_times", "tests/spark/lag/test_checkpoint.py"),
    (f"{_SPARK}/writing", "batch_writer stream_writer", "tests/spark/test_source.py"),
    (f"{_SPARK}/writing", "commit_log_topic log_reader", "tests/spark/writing/test_commit_log.py"),
    (f"{_SPARK}/writing", "delivery", "tests/spark/writing/test_exactly_once.py"),
    (f"{_FORMATS}/avro", "primitives", "tests/formats/avro/test_decode.py"),
    (f"{_FORMATS}/avro", "values", "tests/formats/avro/test_defaults.py"),
    (f"{_FORMATS}/avro", "encoder", "tests/formats/avro/test_encode.py"),
    (f"{_FORMATS}/avro", "plan", "tests/formats/avro/test_resolve.py"),
    (f"{_FORMATS}/avro", "types", "tests/formats/avro/test_projection.py"),
    (f"{_FORMATS}/avro", "nulls", "tests/formats/payload/test_nulls.py"),
    (f"{_FORMATS}/avro", "record_types", "tests/formats/query/test_record_types.py"),
    (f"{_FORMATS}/avro", "format", "tests/formats/suite/test_schemas.py"),
    (f"{_FORMATS}/connect", "plan types", "tests/formats/debezium/test_decoders.py"),
    (f"{_FORMATS}/debezium", "origin", "tests/formats/debezium/test_columns.py"),
    (f"{_FORMATS}/json", "decoder", "tests/formats/json/test_decode.py"),
    (f"{_FORMATS}/json", "timestamps", "tests/formats/json/test_decode_one.py"),
    (f"{_FORMATS}/json", "java_text", "tests/formats/json/test_depth.py"),
    (f"{_FORMATS}/json", "encoder", "tests/formats/suite/test_written.py"),
    (f"{_FORMATS}/json", "ddl derive known_type", "tests/formats/json/test_schemas.py"),
    (f"{_FORMATS}/json", "format", "tests/formats/suite/test_schemas.py"),
    (f"{_FORMATS}/options", "option settings table", "tests/formats/options/test_formats.py"),
    (f"{_FORMATS}/payload", "schema_text", "tests/formats/payload/test_column_reader.py"),
    (
        f"{_FORMATS}/payload",
        "record_types record_types_encoder",
        "tests/formats/query/test_record_types.py",
    ),
    (f"{_FORMATS}/payload", "format", "tests/formats/suite/test_schemas.py"),
    (f"{_FORMATS}/payload", "column_encoder", "tests/formats/suite/test_written.py"),
    (f"{_FORMATS}/protobuf", "decode_parsed", "tests/formats/protobuf/test_decoder.py"),
    (f"{_FORMATS}/protobuf", "field_values plan scan", "tests/formats/protobuf/test_decode.py"),
    (f"{_FORMATS}/protobuf", "encode", "tests/formats/protobuf/test_encoder.py"),
    (f"{_FORMATS}/protobuf", "types", "tests/formats/protobuf/test_layout.py"),
    (f"{_FORMATS}/protobuf", "record_types", "tests/formats/query/test_record_types.py"),
    (f"{_FORMATS}/protobuf", "format", "tests/formats/suite/test_schemas.py"),
    (
        f"{_FORMATS}/query",
        "formats query_formats registries",
        "tests/formats/suite/test_schemas.py",
    ),
    (f"{_FORMATS}/query", "record_encoder write", "tests/formats/suite/test_written.py"),
    (f"{_FORMATS}/registry", "sources", "tests/formats/suite/test_schemas.py"),
    (f"{_FORMATS}/registry", "glue_config", "tests/formats/registry/test_glue.py"),
    (f"{_FORMATS}/schema_ids", "frames framings", "tests/formats/schema_ids/test_confluent.py"),
    (f"{_FORMATS}/upsert", "newest", "tests/formats/upsert/test_upsert.py"),
    (_PROTOCOL, "version", "tests/spark/cli/test_command.py"),
    (f"{_PROTOCOL}/arrow_io", "topic_reader", "tests/integration/test_topic.py"),
    (f"{_PROTOCOL}/auth", "token", "tests/protocol/client/broker/test_oauth.py"),
    (f"{_CLIENT}/broker", "token_sources", "tests/protocol/client/broker/test_oauth.py"),
    (f"{_CLIENT}/broker", "api_versions listener", "tests/protocol/client/broker/test_broker.py"),
    (f"{_CLIENT}/cluster", "admin", "tests/spark/cli/test_topic_changes.py"),
    (f"{_CLIENT}/cluster", "coordinators", "tests/protocol/client/cluster/test_groups.py"),
    (
        f"{_CLIENT}/cluster",
        "exchange metadata reuse",
        "tests/protocol/client/cluster/test_cluster.py",
    ),
    (f"{_CLIENT}/cluster", "group_admin", "tests/spark/cli/test_groups.py"),
    (f"{_CLIENT}/cluster", "rights", "tests/spark/diagnosis/test_diagnosis.py"),
    (f"{_CLIENT}/config", "addresses times", "tests/protocol/client/config/test_client.py"),
    (
        f"{_CLIENT}/config",
        "assertion_options security_options",
        "tests/protocol/client/config/test_security_checks.py",
    ),
    (
        f"{_CLIENT}/consumer",
        "fetch_request",
        "tests/protocol/client/consumer/test_fetch_together.py",
    ),
    (f"{_CLIENT}/network", "tls_stream", "tests/protocol/client/network/test_connect.py"),
    (
        f"{_CLIENT}/producer",
        "produce_response producer_id",
        "tests/protocol/client/producer/test_producer.py",
    ),
    (
        f"{_CLIENT}/producer",
        "coordinated end_transactions",
        "tests/protocol/client/producer/test_transactions.py",
    ),
    (_COLUMNAR, "table topic", "tests/test_public_paths.py"),
    (f"{_COLUMNAR}/arrays", "headers schema", "tests/protocol/columnar/reading/test_decode.py"),
    (
        f"{_COLUMNAR}/reading",
        "batch_headers message_rows parts record_rows",
        "tests/protocol/columnar/reading/test_decode.py",
    ),
    (
        f"{_COLUMNAR}/writing",
        "columns message_payload record_payload",
        "tests/protocol/columnar/writing/test_encode.py",
    ),
    (f"{_COLUMNAR}/writing", "sink_columns", "tests/protocol/columnar/writing/test_routing.py"),
    (f"{_PROTOCOL}/records", "attributes", "tests/protocol/records/test_batch.py"),
    (f"{_PROTOCOL}/wire", "repeated_request", "tests/protocol/versions/test_connection.py"),
)
TESTED_BY: Final = {
    f"{package}/{name}.py": tests for package, names, tests in _ROWS for name in names.split()
}
# Packages of declarations, one module for each API or command. The same tests go through all.
TESTED_AS_A_WHOLE: Final = {
    f"{_CLI}/parsers": "tests/spark/cli/parsers/test_program.py",
    f"{_PROTOCOL}/messages": "tests/protocol/messages",
}


def modules() -> Iterator[str]:
    """Every module of the packages, as a path from the root."""
    for package in MIRRORS:
        for path in sorted((ROOT / package).rglob("*.py")):
            if path.name != "__init__.py":
                yield path.relative_to(ROOT).as_posix()


def mirrored_tests(module: str) -> list[str]:
    """`a/b.py` -> `test_b.py` and `test_b_*.py` in the folder that mirrors `a`."""
    package = next((each for each in MIRRORS if module.startswith(f"{each}/")), None)
    if package is None:
        return []
    inner = Path(module).relative_to(package)
    folder = ROOT / MIRRORS[package] / inner.parent
    name = f"test_{inner.stem}"
    found = [each for each in _tests_in(folder) if f"{each.stem}_".startswith(f"{name}_")]
    return [path.relative_to(ROOT).as_posix() for path in found]


@cache
def _tests_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("test_*.py"))


def known_tests(module: str) -> list[str]:
    """The tests of a module, as paths; none if it has none."""
    other = TESTED_BY.get(module) or TESTED_AS_A_WHOLE.get(module.rpartition("/")[0])
    return mirrored_tests(module) or ([other] if other else [])


if __name__ == "__main__":
    (given,) = sys.argv[1:]
    name = Path(given).resolve().relative_to(ROOT).as_posix()
    tests = [name] if name.startswith("tests/") else known_tests(name)
    if not tests:
        sys.exit(f"{given}: no tests are known; see tests/mirror.py")
    sys.stdout.write(" ".join(tests) + "\n")
