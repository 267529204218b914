"""Makes the tables of docs/ from the code: `make docs`. A test fails where they are not fresh."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from kafka_protocol import messages
from kafka_protocol.api_keys import ApiKey
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.config.option import names_of
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.features import FEATURES, Feature
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.releases import first_release, parse_release
from kafka_protocol.schema import Request
from kafka_spark_source.options.table import OPTIONS, STREAM_ONLY, Use

HERE = Path(__file__).parent

_HEAD = """\
# Options

Made from the code by `make docs`; edit `kafka_spark_source/options/table.py`, and
`client/config.py` and `client/security_options.py` in `protocol/kafka_protocol`, instead. Names are
matched without regard to case.

## Of the source and the sink

| option | for | default | meaning |
| --- | --- | --- | --- |
"""
_CLIENT = """
## Of the Kafka client

Behind the prefix `kafka.`, with the names of Kafka's Java clients. An option that is not
understood is refused, with the nearest name; one that only tunes what the Java client is made of
(`kafka.max.poll.records`, `kafka.linger.ms`, ...) is accepted with a warning.

| option | default | meaning |
| --- | --- | --- |
"""
_SECURITY = """
### TLS and SASL

[security.md](security.md) says which of them a scenario wants. The second name of an option is that
of librdkafka.

| option | default | meaning |
| --- | --- | --- |
"""
_STREAM_ONLY = """
## In a batch read

Options of streams are accepted in a batch read with a warning, as Spark's own connector does, and
without effect there: """
_USES = {Use.BATCH_READ: "batch", Use.STREAM_READ: "stream", Use.WRITE: "write"}


def options_page() -> str:
    """docs/options.md, as it should be."""
    rows = [
        _row(
            f"`{option.name}`",
            ", ".join(_USES[use] for use in Use if use in option.uses),
            "" if option.default is None else f"`{option.default}`",
            option.doc,
        )
        for option in OPTIONS
    ]
    stream_only = ", ".join(f"`{name}`" for name in STREAM_ONLY) + ".\n"
    client, security = _client_rows(ClientConfig), _client_rows(SecurityOptions)
    client_tables = [_CLIENT, *client, _SECURITY, *security]
    return "".join([_HEAD, *rows, *client_tables, _STREAM_ONLY, stream_only])


def _client_rows(table: type[ClientConfig | SecurityOptions]) -> list[str]:
    return [
        _row(
            ", ".join(f"`kafka.{name}`" for name in names_of(field)),
            "required" if "bootstrap.servers" in names_of(field) else _shown(field.default),
            field.metadata["doc"],
        )
        for field in fields(table)
        if field.metadata
    ]


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _shown(default: object) -> str:
    if isinstance(default, CompressionCodec):
        return f"`{default.name.lower()}`"
    if isinstance(default, bool):
        return f"`{default}`".lower()
    if isinstance(default, tuple):
        default = ",".join(default)
    return "" if default in (None, "") else f"`{default}`"


_APIS = """\
# APIs

Made from the code by `make docs`; edit `protocol/kafka_protocol/messages`, `releases.py` and
`features.py` beside them instead. Each message is declared once for all of its versions; a test
compares every field of every version with the schemas in Kafka's own jars, and the bytes with what
Kafka's own classes write. Which version is spoken is settled for each connection: the highest that
both sides have.

"Flexible" is the first version with compact forms and tagged fields (KIP-482). The last two columns
say which release of Kafka served the API first, and which one our newest version.

| key | API | versions | flexible | since Kafka | newest since |
| --- | --- | --- | --- | --- | --- |
"""
_NOT_DECLARED = """
Not declared, since only brokers and controllers use them, or since they came after the share
groups: """
_FEATURES = """
## What a cluster can do

A feature needs these versions of every broker that takes part (KIP-35); a broker below 0.10 cannot
be asked and is taken for what `kafka.broker.version.fallback` says.

| feature | needs | since Kafka |
| --- | --- | --- |
"""


def apis_page() -> str:
    """docs/apis.md, as it should be."""
    requests = sorted(_requests(), key=lambda request: request.api_key)
    rows = [
        _row(
            str(request.api_key),
            f"[{request.api_name}](../protocol/kafka_protocol/messages/{_module(request)}.py)",
            str(request.versions),
            "" if request.flexible.is_empty else f"{request.flexible.lowest}+",
            first_release(request.api_key) or "",
            first_release(request.api_key, request.versions.highest) or "",
        )
        for request in requests
    ]
    declared = {request.api_key for request in requests}
    others = ", ".join(f"{key.name} ({key})" for key in ApiKey if key not in declared)
    features = [
        _row(
            feature.name,
            ", ".join(f"{key.name} v{lowest}" for key, lowest in feature.needs.items()),
            max(_releases(feature), key=parse_release),
        )
        for feature in FEATURES
    ]
    return "".join([_APIS, *rows, _NOT_DECLARED, others, ".\n", _FEATURES, *features])


def _requests() -> Iterator[type[Request]]:
    for module in pkgutil.iter_modules(messages.__path__):
        declared = vars(importlib.import_module(f"{messages.__name__}.{module.name}")).values()
        yield from (
            cls
            for cls in declared
            if isinstance(cls, type) and issubclass(cls, Request) and cls is not Request
        )


def _module(request: type[Request]) -> str:
    return request.__module__.rpartition(".")[2]


def _releases(feature: Feature) -> list[str]:
    return [first_release(key, lowest) or "" for key, lowest in feature.needs.items()]


PAGES = {HERE / "options.md": options_page, HERE / "apis.md": apis_page}


if __name__ == "__main__":
    for path, make in PAGES.items():
        path.write_text(make())
