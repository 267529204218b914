"""The results as tables in Markdown. Knows no Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

RESULTS: Final = Path(__file__).parent / "results"

Row = dict[str, Any]
_TUNED, OURS = "kafka, tuned", "pykafka"


def results_of(name: str, folder: Path = RESULTS) -> Row:
    """The figures of a benchmark."""
    figures: Row = json.loads((folder / f"{name}.json").read_text())
    return figures


def table_of(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


Table = tuple[Sequence[str], list[list[str]]]


def _read_tables(results: Row) -> Iterator[Table]:
    by_workload = [by for _, by in _by(results["results"], "workload")]
    head = ["value", "records of a batch", "codec", "query", "faster"]
    head += ["kafka, rows/s", "kafka, tuned", "pykafka", "times kafka", "of the ceiling"]
    head += ["CPU of a row: kafka, tuned", "pykafka"]
    yield (
        head,
        [
            [
                *_kind_of_records(ours),
                _faster(ours, "to_tuned"),
                *(f"{by[name]['rows_per_second']:,}" for name in ("kafka", _TUNED, OURS)),
                f"{ours['to_kafka']:.1f}",
                f"{ours['to_ceiling']:.0%}",
                *(_cpu(by[name]) for name in (_TUNED, OURS)),
            ]
            for by in by_workload
            for ours in [by[OURS]]
        ],
    )
    yield (
        [*head[:4], "pykafka on Sail, without a JVM, rows/s", "times kafka", "times kafka, tuned"],
        [
            [
                *_kind_of_records(sail),
                f"{sail['rows_per_second']:,}",
                f"{sail['to_kafka']:.1f}",
                f"**{sail['to_tuned']:.1f}**",
            ]
            for by in by_workload
            for sail in [by["pykafka, no JVM"]]
        ],
    )
    if results["first_query"]:
        archive = "with" if results["has_bytecode"] else "without"
        yield (
            [f"first query of a session, {archive} bytecode", "s", "s with the session's start"],
            [
                [each["contender"], f"{each['seconds']:.1f}", f"{each['with_session']:.1f}"]
                for each in results["first_query"]
            ],
        )


def _kind_of_records(row: Row) -> list[str]:
    size = row["value_bytes"]
    value = f"{size:,} B" if size < 1_000 else f"{size // 1_000} kB"
    return [value, f"{row['batch_rows']:,}", row["codec"], row["query"]]


def _faster(ours: Row, ratio: str) -> str:
    """Which of two is faster, how many times, and the quartiles of that."""
    times = ours[ratio]
    low, high = ours[f"{ratio}_quartiles"]
    if low <= 1 <= high:
        return f"equal ({low:.2f} to {high:.2f})"
    if times > 1:
        return f"**pykafka {times:.2f}** ({low:.2f} to {high:.2f})"
    return f"kafka {1 / times:.2f} ({1 / high:.2f} to {1 / low:.2f})"


def _times(row: Row, ratio: str) -> str:
    """A ratio with its quartiles; a contender beside itself has no spread."""
    low, high = row[f"{ratio}_quartiles"]
    return f"{row[ratio]:.2f}" if low == high else f"{row[ratio]:.2f} ({low:.2f} to {high:.2f})"


def _settings_tables(results: Row) -> Iterator[Table]:
    head = ["session", "value", "faster", "kafka, tuned, rows/s", "pykafka", "pykafka: times none"]
    yield (
        head,
        [
            [
                ours["session"],
                f"{ours['value_bytes']:,} B",
                _faster(ours, "to_tuned"),
                *(f"{by[name]['rows_per_second']:,}" for name in (_TUNED, OURS)),
                f"**{ours['to_none']:.2f}**",
            ]
            for _, by in _by(results["results"], "session", "value_bytes")
            for ours in [by[OURS]]
        ],
    )


def _wide_tables(results: Row) -> Iterator[Table]:
    names = ("kafka", _TUNED, OURS)
    yield (
        ["", "partitions", "faster", *(f"{name}, s" for name in names)],
        [
            [
                by[OURS]["workload"],
                f"{by[OURS]['partitions']:,}",
                _faster(by[OURS], "to_tuned"),
                *(f"{by[name]['seconds']:.2f}" if name in by else "" for name in names),
            ]
            for _, by in _by(results["results"], "workload", "partitions")
        ],
    )


def _stream_tables(results: Row) -> Iterator[Table]:
    names = ("kafka", _TUNED, OURS, "ceiling")
    yield (
        ["catching up", "faster", "in batches alone", *(f"{name}, rows/s" for name in names)],
        [
            [
                workload,
                _faster(by[OURS], "to_tuned"),
                _faster(by[OURS], "in_batches_to_tuned"),
                *(f"{by[name]['rows_per_second']:,}" for name in names),
            ]
            for workload, by in _by(results["catch_up"], "workload")
        ],
    )
    yield (
        ["latency of new rows, ms", "p50", "p95", "p99", "times kafka, tuned"],
        [
            [
                row["contender"],
                *(f"{row[f'p{part}_ms']:,}" for part in (50, 95, 99)),
                _times(row, "to_tuned"),
            ]
            for row in results["latency"]
        ],
    )
    if "idle" in results:
        yield (
            ["idle, % of a core", "reader's process", "JVM"],
            [
                [row["contender"], f"{row['reader_percent']:.1f}", f"{row['jvm_percent']:.1f}"]
                for row in results["idle"]
            ],
        )


def _upsert_tables(results: Row) -> Iterator[Table]:
    yield (
        ["records, rows", "", "s", "times as long", "CPU of a record"],
        [
            [
                f"{row['records']:,}, {row['rows']:,}",
                row["contender"],
                f"{row['seconds']:.1f}",
                f"**{row['times']:.1f}**",
                _cpu(row),
            ]
            for row in results["results"]
        ],
    )
    memory = results["memory"]
    yield (
        ["keys of 36 bytes in one task", "s", "memory of the worker, MiB"],
        [[f"{memory['keys']:,}", f"{memory['seconds']:.1f}", f"{memory['mib']:,}"]],
    )


def _changes_tables(results: Row) -> Iterator[Table]:
    yield (
        ["a micro-batch", "s", "times as long", "jobs of Spark"],
        [
            [
                row["contender"],
                f"{row['seconds']:.1f}",
                f"**{row['times']:.2f}** ({{:.2f}} to {{:.2f}})".format(*row["times_quartiles"]),
                str(row["jobs"]),
            ]
            for row in results["results"]
        ],
    )


def _types_tables(results: Row) -> Iterator[Table]:
    yield (
        ["values", "", "ns of a record", "times one type"],
        [
            [
                row["format"],
                row["contender"],
                f"{row['nanoseconds']:,}",
                f"**{row['times']:.2f}** ({{:.2f}} to {{:.2f}})".format(*row["times_quartiles"]),
            ]
            for row in results["results"]
        ],
    )


def _text_tables(results: Row) -> Iterator[Table]:
    yield (
        ["values, bytes", "", "rows/s", "times kafka", "times kafka, tuned", "CPU of a row"],
        [
            [
                f"{row['value_bytes']:,}",
                row["contender"],
                f"{row['rows_per_second']:,}",
                f"{row['to_kafka']:.2f}",
                _times(row, "to_tuned"),
                _cpu(row),
            ]
            for row in results["results"]
        ],
    )


def _write_tables(results: Row) -> Iterator[Table]:
    others = {
        "exactly once: times": "pykafka, exactly once",
        "with Spark's Arrow batches: times": "pykafka, Spark's Arrow batches",
        "the ceiling: times": "a Python sink that drops rows",
    }
    head = ["values", "codec", "settings", "faster", "kafka, rows/s", "pykafka"]
    head += [*others, "CPU of a row: kafka", "pykafka"]
    rows = [
        [
            ours["values"],
            ours["codec"],
            "tuned" if ours["is_tuned"] else "defaults",
            _faster(ours, "to_kafka"),
            *(f"{by[name]['rows_per_second']:,}" for name in ("kafka", OURS)),
            *(f"{by[name]['to_kafka']:.2f}" for name in others.values()),
            *(_cpu(by[name]) for name in ("kafka", OURS)),
        ]
        for _, by in _by(results["write"], "workload")
        for ours in [by[OURS]]
    ]
    yield head, rows


def _sail_tables(results: Row) -> Iterator[Table]:
    names = ("kafka", "pykafka", "pykafka on Sail")
    head = ["", *(f"{name}, rows/s" for name in names), "Sail: times kafka", "times pykafka"]
    yield (
        head,
        [
            [
                workload,
                *(f"{by[name]['rows_per_second']:,}" for name in names),
                *(_times(by[names[-1]], ratio) for ratio in ("to_kafka", "to_pykafka")),
            ]
            for workload, by in _by(results["results"], "workload")
        ],
    )
    yield (
        ["from the start of the process to the first rows", "server", "s"],
        [
            [each["contender"], each["session"], f"{each['seconds']:.1f}"]
            for each in results["first_query"]
        ],
    )


def _formats_tables(results: Row) -> Iterator[Table]:
    head = ["alone", "", "decode, ns of a row", "times fastavro", "encode, ns", "times fastavro"]
    yield (
        head,
        [
            [
                row["workload"],
                row["contender"],
                f"{row['decode']:,}",
                f"{row['decode_to_fastavro']:.0f}",
                f"{row['encode']:,}",
                f"{row['encode_to_fastavro']:.0f}",
            ]
            for row in results["alone"]
        ],
    )
    head = ["Protobuf, alone", "protobuf, decode, ns of a row", "pykafka", "times"]
    yield (
        head,
        [
            [
                workload,
                f"{by['protobuf']['decode']:,}",
                f"{by['pykafka']['decode']:,}",
                f"{by['pykafka']['decode_to_protobuf']:.0f}",
            ]
            for workload, by in _by(results["protobuf"], "workload")
        ],
    )
    head = ["with Spark", "faster", "kafka, rows/s", "kafka, tuned", "pykafka", "times kafka"]
    names = ("kafka", _TUNED, OURS)
    yield (
        [*head, "of the ceiling", "CPU of a row: kafka", *names[1:], "ceiling"],
        [
            [
                workload,
                _faster(by[OURS], "to_tuned"),
                *(f"{by[name]['rows_per_second']:,}" for name in names),
                f"{by[OURS]['to_kafka']:.1f}",
                f"{by[OURS]['to_ceiling']:.0%}",
                *(_cpu(by[name]) for name in (*names, "ceiling")),
            ]
            for workload, by in _by(results["queries"], "workload")
        ],
    )


def _by(rows: Sequence[Row], *keys: str) -> Iterator[tuple[str, dict[str, Row]]]:
    """The rows of each workload, by contender."""
    groups: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), {})[row["contender"]] = row
    for names, group in groups.items():
        yield names[0], group


def _cpu(row: Row) -> str:
    return f"{sum(row['cpu_ns'].values()) / 1000:.1f} µs"


TABLES: Final = {
    "read": _read_tables,
    "settings": _settings_tables,
    "wide": _wide_tables,
    "upsert": _upsert_tables,
    "changes": _changes_tables,
    "text": _text_tables,
    "record_types": _types_tables,
    "stream": _stream_tables,
    "formats": _formats_tables,
    "write": _write_tables,
    "sail": _sail_tables,
}
