"""Which tests a module has: those of its name in the mirrored folder, or those in a table.

`python -m tests.mirror FILE` prints them: `make test-for FILE=...` runs what it prints.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fnmatch import fnmatch
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
_CLI, _TOOLS, _TESTING = (f"kafka_spark_source/{name}" for name in ("cli", "tools", "testing"))
_WRITING, _STREAMING = "kafka_spark_source/writing", "kafka_spark_source/streaming"
_CLIENT, _COLUMNAR = "protocol/kafka_protocol/client", "protocol/kafka_protocol/columnar"
_WIRE, _FORMATS = "protocol/kafka_protocol/wire", "protocol/kafka_formats"

# Modules without tests of their name: a pattern of paths, and the file that tests them.
TESTED_BY: Final = {
    f"{_CLI}/parsers/*.py": "tests/spark/cli/parsers/test_program.py",
    f"{_CLI}/moves.py": "tests/spark/cli/test_groups.py",
    f"{_CLI}/terminal/console.py": "tests/spark/cli/terminal/test_output.py",
    f"{_CLI}/terminal/status_line.py": "tests/spark/cli/terminal/test_waits.py",
    f"{_CLI}/exit_codes.py": "tests/spark/cli/test_operators.py",
    f"{_CLI}/dashboard.py": "tests/spark/lag/test_dashboard.py",
    f"{_CLI}/doctor.py": "tests/integration/test_doctor.py",
    f"{_CLI}/[clopt]*.py": "tests/spark/cli/test_operators.py",
    f"{_CLI}/rewind.py": "tests/integration/test_rewind.py",
    "kafka_spark_source/changes/apply.py": "tests/change_data/test_apply.py",
    "kafka_spark_source/functions/arrow_udfs.py": "tests/integration/test_functions.py",
    "kafka_spark_source/changes/expressions.py": "tests/spark/changes/test_old_keys.py",
    "kafka_spark_source/lag/group_report.py": "tests/spark/cli/test_groups.py",
    "kafka_spark_source/options/names.py": "tests/spark/options/test_read.py",
    "kafka_spark_source/prometheus.py": "tests/test_public_paths.py",
    "kafka_spark_source/reading/batch_reader.py": "tests/spark/test_source.py",
    "kafka_spark_source/reading/input_partition.py": "tests/spark/worker/test_worker.py",
    f"{_STREAMING}/observed_logs.py": "tests/spark/streaming/test_micro_batches_loss.py",
    f"{_STREAMING}/reader_4?.py": "tests/spark/streaming/test_stream_reader.py",
    f"{_TESTING}/broker/cluster.py": "tests/integration/test_broker_lifecycle.py",
    f"{_TESTING}/broker/launcher.py": "tests/integration/test_broker_lifecycle.py",
    f"{_TESTING}/errors.py": "tests/spark/testing/downloads/test_jars.py",
    f"{_TESTING}/folders.py": "tests/spark/testing/downloads/test_jars.py",
    f"{_TESTING}/broker/layout.py": "tests/spark/testing/broker/test_properties.py",
    f"{_TESTING}/downloads/lock.py": "tests/spark/testing/downloads/test_cache.py",
    f"{_TESTING}/processes/supervisor.py": "tests/spark/testing/processes/test_processes.py",
    f"{_TESTING}/broker/topics.py": "tests/integration/test_broker_lifecycle.py",
    f"{_TESTING}/processes/waiting.py": "tests/spark/testing/processes/test_processes.py",
    "kafka_spark_source/diagnosis/broker_clock.py": "tests/spark/diagnosis/test_diagnosis.py",
    f"{_TOOLS}/positions/checkpoint_folder.py": "tests/spark/tools/positions/test_checkpoints.py",
    "kafka_spark_source/diagnosis/environment.py": "tests/spark/diagnosis/test_report.py",
    "kafka_spark_source/diagnosis/findings.py": "tests/spark/diagnosis/test_diagnosis.py",
    f"{_TOOLS}/positions/groups.py": "tests/spark/cli/test_groups.py",
    f"{_TOOLS}/masking.py": "tests/spark/diagnosis/test_report.py",
    f"{_TOOLS}/positions/moves.py": "tests/spark/tools/positions/test_rewind.py",
    f"{_TOOLS}/records/peek.py": "tests/spark/cli/test_operators.py",
    "kafka_spark_source/diagnosis/reach.py": "tests/spark/diagnosis/test_diagnosis.py",
    f"{_TOOLS}/topics/record_times.py": "tests/spark/lag/test_checkpoint.py",
    f"{_TOOLS}/topics/topic_changes.py": "tests/spark/cli/test_topic_changes.py",
    f"{_TOOLS}/topics/topics.py": "tests/spark/cli/test_operators.py",
    f"{_TOOLS}/records/write.py": "tests/spark/cli/test_write.py",
    f"{_WRITING}/*_writer.py": "tests/spark/test_source.py",
    f"{_WRITING}/commit_log_topic.py": "tests/spark/writing/test_commit_log.py",
    f"{_WRITING}/delivery.py": "tests/spark/writing/test_exactly_once.py",
    f"{_WRITING}/log_reader.py": "tests/spark/writing/test_commit_log.py",
    "*/version.py": "tests/spark/cli/test_command.py",
    f"{_FORMATS}/*/format.py": "tests/formats/query/test_formats.py",
    f"{_FORMATS}/avro/encoder.py": "tests/formats/avro/test_encode.py",
    f"{_FORMATS}/avro/nulls.py": "tests/formats/payload/test_nulls.py",
    f"{_FORMATS}/avro/plan.py": "tests/formats/avro/test_resolve.py",
    f"{_FORMATS}/avro/primitives.py": "tests/formats/avro/test_decode.py",
    f"{_FORMATS}/avro/types.py": "tests/formats/avro/test_schema.py",
    f"{_FORMATS}/avro/values.py": "tests/formats/avro/test_defaults.py",
    f"{_FORMATS}/upsert/newest.py": "tests/formats/upsert/test_upsert.py",
    f"{_FORMATS}/json/decoder.py": "tests/formats/json/test_decode.py",
    f"{_FORMATS}/json/encoder.py": "tests/formats/json/test_encode.py",
    f"{_FORMATS}/json/java_text.py": "tests/formats/json/test_encode.py",
    f"{_FORMATS}/json/timestamps.py": "tests/formats/json/test_decode_one.py",
    f"{_FORMATS}/json/*.py": "tests/formats/json/test_schemas.py",
    f"{_FORMATS}/options/*.py": "tests/formats/options/test_formats.py",
    f"{_FORMATS}/connect/*.py": "tests/formats/debezium/test_decoders.py",
    f"{_FORMATS}/debezium/origin.py": "tests/formats/debezium/test_columns.py",
    f"{_FORMATS}/payload/column_encoder.py": "tests/formats/suite/test_written.py",
    f"{_FORMATS}/payload/schema_text.py": "tests/formats/payload/test_column_reader.py",
    f"{_FORMATS}/protobuf/decode_parsed.py": "tests/formats/protobuf/test_decode.py",
    f"{_FORMATS}/protobuf/encode.py": "tests/formats/protobuf/test_encoder.py",
    f"{_FORMATS}/protobuf/types.py": "tests/formats/protobuf/test_layout.py",
    f"{_FORMATS}/protobuf/*.py": "tests/formats/protobuf/test_decode.py",
    f"{_FORMATS}/query/read.py": "tests/formats/suite/test_schemas.py",
    f"{_FORMATS}/query/record_encoder.py": "tests/formats/suite/test_written.py",
    f"{_FORMATS}/query/write.py": "tests/formats/suite/test_written.py",
    f"{_FORMATS}/query/registries.py": "tests/formats/suite/test_schemas.py",
    f"{_FORMATS}/registry/glue_config.py": "tests/formats/registry/test_glue.py",
    f"{_FORMATS}/registry/sources.py": "tests/formats/registry/test_client.py",
    f"{_FORMATS}/schema_ids/fram*.py": "tests/formats/schema_ids/test_confluent.py",
    "protocol/kafka_protocol/arrow_io/topic_reader.py": "tests/integration/test_topic.py",
    f"{_CLIENT}/broker/*.py": "tests/protocol/client/broker/test_broker.py",
    f"{_CLIENT}/cluster/group_admin.py": "tests/spark/cli/test_groups.py",
    f"{_CLIENT}/cluster/rights.py": "tests/spark/diagnosis/test_diagnosis.py",
    f"{_CLIENT}/cluster/*.py": "tests/protocol/client/cluster/test_cluster.py",
    f"{_CLIENT}/config/security_options.py": "tests/protocol/client/config/test_security_checks.py",
    f"{_CLIENT}/config/times.py": "tests/protocol/client/config/test_client.py",
    f"{_CLIENT}/consumer/fetch_request.py": "tests/protocol/client/consumer/test_fetch_together.py",
    f"{_CLIENT}/network/tls_stream.py": "tests/protocol/client/network/test_tls.py",
    f"{_CLIENT}/producer/*transactions.py": "tests/protocol/client/producer/test_transactions.py",
    f"{_CLIENT}/producer/coordinated.py": "tests/protocol/client/producer/test_transactions.py",
    f"{_CLIENT}/producer/produce*.py": "tests/protocol/client/producer/test_producer.py",
    f"{_COLUMNAR}/writing/sink_columns.py": "tests/protocol/columnar/writing/test_routing.py",
    f"{_COLUMNAR}/t*.py": "tests/test_public_paths.py",
    f"{_COLUMNAR}/writing/*.py": "tests/protocol/columnar/writing/test_encode.py",
    f"{_COLUMNAR}/*.py": "tests/protocol/columnar/reading/test_decode.py",
    "protocol/kafka_protocol/messages/*.py": "tests/protocol/messages",
    "protocol/kafka_protocol/records/attributes.py": "tests/protocol/records/test_batch.py",
    f"{_WIRE}/repeated_request.py": "tests/protocol/versions/test_connection.py",
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


def row_of(module: str) -> str | None:
    """The first pattern of the table that fits."""
    return next((pattern for pattern in TESTED_BY if fnmatch(module, pattern)), None)


def known_tests(module: str) -> list[str]:
    """The tests of a module, as paths; none if it has none."""
    row = row_of(module)
    return mirrored_tests(module) or ([TESTED_BY[row]] if row else [])


if __name__ == "__main__":
    (given,) = sys.argv[1:]
    name = Path(given).resolve().relative_to(ROOT).as_posix()
    tests = [name] if name.startswith("tests/") else known_tests(name)
    if not tests:
        sys.exit(f"{given}: no tests are known; see tests/mirror.py")
    sys.stdout.write(" ".join(tests) + "\n")
