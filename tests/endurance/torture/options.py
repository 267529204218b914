"""Draws options that must not change the rows of a query, and what its way varies. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Final

from tests.truth.drawing import Table, draw_options

_DRAWN: Final = 0.2
_CLIENT: Final[Table] = (
    (_DRAWN, "max.partition.fetch.bytes", ("1000", "50000", "1000000", "20000000")),
    (_DRAWN, "receive.message.max.bytes", ("30000000", "100000000")),
    (_DRAWN, "check.crcs", ("false", "true")),
    (_DRAWN, "fetch.min.bytes", ("1", "100000")),
    (_DRAWN, "fetch.max.wait.ms", ("10", "500")),
    (_DRAWN, "connections.max.idle.ms", ("500", "-1")),
    (_DRAWN, "metadata.max.age.ms", ("100", "60000")),
    (_DRAWN, "retry.backoff.ms", ("20", "300")),
)
_SOURCE: Final[Table] = (
    (_DRAWN, "minPartitions", ("1", "4", "9", "17")),
    (_DRAWN, "coalescePartitions", ("false", "true")),
    (_DRAWN, "failOnDataLoss", ("false", "true")),
)
_SPLITTING: Final = "maxRecordsPerPartition"
_MOST_TASKS: Final = 20


def client_options(chance: random.Random) -> dict[str, str]:
    """Options of the client, without `kafka.`."""
    return draw_options(chance, _CLIENT)


def source_options(chance: random.Random, total: int) -> dict[str, str]:
    """Options of a read of so many offsets."""
    options = {f"kafka.{name}": value for name, value in client_options(chance).items()}
    options |= draw_options(chance, _SOURCE) | {"fetchOffset.numRetries": "3"}
    if chance.random() < _DRAWN:
        least = max(1, total // _MOST_TASKS)
        options[_SPLITTING] = f"{chance.randint(least, max(least, total))}"
    return options


def push_down(chance: random.Random) -> dict[str, str]:
    """Whether filters limit what is read."""
    return {"pushDownPredicate": "true"} if chance.random() < 0.5 else {}


def of_table(
    chance: random.Random, options: Mapping[str, str], *, may_keep: bool
) -> dict[str, str]:
    """The same options with the envelope.

    Tombstones may not be kept where brokers remove them, and in a stream, which always has them.
    """
    envelope = {"envelope": "upsert", "upsert.nullKeys": "keep"}
    if may_keep:
        envelope["upsert.tombstones"] = chance.choice(("drop", "keep"))
    # No partition can be split.
    return {name: each for name, each in options.items() if name != _SPLITTING} | envelope


def stream_limits(chance: random.Random, total: int) -> dict[str, str]:
    """Limits that make at most some eight micro-batches."""
    options = {}
    if chance.random() < 0.6:
        options["maxOffsetsPerTrigger"] = f"{max(1, total // chance.randint(1, 4))}"
    elif chance.random() < 0.3:
        options["maxBytesPerTrigger"] = chance.choice(("500000", "20000000"))
    if chance.random() < 0.2 and "maxOffsetsPerTrigger" not in options:
        options |= {"minOffsetsPerTrigger": f"{max(1, total // 3)}", "maxTriggerDelay": "300ms"}
    return options


def _nothing(_chance: random.Random) -> dict[str, str]:
    return {}


def _stream(chance: random.Random) -> dict[str, str]:
    sink = chance.choice(("memory", "parquet", "parquet"))
    trigger = chance.choice(("availableNow", "availableNow", "processingTime"))
    return {"sink": sink, "trigger": trigger, "stops": chance.choice(("0", "1", "2"))}


def _for_each(chance: random.Random) -> dict[str, str]:
    return {
        "trigger": chance.choice(("availableNow", "processingTime")),
        "stops": chance.choice(("0", "1")),
    }


def _write(chance: random.Random) -> dict[str, str]:
    how = {"compression.type": chance.choice(("none", "gzip", "snappy", "lz4", "zstd"))}
    if chance.random() < 0.3:
        how["batch.size"] = chance.choice(("1000", "50000"))
    return how


def _exactly_once(chance: random.Random) -> dict[str, str]:
    return _write(chance) | {"write": chance.choice(("stream", "stream", "batch"))}


def _threads(chance: random.Random) -> dict[str, str]:
    return _write(chance) | {"copies": chance.choice(("false", "false", "true"))}


def _formats(chance: random.Random) -> dict[str, str]:
    return _write(chance) | {"format": chance.choice(("avro", "json"))}


_HOW: Final[Mapping[str, Callable[[random.Random], dict[str, str]]]] = {
    "spark stream": _stream,
    "foreachBatch": _for_each,
    "upsert stream": _for_each,
    "dead letter stream": _for_each,
    "debezium": _write,
    "group": _nothing,
    "spark write": _write,
    "stream write": _write,
    "exactly once": _exactly_once,
    "formats": _formats,
    "threads": _threads,
    "sail write": _write,
}


def how_of(way: str, chance: random.Random) -> dict[str, str]:
    """What a way varies."""
    return _HOW.get(way, _nothing)(chance)
