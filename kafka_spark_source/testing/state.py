"""The background clusters: one small JSON file for each, in the runtime folder.

`running_clusters` recognises files of ended clusters by process id and start time, and removes
what is left. Nothing here starts a broker or prints.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import tempfile
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_spark_source.testing.errors import LocalBrokerError
from kafka_spark_source.testing.folders import runtime_folder
from kafka_spark_source.testing.identity import ProcessIdentity
from kafka_spark_source.testing.supervisor import FOLDER_PREFIX
from kafka_spark_source.testing.waiting import Deadline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafka_spark_source.testing.cluster import KafkaCluster

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_STOP_SECONDS = 20.0
_KILL_SECONDS = 5.0


@dataclass(frozen=True)
class RunningCluster:
    """A background cluster of `pykafka broker start`. `since` is its start time in ISO 8601."""

    name: str
    version: str
    security: str
    bootstrap_servers: str
    folder: str
    since: str
    supervisor: ProcessIdentity
    brokers: tuple[ProcessIdentity, ...]

    @property
    def brokers_alive(self) -> int:
        """The number of its running brokers."""
        return sum(broker.is_alive for broker in self.brokers)


def remember(cluster: KafkaCluster, name: str | None) -> RunningCluster:
    """Writes a started cluster's file; by default the name is the first free one of kafka-1, ...

    Raises:
        LocalBrokerError: The name is taken.
    """
    folder = runtime_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for candidate in [name] if name else (f"kafka-{number}" for number in count(1)):
        record = RunningCluster(
            name=candidate,
            version=cluster.version,
            security=cluster.security,
            bootstrap_servers=cluster.bootstrap_servers,
            folder=str(cluster.folder.parent),
            since=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            supervisor=ProcessIdentity.of(cluster.supervisor_pid),
            brokers=tuple(ProcessIdentity.of(each.pid) for each in cluster.brokers if each.pid),
        )
        if _write_once(_file(candidate), json.dumps(asdict(record), indent=2)):
            return record
    raise _name_taken(str(name))


def require_free_name(name: str) -> None:
    """Checks a name before the cluster is started.

    Raises:
        LocalBrokerError: The name is taken, or is not valid for a file.
    """
    if not _NAME.fullmatch(name):
        raise LocalBrokerError(f"{name!r} is not a valid name: use letters, digits and dashes")
    if any(record.name == name for record in running_clusters()):
        raise _name_taken(name)


def running_clusters() -> list[RunningCluster]:
    """The running clusters, by name. Removes what is left of ended ones first."""
    alive = []
    for file in sorted(runtime_folder().glob("*.json")):
        record = _read(file)
        if record and record.supervisor.is_alive:
            alive.append(record)
        else:
            if record:
                _clean_up(record)
            file.unlink(missing_ok=True)
    return alive


def stop(record: RunningCluster) -> None:
    """Ends a cluster and waits until its processes have ended and its files are removed.

    Raises:
        LocalBrokerError: A process still runs some seconds after `SIGKILL`.
    """
    processes = (record.supervisor, *record.brokers)
    record.supervisor.send(signal.SIGTERM)
    if not Deadline(_STOP_SECONDS).wait_for(lambda: _have_ended(processes)):
        _clean_up(record)
    if not _have_ended(processes):
        left = ", ".join(str(each.pid) for each in processes if each.is_alive)
        raise LocalBrokerError(f"{record.name} does not end: processes {left} still run")
    forget(record)


def forget(record: RunningCluster) -> None:
    """Removes the cluster's file."""
    _file(record.name).unlink(missing_ok=True)


def _clean_up(record: RunningCluster) -> None:
    """Kills the processes and removes the folder, if the supervisor ended or hangs."""
    processes = (record.supervisor, *record.brokers)
    for each in processes:
        each.send(signal.SIGKILL)
    Deadline(_KILL_SECONDS).wait_for(lambda: _have_ended(processes))
    folder = Path(record.folder)
    if folder.name.startswith(FOLDER_PREFIX):
        shutil.rmtree(folder, ignore_errors=True)


def _have_ended(processes: Sequence[ProcessIdentity]) -> bool:
    return not any(each.is_alive for each in processes)


def _read(file: Path) -> RunningCluster | None:
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        supervisor = ProcessIdentity(*values.pop("supervisor"))
        brokers = tuple(ProcessIdentity(*each) for each in values.pop("brokers"))
        return RunningCluster(**values, supervisor=supervisor, brokers=brokers)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _write_once(file: Path, text: str) -> bool:
    """Creates the file with all its text at once; False if it exists already."""
    descriptor, draft = tempfile.mkstemp(dir=file.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    try:
        os.link(draft, file)
    except FileExistsError:
        return False
    finally:
        Path(draft).unlink()
    return True


def _file(name: str) -> Path:
    return runtime_folder() / f"{name}.json"


def _name_taken(name: str) -> LocalBrokerError:
    return LocalBrokerError(f"a broker called {name} runs already: choose another --name")
