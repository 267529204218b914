"""Thirty-odd wrong uses of pykafka, each run as a user would, and what a terminal shows of them.

    python -m tests.jobs.wrong_uses SITE.json [NAME ...] 2>FILE

SITE.json has the addresses of a broker and a user (`Site`). Stderr must be a file: Spark's JVM
writes its log there, and the traceback of each error is printed there as Python prints one that
nothing catches. Prints a JSON list of `Told`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tests.fakes.registry import registry, subjects
from tests.spark_session import SPARK_ERRORS

# A closed port is asked for this long; users have the default of ten seconds.
_SETUP_MS: Final = "2000"
_CLOSED: Final = "127.0.0.1:1"
_STREAM_SECONDS: Final = 120


@dataclass(frozen=True)
class Site:
    """A broker: its listener without a login, and with one for a user.

    `topic` exists, `others` has no right for the user, `missing` does not exist.
    """

    plain: str
    guarded: str
    user: str
    password: str
    topic: str
    others: str
    missing: str


class Told(NamedTuple):
    """What a wrong use shows.

    Attributes:
        name: That of the case.
        by: The call that raised the error, such as `save`.
        before: The lines in front of the sentence.
        behind: The lines behind the last mention of it.
        text: All of the lines.
    """

    name: str
    by: str
    before: int
    behind: int
    text: str


class Wrong(NamedTuple):
    """A wrong use, and the words of the sentence that tells it."""

    name: str
    use: Callable[[Desk], object]
    sentence: str


class Desk:
    """What a user has: a session, a broker, rows and a folder for checkpoints."""

    def __init__(self, spark: SparkSession, site: Site, folder: Path) -> None:
        self.spark = spark
        self.site = site
        self.folder = folder
        self.rows = spark.range(3).selectExpr("cast(id as string) value")

    def read(self, schema: str | None = None, /, **options: str) -> DataFrame:
        reader = self.spark.read.format("pykafka").options(**self._given(options, "subscribe"))
        return (reader if schema is None else reader.schema(schema)).load()

    def write(self, rows: DataFrame | None = None, /, **options: str) -> None:
        rows = self.rows if rows is None else rows
        given = self._given(options, "topic")
        rows.write.format("pykafka").options(**given).mode("append").save()

    def stream(self, **options: str) -> None:
        """Read a stream into nothing."""
        given = self._given(options, "subscribe")
        rows = self.spark.readStream.format("pykafka").options(**given).load()
        self.run(rows.writeStream.format("noop"))

    def write_stream(self, *columns: str, **options: str) -> None:
        """Write a stream of numbers."""
        numbers = self.spark.readStream.format(_NUMBERS).option("rowsPerBatch", 3).load()
        rows = numbers.selectExpr(*(columns or ("cast(value as string) value",)))
        given = self._given(options, "topic")
        self.run(rows.writeStream.format("pykafka").options(**given))

    def run(self, writer: DataStreamWriter) -> None:
        self.run_on(writer, Path(tempfile.mkdtemp(dir=self.folder)))

    def run_on(self, writer: DataStreamWriter, checkpoint: Path) -> None:
        triggered = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        query = triggered.start()
        try:
            assert query.awaitTermination(_STREAM_SECONDS), "the stream did not end"
        finally:
            query.stop()

    def login(self, password: str) -> dict[str, str]:
        """The options of the user's login."""
        return {
            "kafka.bootstrap.servers": self.site.guarded,
            "kafka.security.protocol": "SASL_PLAINTEXT",
            "kafka.sasl.mechanism": "SCRAM-SHA-512",
            "kafka.sasl.username": self.site.user,
            "kafka.sasl.password": password,
        }

    def checkpoint_of_numbers(self) -> Path:
        """A checkpoint with one micro-batch of another source."""
        path = Path(tempfile.mkdtemp(dir=self.folder))
        rows = self.spark.readStream.format(_NUMBERS).option("rowsPerBatch", 3).load()
        self.run_on(rows.writeStream.format("noop"), path)
        return path

    def stream_on(self, checkpoint: Path, **options: str) -> None:
        given = self._given(options, "subscribe")
        rows = self.spark.readStream.format("pykafka").options(**given).load()
        self.run_on(rows.writeStream.format("noop"), checkpoint)

    def _given(self, options: Mapping[str, str], topics: str) -> dict[str, str]:
        """Options; names are as given, or with two underscores for each dot."""
        named = {name.replace("__", "."): value for name, value in options.items()}
        usual = {
            "kafka.bootstrap.servers": self.site.plain,
            "kafka.socket.connection.setup.timeout.ms": _SETUP_MS,
            topics: self.site.topic,
        }
        return {name: value for name, value in (usual | named).items() if value != _LEFT_OUT}


