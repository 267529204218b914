"""Planted faults that a service of the simulation shows: what it does is met in the runs."""

from __future__ import annotations

from typing import Final

from tests.simulation.planted import likely
from tests.simulation.planted.fault import Planted

_CLIENT: Final = "protocol/kafka_protocol/client"

SERVICE_FAULTS: Final = (
    Planted(
        "records before a Fetch that was sent ahead are passed over",
        f"{_CLIENT}/consumer/fetch.py",
        "            if sent.offset > rest.from_offset:\n",
        "            if sent.offset > rest.from_offset + 2**62:\n",
        likely.is_at("far", "object-store"),
    ),
    Planted(
        "what two Fetches have is read twice",
        f"{_CLIENT}/consumer/fetch.py",
        "            rest = self._position.rest\n            if (received",
        "            rest = self._position.rest\n            if self._sent:\n"
        "                rest = rest._replace(from_offset=self._sent[0].offset)\n"
        "            if (received",
        likely.is_at("far", "object-store"),
    ),
    Planted(
        "a Produce request is larger than max.request.size",
        f"{_CLIENT}/producer/producer.py",
        "request.bytes + len(batch.data) <= max_bytes:",
        "request.bytes + len(batch.data) <= 2**40:",
        likely.is_at("eventhubs"),
    ),
    Planted(
        "the version of ApiVersions that closed a connection is sent again",
        f"{_CLIENT}/broker/api_versions.py",
        "if version < self._version]\n",
        "if version <= self._version]\n",
        likely.is_at("eventhubs"),
    ),
    Planted(
        "too many connections are a wrong password",
        f"{_CLIENT}/broker/refusals.py",
        "kind: type[KafkaError] = next(kinds, AuthenticationError)",
        "kind: type[KafkaError] = next(iter([]), AuthenticationError)",
        likely.is_at("msk"),
        missed="the query fails, which breaks no promise, and the next one begins later: "
        "`test_a_broker_with_too_many_connections_is_tried_again_later`",
    ),
    Planted(
        "a session is not renewed",
        f"{_CLIENT}/broker/broker.py",
        "        if self._renew_at is None or not self._renew_at.has_passed:\n            return\n"
        "        protocol",
        "        if self is not None:\n            return\n        protocol",
        likely.is_at("msk"),
        missed="the connection is closed, and the request sent again on another one: "
        "`test_a_session_is_renewed_before_its_end`",
    ),
    Planted(
        "a request has the newest version that the client knows",
        "protocol/kafka_protocol/versions/negotiation.py",
        "        return common.highest\n",
        "        return ours.highest\n",
        likely.is_at("proxy"),
    ),
)
