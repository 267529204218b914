"""Shows tables: as text for people, and as metrics. Nothing of Spark or Kafka belongs here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Final

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.lag.prometheus import Gauge, render
from kafka_spark_source.tables.progress import PlannedTable, State, TableProgress

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from kafka_spark_source.tables.sizes import Size

_WIDTH: Final = 160
_GAUGES: Final[Sequence[tuple[str, str, Callable[[TableProgress], float]]]] = (
    (
        "pykafka_table_written_offsets",
        "Offsets that this run of the query has written to the topic's table.",
        lambda table: table.offsets,
    ),
    (
        "pykafka_table_late_offsets",
        "Offsets that the query is past and the topic's table lacks.",
        lambda table: table.late,
    ),
    (
        "pykafka_table_backfill_offsets",
        "Offsets that the topic's table, which is filled anew, has not got yet.",
        lambda table: table.to_fill,
    ),
    (
        "pykafka_table_is_suspended",
        "1 if the topic's table could not be written and waits, else 0.",
        lambda table: float(table.state is State.SUSPENDED),
    ),
    (
        "pykafka_table_write_seconds",
        "How long the last write to the topic's table took.",
        lambda table: table.seconds,
    ),
)


def metrics(tables: Iterable[TableProgress]) -> str:
    """The gauges of tables in Prometheus' text format."""
    listed = [*tables]
    return render(
        Gauge(name, about, [({"topic": each.topic}, value(each)) for each in listed])
        for name, about, value in _GAUGES
    )


def progress_text(tables: Iterable[TableProgress], sizes: Mapping[str, Size] | None = None) -> str:
    """A table of tables.

    Args:
        tables: The tables.
        sizes: Topic -> the size of its tables; None to leave sizes out.

    Raises:
        KafkaConfigError: The package rich is not installed.
    """
    of_size = () if sizes is None else ("files", "MB a file")
    numbers = ("micro-batch", "offsets", "late", "to fill", "seconds")
    shown = _table("topic", "state", *numbers, *of_size, "why")
    for each in tables:
        counts = (f"{count:,}" for count in (each.offsets, each.late, each.to_fill))
        shown_size = () if sizes is None else _size(sizes.get(each.topic))
        shown.add_row(
            *_plain(each.topic, each.state.value, f"{each.batch_id}", *counts),
            *_plain(f"{each.seconds:.1f}", *shown_size, each.reason),
        )
    return _rendered(shown)


def _size(size: Size | None) -> tuple[str, str]:
    if size is None:
        return "", ""
    return f"{size.files:,}", f"{size.bytes / max(size.files, 1) / 1e6:.1f}"


def plan_text(planned: Iterable[PlannedTable]) -> str:
    """A table of the statements that a start would execute.

    Raises:
        KafkaConfigError: The package rich is not installed.
    """
    shown = _table("topic", "table", "first")
    for each in planned:
        first = each.refusal or "\n".join(each.statements) or "nothing: it is as it has to be"
        shown.add_row(*_plain(each.topic, each.table, first))
    return _rendered(shown)


def _table(*columns: str) -> Table:
    try:
        from rich.table import Table  # noqa: PLC0415
    except ImportError:
        raise KafkaConfigError(
            "To show tables the package rich is needed: pip install 'pyspark-pykafka[cli]'"
        ) from None
    shown = Table()
    for each in columns:
        # A name that is cut off could be another one's.
        shown.add_column(each, overflow="fold")
    return shown


def _plain(*texts: str) -> list[Text]:
    """Texts without markup: topics and errors come from outside."""
    from rich.text import Text  # noqa: PLC0415

    return [Text("".join(c if c.isprintable() or c == "\n" else "?" for c in t)) for t in texts]


def _rendered(table: Table) -> str:
    from rich.console import Console  # noqa: PLC0415

    written = StringIO()
    Console(file=written, width=_WIDTH).print(table)
    return written.getvalue()
