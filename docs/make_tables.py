"""Makes the tables of docs/ from the code: `make docs`. A test fails where they are not fresh."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from kafka_protocol.client.config import ClientConfig
from kafka_protocol.records.compression import CompressionCodec
from kafka_spark_source.option_table import NOT_YET, OPTIONS, Use

HERE = Path(__file__).parent

_HEAD = """\
# Options

Made from the code by `make docs`; edit `kafka_spark_source/option_table.py` and
`protocol/kafka_protocol/client/config.py` instead. Names are matched without regard to case.

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
_NOT_YET = """
## Not there yet

Options of Spark's own connector, and announced ones, that are refused by name:

"""

_USES = {Use.BATCH_READ: "read", Use.BATCH_WRITE: "write"}


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
    client = [
        _row(
            f"`kafka.{field.metadata['name']}`",
            "required" if field.default == () else f"`{_shown(field.default)}`",
            field.metadata["doc"],
        )
        for field in fields(ClientConfig)
    ]
    return "".join(
        [_HEAD, *rows, _CLIENT, *client, _NOT_YET, ", ".join(f"`{name}`" for name in NOT_YET), "\n"]
    )


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _shown(default: object) -> str:
    if isinstance(default, CompressionCodec | bool):
        name = default.name if isinstance(default, CompressionCodec) else str(default)
        return name.lower()
    return str(default)


PAGES = {HERE / "options.md": options_page}


if __name__ == "__main__":
    for path, make in PAGES.items():
        path.write_text(make())
