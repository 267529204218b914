"""librdkafka's mock cluster: an independent implementation of brokers, for tests of faults.

It runs in threads of librdkafka in this process. librdkafka comes with confluent-kafka, whose
Python part lacks these functions, so ctypes calls them (`rdkafka_mock.h`). Brokers count from 1,
times are in ms, errors are Kafka's codes.
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

# Its code to close the connection instead of a response (RD_KAFKA_RESP_ERR__TRANSPORT).
CUT = -195

_POINTER, _TEXT = ctypes.c_void_p, ctypes.c_char_p
_INT16, _INT32, _INT64 = ctypes.c_int16, ctypes.c_int32, ctypes.c_int64
# Name: result, arguments.
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "rd_kafka_conf_new": (_POINTER, []),
    "rd_kafka_conf_set": (ctypes.c_int, [_POINTER, _TEXT, _TEXT, ctypes.c_char_p, ctypes.c_size_t]),
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
        [_POINTER, _TEXT, _INT32, _INT64, _INT64],
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
    """The functions of the librdkafka that confluent-kafka's extension is linked to."""
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
        # Without this it logs that it has no brokers.
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
        """The addresses of the brokers, in order."""
        pairs = (server.rpartition(":") for server in self.bootstrap_servers.split(","))
        return tuple(Address(host, int(port)) for host, _, port in pairs)

    def add_topic(self, name: str, partitions: int = 1) -> None:
        """Add a topic with a replica on each broker."""
        self._do("topic_create", name.encode(), partitions, self._brokers)

    def move_leader(self, topic_partition: TopicPartition, broker: int) -> None:
        """Set another leader; -1 for none."""
        topic, number = topic_partition
        self._do("partition_set_leader", topic.encode(), number, broker)

    def set_follower(
        self, topic_partition: TopicPartition, broker: int, log: tuple[int, int] | None = None
    ) -> None:
        """Set the preferred read replica of a partition.

        Args:
            topic_partition: The partition.
            broker: The replica, any number; -1 for none.
            log: The bounds of its log, if it has only a part.
        """
        topic, number = topic_partition
        self._do("partition_set_follower", topic.encode(), number, broker)
        if log is not None:
            self._do("partition_set_follower_wmarks", topic.encode(), number, *log)

    def move_group(self, group_id: str, broker: int) -> None:
        """Set the coordinator of a group."""
        self._do("coordinator_set", b"group", group_id.encode(), broker)

    def push_errors(self, kind: type[Request], *errors: ErrorCode | int) -> None:
        """Refuse the next requests of an API with these errors, or CUT, on all brokers."""
        codes = (ctypes.c_int * len(errors))(*map(int, errors))
        self._c["push_request_errors_array"](self._cluster, kind.api_key, len(errors), codes)

    def offer(self, kind: type[Request], versions: VersionRange) -> None:
        """Set the versions of an API, for new connections."""
        self._do("set_apiversion", kind.api_key, *versions)

    def stop(self, broker: int) -> None:
        """Close a broker's connections, and accept no other."""
        self._do("broker_set_down", broker)

    def start(self, broker: int) -> None:
        self._do("broker_set_up", broker)

    def delay(self, broker: int, ms: int) -> None:
        """Delay each response of a broker."""
        self._do("broker_set_rtt", broker, ms)

    def _do(self, name: str, *arguments: object) -> None:
        code = self._c[name](self._cluster, *arguments)
        assert code == 0, f"{name} returned {code}"
