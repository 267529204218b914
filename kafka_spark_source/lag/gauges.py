"""The gauges of lag in one table: Prometheus' text, the dashboard and the docs come from it.

A lag is reported (by Spark's progress reports, for `LagListener`) or measured (on brokers, by
`pykafka lag --prometheus`). A gauge of both has one name, one unit and one meaning, that of `Lag`:
`estimated` and `measured` are two ways to get the same age.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from kafka_spark_source.lag.prometheus import Gauge

if TYPE_CHECKING:
    from kafka_spark_source.lag.checkpoint import QueryLag
    from kafka_spark_source.lag.group import GroupLag
    from kafka_spark_source.lag.measured import MeasuredLag
    from kafka_spark_source.lag.progress import PartitionLag, QueryRun

T = TypeVar("T")


class Lag(Protocol):
    """The lag in one partition, reported or measured."""

    @property
    def records(self) -> int | None:
        """The number of offsets not yet read, an upper limit of the records; None: unknown."""

    @property
    def behind_ms(self) -> int | None:
        """The age of the first unread record in ms; 0 if all are read; None: unknown.

        It is the time since the record's timestamp, or where a broker is not asked, since the end
        of the log passed the record.
        """


def lag_records(lag: Lag) -> int | None:
    """The lag in records; None if it is not known."""
    return lag.records


def lag_seconds(lag: Lag) -> float | None:
    """The age of the first unread record in seconds; 0 if all are read; None if it is unknown."""
    return None if lag.behind_ms is None else lag.behind_ms / 1000


class Unit(Enum):
    """The unit of a gauge."""

    RECORDS = "records"
    SECONDS = "seconds"
    OFFSET = "offset"
    ROWS_PER_SECOND = "rows per second"
    TIME = "seconds since 1970"
    TRUTH = "1 or 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class LagGauge:
    """A row of the table.

    Attributes:
        name: As Prometheus has it.
        unit: The unit of its values.
        help: One line, without a backslash.
        of_report: Takes the value from a partition of a progress report; None: not reported.
        of_query: Takes the value from the newest progress report of a query; None: not reported.
        of_logs: Takes the value from a partition that was measured; None: not measured.
        of_look: Takes the value from whether a checkpoint or a group could be read; None: has none.
    """

    name: str
    unit: Unit
    help: str
    of_report: Callable[[PartitionLag], float | None] | None = None
    of_query: Callable[[QueryRun], float | None] | None = None
    of_logs: Callable[[MeasuredLag], float | None] | None = None
    of_look: Callable[[bool], float | None] | None = None


LAG_RECORDS: Final = LagGauge(
    name="pykafka_lag_records",
    unit=Unit.RECORDS,
    help="Records that are not read yet.",
    of_report=lag_records,
    of_logs=lag_records,
)
LAG_SECONDS: Final = LagGauge(
    name="pykafka_lag_seconds",
    unit=Unit.SECONDS,
    help="The age of the first unread record.",
    of_report=lag_seconds,
    of_logs=lag_seconds,
)
LOST_RECORDS: Final = LagGauge(
    name="pykafka_lost_records",
    unit=Unit.RECORDS,
    help="Records that retention removed unread.",
    of_logs=lambda lag: lag.lost,
)
CONSUMED_OFFSET: Final = LagGauge(
    name="pykafka_consumed_offset",
    unit=Unit.OFFSET,
    help="First offset that the query has not read.",
    of_report=lambda lag: lag.consumed_offset,
)
LATEST_OFFSET: Final = LagGauge(
    name="pykafka_latest_offset",
    unit=Unit.OFFSET,
    help="End of the log when the batch was planned.",
    of_report=lambda lag: lag.latest_offset,
)
INPUT_ROWS: Final = LagGauge(
    name="pykafka_input_rows_per_second",
    unit=Unit.ROWS_PER_SECOND,
    help="Rows that arrive per second.",
    of_query=lambda run: run.input_rate,
)
PROCESSED_ROWS: Final = LagGauge(
    name="pykafka_processed_rows_per_second",
    unit=Unit.ROWS_PER_SECOND,
    help="Rows processed per second.",
    of_query=lambda run: run.processed_rate,
)
LAST_TRIGGER: Final = LagGauge(
    name="pykafka_last_trigger_seconds",
    unit=Unit.TIME,
    help="When the last trigger began.",
    of_query=lambda run: run.triggered_ms / 1000,
)
# Without it, a query that cannot be read has no sample, and no rule about its lag fires.
LAG_KNOWN: Final = LagGauge(
    name="pykafka_lag_known",
    unit=Unit.TRUTH,
    help="1 if the lag is known, 0 if the checkpoint or the group cannot be read.",
    of_look=int,
)

GAUGES: Final = (
    LAG_RECORDS,
    LAG_SECONDS,
    LOST_RECORDS,
    CONSUMED_OFFSET,
    LATEST_OFFSET,
    INPUT_ROWS,
    PROCESSED_ROWS,
    LAST_TRIGGER,
    LAG_KNOWN,
)


def reported(runs: Iterable[QueryRun]) -> list[Gauge]:
    """The gauges of running queries: for each partition, and for each query."""
    queries = [({"query": run.query}, run) for run in runs]
    partitions = [
        ({**labels, "topic": lag.topic, "partition": str(lag.partition)}, lag)
        for labels, run in queries
        for lag in run.lags
    ]
    return [
        *(
            Gauge(each.name, each.help, _samples(each.of_report, partitions))
            for each in GAUGES
            if each.of_report
        ),
        *(
            Gauge(each.name, each.help, _samples(each.of_query, queries))
            for each in GAUGES
            if each.of_query
        ),
    ]


def measured(lags: Sequence[QueryLag | GroupLag], unknown: Iterable[str]) -> list[Gauge]:
    """The gauges of measured lags. The label `query` is the checkpoint, or the group.

    Args:
        lags: What was measured.
        unknown: The checkpoints and groups that cannot be read.
    """
    # A group may be called as a checkpoint; Prometheus refuses a text with equal labels.
    is_known = dict.fromkeys((lag.name for lag in lags), True) | dict.fromkeys(unknown, False)
    looks = [({"query": name}, known) for name, known in is_known.items()]
    partitions = [
        (
            {
                "query": lag.name,
                "source": each.source,
                "topic": each.topic,
                "partition": str(each.partition),
            },
            each,
        )
        for lag in lags
        for each in lag.partitions
    ]
    return [
        *(
            Gauge(each.name, each.help, _samples(each.of_logs, partitions))
            for each in GAUGES
            if each.of_logs
        ),
        *(
            Gauge(each.name, each.help, _samples(each.of_look, looks))
            for each in GAUGES
            if each.of_look
        ),
    ]


def _samples(
    value_of: Callable[[T], float | None], labelled: Sequence[tuple[Mapping[str, str], T]]
) -> list[tuple[Mapping[str, str], float]]:
    """The values with their labels; a value that is not known has no sample."""
    return [(labels, value) for labels, each in labelled if (value := value_of(each)) is not None]
