"""Pages about other people's clusters: their code runs, and its options are accepted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from typing_extensions import Self

from kafka_protocol.client.config.client import ClientConfig
from kafka_spark_source.options.read import parse_batch_options, parse_stream_options
from kafka_spark_source.options.write import parse_write_options
from tests.pages import settings
from tests.pages.tour import Tour

SECRETS = (
    *(
        "password",
        "api_key",
        "api_secret",
        "registry_key",
        "registry_secret",
        "key_password",
        "auth_token",
    ),
    *("connection_string", "client_secret", "base64_of_the_key_file", "user"),
)
READ = {"kafka.bootstrap.servers": "b:1", "subscribe": "orders"}
WRITE = {"kafka.bootstrap.servers": "b:1", "topic": "orders"}


class Reader:
    """A reader of Spark whose `load` checks the options."""

    def __init__(self) -> None:
        self._options: dict[str, str] = {}

    def format(self, name: str) -> Self:
        assert name == "pykafka"
        return self

    def option(self, name: str, value: str) -> Self:
        return self.options(**{name: value})

    def options(self, **options: str) -> Self:
        self._options |= options
        return self

    def load(self) -> dict[str, str]:
        expect_accepted(self._options)
        return self._options


class Spark:
    """A session with such readers."""

    dataSource = SimpleNamespace(register=lambda source: source.name())

    @property
    def read(self) -> Reader:
        return Reader()

    readStream = read


def expect_accepted(options: dict[str, str]) -> None:
    for parse in (parse_batch_options, parse_stream_options):
        ClientConfig.from_options(parse(options).kafka)


def names(**more: Any) -> dict[str, Any]:
    return {"spark": Spark(), **{each: f"the {each}" for each in SECRETS}, **more}


def test_security(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "of the environment")
    monkeypatch.setenv("ZONE", "eu-1a")
    callback = f"{settings.token.__module__}:{settings.token.__name__}"
    with Tour("docs/security.md", names(), {"mycompany.tokens:kafka_token": callback}) as tour:
        while text := tour.next_text:
            if text.startswith('"'):  # an entry of a dict
                entry: dict[str, str] = eval(f"{{{tour.take()}}}", tour.names)
                bearer = "OAUTHBEARER" if "oauthbearer" in text else "SCRAM-SHA-512"
                security = {"security.protocol": "SASL_SSL", "sasl.mechanism": bearer}
                expect_accepted(
                    {**READ, **{f"kafka.{name}": each for name, each in security.items()}, **entry}
                )
            else:
                tour.run()


def test_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZONE", "us-east-1a")
    with Tour("docs/platforms/brokers.md", names()) as tour:
        while tour.next_text:
            tour.run()
            expect_accepted({**tour.names["kafka"], "subscribe": "orders"})
    kept = tour.names
    registry = {**READ, "value.format": "avro", "value.schema": '"long"', **kept["registry"]}
    expect_accepted(registry)
    write = parse_write_options({**WRITE, **kept["to_write"]})
    ClientConfig.from_options(write.kafka)


def test_databricks() -> None:
    secrets = SimpleNamespace(get=lambda scope, key: f"{key} of {scope}")
    of_databricks = names(dbutils=SimpleNamespace(secrets=secrets))
    with Tour("docs/platforms/databricks.md", of_databricks) as tour:
        tour.run_all()
    assert tour.names["orders"]["kafka.sasl.password"] == "password of kafka"


def test_an_unknown_option_is_found() -> None:
    with pytest.raises(Exception, match="is not known"):
        Spark().read.format("pykafka").options(**READ).option("kafka.sasl.pasword", "x").load()
