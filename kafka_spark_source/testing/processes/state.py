"""The background brokers and registries: one small JSON file for each, in the runtime folder.

`running` recognises files of ended servers by process id and start time, and removes them.
Nothing here starts a server or prints.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import tempfile
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from enum import Enum
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_spark_source.testing.errors import LocalBrokerError
from kafka_spark_source.testing.folders import runtime_folder
from kafka_spark_source.testing.processes.identity import ProcessIdentity
from kafka_spark_source.testing.processes.supervisor import FOLDER_PREFIX
from kafka_spark_source.testing.processes.waiting import Deadline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_STOP_SECONDS = 20.0
_KILL_SECONDS = 5.0


class Kind(str, Enum):
    """The kind of a server; the value is its name in messages."""

    BROKER = "broker"
    REGISTRY = "registry"


_FIRST_NAMES = {Kind.BROKER: "kafka", Kind.REGISTRY: "registry"}


@dataclass(frozen=True)
class Facts:
    """The facts that a started server writes about itself.

    Attributes:
        version: The version of Kafka, or of the registry.
        address: The bootstrap servers, or the URL.
        folder: The temporary folder of its supervisor.
        pids: Its processes, without the supervisor.
        options: The client's options to connect. Secrets: kept from repr.
    """

    kind: Kind
    version: str
    security: str
    address: str
    folder: Path
    supervisor_pid: int
    pids: tuple[int, ...]
    options: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class RunningServer:
    """A background server of `pykafka`. `since` is its start time in ISO 8601."""

    kind: Kind
    name: str
    version: str
    security: str
    address: str
    folder: str
    since: str
    supervisor: ProcessIdentity
    processes: tuple[ProcessIdentity, ...]

    @property
    def properties(self) -> Path:
        """The file of the client's options, as in Kafka's client.properties."""
        return Path(self.folder) / "client.properties"

    @property
    def processes_alive(self) -> int:
        """The number of its running processes, without the supervisor."""
        return sum(process.is_alive for process in self.processes)


def remember(facts: Facts, name: str | None) -> RunningServer:
    """Writes a started server's file; by default the name is the first free one of kafka-1, ...

    Raises:
        LocalBrokerError: The name is taken.
    """
    folder = runtime_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    first = _FIRST_NAMES[facts.kind]
    for candidate in [name] if name else (f"{first}-{number}" for number in count(1)):
        record = RunningServer(
            kind=facts.kind,
            name=candidate,
            version=facts.version,
            security=facts.security,
            address=facts.address,
            folder=str(facts.folder),
            since=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            supervisor=ProcessIdentity.of(facts.supervisor_pid),
            processes=tuple(ProcessIdentity.of(pid) for pid in facts.pids),
        )
        if _write_once(_file(candidate), json.dumps(asdict(record), indent=2)):
            _write_properties(record.properties, facts.options)
            return record
    raise _name_taken(str(name), facts.kind)


def require_free_name(name: str) -> None:
    """Checks a name before the server is started; brokers and registries share the names.

    Raises:
        LocalBrokerError: The name is taken, or is not valid for a file.
    """
    if not _NAME.fullmatch(name):
        raise LocalBrokerError(f"{name!r} is not a valid name: use letters, digits and dashes")
    for record in running():
        if record.name == name:
            raise _name_taken(name, record.kind)


def running() -> list[RunningServer]:
    """The running servers, by name. Removes the files of ended ones first."""
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


def stop(record: RunningServer) -> None:
    """Ends a server and waits until its processes have ended and its files are removed.

    Raises:
        LocalBrokerError: A process still runs some seconds after `SIGKILL`.
    """
    processes = (record.supervisor, *record.processes)
    record.supervisor.send(signal.SIGTERM)
    if not Deadline(_STOP_SECONDS).wait_for(lambda: _have_ended(processes)):
        _clean_up(record)
    if not _have_ended(processes):
        left = ", ".join(str(each.pid) for each in processes if each.is_alive)
        raise LocalBrokerError(f"{record.name} does not end: processes {left} still run")
    forget(record)


def forget(record: RunningServer) -> None:
    """Removes the server's file."""
    _file(record.name).unlink(missing_ok=True)


def _clean_up(record: RunningServer) -> None:
    """Kills the processes and removes the folder, if the supervisor ended or hangs."""
    processes = (record.supervisor, *record.processes)
    for each in processes:
        each.send(signal.SIGKILL)
    Deadline(_KILL_SECONDS).wait_for(lambda: _have_ended(processes))
    folder = Path(record.folder)
    if folder.name.startswith(FOLDER_PREFIX):
        shutil.rmtree(folder, ignore_errors=True)


def _have_ended(processes: Sequence[ProcessIdentity]) -> bool:
    return not any(each.is_alive for each in processes)


def _read(file: Path) -> RunningServer | None:
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        kind = Kind(values.pop("kind"))
        supervisor = ProcessIdentity(*values.pop("supervisor"))
        processes = tuple(ProcessIdentity(*each) for each in values.pop("processes"))
        return RunningServer(**values, kind=kind, supervisor=supervisor, processes=processes)
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


def _write_properties(file: Path, options: Mapping[str, str]) -> None:
    """Writes options that only this user may read: passwords are among them."""
    file.touch(mode=0o600)
    escaped = {name: value.replace("\\", "\\\\") for name, value in options.items()}
    file.write_text("".join(f"{name}={value}\n" for name, value in escaped.items()), "utf-8")


def _file(name: str) -> Path:
    return runtime_folder() / f"{name}.json"


def _name_taken(name: str, kind: Kind) -> LocalBrokerError:
    return LocalBrokerError(f"a {kind.value} called {name} runs already: choose another --name")
