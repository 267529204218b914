"""The writers of a topic, the job that copies it, and the watcher of the copies."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kafka_spark_source.testing.processes.waiting import Deadline
from tests.endurance.torture.copies.transactions import transactions
from tests.endurance.torture.copies.watcher import Watcher
from tests.endurance.torture.scene import Scene
from tests.jobs.copies import CLIENT_ID, FAILED
from tests.stream_driver import Driver
from tests.stream_records import Journal

FIRST_PARTITIONS = 3
# The copies have as many from the start.
MOST_PARTITIONS = 6
_WRITERS = 2
_INTERVAL_SECONDS = 0.04
_TOPIC_CONFIG = {"min.insync.replicas": "2"}
# The records of three seconds.
_LEVEL_RECORDS = 150
_LEVEL_SECONDS = 60


class CopyingJob:
    """The Spark job, started again in a process of its own after each end."""

    def __init__(self, folder: Path, options: dict[str, str]) -> None:
        self._folder = folder
        self._options = options
        self._drivers: list[Driver] = []

    @property
    def driver(self) -> Driver:
        """The driver that runs now."""
        return self._drivers[-1]

    def start(self) -> None:
        """Starts a driver, and waits until all queries run."""
        folder = self._folder / f"driver-{len(self._drivers)}"
        folder.mkdir()
        self._drivers.append(Driver(folder, "pykafka", self._options, "copies"))
        self.driver.wait_for_start()

    def workers(self) -> list[int]:
        """The Python processes of the driver that runs now."""
        return self.driver.workers()

    def kill(self) -> None:
        """Ends the driver with all its processes at once."""
        if self._drivers:
            self.driver.kill()

    def failures(self) -> list[str]:
        """What queries printed when they failed, of all drivers."""
        return [
            line.removeprefix(FAILED)
            for driver in self._drivers
            for line in driver.printed().splitlines()
            if line.startswith(FAILED)
        ]


@dataclass(frozen=True)
class Copies:
    """Copies that are made.

    Attributes:
        source: The topic that is copied.
        client_id: Of the job's queries.
    """

    servers: str
    journal: Journal
    source: str
    job: CopyingJob
    watcher: Watcher
    client_id: str = CLIENT_ID

    @contextmanager
    def writing(self, chance: random.Random) -> Iterator[None]:
        """Writes to the source as long as the block lasts."""
        with (
            self.journal.writing(self.source, _WRITERS, _INTERVAL_SECONDS),
            transactions(self.servers, self.source, chance),
        ):
            yield

    def add_partition(self) -> str:
        """Adds a partition to the source, and returns a few words; "" if it has enough."""
        count = len(self.watcher.records["source"]) + 1
        if count > MOST_PARTITIONS:
            return ""
        self.journal.add_partitions(self.source, count)
        return f"the {count}th"

    def wait_until_nearly_level(self) -> None:
        """Returns when no copy has much to read."""
        Deadline(_LEVEL_SECONDS).wait_for(lambda: self.watcher.most_behind < _LEVEL_RECORDS)


@contextmanager
def copying(scene: Scene, folder: Path) -> Iterator[Copies]:
    """Copies, after all queries were started; their files are in the folder."""
    folder.mkdir(parents=True)
    name = folder.name
    topics = {copy: f"{copy}-{name}-{uuid.uuid4().hex[:8]}" for copy in ("source", "again", "once")}
    for copy, topic in topics.items():
        partitions = FIRST_PARTITIONS if copy == "source" else MOST_PARTITIONS
        scene.admin.create(topic, partitions, _TOPIC_CONFIG)
    state, source = folder / "state", topics["source"]
    copies = {copy: topic for copy, topic in topics.items() if copy != "source"}
    with ExitStack() as stack:
        job = CopyingJob(folder, {"state": str(state), "servers": scene.proxied, **topics})
        stack.callback(job.kill)
        watcher = stack.enter_context(
            Watcher(scene.servers, source, copies, state / "files", scene.begun)
        )
        job.start()
        yield Copies(scene.servers, Journal(scene.servers), source, job, watcher)
