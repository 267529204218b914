"""One request for each of many transactional ids, to their coordinators, all in flight together.

Knows no API: `end_transactions` and `open_transactions` know requests and the meaning of errors.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kafka_protocol.client.broker.broker import Broker, SentRequest
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.coordinators import coordinators, forget_if_stale
from kafka_protocol.client.cluster.exchange import exchange
from kafka_protocol.client.producer.transactions import retry_until
from kafka_protocol.errors import (
    BrokerConnectionError,
    BrokerError,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
)
from kafka_protocol.messages.find_coordinator import TRANSACTION
from kafka_protocol.wire.schema import Request, Response, VersionRange

K = TypeVar("K")

# After these errors a request that could not be sent may have arrived all the same.
_MAYBE_SENT: Final = (BrokerConnectionError, KafkaTimeoutError, ProtocolError)


@dataclass(frozen=True, slots=True)
class CoordinatedApi(Generic[K]):
    """A request for each key, and the meaning of its response.

    Attributes:
        name: The beginning of error texts.
        id_of: The transactional id of a key.
        request: The request for a key.
        response: The kind of response.
        versions: The versions that may be used.
        code: The error code in a response.
        has_no_effect: Whether the request had no effect, by the error of its response.
    """

    name: str
    id_of: Callable[[K], str]
    request: Callable[[K], Request]
    response: type[Response]
    versions: VersionRange
    code: Callable[[Any], int]
    has_no_effect: Callable[[BrokerError], bool]


@dataclass(frozen=True, slots=True)
class Settled(Generic[K]):
    """The final error of each key, or None, and the keys for which an earlier try may have worked.

    An error is retriable where the deadline ended the tries. It is the one before the last if the
    deadline cut the last try short, as from `Retry.wait`: a refusal says more than a time-out.
    """

    errors: dict[K, KafkaError | None]
    in_doubt: set[K]


def send_until_settled(
    cluster: Cluster, keys: Collection[K], api: CoordinatedApi[K], deadline: Deadline
) -> Settled[K]:
    """Send a request for each key, again after retriable errors."""
    errors: dict[K, KafkaError | None] = {}
    in_doubt: set[K] = set()
    left = [*dict.fromkeys(keys)]
    retry = retry_until(deadline, cluster.config)
    earlier: dict[K, KafkaError] = {}
    while left:
        results = _send_once(cluster, left, api, deadline)
        in_doubt |= {each for each, result in results.items() if result.may_be_done}
        again = {each: r.error for each, r in results.items() if r.error and r.error.retriable}
        errors |= {each: r.error for each, r in results.items() if each not in again}
        try:
            if again:
                retry.wait_if_all_retriable([*again.values()])
        except KafkaError:
            if deadline.has_passed:
                again |= {each: earlier[each] for each in again if each in earlier}
            return Settled({**errors, **again}, in_doubt | again.keys())
        left, earlier = [*again], again
    return Settled(errors, in_doubt)


class _Result(NamedTuple):
    """The result of one try; after some errors the request may have had its effect."""

    error: KafkaError | None
    may_be_done: bool = False


def _send_once(
    cluster: Cluster, keys: Collection[K], api: CoordinatedApi[K], deadline: Deadline
) -> dict[K, _Result]:
    try:
        by_id = coordinators(cluster, TRANSACTION, {*map(api.id_of, keys)}, deadline)
    except KafkaError as error:
        return {key: _Result(error) for key in keys}
    results: dict[K, _Result] = {}
    reached: dict[K, Broker] = {}
    for key in keys:
        coordinator = by_id[api.id_of(key)]
        if isinstance(coordinator, KafkaError):
            results[key] = _Result(coordinator)
        else:
            reached[key] = coordinator

    def send(key: K) -> SentRequest:
        return reached[key].send(api.request(key), deadline, api.versions)

    exchanged = exchange(reached, send, api.response, deadline)
    for key, unsent in exchanged.unsent.items():
        results[key] = _Result(unsent, isinstance(unsent, _MAYBE_SENT))
    for key, unanswered in exchanged.unanswered.items():
        results[key] = _Result(unanswered, may_be_done=True)
    for key, (broker, response) in exchanged.responses.items():
        results[key] = _result(api, key, broker, api.code(response))
    for key, result in results.items():
        if result.error is not None:
            forget_if_stale(cluster, result.error, TRANSACTION, api.id_of(key))
    return {key: results[key] for key in keys}


def _result(api: CoordinatedApi[K], key: K, broker: Broker, code: int) -> _Result:
    if not code:
        return _Result(None)
    error = BrokerError(code, f"{api.name} {key} to {broker}")
    return _Result(error, not api.has_no_effect(error))