_LEFT_OUT: Final = "(left out)"
_NUMBERS: Final = "rate-micro-batch"
_UNREACHABLE: Final = "No broker of kafka.bootstrap.servers can be reached"
_REFUSED: Final = "the broker refused"
_NO_TOPIC: Final = "UNKNOWN_TOPIC_OR_PARTITION"
_AVRO: Final = {"value.format": "avro"}


def _of_a_struct(desk: Desk) -> DataFrame:
    return desk.spark.range(1).selectExpr("struct(id) value")


def _without_a_subject(desk: Desk) -> None:
    with registry(subjects()) as empty:
        desk.write(_of_a_struct(desk), **_AVRO, schema__registry__url=empty.url)


def _with_a_path(desk: Desk) -> None:
    options = {"kafka.bootstrap.servers": desk.site.plain}
    desk.spark.read.format("pykafka").options(**options).load(desk.site.topic)


def _saved_to_a_path(desk: Desk) -> None:
    options = {"kafka.bootstrap.servers": desk.site.plain}
    rows = desk.rows.write.format("pykafka").options(**options)
    rows.mode("append").save(desk.site.topic)


def _overwritten(desk: Desk) -> None:
    given = {"kafka.bootstrap.servers": desk.site.plain, "topic": desk.site.topic}
    desk.rows.write.format("pykafka").options(**given).mode("overwrite").save()


def _without_a_mode(desk: Desk) -> None:
    given = {"kafka.bootstrap.servers": desk.site.plain, "topic": desk.site.topic}
    desk.rows.write.format("pykafka").options(**given).save()


def _on_a_checkpoint_without_its_topic(desk: Desk) -> None:
    path = Path(tempfile.mkdtemp(dir=desk.folder))
    desk.stream_on(path, startingOffsets="earliest")
    desk.stream_on(path, subscribe=desk.site.others)


