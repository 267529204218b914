"""The column `topicId`: the id of the topic that a task reads, as Kafka's tools write it."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from kafka_protocol.client.pool import close_shared_clusters
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.reading.topic_id_column import TopicIdColumn
from kafka_spark_source.source import KafkaDataSource
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import keyed_batch_of
from tests.spark.reading.test_upsert import filled

A, B = uuid.UUID(int=0xFB << 120), uuid.UUID(int=1)
TEXT_OF_A, TEXT_OF_B = "-wAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ"


def with_ids(columns: Sequence[str], topics: Sequence[str], **ids: uuid.UUID | None) -> Any:
    records = pa.RecordBatch.from_pydict({"topic": topics, "offset": [*range(len(topics))]})
    stage = TopicIdColumn(tuple(columns), ids)
    (batch,) = stage.rows([records.select(stage.source_columns)])
    return batch.to_pydict()


def test_each_row_has_the_id_of_its_topic() -> None:
    found = with_ids(["offset", "topicId", "topic"], ["t", "u", "old", "t"], t=A, u=B, old=None)
    assert found == {
        "offset": [0, 1, 2, 3],
        "topicId": [TEXT_OF_A, TEXT_OF_B, None, TEXT_OF_A],
        "topic": ["t", "u", "old", "t"],
    }


def test_the_topic_is_read_though_nobody_wants_it() -> None:
    assert TopicIdColumn(("topicId", "key"), {}).source_columns == ("key", "topic")
    assert with_ids(["topicId"], ["t"], t=A) == {"topicId": [TEXT_OF_A]}


def test_other_columns_stay_as_they_are() -> None:
    assert TopicIdColumn(("key", "offset"), {}).source_columns == ("key", "offset")
    batches: Any = iter([])
    assert TopicIdColumn(("key",), {}).rows(batches) is batches


def read(cluster: FakeCluster, wanted: Sequence[str], **options: str) -> list[tuple[Any, ...]]:
    servers = {"kafka.bootstrap.servers": ",".join(map(str, cluster.bootstrap_servers))}
    source = KafkaDataSource({"subscribe": "t,u", **servers, **options})
    schema = source.schema()
    reader = source.reader(StructType([schema[name] for name in wanted]))
    reader = pickle.loads(pickle.dumps(reader))
    return sorted(
        tuple(row.values())
        for partition in reader.partitions()
        for batch in reader.read(partition)
        for row in batch.to_pylist()
    )


@pytest.mark.parametrize("coalesced", ["true", "false"])
@pytest.mark.parametrize("envelope", ["none", "upsert"])
def test_a_read_has_it(coalesced: str, envelope: str) -> None:
    options = {"coalescePartitions": coalesced, "includeTopicId": "true", "envelope": envelope}
    with filled() as cluster:
        found = {*read(cluster, ("topic", "topicId"), **options)}
    assert {topic for topic, _ in found} == {"t", "u"}
    assert len({id_ for _, id_ in found}) == 2
    assert all(len(id_) == 22 for _, id_ in found)


def test_another_topic_of_the_name_has_another_id() -> None:
    ids = []
    with filled() as cluster:
        for _ in range(2):
            ids.append({*read(cluster, ("topicId",), subscribe="u", includeTopicId="true")})
            cluster.add_topic("u")
            cluster.log(TopicPartition("u", 0)).append(keyed_batch_of((b"a", b"1")))
            close_shared_clusters()
    assert len(ids[0]) == len(ids[1]) == 1
    assert ids[0] != ids[1]
