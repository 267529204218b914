"""Wrong uses as a terminal shows them: the lines that a user scrolls before the sentence.

The first of each kind runs in `make test`, all of them in `make test-all`. docs/troubleshooting.md
has a row for each.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.integration.access import DESCRIBE, WRITE, allow
from tests.integration.clients import connected, soon
from tests.integration.topics import numbered, write_batches
from tests.jobs.wrong_uses import WRONG_USES, Site, Told
from tests.own_process import ROOT, kill, processes_of, start

pytestmark = [pytest.mark.integration, pytest.mark.spark]

# Before the sentence.
MOST_LINES: Final = 12
LIMIT_SECONDS: Final = 900
SHORT: Final = (
    "a write: a port where nothing listens",
    "a stream's write: a wrong password",
    "a write: no right on the topic",
    "a write: a topic that does not exist",
    "save(TOPIC)",
    "a read: startingOffsets=earlist",
    "a stream's write: no column value",
    "a stream's read: maxOffsetsPerTrigger=many",
)


class Row(NamedTuple):
    """A row of the table in docs/troubleshooting.md."""

    name: str
    by: str


def rows_of_the_docs() -> list[Row]:
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    table = page.partition("## Where an error appears")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (.+?) \| `(\w+)` \| (.+?) \|$", table, re.MULTILINE)
    return [Row(name.replace("`", ""), by) for name, by, _ in cells]


@pytest.fixture(scope="module")
def site(guarded: KafkaCluster) -> Site:
    broker = guarded.brokers[0]
    plain = f"{broker.host}:{broker.internal_port}"
    with connected({"bootstrap.servers": plain}) as admin:
        for name in ("wrong-uses", "wrong-uses-of-others"):
            create_topic(admin, NewTopic(name, 1), soon())
        write_batches(admin, TopicPartition("wrong-uses", 0), numbered(3))
        user = guarded.username or ""
        allow(admin, "wrong-uses-of-others", user, DESCRIBE)
        allow(admin, "wrong-uses-of-others", "somebody-else", WRITE)
    return Site(
        plain=plain,
        guarded=guarded.bootstrap_servers,
        user=user,
        password=guarded.password or "",
        topic="wrong-uses",
        others="wrong-uses-of-others",
        missing="wrong-uses-missing",
    )


def told_of(site: Site, folder: Path, names: Iterable[str]) -> list[Told]:
    """Run wrong uses in a session of Spark's of their own."""
    given, printed = folder / "site.json", folder / "stderr"
    given.write_text(json.dumps(site.__dict__))
    command = [sys.executable, "-m", "tests.jobs.wrong_uses", str(given), *names]
    with printed.open("w") as stderr:
        with start(command, folder, stdout=subprocess.PIPE, stderr=stderr) as process:
            try:
                out, _ = process.communicate(timeout=LIMIT_SECONDS)
            finally:
                kill(processes_of(process.pid))
    assert process.returncode == 0, printed.read_text()
    return [Told(**each) for each in json.loads(out.splitlines()[-1])]


def check(told: Told, site: Site) -> None:
    assert told.before >= 0, f"the sentence of {told.name!r} is missing:\n{told.text}"
    assert told.before <= MOST_LINES, told.text
    assert site.password not in told.text


@pytest.mark.slow
def test_the_first_of_each_kind(site: Site, tmp_path: Path) -> None:
    for told in told_of(site, tmp_path, SHORT):
        check(told, site)


@pytest.mark.slow
@pytest.mark.timeout(LIMIT_SECONDS + 60)
def test_each_wrong_use_is_told_where_the_docs_say(site: Site, tmp_path: Path) -> None:
    found = told_of(site, tmp_path, [])
    for each in found:
        check(each, site)
    assert [Row(each.name, each.by) for each in found] == rows_of_the_docs()


def test_there_are_thirty_and_each_has_a_row() -> None:
    names = [each.name for each in WRONG_USES]
    assert len(set(names)) == len(names) >= 30
    assert {*SHORT} <= {*names}
    assert [each.name for each in rows_of_the_docs()] == names