WRONG_USES: Final[tuple[Wrong, ...]] = (
    # Addresses
    Wrong(
        "a read: a port where nothing listens",
        lambda desk: desk.read(kafka__bootstrap__servers=_CLOSED).count(),
        _UNREACHABLE,
    ),
    Wrong(
        "a write: a port where nothing listens",
        lambda desk: desk.write(kafka__bootstrap__servers=_CLOSED),
        _UNREACHABLE,
    ),
    Wrong(
        "a stream's read: a port where nothing listens",
        lambda desk: desk.stream(kafka__bootstrap__servers=_CLOSED),
        _UNREACHABLE,
    ),
    Wrong(
        "a stream's write: a port where nothing listens",
        lambda desk: desk.write_stream(kafka__bootstrap__servers=_CLOSED),
        _UNREACHABLE,
    ),
    Wrong(
        "a write: a host that no one knows",
        lambda desk: desk.write(kafka__bootstrap__servers="nowhere.invalid:9092"),
        "cannot be resolved",
    ),
    Wrong(
        "a write: an address without a port",
        lambda desk: desk.write(kafka__bootstrap__servers="localhost"),
        "is not host:port",
    ),
    # Credentials
    Wrong(
        "a read: a wrong password",
        lambda desk: desk.read(**desk.login("wrong")).count(),
        _REFUSED,
    ),
    Wrong("a write: a wrong password", lambda desk: desk.write(**desk.login("wrong")), _REFUSED),
    Wrong(
        "a stream's write: a wrong password",
        lambda desk: desk.write_stream(**desk.login("wrong")),
        _REFUSED,
    ),
    Wrong(
        "a write: no login where one is needed",
        lambda desk: desk.write(kafka__bootstrap__servers=desk.site.guarded),
        "the listener expects SASL",
    ),
    Wrong(
        "a write: TLS to a port without",
        lambda desk: desk.write(kafka__security__protocol="SSL"),
        "TLS handshake",
    ),
    Wrong(
        "a write: no right on the topic",
        lambda desk: desk.write(**desk.login(desk.site.password), topic=desk.site.others),
        "TOPIC_AUTHORIZATION_FAILED",
    ),
    # Names
    Wrong(
        "a read: a topic that does not exist",
        lambda desk: desk.read(subscribe=desk.site.missing).count(),
        _NO_TOPIC,
    ),
    Wrong(
        "a write: a topic that does not exist",
        lambda desk: desk.write(topic=desk.site.missing),
        _NO_TOPIC,
    ),
    Wrong(
        "a stream's write: a topic that does not exist",
        lambda desk: desk.write_stream(topic=desk.site.missing),
        _NO_TOPIC,
    ),
    Wrong(
        "a read: a name that no topic can have",
        lambda desk: desk.read(subscribe="my orders"),
        "names the topic 'my orders'",
    ),
    Wrong(
        "a write: a name that no topic can have",
        lambda desk: desk.write(topic="my orders"),
        "names the topic 'my orders'",
    ),
    Wrong("load(TOPIC)", _with_a_path, "The argument of load() has no effect: set subscribe to"),
    Wrong("save(TOPIC)", _saved_to_a_path, "has no effect: set topic to"),
    Wrong(
        "a read: kafka.bootstrap.server",
        lambda desk: desk.read(
            kafka__bootstrap__servers=_LEFT_OUT, kafka__bootstrap__server=desk.site.plain
        ),
        "did you mean 'kafka.bootstrap.servers'?",
    ),
    Wrong(
        "a read: topic",
        lambda desk: desk.read(subscribe=_LEFT_OUT, topic=desk.site.topic),
        "name the topics to read in the option 'subscribe'",
    ),
    Wrong(
        "a write: subscribe",
        lambda desk: desk.write(topic=_LEFT_OUT, subscribe=desk.site.topic),
        "name the topic to write to in the option 'topic'",
    ),
    Wrong(
        "a read: startingOffset",
        lambda desk: desk.read(startingOffset="earliest"),
        "did you mean 'startingOffsets'?",
    ),
    Wrong(
        "a read: security.protocol",
        lambda desk: desk.read(security__protocol="SASL_SSL"),
        "did you mean 'kafka.security.protocol'?",
    ),
    # Values
    Wrong(
        "a read: startingOffsets=earlist",
        lambda desk: desk.read(startingOffsets="earlist"),
        "did you mean 'earliest'?",
    ),
    Wrong(
        "a read: value.format=arvo",
        lambda desk: desk.read(value__format="arvo"),
        "did you mean 'avro'?",
    ),
    Wrong(
        "a read: startingOffsets of another topic",
        lambda desk: desk.read(startingOffsets='{"other":{"0":5}}').count(),
        "The query does not read 'other'",
    ),
    Wrong(
        "a stream's read: maxOffsetsPerTrigger=many",
        lambda desk: desk.stream(maxOffsetsPerTrigger="many"),
        "Option 'maxOffsetsPerTrigger' must be a whole number",
    ),
    Wrong(
        "a stream's read: endingOffsets",
        lambda desk: desk.stream(endingOffsets="latest"),
        "remove the option 'endingOffsets'",
    ),
    Wrong(
        "a write: kafka.compression.type=zstandard",
        lambda desk: desk.write(kafka__compression__type="zstandard"),
        "kafka.compression.type",
    ),
    # Modes
    Wrong("a write: overwrite", _overwritten, "call .mode('append')"),
    Wrong("a write: no mode", _without_a_mode, 'Please use either the "Append"'),
    # Columns
    Wrong(
        "a write: no column value",
        lambda desk: desk.write(desk.rows.withColumnRenamed("value", "payload")),
        "Required attribute 'value' not found",
    ),
    Wrong(
        "a stream's write: no column value",
        lambda desk: desk.write_stream("timestamp"),
        "Required attribute 'value' not found",
    ),
    Wrong(
        "a write: a column value of numbers",
        lambda desk: desk.write(desk.spark.range(3).selectExpr("id value")),
        "value attribute unsupported type bigint",
    ),
    Wrong(
        "a read: a column that the source lacks",
        lambda desk: desk.read("vlaue string").count(),
        "did you mean 'value'?",
    ),
    Wrong(
        "a write in Avro: no subject",
        _without_a_subject,
        "set auto.register.schemas to true",
    ),
    Wrong(
        "a write in Avro: no registry at the address",
        lambda desk: desk.write(
            _of_a_struct(desk), **_AVRO, schema__registry__url=f"http://{_CLOSED}"
        ),
        "Check schema.registry.url",
    ),
    # Checkpoints
    Wrong(
        "a stream's read: the checkpoint of another source",
        lambda desk: desk.stream_on(desk.checkpoint_of_numbers()),
        "use a checkpointLocation of this query's own",
    ),
    Wrong(
        "a stream's read: a checkpoint of another topic",
        _on_a_checkpoint_without_its_topic,
        "KAFKA_DATA_LOSS.PARTITIONS_NOT_SELECTED",
    ),
)


