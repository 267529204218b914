"""`pykafka peek | pykafka write` with a real broker and a real registry, seen by librdkafka."""

from __future__ import annotations

import json
import shlex
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_spark_source import cli
from kafka_spark_source.testing import KafkaCluster, SchemaRegistry
from tests.integration.access import DESCRIBE, WRITE, allow
from tests.integration.clients import connected, soon
from tests.integration.conftest import MakeTopic
from tests.spark.cli.processes import COMMAND, COMMAND_SECONDS
from tests.witness import IN_ORDER, messages_of, produce

pytestmark = pytest.mark.integration

ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "who", "type": ["null", "string"], "default": None},
            {
                "name": "price",
                "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2},
            },
        ],
    }
)
PRICE = Decimal("123456789012345678.90")


def copied_in_a_shell(source: str, target: str, servers: str) -> str:
    """Runs `peek | write`; returns what `write` prints."""
    peek, write = (
        shlex.join([*COMMAND, *each, "-b", servers])
        for each in (("peek", source, "--from", "earliest", "-o", "json"), ("write", target))
    )
    script = f"set -o pipefail; {peek} | {write}"
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * COMMAND_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def content(message: Message) -> tuple[object, ...]:
    return (message.key(), message.value(), message.headers(), message.timestamp())


def test_a_copy_has_the_same_records(kafka_cluster: KafkaCluster, make_topic: MakeTopic) -> None:
    servers = kafka_cluster.bootstrap_servers
    source, target = make_topic(2), make_topic()
    producer = Producer({"bootstrap.servers": servers, **IN_ORDER})
    headers: list[tuple[str, str | bytes | None]] = [
        ("h", b"1"),
        ("a", None),
        ("h", b"\xff\x00"),
        ("h", b""),
        ("\u00e9", b"\n"),
    ]
    for number, (key, value) in enumerate(
        [
            (b"k", b"v"),
            (None, None),
            (b"\xff", b"\x00\xfe"),
            (b"", b""),
            (b"\t", "\u2028\n".encode()),
        ]
    ):
        producer.produce(source, value, key, 1, timestamp=1_000 + number, headers=headers[number:])
    assert producer.flush(30) == 0
    printed = copied_in_a_shell(source, target, servers)
    assert printed == f"5 records were written to {target!r}\n"
    copied = [content(each) for each in messages_of(servers, target, [0])]
    assert copied == [content(each) for each in messages_of(servers, source, [1])]
    assert copied[2][:2] == (b"\xff", b"\x00\xfe")


def test_a_copy_of_avro_is_written_with_the_schema_of_its_own_subject(
    kafka_cluster: KafkaCluster,
    schema_registry: SchemaRegistry,
    registered: SchemaRegistryClient,
    make_topic: MakeTopic,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A payload that is broken is copied as it is."""
    servers = kafka_cluster.bootstrap_servers
    source, target = make_topic(), make_topic()
    serialize = AvroSerializer(registered, ORDER)
    place = SerializationContext(source, MessageField.VALUE)
    rows = [
        {"id": 2**62 + number, "who": who, "price": PRICE} for number, who in enumerate("ab")
    ] + [{"id": 3, "who": None, "price": Decimal("0.00")}]
    payloads = [serialize(row, place) for row in rows]
    produce(servers, source, [*payloads[:2], b"broken", None, payloads[2]])
    registered.register_schema(f"{target}-value", Schema(ORDER.replace("Order", "Copy"), "AVRO"))
    options = ["-O", "value.format=avro", "-O", f"schema.registry.url={schema_registry.url}"]
    given = [*options, "-b", servers]
    assert cli.main(["peek", source, "--from", "earliest", "-o", "json", *given]) == 0
    (tmp_path / "lines").write_text(capsys.readouterr().out)
    assert cli.main(["write", target, "--from-file", str(tmp_path / "lines"), *given]) == 0
    copied = [each.value() for each in messages_of(servers, target, [0])]
    originals = [each.value() for each in messages_of(servers, source, [0])]
    deserialize = AvroDeserializer(registered)
    there = SerializationContext(target, MessageField.VALUE)
    assert copied[2:4] == [b"broken", None]
    for at in (0, 1, 4):
        assert copied[at] != originals[at]
        assert deserialize(copied[at], there) == deserialize(originals[at], place)


def test_a_write_without_the_right(
    guarded: KafkaCluster, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """It is refused before the first record."""
    topic = "write-described"
    with connected(guarded.client_options) as cluster:
        create_topic(cluster, NewTopic(topic), soon())
        allow(cluster, topic, str(guarded.username), DESCRIBE)
    file = tmp_path / "lines"
    file.write_text("one\n")
    given = ["write", topic, "--from-file", str(file)]
    for name, value in guarded.client_options.items():
        given += ["-X", f"{name}={value}"]
    assert cli.main(given) == 1
    assert f"topic {topic!r}, on which the principal lacks the right WRITE" in (
        capsys.readouterr().err
    )
    with connected(guarded.client_options) as cluster:
        allow(cluster, topic, str(guarded.username), WRITE)
    assert cli.main(given) == 0
