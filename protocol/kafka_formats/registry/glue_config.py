"""The "schema.registry.glue.*" options as one frozen, typed value. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kafka_protocol.client.config.option import declared_in, option, read_options
from kafka_protocol.client.config.references import Referring, resolved
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.nearest_name import did_you_mean

GLUE: Final = "glue."
PREFIX: Final = f"schema.registry.{GLUE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GlueConfig(Referring):
    """The options of AWS Glue's registry. Each field is one option; its metadata has its name."""

    region: str | None = option(
        "region",
        str.strip,
        None,
        "The AWS region. Default: as in every AWS tool (`AWS_DEFAULT_REGION`, the profile).",
    )
    registry_name: str = option(
        "registry.name", str.strip, "default-registry", "The name of the registry."
    )
    endpoint: str | None = option(
        "endpoint",
        str.strip,
        None,
        "The URL of AWS Glue, for an endpoint of a VPC. Default: the region's URL.",
    )

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> GlueConfig:
        """Read options without their "schema.registry.glue." prefix.

        Raises:
            KafkaConfigError: A name is unknown, or a value is empty.
        """
        known, texts = declared_in(cls), resolved(options, PREFIX)
        for name, text in sorted(texts.items()):
            if name not in known:
                shown = {each: f"{PREFIX}{each}" for each in known}
                hint = did_you_mean(name, shown, otherwise="remove it.")
                raise KafkaConfigError(f"Option '{PREFIX}{name}' is not known: {hint}")
            if not text.strip():
                raise KafkaConfigError(f"Option '{PREFIX}{name}' is empty: set or remove it.")
        return cls(**read_options(cls, texts, PREFIX)).keeping(options, texts)
