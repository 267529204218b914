"""The doctor with real brokers: with access rules, with one of them stopped, and from Spark."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest
from pyspark.sql import SparkSession

from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source import cli, doctor
from kafka_spark_source.diagnosis.diagnosis import Job, diagnose
from kafka_spark_source.diagnosis.findings import Finding, Result
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.plugin import ClusterFactory
from tests.fakes.cluster import FakeCluster
from tests.integration.access import DESCRIBE, READ, allow
from tests.integration.clients import connected, soon
from tests.integration.conftest import MakeTopic
from tests.witness import produce

pytestmark = pytest.mark.integration


def found_by(options: Mapping[str, str], job: Job) -> dict[str, Finding]:
    """The last finding of each step."""
    return {each.step: each for each in diagnose(ClientConfig.from_options(options), job)}


def test_a_job_that_can_read_and_write(kafka_cluster: KafkaCluster, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    produce(kafka_cluster.bootstrap_servers, topic, ["a", "b"])
    job = Job((topic,), (topic,), "readers", "copies")
    found = found_by(kafka_cluster.client_options, job)
    assert [*found] == [
        *("name", "TCP", "ApiVersions", "cluster", "advertised", "clock", "leaders", "rights"),
        *("fetch", "group", "producer id", "transactional id"),
    ]
    assert [each for each in found.values() if each.result is not Result.GOOD] == []
    assert found["ApiVersions"].detail.endswith(f"like Kafka {kafka_cluster.version[:3]}")
    assert re.fullmatch(r"\d+ ms (ahead of|behind) the clock here", found["clock"].detail)
    assert found["rights"].detail == "DESCRIBE, READ, WRITE"
    assert f"read {topic}-0 at offset 1" in found["fetch"].detail


def test_rights_are_told_without_using_them(guarded: KafkaCluster) -> None:
    job = Job(reads=("doctor-described", "doctor-hidden"), writes=("doctor-described",))
    with connected(guarded.client_options) as cluster:
        for topic in job.reads:
            create_topic(cluster, NewTopic(topic), soon())
            allow(cluster, topic, "somebody-else", READ)
        allow(cluster, "doctor-described", str(guarded.username), DESCRIBE)
    found = found_by(guarded.client_options, job)
    assert found["SASL"].result is Result.GOOD
    assert found["rights"] == Finding(
        "rights",
        "doctor-described",
        Result.BAD,
        "the principal lacks READ, WRITE: grant it on 'doctor-described'",
    )
    assert found["topic"].subject == "doctor-hidden"
    assert "TOPIC_AUTHORIZATION_FAILED" in found["topic"].detail


def test_an_old_broker(kafka_cluster_factory: ClusterFactory) -> None:
    """It tells neither rights nor time."""
    kafka = kafka_cluster_factory("0.10.2.2")
    with connected(kafka.client_options) as cluster:
        create_topic(cluster, NewTopic("seen-when-old"), soon())
    produce(kafka.bootstrap_servers, "seen-when-old", ["a"])
    found = found_by(kafka.client_options, Job(reads=("seen-when-old",), group="readers"))
    assert found["ApiVersions"].detail.endswith("like Kafka 0.10.2")
    unknown = [each.step for each in found.values() if each.result is Result.UNKNOWN]
    assert unknown == ["clock", "rights", "group"]
    assert found["fetch"].result is Result.GOOD


def test_the_command(guarded: KafkaCluster, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["doctor"]
    for name, value in guarded.client_options.items():
        given += ["-X", f"{name}={value}"]
    assert cli.main(given) == 0
    out = capsys.readouterr().out
    assert out.startswith("It works. Steps: ")
    assert "ok cluster: metadata" in out
    assert f"ok servers: {guarded.bootstrap_servers}: from -X" in out
    assert "sasl.jaas.config" not in out
    assert cli.main([*given, "--report"]) == 0
    report = capsys.readouterr().out
    assert "sasl.jaas.config = (set)" in report
    assert f"ok servers: {guarded.bootstrap_servers}: from -X" in report
    assert cli.main([*given, "--read", "nowhere", "-o", "json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["findings"][0] == {
        "step": "servers",
        "subject": guarded.bootstrap_servers,
        "result": "good",
        "detail": "from -X",
    }
    assert printed["findings"][-1]["step"] == "topic"
    assert "UNKNOWN_TOPIC_OR_PARTITION" in printed["findings"][-1]["detail"]
    assert printed["environment"]["codecs"] == "none, gzip, snappy, lz4, zstd"


# --- From Spark ----------------------------------------------------------------------------------


@pytest.mark.spark
def test_from_the_driver_and_the_executors(spark: SparkSession, guarded: KafkaCluster) -> None:
    with connected(guarded.client_options) as cluster:
        create_topic(cluster, NewTopic("doctor-checked"), soon())
    options = {f"kafka.{name}": value for name, value in guarded.client_options.items()}
    report = doctor.check(spark, options | {"subscribe": "doctor-checked"})
    assert report.is_good, str(report)
    assert report.places[0].name == "driver"
    (executor,) = report.places[1:]
    assert executor.name.startswith("executor on ")
    assert executor.findings[-1] == Finding(
        "fetch", "doctor-checked", Result.UNKNOWN, "no partition that may be read has a record"
    )
    assert "sasl.jaas.config = (set)" in str(report)


@pytest.mark.spark
def test_an_executor_that_cannot_reach_a_broker(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeCluster(nodes=2) as cluster:
        second = cluster.nodes[2].broker.address

        def close_the_second(_spark: SparkSession) -> int:
            cluster.nodes[2].broker.stop_listening()
            return 1

        # Between the checks of the driver and those of the executors.
        monkeypatch.setattr(doctor, "_slots", close_the_second)
        cluster.add_topic("t")
        servers = str(cluster.bootstrap_servers[0])
        report = doctor.check(spark, {"kafka.bootstrap.servers": servers, "subscribe": "t"})
    rows = [line.split() for line in str(report).splitlines()]
    assert ["ok", "NO", "advertised", "broker", "2", f"({second})"] in rows
    assert "[2] NO advertised" in str(report)
    assert "connection refused" in str(report)


@pytest.mark.spark
@pytest.mark.slow
def test_a_write(spark: SparkSession, kafka_cluster: KafkaCluster, make_topic: MakeTopic) -> None:
    options = {
        "kafka.bootstrap.servers": kafka_cluster.bootstrap_servers,
        "topic": make_topic(),
        "deliveryGuarantee": "exactly_once",
        "transactionalIdPrefix": "copies",
        "commitLogTopic": "decisions-of-the-doctor",
    }
    report = doctor.check(spark, options)
    found = {each.step: each for each in report.places[1].findings}
    assert found["transactional id"].subject == "copies-doctor"
    assert found["commit log"].result is Result.UNKNOWN
    assert "creates it" in found["commit log"].detail
    assert report.is_good


@pytest.mark.spark
def test_a_wrong_option_is_an_error(spark: SparkSession) -> None:
    with pytest.raises(KafkaConfigError, match=r"kafka\.bootstrap\.servers"):
        doctor.check(spark, {"subscribe": "t"})
