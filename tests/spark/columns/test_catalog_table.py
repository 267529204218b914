"""The options of tables of the session catalog, which Spark gives once and never again."""

from __future__ import annotations

import json
import os
import re

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, StructField, StructType

from kafka_formats.options.option import Use
from kafka_protocol.client.config.assertion_options import AssertionOptions
from kafka_protocol.client.config.option import options_of
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.columns.catalog_table import (
    options_for,
    options_of_new_table,
    with_kept_options,
    with_options,
)
from kafka_spark_source.source import KafkaDataSource
from tests.config_error import config_error
from tests.secret_check import PASSWORD

SERVERS = {"kafka.bootstrap.servers": "a:1"}
COLUMNS = StructType([StructField("key", BinaryType()), StructField("value", BinaryType())])
# As Spark gives them when a table is created.
CREATED = {
    **SERVERS,
    "option.kafka.bootstrap.servers": "a:1",
    "Option.Topic": "t",
    "topic": "t",
    "provider": "pykafka",
    "owner": "me",
    "comment": "a comment",
}


def test_a_new_table_has_options_among_its_properties() -> None:
    assert options_of_new_table(CREATED) == {**SERVERS, "topic": "t"}
    assert options_of_new_table({**SERVERS, "topic": "t"}) == {}


def test_each_column_of_a_new_table_keeps_its_options() -> None:
    schema = KafkaDataSource(CREATED).schema()
    stored = StructType.fromJson(json.loads(schema.json()))
    assert len(stored) == 7
    for name in stored.names:
        one = StructType([stored[name]])
        kept = with_kept_options({}, one, Use.BATCH_READ)
        assert kept == {**SERVERS, "subscribe": "t"}


def test_other_schemas_keep_nothing() -> None:
    schema = KafkaDataSource({**SERVERS, "subscribe": "t"}).schema()
    assert all(not column.metadata for column in schema)


def test_each_use_takes_its_own_options() -> None:
    both = {"subscribe": "in", "topic": "out", "endingoffsets": "latest", "mode": "FAILFAST"}
    assert options_for(both, Use.STREAM_READ) == {"subscribe": "in", "mode": "FAILFAST"}
    read = {"subscribe": "in", "endingoffsets": "latest", "mode": "FAILFAST"}
    assert options_for(both, Use.BATCH_READ) == read
    for name in ("no.such", "deliveryguarantee"):
        assert options_for({name: "x"}, Use.BATCH_READ) == {name: "x"}


def test_options_of_a_query_count_before_those_of_its_table() -> None:
    columns = with_options(COLUMNS, {**SERVERS, "topic": "t", "startingoffsets": "earliest"})
    given = {"startingoffsets": "latest", "failondataloss": "false"}
    assert with_kept_options(given, columns, Use.STREAM_READ) == {
        **SERVERS,
        "subscribe": "t",
        **given,
    }
    elsewhere = {"Kafka.Bootstrap.Servers": "b:1", "subscribe": "other"}
    assert with_kept_options(elsewhere, columns, Use.BATCH_READ) == elsewhere


@pytest.mark.parametrize("given", [{}, {"checkpointLocation": "/c"}, {"topic": "t"}])
@pytest.mark.parametrize("columns", [COLUMNS, with_options(COLUMNS, {**SERVERS, "topic": "t"})])
def test_the_columns_of_rows_do_not_decide_where_they_go(
    given: dict[str, str], columns: StructType
) -> None:
    source = KafkaDataSource(given)
    for refusal in (
        config_error(source.writer, columns, overwrite=False),
        config_error(source.streamWriter, columns, overwrite=False),
    ):
        assert refusal.startswith("Option 'kafka.bootstrap.servers' must be specified for config")
        assert "INSERT INTO orders WITH (kafka.bootstrap.servers = " in refusal


def test_a_write_with_a_misspelt_name_is_not_taken_for_one_to_a_table() -> None:
    source = KafkaDataSource({"kafka.bootstrap.server": "a:1"})
    assert "did you mean" in config_error(source.writer, COLUMNS, overwrite=False)


@pytest.mark.parametrize("given", [{}, {"checkpointLocation": "/c"}])
def test_a_table_without_options_says_why(given: dict[str, str]) -> None:
    text = config_error(with_kept_options, given, COLUMNS, Use.BATCH_READ)
    assert "CREATE TABLE ... USING pykafka OPTIONS (...), without columns" in text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kafka.sasl.jaas.config", PASSWORD),
        ("kafka.sasl.password", PASSWORD),
        ("kafka.ssl.key.password", PASSWORD),
        ("kafka.ssl.keystore.key", PASSWORD),
        ("kafka.sasl.oauthbearer.client.secret", PASSWORD),
        ("schema.registry.basic.auth.user.info", PASSWORD),
        ("basic.auth.user.info", PASSWORD),
        ("schema.registry.bearer.auth.token", PASSWORD),
        ("schema.registry.url", f"http://u:{PASSWORD}@a"),
        ("confluent.schema.registry.url", f"https://b,https://u:{PASSWORD}@a/path"),
    ],
)
def test_a_table_keeps_no_secret(name: str, value: str) -> None:
    text = config_error(with_options, COLUMNS, {**SERVERS, name: value})
    assert text.startswith(f"Option '{name}' holds a secret")
    assert PASSWORD not in text


