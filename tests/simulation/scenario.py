"""A scenario as plain data. `drawing` makes one from a seed; nothing here runs anything."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from kafka_protocol.versions.releases import parse_release
from tests.simulation.contents import GROWN_FROM, Kind, Values
from tests.simulation.kafka.services import APACHE
from tests.truth.filters import Filter

Sink: TypeAlias = Literal["files", "at least once", "exactly once"]
SendKind: TypeAlias = Literal["plain", "commit", "abort", "appended"]

JobKind: TypeAlias = Literal["read", "write", "write once", "group", "follow"]

INPUT: Final = "in"
OUTPUT: Final = "out"
WRITTEN: Final = "written"  # by batch writes
MORE: Final = "in-more"  # another topic of the input
GROUP: Final = "watchers"  # to which a stream commits

READERS: Final = "readers"  # the group of reads without Spark
LETTERS: Final = "letters"  # records that cannot be decoded

# All others are input.
OUTPUTS: Final = (OUTPUT, WRITTEN, LETTERS)
COMMIT_LOG: Final = "decisions"

# How many partitions may be added to the input.
MOST_ADDED: Final = 2

# Kinds of faults after which records may be missing.
LOSSES: Final = ("delete records", "compact", "retention", "unclean election", "recreate topic")
# After these, offsets may have other records than before.
REWRITES: Final = ("unclean election", "recreate topic")

# Releases of the brokers. Kafka 0.10 has no transactions.
RELEASES: Final = ("4.3", "4.0", "3.5", "2.8", "2.4", "1.0", "0.11.0", "0.10.2")

EXECUTORS: Final = ("executor-1", "executor-2")


class Part(NamedTuple):
    """Records of one partition: `length` of them, numbered from `first` on."""

    topic: str
    partition: int
    first: int
    length: int


class Send(NamedTuple):
    """What a producer writes at one moment: records, or a transaction with its outcome.

    Attributes:
        style: Of an appended batch, another client's: its magic and its codec. Of a transaction:
            "slow" for one that writes its parts one after the other, and so is open for a while.
    """

    at_ms: float
    producer: str
    kind: SendKind
    parts: tuple[Part, ...]
    style: str = ""


class Fault(NamedTuple):
    """A fault or a change: its kind is a row of `faults.KINDS`, which reads the arguments.

    Attributes:
        for_ms: When it ends, counted from its beginning; 0 for one without an end.
    """

    at_ms: float
    kind: str
    for_ms: float
    arguments: dict[str, Any]


class Job(NamedTuple):
    """A batch query beside the stream, or a read without Spark that goes on where the last ended.

    A timestamp "~7-1", also in a filter, is that of one of the input's records when the query
    begins, by the number 7, and 1 ms less.

    Attributes:
        options: Of a read; a write has those of the scenario.
        filters: Of a read; Spark passes them on with the option pushDownPredicate.
        counts: The number of rows of each task of a write.
        dies_at_call: At which of its calls the driver of the job dies; None for never.
        columns: Columns of a read with another type: "string" or "map".
        readers: How many readers of a group read at the same time, each some of the partitions.
        lasts_ms: When a read that follows is stopped.
    """

    at_ms: float
    kind: JobKind
    options: dict[str, str]
    filters: tuple[Filter, ...] = ()
    counts: tuple[int, ...] = ()
    dies_at_call: int | None = None
    columns: dict[str, str] = {}  # noqa: RUF012 - nothing changes it
    readers: int = 1
    lasts_ms: float = 0.0


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
        service: The service of the brokers, a key of `SERVICES`.
        interface: The release of PySpark whose calls are made.
        source, write: Options of the source, and of the sink beside its guarantee.
        columns: Columns of the stream with another type: "string" or "map".
        producer: Options of the producers.
        contents: What values are.
        value_bytes: The size of values, or of the text in them.
        has_headers: Whether records have headers.
        has_blanks: Whether some keys and values are null or empty.
        spills: Whether the newest records of keys do not fit in memory.
        has_racks: Whether each broker is in a rack of its own.
        speculation_ms: When a task gets a second attempt; None for never.
        loser_ms, orphan_ms: How long a losing attempt, and a dead driver's tasks, go on.
        begin_ms: When the first driver starts.
        restart_ms: From the end of a driver to the next one.
    """

    seed: int
    release: str = "4.3"
    nodes: int = 3
    service: str = APACHE
    interface: Literal["4.0", "4.2"] = "4.2"
    trigger: Literal["default", "available now", "once"] = "default"
    sink: Sink = "files"
    topics: tuple[Topic, ...] = ()
    sends: tuple[Send, ...] = ()
    faults: tuple[Fault, ...] = ()
    jobs: tuple[Job, ...] = ()
    source: dict[str, str] = field(default_factory=dict)
    write: dict[str, str] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    producer: dict[str, str] = field(default_factory=dict)
    contents: Kind = "bytes"
    value_bytes: int = 40
    has_headers: bool = False
    has_blanks: bool = False
    spills: bool = False
    has_racks: bool = False
    slots: int = 6
    speculation_ms: float | None = None
    loser_ms: float = 50.0
    orphan_ms: float = 0.0
    begin_ms: float = 1.0
    restart_ms: float = 500.0
    pause_ms: float = 500.0

    def reads(self, topic: str, partition: int) -> bool:
        """Whether the stream has a partition, by its strategy."""
        if "assign" in self.source:
            return partition in json.loads(self.source["assign"]).get(topic, [])
        if "subscribePattern" in self.source:
            return re.search(self.source["subscribePattern"], topic) is not None
        return topic in self.source.get("subscribe", INPUT).split(",")

    @property
    def strategy(self) -> dict[str, str]:
        """The option for the topics of the stream, if the source has none."""
        given = {"subscribe", "subscribePattern", "assign"} & self.source.keys()
        return {} if given else {"subscribe": INPUT}

    @property
    def values(self) -> Values:
        """The values of the records."""
        return Values(self.contents, self.value_bytes, self.has_blanks)

    @property
    def grows_at_ms(self) -> float:
        """When the first record with more fields is to be sent."""
        return min(
            (
                send.at_ms
                for send in self.sends
                for part in send.parts
                if part.first + part.length > GROWN_FROM
            ),
            default=0.0,
        )

    @property
    def has_letters(self) -> bool:
        """Whether the stream puts records aside that it cannot decode."""
        return "deadLetterTopic" in self.source

    @property
    def drops_broken(self) -> bool:
        """Whether records that the stream cannot decode are no rows."""
        return self.has_letters or self.source.get("mode") == "DROPMALFORMED"

    @property
    def is_committed_view(self) -> bool:
        """Whether the query reads committed records only."""
        return self.source.get("kafka.isolation.level") == "read_committed"

    @property
    def starts_later(self) -> bool:
        """Whether the stream does not start with the first records."""
        starts = {key: value for key, value in self.source.items() if key.startswith("starting")}
        return bool(starts) and starts != {"startingOffsets": "earliest"}

    @property
    def loses_records(self) -> bool:
        """Whether a fault deletes records, so that some may be missing."""
        return any(each.kind in LOSSES for each in self.faults)

    @property
    def rewrites(self) -> bool:
        """Whether an offset may have another record than before, so that little is promised."""
        return any(each.kind in REWRITES for each in self.faults)

    @cached_property
    def has_producer_ids(self) -> bool:
        """Whether all brokers recognise a batch that is written again."""
        idempotence = "kafka.enable.idempotence"
        is_on = "false" not in (self.producer.get(idempotence), self.write.get(idempotence))
        return is_on and parse_release(self.release) >= (0, 11)

    @property
    def quiet_from_ms(self) -> float:
        """When the last fault has ended and the last record is to be sent."""
        faults = [each.at_ms + each.for_ms for each in self.faults]
        others = [each.at_ms for each in self.sends]
        others += [each.at_ms + each.lasts_ms for each in self.jobs]
        return max([0.0, *faults, *others])

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
        Send(at, producer, kind, tuple(Part(*part) for part in parts), style)
        for at, producer, kind, parts, style in data["sends"]
    )
    data["faults"] = tuple(Fault(*each) for each in data["faults"])
    data["jobs"] = tuple(_job(*each) for each in data.get("jobs", ()))
    return Scenario(**data)


def _job(
    at_ms: float,
    kind: JobKind,
    options: dict[str, str],
    filters: list[list[Any]],
    counts: list[int],
    dies_at_call: int | None,
    columns: dict[str, str] | None = None,
    readers: int = 1,
    lasts_ms: float = 0.0,
) -> Job:
    limits = tuple(Filter(*each) for each in filters)
    rest = dies_at_call, columns or {}, readers, lasts_ms
    return Job(at_ms, kind, options, limits, tuple(counts), *rest)
