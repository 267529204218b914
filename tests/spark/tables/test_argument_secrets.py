"""No option is in a text of the arguments, nor in an error about them: secrets are among them."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_protocol.errors import KafkaError
from kafka_spark_source.tables.query import TopicsToTables
from tests.spark.tables.test_arguments import SECRET, arguments

JAAS = f'org.apache.kafka.common.security.plain.PlainLoginModule required password="{SECRET}";'
SECRETS = {"kafka.sasl.jaas.config": JAAS, "value.schema.registry.basic.auth.user.info": SECRET}


@pytest.mark.parametrize(
    "given",
    [
        {"options": SECRETS},
        {"topic_options": {"t": SECRETS}},
        {"topic_options": lambda _: SECRETS},
        {"properties": {"key": SECRET}},
    ],
)
def test_no_secret_is_shown(given: dict[str, Any]) -> None:
    parsed = arguments(**given)
    query = TopicsToTables(None, parsed)  # type: ignore[arg-type]
    for shown in (repr(parsed), str(parsed), f"{parsed!r:>9}", repr([parsed]), repr(query)):
        assert SECRET not in shown
        assert "delta" in shown


@pytest.mark.parametrize(
    "given",
    [
        {"options": [*SECRETS.items()]},
        {"options": JAAS},
        {"options": {**SECRETS, "envelope": "upsert"}},
        {"options": SECRETS, "rows": {"u": "append"}},
        {"topic_options": {"t": {**SECRETS, "envelope": "debezium"}}},
        *(pytest.param({"topic_options": {"t": each}}) for each in ([*SECRETS.items()], JAAS)),
    ],
)
def test_an_error_has_no_secret(given: dict[str, Any]) -> None:
    with pytest.raises(KafkaError) as caught:
        arguments(**given).options_of("t")
    assert SECRET not in str(caught.value)
