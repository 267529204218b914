"""The client of a registry, by its configuration."""

from __future__ import annotations

from typing import TypeAlias

from kafka_formats.registry.apicurio import ApicurioClient, ApicurioConfig
from kafka_formats.registry.azure import AzureClient, AzureConfig
from kafka_formats.registry.client import RegistryClient
from kafka_formats.registry.config import RegistryConfig
from kafka_formats.registry.glue import GlueClient
from kafka_formats.registry.glue_config import GlueConfig
from kafka_formats.registry.schemas import SchemaSource

SourceConfig: TypeAlias = RegistryConfig | GlueConfig | ApicurioConfig | AzureConfig


def source_with(config: SourceConfig) -> SchemaSource:
    """The client of the registry."""
    if isinstance(config, GlueConfig):
        return GlueClient(config)
    if isinstance(config, ApicurioConfig):
        return ApicurioClient(config)
    if isinstance(config, AzureConfig):
        return AzureClient(config)
    return RegistryClient(config)
