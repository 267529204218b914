"""The statements for a table, by a catalog in memory; `tests/change_data` has real ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Row
from pyspark.sql import types as T

from kafka_spark_source.tables import leftovers
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.target import Layout, Target

INT, LONG = T.IntegerType(), T.LongType()
NAME = "`lake`.`t`"


def columns(**types: T.DataType) -> T.StructType:
    return T.StructType([T.StructField(name, each) for name, each in types.items()])


class Catalog:
    """A session with one table, or none."""

    def __init__(self, provider: str = "delta", present: T.StructType | None = None) -> None:
        self.provider = provider
        self.present = present
        self.after: list[T.StructType | None] = []
        self.properties: dict[str, str] = {"pykafka.topic": "t"}
        self.refusals: list[Exception] = []
        self.statements: list[str] = []
        self.catalog = SimpleNamespace(tableExists=lambda _name: self.present is not None)

    def table(self, _name: str) -> Any:
        return SimpleNamespace(schema=self.present)

    def sql(self, statement: str) -> Any:
        rows: list[Row] = []
        if statement.startswith("DESCRIBE"):
            rows = [Row(col_name="Provider", data_type=self.provider)]
        elif statement.startswith("SHOW"):
            rows = [Row(key=key, value=value) for key, value in self.properties.items()]
        elif not statement.startswith("REFRESH"):
            self._execute(statement)
        return SimpleNamespace(collect=lambda: rows)

    def _execute(self, statement: str) -> None:
        self.statements.append(statement)
        if self.refusals:
            raise self.refusals.pop(0)
        if self.after:
            self.present = self.after.pop(0)
        if "'pykafka.topic'" in statement:
            self.properties = {"pykafka.topic": "t"}


def target(catalog: Any, **layout: Any) -> Target:
    return Target(catalog, NAME, "t", Layout(catalog.provider, **layout))


def test_a_new_table() -> None:
    catalog = Catalog()
    catalog.after = [columns(a=INT)]
    layout = {"partition_by": ("days(a)",), "properties": {"p": "it's"}}
    assert target(catalog, **layout).prepare(columns(a=INT), {}) == (columns(a=INT), True)
    # Without IF NOT EXISTS: a table that another driver has just made is an error, not a new one.
    assert catalog.statements == [
        f"CREATE TABLE {NAME} (`a` int) USING delta PARTITIONED BY (days(a)) "
        "TBLPROPERTIES ('p' = 'it\\'s', 'pykafka.topic' = 't')"
    ]


def test_names_that_delta_takes_with_column_mapping_only() -> None:
    for rows in (
        columns(**{"a b": INT}),
        columns(a=T.ArrayType(columns(**{"x;": INT}))),
        columns(a=T.MapType(INT, columns(**{"x=": INT}))),
    ):
        assert "'delta.columnMapping.mode' = 'name'" in target(Catalog()).plan(rows, {})[0]
        assert "columnMapping" not in target(Catalog("iceberg")).plan(rows, {})[0]
    clustered = target(Catalog(), cluster_by=("a",)).plan(columns(a=INT), {})
    assert "CLUSTER BY (a)" in clustered[0]


def test_a_table_grows() -> None:
    rows = columns(a=LONG, b=T.TimestampNTZType())
    assert target(Catalog("delta", columns(a=INT))).plan(rows, {}) == [
        f"ALTER TABLE {NAME} SET TBLPROPERTIES ('delta.feature.timestampNtz' = 'supported')",
        f"ALTER TABLE {NAME} ADD COLUMNS (`b` timestamp_ntz)",
        f"ALTER TABLE {NAME} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
        f"ALTER TABLE {NAME} ALTER COLUMN `a` TYPE bigint",
    ]
    assert target(Catalog("iceberg", columns(a=INT))).plan(rows, {}) == [
        f"ALTER TABLE {NAME} ADD COLUMNS (`b` timestamp_ntz)",
        f"ALTER TABLE {NAME} ALTER COLUMN `a` TYPE bigint",
    ]
    assert target(Catalog("delta", rows)).plan(rows, {}) == []


def test_a_table_that_was_there_is_taken_over() -> None:
    catalog = Catalog("delta", columns(a=INT))
    catalog.properties = {}
    assert target(catalog).prepare(columns(a=INT), {}) == (columns(a=INT), False)
    assert catalog.statements == [f"ALTER TABLE {NAME} SET TBLPROPERTIES ('pykafka.topic' = 't')"]


def test_what_is_refused() -> None:
    catalog = Catalog("delta", columns(a=INT))
    with pytest.raises(TableError, match="`a` is string in the records and int in the table"):
        target(catalog).plan(columns(a=T.StringType()), {})
    catalog.properties = {"pykafka.topic": "u"}
    with pytest.raises(TableError, match="is filled from topic u, not from t"):
        target(catalog).plan(columns(a=INT), {})
    catalog.provider = "parquet"
    made = Target(catalog, NAME, "t", Layout("delta"))  # type: ignore[arg-type]
    with pytest.raises(TableError, match="is parquet, not delta"):
        made.plan(columns(a=INT), {})
    padded = T.StructField("c", T.StringType(), True, {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"})
    with pytest.raises(TableError, match="columns of the type CHAR: c"):
        target(Catalog("delta", T.StructType([padded]))).plan(columns(c=T.StringType()), {})


def test_statements_that_a_catalog_refuses() -> None:
    catalog = Catalog()
    catalog.refusals = [AnalysisException("[DOWN] It is down.\nat line 1")]
    with pytest.raises(TableError, match=r"does not take the statement `CREATE .*: \[DOWN\]"):
        target(catalog).prepare(columns(a=INT), {})
    with pytest.raises(TableError, match="was dropped while it was made"):
        target(Catalog()).prepare(columns(a=INT), {})

    def fails(_name: str) -> bool:
        raise AnalysisException("[DOWN] It is down.")

    catalog.catalog = SimpleNamespace(tableExists=fails)
    with pytest.raises(TableError, match=r"cannot be read: \[DOWN\]"):
        target(catalog).plan(columns(a=INT), {})


REFUSED = AnalysisException(
    "[DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION] Cannot create table. The associated location "
    "('file:/lake/t') is not empty and also not a Delta table."
)


@pytest.mark.parametrize(
    ("files", "again"),
    [
        ([], "CREATE TABLE `lake`.`t` (`a` int) USING delta"),
        ([f"_delta_log/.{0:020}.json.x.tmp"], "CREATE TABLE `lake`.`t` (`a` int) USING delta"),
        (
            [f"_delta_log/{0:020}.json", "part-0.parquet"],
            "CREATE TABLE IF NOT EXISTS `lake`.`t` USING delta LOCATION 'file:/lake/t'",
        ),
    ],
)
def test_what_a_killed_driver_left(
    monkeypatch: pytest.MonkeyPatch, files: list[str], again: str
) -> None:
    removed: list[str] = []
    monkeypatch.setattr(leftovers, "listed", lambda *_: (files, ["_delta_log", "_delta_log/a"]))
    monkeypatch.setattr(leftovers, "remove", lambda *arguments: removed.extend(arguments[2]))
    catalog = Catalog()
    catalog.refusals, catalog.after = [REFUSED], [columns(a=INT)]
    assert not target(catalog).prepare(columns(a=INT), {}).is_new
    assert catalog.statements[1].startswith(again)
    if len(files) < 2:
        assert removed == [*files, "_delta_log/a", "_delta_log", ""]
    else:
        assert not removed


def test_a_folder_of_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    version = f"_delta_log/{0:020}.json"
    monkeypatch.setattr(leftovers, "listed", lambda *_: ([version], ["_delta_log"]))
    catalog = Catalog()
    catalog.refusals, catalog.properties = [REFUSED], {"pykafka.topic": "u"}
    with pytest.raises(TableError, match="is not empty and also not a Delta table"):
        target(catalog).prepare(columns(a=INT), {})
    for files, folders in (
        (["notes.txt"], []),
        ([".upload-of-somebody.csv.tmp"], []),
        ([f".{0:020}.json.x.tmp"], ["_delta_log"]),
        ([], ["archive", "archive/2025"]),
    ):
        monkeypatch.setattr(leftovers, "listed", lambda *_, there=(files, folders): there)
        catalog.refusals = [REFUSED]
        with pytest.raises(TableError, match="is not empty and also not a Delta table"):
            target(catalog).prepare(columns(a=INT), {})
