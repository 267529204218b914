"""librdkafka's mock cluster: brokers that somebody else wrote, up in milliseconds, to be upset.

They live inside this process, in threads of librdkafka, which comes with confluent-kafka; its C
functions are called directly, since its Python half does not show them (`rdkafka_mock.h`). Numbers
are its own: brokers from 1 on, times in ms, errors as in Kafka's table.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from confluent_kafka import cimpl

from kafka_protocol.client.config.client import Address
from kafka_protocol.errors import ErrorCode
from kafka_protocol.schema import Request, VersionRange
from kafka_protocol.topic_partition import TopicPartition

_PRODUCER = 0  # RD_KAFKA_PRODUCER: the kind of client that the cluster hangs on
_CONF_OK = 0
_ERROR_TEXT_BYTES = 512

# Its own code for a connection that is cut instead of an answer (RD_KAFKA_RESP_ERR__TRANSPORT).
CUT = -195

_POINTER, _TEXT, _INT16, _INT32 = (
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_int16,
    ctypes.c_int32,
)
# Name: result, arguments.
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "rd_kafka_conf_new": (_POINTER, []),
    "rd_kafka_conf_set": (
        ctypes.c_int,
        [_POINTER, _TEXT, _TEXT, ctypes.c_char_p, ctypes.c_size_t],
    ),
    "rd_kafka_new": (_POINTER, [ctypes.c_int, _POINTER, ctypes.c_char_p, ctypes.c_size_t]),
    "rd_kafka_destroy": (None, [_POINTER]),
    "rd_kafka_mock_cluster_new": (_POINTER, [_POINTER, ctypes.c_int]),
    "rd_kafka_mock_cluster_destroy": (None, [_POINTER]),
    "rd_kafka_mock_cluster_bootstraps": (_TEXT, [_POINTER]),
    "rd_kafka_mock_topic_create": (ctypes.c_int, [_POINTER, _TEXT, ctypes.c_int, ctypes.c_int]),
    "rd_kafka_mock_partition_set_leader": (ctypes.c_int, [_POINTER, _TEXT, _INT32, _INT32]),
    "rd_kafka_mock_partition_set_follower": (ctypes.c_int, [_POINTER, _TEXT, _INT32, _INT32]),
    "rd_kafka_mock_partition_set_follower_wmarks": (
        ctypes.c_int,
        [_POINTER, _TEXT, _INT32, ctypes.c_int64, ctypes.c_int64],
    ),
    "rd_kafka_mock_push_request_errors_array": (
        None,
        [_POINTER, _INT16, ctypes.c_size_t, ctypes.POINTER(ctypes.c_int)],
    ),
    "rd_kafka_mock_set_apiversion": (ctypes.c_int, [_POINTER, _INT16, _INT16, _INT16]),
    "rd_kafka_mock_broker_set_down": (ctypes.c_int, [_POINTER, _INT32]),
    "rd_kafka_mock_broker_set_up": (ctypes.c_int, [_POINTER, _INT32]),
    "rd_kafka_mock_broker_set_rtt": (ctypes.c_int, [_POINTER, _INT32, ctypes.c_int]),
    "rd_kafka_mock_coordinator_set": (ctypes.c_int, [_POINTER, _TEXT, _TEXT, _INT32]),
}


def _load() -> dict[str, Callable[..., Any]]:
    """The functions, out of the librdkafka that confluent-kafka's extension is linked to."""
    library = ctypes.CDLL(cimpl.__file__)
    functions = {}
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
        functions[name.removeprefix("rd_kafka_").removeprefix("mock_")] = function
    return functions


class MockCluster:
    """Brokers 1 to `brokers`, until the `with` block ends.

    Args:
        brokers: How many.
    """

    def __init__(self, brokers: int = 1) -> None:
        self._c = _load()
        self._brokers = brokers

    def __enter__(self) -> MockCluster:
        why = ctypes.create_string_buffer(_ERROR_TEXT_BYTES)
        config = self._c["conf_new"]()
        # It would say that it has no brokers.
        assert self._c["conf_set"](config, b"log_level", b"0", why, len(why)) == _CONF_OK, why.value
        self._client = self._c["new"](_PRODUCER, config, why, len(why))
        assert self._client, why.value
        self._cluster = self._c["cluster_new"](self._client, self._brokers)
        assert self._cluster
        return self

    def __exit__(self, *_: object) -> None:
        self._c["cluster_destroy"](self._cluster)
        self._c["destroy"](self._client)

    @property
    def bootstrap_servers(self) -> str:
        text: bytes = self._c["cluster_bootstraps"](self._cluster)
        return text.decode()

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Of the brokers in their order."""
        pairs = (server.rpartition(":") for server in self.bootstrap_servers.split(","))
        return tuple(Address(host, int(port)) for host, _, port in pairs)

    def add_topic(self, name: str, partitions: int = 1) -> None:
        """A topic with a copy on each broker."""
        self._do("topic_create", name.encode(), partitions, self._brokers)

    def move_leader(self, topic_partition: TopicPartition, broker: int) -> None:
        """-1 for no leader at all."""
        topic, number = topic_partition
        self._do("partition_set_leader", topic.encode(), number, broker)

    def set_follower(
        self, topic_partition: TopicPartition, broker: int, log: tuple[int, int] | None = None
    ) -> None:
        """The leader names another broker to read from; what that one has of the log, if not all.

        Args:
            topic_partition: Whose leader.
            broker: Any number; -1 for nobody.
            log: The first offset that it has, and the one behind the last.
        """
        topic, number = topic_partition
        self._do("partition_set_follower", topic.encode(), number, broker)
        if log is not None:
            self._do("partition_set_follower_wmarks", topic.encode(), number, *log)

    def move_group(self, group_id: str, broker: int) -> None:
        """Another broker becomes a group's coordinator."""
        self._do("coordinator_set", b"group", group_id.encode(), broker)

    def push_errors(self, kind: type[Request], *errors: ErrorCode | int) -> None:
        """The next requests of an API get these errors, or are CUT, whichever broker they reach."""
        codes = (ctypes.c_int * len(errors))(*map(int, errors))
        self._c["push_request_errors_array"](self._cluster, kind.api_key, len(errors), codes)

    def offer(self, kind: type[Request], versions: VersionRange) -> None:
        """What the brokers serve of an API, for connections from now on."""
        self._do("set_apiversion", kind.api_key, *versions)

    def stop(self, broker: int) -> None:
        """Its connections close, and it accepts no other."""
        self._do("broker_set_down", broker)

    def start(self, broker: int) -> None:
        self._do("broker_set_up", broker)

    def delay(self, broker: int, ms: int) -> None:
        """Each of its answers is late by that much."""
        self._do("broker_set_rtt", broker, ms)

    def _do(self, name: str, *arguments: object) -> None:
        code = self._c[name](self._cluster, *arguments)
        assert code == 0, f"{name} says {code}"
