"""The coordinators of groups and of transactional ids: found, kept, and found again when they move.

A coordinator is kept in its `Cluster` until it refuses or cannot be reached: each join, claim and
commit would otherwise begin with a FindCoordinator.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Final, NamedTuple, TypeVar

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster, asks_for
from kafka_protocol.client.cluster.exchange import MAX_IN_FLIGHT
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError, OutOfStepError, Refresh
from kafka_protocol.messages.find_coordinator import (
    GROUP,
    TRANSACTION,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_protocol.wire.schema import VersionRange

T = TypeVar("T")

# From this version on, one request finds several coordinators (KIP-699).
_MANY_COORDINATORS: Final = 4


class _Coordinator(NamedTuple):
    """The coordinator of a group or a transactional id, or the error in its place."""

    node_id: int
    address: Address
    error: BrokerError | None


_KEY_NAMES: Final = {GROUP: "group", TRANSACTION: "transactional id"}

# Version 0 knows groups only (KIP-98).
_VERSIONS: Final = {
    GROUP: FindCoordinatorRequest.versions,
    TRANSACTION: VersionRange(1, FindCoordinatorRequest.versions.highest),
}

_MISSING_ACLS: Final[Mapping[int, str]] = {
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "grant the principal DESCRIBE on the group",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (
        "grant the principal DESCRIBE and WRITE on the transactional id"
    ),
}


def coordinators(
    cluster: Cluster, kind: int, keys: Collection[str], deadline: Deadline
) -> dict[str, Broker | KafkaError]:
    """Connections to the coordinators of groups, or of transactional ids.

    `kind` is GROUP or TRANSACTION, as in `messages.find_coordinator`.

    Returns:
        For each key its coordinator, or an error: it has no coordinator now, the principal may not
        describe it, or the coordinator cannot be reached.

    Raises:
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
        UnsupportedVersionError: The brokers are too old for transactions.
    """
    known = cluster.coordinators
    errors: dict[str, Broker | KafkaError] = {}
    unknown = [key for key in keys if (kind, key) not in known]
    if unknown:
        errors |= _find(cluster, kind, unknown, deadline)
    nodes = {key: known[kind, key] for key in keys if key not in errors}
    reached = {node_id: cluster.try_broker(node_id, deadline) for node_id in {*nodes.values()}}
    for key, node_id in nodes.items():
        if isinstance(reached[node_id], KafkaError):
            del known[kind, key]
    return {key: errors[key] if key in errors else reached[nodes[key]] for key in keys}


def forget_if_stale(cluster: Cluster, error: KafkaError, kind: int, key: str) -> None:
    """Forget a coordinator if this error may mean that it is another broker now."""
    if asks_for(Refresh.COORDINATOR, error):
        cluster.coordinators.pop((kind, key), None)


def with_coordinator(
    cluster: Cluster,
    kind_and_key: tuple[int, str],
    call: Callable[[Broker], T],
    deadline: Deadline,
    retry: Retry,
) -> T:
    """Call with a coordinator; again where it moved, is loading, or could not be reached.

    The kind and the key are as for `coordinators`. `call` must be safe to repeat. `retry` has the
    waits between tries, and their end.

    Raises:
        KafkaError: The error of `call`, or of the search for the coordinator.
    """
    kind, key = kind_and_key

    def find_and_call() -> T:
        coordinator = coordinators(cluster, kind, [key], deadline)[key]
        if isinstance(coordinator, KafkaError):
            raise coordinator
        try:
            return call(coordinator)
        except KafkaError as error:
            forget_if_stale(cluster, error, kind, key)
            raise

    return retry.until_done(find_and_call)


def _find(
    cluster: Cluster, kind: int, keys: Collection[str], deadline: Deadline
) -> dict[str, KafkaError]:
    """Request coordinators and keep them; returns the errors of the keys without one."""
    results = cluster.with_any_broker(partial(_request, kind, keys), deadline)
    named = {key: each for key, each in results.items() if each.error is None}
    cluster.add_addresses({each.node_id: each.address for each in named.values()})
    cluster.coordinators.update({(kind, key): each.node_id for key, each in named.items()})
    return {key: each.error for key, each in results.items() if each.error is not None}


def _request(
    kind: int, keys: Collection[str], broker: Broker, deadline: Deadline
) -> dict[str, _Coordinator]:
    """Find the coordinator of each group (GROUP), or of each transactional id (TRANSACTION).

    Raises:
        OutOfStepError: The response lacks a key.
        UnsupportedVersionError: The broker is older than transactions.
    """
    needed = _VERSIONS[kind]
    has_one_each = broker.choose(FindCoordinatorRequest, needed) < _MANY_COORDINATORS
    if has_one_each:
        requests = [FindCoordinatorRequest(key=key, key_type=kind) for key in keys]
    else:
        requests = [FindCoordinatorRequest(coordinator_keys=[*keys], key_type=kind)]
    responses: list[FindCoordinatorResponse] = []
    for start in range(0, len(requests), MAX_IN_FLIGHT):
        some = requests[start : start + MAX_IN_FLIGHT]
        sent = [broker.send(request, deadline, needed) for request in some]
        responses += [broker.receive(each, FindCoordinatorResponse, deadline) for each in sent]
    by_key: Mapping[str, FindCoordinatorResponse | FindCoordinatorResponse.Coordinator]
    if has_one_each:
        by_key = dict(zip(keys, responses, strict=True))
    else:
        by_key = {each.key: each for response in responses for each in response.coordinators}
    return {
        key: _coordinator(by_key.get(key), f"{_KEY_NAMES[kind]} {key!r}", broker) for key in keys
    }


def _coordinator(
    response: FindCoordinatorResponse | FindCoordinatorResponse.Coordinator | None,
    key: str,
    broker: Broker,
) -> _Coordinator:
    context = f"FindCoordinator of {key} to {broker}"
    if response is None:
        raise OutOfStepError(f"{context}: the response lacks it")
    code = response.error_code
    details = filter(None, (response.error_message, _MISSING_ACLS.get(code)))
    error = BrokerError(code, context, "; ".join(details) or None) if code else None
    return _Coordinator(response.node_id, Address(response.host, response.port), error)
