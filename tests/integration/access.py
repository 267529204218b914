"""Access rules (ACLs) and quotas of real brokers.

With KRaft the controller responds before the brokers know, so each waits for the broker's word.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import sleep_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
)
from kafka_protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from kafka_protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from kafka_protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from tests.integration.clients import soon

# Kafka's numbers of operations, resource types, pattern types and permissions.
READ, WRITE, DESCRIBE, IDEMPOTENT_WRITE = 3, 4, 8, 12
TOPIC, CLUSTER = 2, 4
_LITERAL, _ALLOW = 3, 3


def allow(
    cluster: Cluster, name: str, user: str, operation: int, resource_type: int = TOPIC
) -> None:
    """Let a user do this. A resource with a rule is closed to users without one."""
    rule = CreateAclsRequest.AclCreation(
        resource_type=resource_type,
        resource_name=name,
        resource_pattern_type=_LITERAL,
        principal=f"User:{user}",
        host="*",
        operation=operation,
        permission_type=_ALLOW,
    )
    controller = cluster.controller(CreateAclsRequest, soon())
    response = controller.request(CreateAclsRequest(creations=[rule]), CreateAclsResponse, soon())
    assert [result.error_code for result in response.results] == [0], response
    _wait(controller, lambda broker: _is_allowed(broker, rule))


def limit_rate(cluster: Cluster, client_id: str, quota: str, bytes_per_second: float) -> None:
    """Set a quota of a client id: consumer_byte_rate or producer_byte_rate."""
    Entry = AlterClientQuotasRequest.EntryData
    entry = Entry(
        entity=[Entry.EntityData(entity_type="client-id", entity_name=client_id)],
        ops=[Entry.OpData(key=quota, value=bytes_per_second)],
    )
    request = AlterClientQuotasRequest(entries=[entry])
    controller = cluster.controller(AlterClientQuotasRequest, soon())
    response = controller.request(request, AlterClientQuotasResponse, soon())
    assert [entry.error_code for entry in response.entries] == [0]
    _wait(controller, lambda broker: _is_limited(broker, client_id, quota))


def _is_allowed(broker: Broker, rule: CreateAclsRequest.AclCreation) -> bool:
    """Whether the broker knows the rule, or closes the cluster to this client for it."""
    request = DescribeAclsRequest(
        resource_type_filter=rule.resource_type,
        resource_name_filter=rule.resource_name,
        pattern_type_filter=rule.resource_pattern_type,
        principal_filter=rule.principal,
        host_filter=rule.host,
        operation=rule.operation,
        permission_type=rule.permission_type,
    )
    response = broker.request(request, DescribeAclsResponse, soon())
    return response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED or bool(response.resources)


def _is_limited(broker: Broker, client_id: str, quota: str) -> bool:
    exact = DescribeClientQuotasRequest.ComponentData(
        entity_type="client-id", match_type=0, match=client_id
    )
    request = DescribeClientQuotasRequest(components=[exact], strict=True)
    response = broker.request(request, DescribeClientQuotasResponse, soon())
    return any(value.key == quota for entry in response.entries or [] for value in entry.values)


def _wait(broker: Broker, condition: Callable[[Broker], bool]) -> None:
    deadline = soon()
    while not condition(broker):
        assert not deadline.has_passed, "the broker was not told in time"
        sleep_ms(20)
