"""What the processes of a Spark driver use, from /proc.

The driver, its JVM and the readers of streams live as long as the queries, so each of these roles
is the sum of its processes. Spark starts and ends workers as it needs them: their role is the
largest one, so that neither a new worker looks like a leak nor an ended one hides it. Their
number is a measure of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from tests.own_process import all_processes, command_of, status_of

ROLES: Final = ("driver", "jvm", "reader", "workers")
PYTHON_ROLES: Final = ("driver", "reader", "workers")
_JVM: Final = "org.apache.spark.deploy.SparkSubmit"
_READER: Final = "python_streaming_source_runner"
_WORKER: Final = "\0-m\0pyspark."
_MIB: Final = 2**20


class Usage(NamedTuple):
    """What a process uses; memory in MiB."""

    rss: float
    anonymous: float
    descriptors: int
    threads: int


Sample = dict[str, dict[str, float]]
"""Role -> measure -> value."""


def role_of(command: str, pid: int, parent: int, session: int) -> str | None:
    """The role of a process with this command line; None for a helper that ends soon.

    A child of the JVM has the JVM's command line until it runs its own program. The JVM itself is a
    child of the driver.
    """
    if pid == session:
        return "driver"
    if _JVM in command:
        return "jvm" if parent == session else None
    if _READER in command:
        return "reader"
    return "workers" if _WORKER in command else None


def roles_of(session: int) -> dict[int, str]:
    """The processes of a driver that began a session, and their roles."""
    roles = {
        each.pid: role_of(command_of(each.pid), each.pid, each.parent, session)
        for each in all_processes()
        if each.session == session
    }
    return {pid: role for pid, role in roles.items() if role}


def usage_of(pid: int) -> Usage | None:
    """What a process uses now; None if it has ended."""
    status = status_of(pid)
    try:
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 -- names only, no stat
        return Usage(
            status["VmRSS"] * 1024 / _MIB,
            status["RssAnon"] * 1024 / _MIB,
            descriptors,
            status["Threads"],
        )
    except (OSError, KeyError):
        return None  # a zombie has no memory


def joined(
    roles: Mapping[int, str], usages: Mapping[int, Usage], objects: Mapping[int, int]
) -> Sample:
    """One sample of all roles; a role without a process has no value."""
    sample: Sample = {}
    for role in ROLES:
        pids = [pid for pid in usages if roles[pid] == role]
        if not pids:
            continue
        join = max if role == "workers" else sum
        measures: dict[str, float] = {
            name: join(getattr(usages[pid], name) for pid in pids) for name in Usage._fields
        }
        measures["processes"] = len(pids)
        counts = [objects[pid] for pid in pids if pid in objects]
        # The sum needs all of them; of workers, some always end or are busy.
        if counts and (role == "workers" or len(counts) == len(pids)):
            measures["objects"] = join(counts)
        sample[role] = measures
    return sample


def use_of(pids: Iterable[int]) -> dict[int, Usage]:
    """What processes use; those that have ended are left out."""
    found = ((pid, usage_of(pid)) for pid in pids)
    return {pid: usage for pid, usage in found if usage is not None}
