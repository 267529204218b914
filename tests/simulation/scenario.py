"""A scenario as plain data, and how one is drawn from a seed. Nothing here runs anything."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias

Sink: TypeAlias = Literal["files", "at least once", "exactly once"]
SendKind: TypeAlias = Literal["plain", "commit", "abort"]

INPUT: Final = "in"
OUTPUT: Final = "out"
COMMIT_LOG: Final = "decisions"

EXECUTORS: Final = ("executor-1", "executor-2")


class Part(NamedTuple):
    """Records of one partition: `length` of them, numbered from `first` on."""

    topic: str
    partition: int
    first: int
    length: int


class Send(NamedTuple):
    """What a producer writes at one moment: records, or a transaction with its outcome."""

    at_ms: float
    producer: str
    kind: SendKind
    parts: tuple[Part, ...]


class Fault(NamedTuple):
    """A fault or a change: its kind is a row of `faults.KINDS`, which reads the arguments.

    Attributes:
        for_ms: When it ends, counted from its beginning; 0 for one without an end.
    """

    at_ms: float
    kind: str
    for_ms: float
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Topic:
    """A topic of the input."""

    name: str
    partitions: int
    replication: int
    config: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Scenario:
    """All that decides a run.

    Attributes:
        seed: Of all random numbers within the run.
        release: The release of the brokers.
        interface: The release of PySpark whose calls are made.
        source, write: Options of the source, and of the sink beside its guarantee.
        producer: Options of the producers.
        value_bytes: The size of values.
        speculation_ms: When a task gets a second attempt; None for never.
        loser_ms, orphan_ms: How long a losing attempt, and a dead driver's tasks, go on.
        restart_ms: From the end of a driver to the next one.
    """

    seed: int
    release: str = "4.3"
    nodes: int = 3
    interface: Literal["4.0", "4.2"] = "4.2"
    trigger: Literal["default", "available now", "once"] = "default"
    sink: Sink = "files"
    topics: tuple[Topic, ...] = ()
    sends: tuple[Send, ...] = ()
    faults: tuple[Fault, ...] = ()
    source: dict[str, str] = field(default_factory=dict)
    write: dict[str, str] = field(default_factory=dict)
    producer: dict[str, str] = field(default_factory=dict)
    value_bytes: int = 40
    slots: int = 6
    speculation_ms: float | None = None
    loser_ms: float = 50.0
    orphan_ms: float = 0.0
    restart_ms: float = 500.0
    pause_ms: float = 500.0

    @property
    def is_committed_view(self) -> bool:
        """Whether the query reads committed records only."""
        return self.source.get("kafka.isolation.level") == "read_committed"

    @property
    def quiet_from_ms(self) -> float:
        """When the last fault has ended and the last record is to be sent."""
        faults = [each.at_ms + each.for_ms for each in self.faults]
        return max([0.0, *faults, *(each.at_ms for each in self.sends)])

    @property
    def records(self) -> int:
        """The number of records that are to be sent."""
        return sum(part.length for send in self.sends for part in send.parts)

    def to_json(self) -> str:
        """As text for people, which `from_json` reads."""
        return json.dumps(asdict(self), indent=1)


def from_json(text: str) -> Scenario:
    """Read what `to_json` wrote."""
    data = json.loads(text)
    data["topics"] = tuple(Topic(**each) for each in data["topics"])
    data["sends"] = tuple(
        Send(at, producer, kind, tuple(Part(*part) for part in parts))
        for at, producer, kind, parts in data["sends"]
    )
    data["faults"] = tuple(Fault(*each) for each in data["faults"])
    return Scenario(**data)


# --- Drawing ------------------------------------------------------------------------------------

_RECORDS: Final = 2_000
_PARTITIONS: Final = 6
_LASTS_MS: Final = 12_000.0  # records are sent during this time

# Options of the source: each is drawn with its probability.
_SOURCE_OPTIONS: Final[tuple[tuple[float, str, tuple[str, ...]], ...]] = (
    (0.5, "maxOffsetsPerTrigger", ("200", "400", "1000")),
    (0.2, "minPartitions", ("2", "8", "12")),
    (0.15, "maxRecordsPerPartition", ("40", "200")),
    (0.2, "coalescePartitions", ("false",)),
    (0.15, "minOffsetsPerTrigger", ("100",)),
    (0.1, "kafka.fetch.max.wait.ms", ("50",)),
    (0.2, "kafka.max.partition.fetch.bytes", ("2000", "20000")),
    (0.2, "kafka.request.timeout.ms", ("3000", "10000")),
    (0.1, "kafka.metadata.max.age.ms", ("0", "5000")),
    (0.1, "kafka.client.rack", ("rack-2",)),
)
_WRITE_OPTIONS: Final[tuple[tuple[float, str, tuple[str, ...]], ...]] = (
    (0.3, "kafka.compression.type", ("gzip", "snappy", "lz4", "zstd")),
    (0.3, "kafka.batch.size", ("500", "5000")),
    (0.2, "kafka.max.in.flight.requests.per.connection", ("1", "2")),
    (0.2, "kafka.request.timeout.ms", ("3000", "10000")),
)


def draw(seed: int) -> Scenario:
    """The scenario of a seed."""
    rng = random.Random(f"{seed} scenario")
    sink: Sink = rng.choice(("files", "files", "at least once", "exactly once", "exactly once"))
    topics = (Topic(INPUT, _PARTITIONS, rng.choice((2, 3, 3))),)
    source = {"startingOffsets": "earliest", **_options(rng, _SOURCE_OPTIONS)}
    value_bytes = rng.choice((8, 40, 40, 300))
    if rng.random() < 0.15:
        source["maxBytesPerTrigger"] = str((value_bytes + 20) * rng.choice((200, 400)))
    if "minOffsetsPerTrigger" in source:  # else the last records wait for a quarter of an hour
        source["maxTriggerDelay"] = "2s"
    if rng.random() < 0.6:
        source["kafka.isolation.level"] = "read_committed"
    scenario = Scenario(
        seed,
        interface=rng.choice(("4.2", "4.2", "4.0")),
        trigger=rng.choice(("default", "default", "default", "available now")),
        sink=sink,
        topics=topics,
        sends=tuple(sorted(_sends(rng))),
        source=source,
        write=_options(rng, _WRITE_OPTIONS),
        producer=_options(rng, _WRITE_OPTIONS),
        value_bytes=value_bytes,
        slots=rng.choice((2, 4, 6)),
        speculation_ms=rng.choice((None, None, 200.0, 2_000.0)),
        loser_ms=rng.choice((1.0, 50.0, 5_000.0)),
        orphan_ms=rng.choice((0.0, 0.0, 300.0, 20_000.0)),
        restart_ms=rng.choice((300.0, 1_000.0, 3_000.0)),
        pause_ms=rng.choice((100.0, 700.0, 1_000.0, 1_500.0)),
    )
    from tests.simulation.faults import draw_faults  # noqa: PLC0415  it needs this module

    return replace(scenario, faults=draw_faults(rng, scenario))


def _options(
    rng: random.Random, table: tuple[tuple[float, str, tuple[str, ...]], ...]
) -> dict[str, str]:
    return {name: rng.choice(values) for share, name, values in table if rng.random() < share}


def _sends(rng: random.Random) -> Iterator[Send]:
    """Sends of three producers, each with its partitions, in the order of their records."""
    next_number = [0] * _PARTITIONS
    transactional = rng.random() < 0.6
    left = _RECORDS
    while left > 0:
        producer = rng.randrange(3)
        partitions = [p for p in range(_PARTITIONS) if p % 3 == producer]
        chosen = rng.sample(partitions, rng.choice((1, 2)))
        parts = []
        for partition in chosen:
            count = min(left, rng.choice((1, 10, 40, 80)))
            if count:
                parts.append(Part(INPUT, partition, next_number[partition], count))
            next_number[partition] += count
            left -= count
        kind: SendKind = "plain"
        if transactional and producer != 0:
            kind = rng.choice(("commit", "commit", "abort"))
        yield Send(round(rng.uniform(0, _LASTS_MS), 1), f"producer-{producer}", kind, tuple(parts))
