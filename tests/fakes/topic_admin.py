"""A scripted cluster whose topics have configurations, and can be altered.

The configurations that brokers know are those of `DEFAULTS`; a value that is empty is refused.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from kafka_protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kafka_protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from tests.fakes.cluster import NEWEST, Partition, ScriptedCluster
from tests.fakes.handlers import Context

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kafka_protocol.wire.schema import Request

DEFAULTS: Final = {"cleanup.policy": "delete", "retention.ms": "604800000"}
# Sources of DescribeConfigs.
_TOPIC, _DEFAULT = 1, 5
_DELETE = 1


class TopicAdminCluster(ScriptedCluster):
    """Brokers that keep configurations of topics.

    Attributes:
        configs: What was set, by topic.
    """

    def __init__(self, nodes: int = 1, release: str = NEWEST) -> None:
        super().__init__(nodes, release)
        self.configs: dict[str, dict[str, str]] = defaultdict(dict)

    def _handlers(self) -> Mapping[type[Request], Callable[[Context, Any], Any]]:
        own = {kind: partial(handler, self) for kind, handler in _HANDLERS.items()}
        return {**super()._handlers(), **own}


def _describe(
    cluster: TopicAdminCluster, context: Context, request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    Result = DescribeConfigsResponse.DescribeConfigsResult
    Config = Result.DescribeConfigsResourceResult

    def config(topic: str, name: str) -> Any:
        values = {_DEFAULT: DEFAULTS[name]}
        if name in cluster.configs[topic]:
            values = {_TOPIC: cluster.configs[topic][name], **values}
        source, value = next(iter(values.items()))
        synonyms = [
            Config.DescribeConfigsSynonym(name=name, value=each, source=of)
            for of, each in values.items()
        ]
        return Config(
            name=name,
            value=value,
            is_default=context.version == 0 and source == _DEFAULT,
            config_source=source,
            synonyms=synonyms if request.include_synonyms else [],
        )

    results = [
        Result(
            error_code=int(context.error),
            resource_type=each.resource_type,
            resource_name=each.resource_name,
            configs=[config(each.resource_name, name) for name in DEFAULTS],
        )
        for each in request.resources
    ]
    return DescribeConfigsResponse(results=results)


def _alter(
    cluster: TopicAdminCluster, context: Context, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    (resource,) = request.resources
    configs = cluster.configs[resource.resource_name].copy()
    error = context.error
    for each in resource.configs:
        if each.config_operation == _DELETE:
            configs.pop(each.name, None)
        elif not each.value:
            error = ErrorCode.INVALID_CONFIG
        else:
            configs[each.name] = each.value
    if not error and not request.validate_only:
        cluster.configs[resource.resource_name] = configs
    response = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
        error_code=int(error),
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
    return IncrementalAlterConfigsResponse(responses=[response])


def _create_partitions(
    cluster: TopicAdminCluster, context: Context, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    (wanted,) = request.topics
    partitions = cluster.topics[wanted.name].partitions
    error = context.error
    if not error and wanted.count <= len(partitions):
        error = ErrorCode.INVALID_PARTITIONS
    if not error and not request.validate_only:
        for number in range(len(partitions), wanted.count):
            partitions[number] = Partition(min(cluster.nodes))
    result = CreatePartitionsResponse.CreatePartitionsTopicResult(
        name=wanted.name, error_code=int(error)
    )
    return CreatePartitionsResponse(results=[result])


_HANDLERS: dict[type[Request], Callable[[TopicAdminCluster, Context, Any], Any]] = {
    CreatePartitionsRequest: _create_partitions,
    DescribeConfigsRequest: _describe,
    IncrementalAlterConfigsRequest: _alter,
}
