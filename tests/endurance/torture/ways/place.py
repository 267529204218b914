"""What a way has to run a query: the session, the brokers, a folder, the process of Sail."""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from kafka_protocol.arrow_io.topic import create_topic
from tests.endurance.torture.sail_process import Sail

# Of queries and streams; longer than any wait of the product's with default options.
DEADLINE_SECONDS = 240
WRITTEN_PARTITIONS = 3
_REPLICAS = 3
_CONFIG = {"max.message.bytes": "20000000", "message.timestamp.type": "CreateTime"}


@dataclass
class Place:
    """Where queries run.

    Attributes:
        faulty: Whether faults may come now: then a stream that fails is started again.
        restarts: How many streams were started again after a failure.
    """

    spark: SparkSession
    servers: str
    folder: Path
    sail: Sail
    faulty: Callable[[], bool] = lambda: False
    restarts: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _topics: deque[str] = field(default_factory=deque)

    @property
    def source(self) -> dict[str, str]:
        """The options that name the brokers to Spark."""
        return {"kafka.bootstrap.servers": self.servers}

    @property
    def client(self) -> dict[str, str]:
        """The same without Spark."""
        return {"bootstrap.servers": self.servers}

    def activate(self) -> None:
        """Makes the session that of this thread: Spark finds a sink in Python in no other."""
        self.spark.createDataFrame([], "a int")

    def new_folder(self) -> Path:
        """A folder of one query."""
        folder = self.folder / uuid.uuid4().hex
        folder.mkdir(parents=True)
        return folder

    def count_restart(self) -> None:
        """Counts a stream that is started again; queries run in several threads."""
        with self._lock:
            self.restarts += 1

    def prepare_topics(self, count: int) -> None:
        """Makes topics to write to: while a broker is down, none has all its replicas."""
        for _ in range(count - len(self._topics)):
            self._topics.append(self._made_topic())

    def new_topic(self) -> str:
        """A topic to write to."""
        try:
            return self._topics.popleft()
        except IndexError:
            return self._made_topic()

    def _made_topic(self) -> str:
        topic = f"written-{uuid.uuid4().hex}"
        create_topic(
            topic,
            self.client,
            partitions=WRITTEN_PARTITIONS,
            replication_factor=_REPLICAS,
            configs=_CONFIG,
        )
        return topic
