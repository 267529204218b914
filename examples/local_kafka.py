"""The first steps of each example: it parses arguments, and starts a broker if none is named.

    options = start_servers(arguments(__doc__).parse_args())
    options.servers, options.registry  # the user's, or local ones, which end with the example

Import this module first. A package that is not installed then ends an example with a sentence.
"""

from __future__ import annotations

import argparse
import atexit
import os
import sys
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# In a clone.
HOW_TO_INSTALL = {
    **dict.fromkeys(
        ("kafka_spark_source", "pyspark", "pandas", "rich"), 'pip install -e ".[spark,cli]"'
    ),
    **dict.fromkeys(("grpc", "yaml"), 'pip install "pyspark[connect,pipelines]"'),
    "pysail": 'pip install -e . pysail==0.7.2 pyspark-client==4.2.0 "pandas<3"',
}
_local = ExitStack()
atexit.register(_local.close)


def arguments(documentation: str, *, registry: bool = False) -> argparse.ArgumentParser:
    """The options of all examples; `registry` adds the option for a schema registry."""
    parser = argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--servers", help="your brokers, host:port,...; default: a local one")
    if registry:
        parser.add_argument(
            "--registry", help="the URL of your schema registry; default: a local one"
        )
    return parser


def start_servers(
    options: argparse.Namespace, on_progress: Callable[[str], None] = print
) -> argparse.Namespace:
    """The options with addresses. Starts the servers that are not named, which may take seconds."""
    # Imported here, because _explain must be in place.
    from kafka_spark_source.testing import (  # noqa: PLC0415
        CONVENIENT,
        KafkaCluster,
        LocalBrokerError,
        SchemaRegistry,
    )

    # Otherwise Spark's workers are the `python3` of the PATH, which may lack this project.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options.is_local = options.servers is None
    try:
        if options.servers is None:
            broker = KafkaCluster(config=CONVENIENT, on_progress=on_progress)
            options.servers = _local.enter_context(broker).bootstrap_servers
        if getattr(options, "registry", "") is None:
            registry = SchemaRegistry(on_progress=on_progress)
            options.registry = _local.enter_context(registry).url
    except LocalBrokerError as error:
        sys.exit(f"{error}")
    return options


def stop_servers() -> None:
    """Stop the local servers now; otherwise they end with the example."""
    _local.close()


def _explain(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    """Say how to install a package that is missing; print other errors as Python does."""
    package = str(getattr(error, "name", None)).partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and package in HOW_TO_INSTALL:
        print(f"This example needs {package}: {HOW_TO_INSTALL[package]}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, traceback)


sys.excepthook = _explain
