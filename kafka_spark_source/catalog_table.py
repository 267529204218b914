"""Tables of Spark's session catalog: their options, kept in the metadata of their columns.

Spark gives a Python data source the options of a table when the table is created, beside all of its
properties and once more with a prefix. When the table is read or written it gives none of them, but
the columns as they were stored. So each column keeps the options, and a table with secrets is
refused: metadata travels into files that are written from the table.

Source: `V2SessionCatalog` and `PythonDataSourceV2` of Spark, of which no release differs here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Final

from pyspark.sql.types import StructField, StructType

from kafka_formats.options.option import Use
from kafka_formats.options.table import REGISTRY_PREFIX
from kafka_protocol.client.config.option import options_of
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.options.names import CLIENT_PREFIX
from kafka_spark_source.options.table import OPTIONS, Table

_PREFIX: Final = "option."
_METADATA: Final = "pykafka.options"
_STRATEGIES: Final = (Table.SUBSCRIBE, Table.SUBSCRIBE_PATTERN, Table.ASSIGN)
_USES: Final = {row.key: row.uses for row in OPTIONS}
_USER_IN_URL: Final = re.compile(r"://[^/]*@")
# Also for names that this version does not know.
_LOOKS_SECRET: Final = re.compile(r"secret|password|token|access[.]?key|jaas|user\.info")


def options_of_new_table(options: Mapping[str, str]) -> dict[str, str]:
    """The options of a table that is being created, in lower case; empty if none is."""
    lower = {name.lower(): value for name, value in options.items()}
    return {
        name.removeprefix(_PREFIX): value
        for name, value in lower.items()
        if name.startswith(_PREFIX)
    }


def with_options(columns: StructType, options: Mapping[str, str]) -> StructType:
    """Columns that keep the options of their table.

    Raises:
        KafkaConfigError: An option is a secret.
    """
    for name in sorted(options):
        if _is_secret(name, options[name]):
            raise KafkaConfigError(
                f"Option '{name}' holds a secret, which a table would keep in the clear: create a "
                "temporary view, or give the option with each query: WITH (...) after the name."
            )
    metadata = {_METADATA: json.dumps(options)}
    return StructType(
        [
            StructField(each.name, each.dataType, each.nullable, {**each.metadata, **metadata})
            for each in columns.fields
        ]
    )


def with_kept_options(given: Mapping[str, str], columns: StructType, use: Use) -> Mapping[str, str]:
    """The options of a query, and the ones that the columns of its table keep.

    The options of a query that name brokers are whole: columns that were read from a table are
    often written elsewhere.

    Args:
        given: The options of the query.
        columns: The columns of the table, as they were stored.
        use: What the query does. Kept options for other uses do not matter to it.

    Raises:
        KafkaConfigError: There are no options at all, which is what a table that Spark made by
            itself has.
    """
    names = {name.lower() for name in given}
    if Table.BOOTSTRAP_SERVERS.key in names:
        return given
    kept = next((each.metadata[_METADATA] for each in columns if _METADATA in each.metadata), None)
    if kept is not None:
        return {**options_for(json.loads(kept), use), **given}
    if not names - {"checkpointlocation", "path"}:
        raise KafkaConfigError(
            f"Option '{Table.BOOTSTRAP_SERVERS.name}' must be specified, and there is no option at "
            "all. If this is a table: Spark does not pass its options to a Python source, "
            "unless it is made by CREATE TABLE ... USING pykafka OPTIONS (...), without columns."
        )
    return given


def options_for(options: Mapping[str, str], use: Use) -> dict[str, str]:
    """The options of a table that are for a use, by names in lower case.

    A table with `topic` alone is read from that topic.
    """
    own = {name: value for name, value in options.items() if use in _USES.get(name, {use})}
    is_named = any(row.key in own for row in _STRATEGIES)
    if use is not Use.WRITE and not is_named and Table.TOPIC.key in options:
        own[Table.SUBSCRIBE.key] = options[Table.TOPIC.key]
    return own


@cache
def _secret_names() -> frozenset[str]:
    # Only a new table needs it, and every worker imports this module.
    from kafka_formats.registry.config import RegistryConfig  # noqa: PLC0415

    return frozenset(
        prefix + name
        for prefix, config in ((CLIENT_PREFIX, SecurityOptions), (REGISTRY_PREFIX, RegistryConfig))
        for field in fields(config)
        if "Secret" in str(field.type) and field.name in options_of(config)
        for name in options_of(config)[field.name].names
    )


def _is_secret(name: str, value: str) -> bool:
    if name in _secret_names() or _LOOKS_SECRET.search(name):
        return True
    return _USER_IN_URL.search(value) is not None
