"""docker-compose.yml is valid, on loopback only, and like `pykafka broker start`. No network."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from kafka_spark_source.testing import CONVENIENT, NEWEST, RELEASES
from kafka_spark_source.testing.broker.layout import ClusterLayout, NodeLayout
from kafka_spark_source.testing.broker.properties import server_properties

COMPOSE_FILE = Path(__file__).parent.parent / "docker-compose.yml"
# Properties that differ on purpose.
DIFFERENT = {
    *("listeners", "advertised.listeners", "controller.quorum.voters", "log.dirs"),
    # For a small heap and fast tests.
    *("log.cleaner.dedupe.buffer.size", "delete.topic.enable"),
    *("broker.heartbeat.interval.ms", "broker.session.timeout.ms"),
}


@pytest.fixture
def service() -> dict[str, Any]:
    services: dict[str, Any] = YAML(typ="safe").load(COMPOSE_FILE)["services"]
    (service,) = services.values()
    return dict(service)


def test_the_file_is_valid() -> None:
    arguments = ["--builtin-schema", "vendor.compose-spec", str(COMPOSE_FILE)]
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_is_of_the_newest_release(service: dict[str, Any]) -> None:
    assert service["image"] == f"apache/kafka:{NEWEST}"


def test_the_port_is_on_loopback_only(service: dict[str, Any]) -> None:
    assert service["ports"] == ["127.0.0.1:9092:9092"]
    advertised = service["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    assert "PLAINTEXT://localhost:9092" in advertised.split(",")


def test_there_is_a_health_check(service: dict[str, Any]) -> None:
    assert service["healthcheck"]["test"][1].endswith("kafka-broker-api-versions.sh")


def test_the_broker_has_the_same_properties(service: dict[str, Any]) -> None:
    node = NodeLayout(1, Path("/1"), 9092, 29092, 29093)
    layout = ClusterLayout(RELEASES[NEWEST], (node,), "PLAINTEXT", Path("/"), "id", None, "")
    ours = server_properties(layout, node) | CONVENIENT
    theirs = {
        name.removeprefix("KAFKA_").lower().replace("_", "."): value
        for name, value in service["environment"].items()
    }
    assert {name: ours[name] for name in ours if name not in DIFFERENT} == {
        name: theirs[name] for name in theirs if name not in DIFFERENT
    }