CALLBACK = {**SERVERS, "kafka.sasl.oauthbearer.token.callback": "os:abort"}


def test_no_table_names_a_function_to_call() -> None:
    """A table may be somebody else's, and metadata like a table's are in any Parquet file."""
    with pytest.raises(KafkaConfigError, match="names a function to call"):
        with_options(COLUMNS, CALLBACK)
    for name in ("kafka.sasl.oauthbearer.token.callback", "Kafka.SASL.OAuthBearer.Token.Callback"):
        with pytest.raises(KafkaConfigError, match="names a function to call"):
            with_kept_options({}, forged(json.dumps({**SERVERS, name: "os:abort"})), Use.BATCH_READ)


@pytest.mark.parametrize("field", options_of(AssertionOptions))
def test_no_table_sends_or_signs_with_a_file_of_its_reader(field: str) -> None:
    """A projected token of Kubernetes would be sent to an endpoint that the table names."""
    for name in options_of(AssertionOptions)[field].names:
        options = {**SERVERS, f"kafka.{name}": "/var/run/secrets/token"}
        with pytest.raises(KafkaConfigError, match=r"would get an assertion|holds a secret"):
            with_options(COLUMNS, options)
        upper = {key.upper(): value for key, value in options.items()}
        with pytest.raises(KafkaConfigError, match="would get an assertion of whoever reads it"):
            with_kept_options({}, forged(json.dumps(upper)), Use.BATCH_READ)


def test_no_table_takes_the_identity_of_its_reader() -> None:
    name = "kafka.sasl.oauthbearer.metadata.authentication.type"
    options = {**SERVERS, name: "azure", "kafka.sasl.oauthbearer.scope": "https://vault/.default"}
    registry = "schema.registry.bearer.auth.credentials.source"
    for each in (options, {**SERVERS, registry: "oauthbearer_azure "}):
        with pytest.raises(KafkaConfigError, match="would get a token of whoever reads it"):
            with_options(COLUMNS, each)
        with pytest.raises(KafkaConfigError, match="would get a token of whoever reads it"):
            with_kept_options({}, forged(json.dumps(each)), Use.BATCH_READ)
    harmless = {**SERVERS, name: "None", registry: "STATIC_TOKEN"}
    assert with_kept_options({}, forged(json.dumps(harmless)), Use.BATCH_READ)


@pytest.mark.parametrize(
    "value",
    [
        *("${env:AWS_SECRET_ACCESS_KEY}", "a${file:/etc/passwd:root}", "${directory:/run:a}"),
        *("${x:AWS_SECRET_ACCESS_KEY}", "${" + ":" * 20_000),
    ],
)
def test_no_table_refers_to_what_its_reader_has(value: str) -> None:
    """It would send the reader's secrets to the brokers of the table."""
    names = ("kafka.client.id", "schema.registry.url", "KAFKA.SSL.CA.PEM")
    for name in (*names, "kafka.config.providers", "schema.registry.Config.Providers.x.class"):
        options = {**SERVERS, name: value}
        reason = rf"(?i)'{re.escape(name)}' of a table is refused: it refers to"
        with pytest.raises(KafkaConfigError, match=reason):
            with_options(COLUMNS, options)
        with pytest.raises(KafkaConfigError, match=reason):
            with_kept_options({}, forged(json.dumps(options)), Use.BATCH_READ)


@pytest.mark.spark
def test_spark_replaces_references_in_the_text_of_a_statement(spark: SparkSession) -> None:
    """Before the source sees them: docs/security.md says how to keep them."""
    home, reference = os.environ["HOME"], "${env:HOME}"
    assert spark.sql(f"SELECT '{reference}' AS text").head() == (home,)
    spark.conf.set("spark.sql.variable.substitute", "false")
    try:
        assert spark.sql(f"SELECT '{reference}' AS text").head() == (reference,)
    finally:
        spark.conf.unset("spark.sql.variable.substitute")


@pytest.mark.parametrize("kept", ["", "{", "[]", "1", '{"a": 1}', '{"a": null}', "[" * 9_000])
def test_metadata_that_no_table_has_are_refused(kept: str) -> None:
    with pytest.raises(KafkaConfigError, match="is not what CREATE TABLE"):
        with_kept_options({}, forged(kept), Use.BATCH_READ)


def forged(kept: str) -> StructType:
    return StructType([StructField("key", BinaryType(), True, {"pykafka.options": kept})])
