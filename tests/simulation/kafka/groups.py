"""Groups of one coordinator, in its log: their offsets, and members that a test gives them.

No client joins here: the members of a group are data.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from kafka_protocol.errors import ErrorCode
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.coordinators import ShardLog
from tests.simulation.kafka.replica import Done


class Committed(NamedTuple):
    """A group's offset of one partition."""

    offset: int
    leader_epoch: int
    metadata: str | None


@dataclass
class Group:
    """What a coordinator knows of a group, beside its offsets.

    Attributes:
        kind: "classic", "consumer" or "share".
        members: Client ids with the partitions that they read.
        protocol_type: Empty for a group that only committed offsets.
        state: By default that of a group at rest.
    """

    kind: str = "classic"
    members: dict[str, list[TopicPartition]] = field(default_factory=dict)
    protocol_type: str = "consumer"
    state: str = ""

    def __post_init__(self) -> None:
        self.state = self.state or ("Stable" if self.members else "Empty")

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Group:
        members = {
            client: [TopicPartition(*each) for each in partitions]
            for client, partitions in state.pop("members").items()
        }
        return cls(members=members, **state)


class Groups:
    """The groups of one coordinator."""

    def __init__(self, log: ShardLog) -> None:
        self._log = log
        self.offsets: dict[str, dict[TopicPartition, Committed]] = {}
        self.described: dict[str, Group] = {}

    @property
    def all(self) -> dict[str, Group]:
        """Every group; one that only has offsets is an empty classic group."""
        return {name: Group(protocol_type="") for name in self.offsets} | self.described

    def load(self) -> None:
        for key, state in self._log.read().items():
            group, *partition = key.rsplit("\n", 2)
            if state is None:
                continue
            if partition:
                topic, number = partition
                self._set(group, TopicPartition(topic, int(number)), Committed(*state))
            else:
                self.described[group] = Group.from_json(state)

    def commit(self, group: str, offsets: dict[TopicPartition, Committed], done: Done) -> None:
        """Write offsets; they count when they are replicated."""
        left = len(offsets)
        worst = ErrorCode.NONE

        def write(each: TopicPartition, committed: Committed) -> None:
            def written(error: ErrorCode) -> None:
                nonlocal left, worst
                left -= 1
                worst = worst or error
                if not error:
                    self._set(group, each, committed)
                if not left:
                    done(worst)

            self._log.write(_key(group, each), committed, written)

        if not offsets:
            done(ErrorCode.NONE)
        for each, committed in offsets.items():
            write(each, committed)

    def _set(self, group: str, each: TopicPartition, committed: Committed) -> None:
        self.offsets.setdefault(group, {})[each] = committed

    def describe(self, name: str, group: Group) -> None:
        """Give a group a state and members."""
        self.described[name] = group
        self._log.write(name, asdict(group), lambda _: None)

    def delete(self, name: str) -> None:
        """Forget a group and its offsets."""
        for each in self.offsets.pop(name, {}):
            self._log.write(_key(name, each), None, lambda _: None)
        if self.described.pop(name, None):
            self._log.write(name, None, lambda _: None)


def _key(group: str, each: TopicPartition) -> str:
    return f"{group}\n{each.topic}\n{each.partition}"