def told(wrong: Wrong, desk: Desk) -> Told:
    """Make a mistake, and read what the terminal shows of it."""
    start = os.fstat(2).st_size
    by = ""
    try:
        wrong.use(desk)
    except SPARK_ERRORS as error:
        stack = _of_a_user(error.__traceback__)
        calls = [each.name for each in traceback.extract_tb(stack)]
        by = next((name for name in calls if name in _CALLS), calls[-1])
        traceback.print_exception(type(error), error, stack)
    time.sleep(0.2)  # the JVM may still print
    sys.stderr.flush()
    text = _since(start)
    lines = text.splitlines()
    at = [number for number, line in enumerate(lines) if wrong.sentence in line]
    before, behind = (at[0], len(lines) - 1 - at[-1]) if at else (-1, -1)
    return Told(wrong.name, by, before, behind, text)


def _of_a_user(stack: TracebackType | None) -> TracebackType | None:
    """The stack from the last frame of this file on, which stands for the only one of a user."""
    while stack and stack.tb_next and stack.tb_next.tb_frame.f_code.co_filename == __file__:
        stack = stack.tb_next
    return stack


_CALLS: Final = ("load", "save", "start", "count", "awaitTermination")


def _since(start: int) -> str:
    with Path(f"/proc/self/fd/{sys.stderr.fileno()}").open(encoding="utf-8") as printed:
        printed.seek(start)
        return printed.read()


def main(site: str, *names: str) -> None:
    chosen = [each for each in WRONG_USES if not names or each.name in names]
    # Only a busy machine needs longer time-outs.
    patience: dict[str, str | int | float | bool | None] = {
        "spark.python.authenticate.socketTimeout": "120s",
        "spark.executor.heartbeatInterval": "60s",
        "spark.network.timeout": "600s",
    }
    builder = SparkSession.builder.master("local[2]").config(map=patience)
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(spark, Site(**json.loads(Path(site).read_text())), Path(folder))
        print(json.dumps([told(each, desk)._asdict() for each in chosen]))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
