"""The registries of a query, by framing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from kafka_formats.options.settings import Framing
from kafka_formats.registry.apicurio import ApicurioConfig
from kafka_formats.registry.azure import AzureConfig
from kafka_formats.registry.config import RegistryConfig
from kafka_formats.registry.glue_config import GLUE, GlueConfig
from kafka_formats.registry.schemas import SchemaSource
from kafka_formats.registry.sources import SourceConfig, source_with
from kafka_protocol.client.config.references import PROVIDERS

# Registries that are connected to as Confluent's are, and have ids of their own.
_OWN_IDS: Final[Mapping[Framing, Callable[[RegistryConfig], SourceConfig]]] = {
    Framing.APICURIO: partial(ApicurioConfig, ids="globalIds"),
    Framing.AZURE: AzureConfig,
    Framing.APICURIO_CONTENT_ID: partial(ApicurioConfig, ids="contentIds"),
}


class Registries:
    """The registries of a query. Columns with the same one share a client.

    Args:
        options: The clients' options without `schema.registry.`; empty without a registry.
        framings: The framings of the columns.

    Raises:
        KafkaConfigError: An option is unknown or cannot be used.
    """

    def __init__(self, options: Mapping[str, str], *framings: Framing) -> None:
        has_glue = Framing.GLUE in framings
        # What limits references is for both.
        limits = {name: text for name, text in options.items() if name.startswith(PROVIDERS)}
        own = {name: text for name, text in options.items() if name not in limits}
        glue = {name: text for name, text in own.items() if has_glue and name.startswith(GLUE)}
        others = {name: text for name, text in own.items() if name not in glue}
        confluent = RegistryConfig.from_options(others | limits) if others else None
        self._configs: dict[Framing, SourceConfig | None] = dict.fromkeys(framings, confluent)
        if has_glue:
            without = {name.removeprefix(GLUE): text for name, text in glue.items()}
            self._configs[Framing.GLUE] = GlueConfig.from_options(without | limits)
        for framing in {*framings} & _OWN_IDS.keys():
            if confluent is not None:
                self._configs[framing] = _OWN_IDS[framing](confluent)
        known = {config for config in self._configs.values() if config is not None}
        self._sources = {config: source_with(config) for config in known}

    def config(self, framing: Framing) -> SourceConfig | None:
        """The registry of columns with a framing; None if the framing needs no registry."""
        return self._configs[framing]

    def source(self, framing: Framing) -> SchemaSource | None:
        """The client of the registry for a framing; None if the framing needs no registry."""
        config = self._configs[framing]
        return None if config is None else self._sources[config]
