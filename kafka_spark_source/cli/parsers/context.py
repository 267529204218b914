"""The arguments of the command `pykafka context list | show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_spark_source.cli.exit_codes import INCOMPLETE
from kafka_spark_source.cli.parsers.arguments import add_context_name, add_output
from kafka_spark_source.cli.parsers.connection import (
    CONTEXT_VARIABLE,
    DEFAULT_CONTEXT,
    SERVERS_VARIABLE,
    SHOWN_FOLDER,
)

if TYPE_CHECKING:
    from kafka_spark_source.cli.parsers.arguments import Commands

_EPILOG: Final = f"""\
A context is a file of options, {SHOWN_FOLDER}/NAME.properties, or a broker that
"pykafka broker start" runs. Commands use --context NAME, else ${CONTEXT_VARIABLE}, else
{DEFAULT_CONTEXT} if there is such a file. An argument replaces an option of a context; without
both, the addresses of the brokers are ${SERVERS_VARIABLE}.

examples:
  pykafka context list
  pykafka context show prod

Values that may be secret are shown as (set). If a file cannot be read, "list" lists the others and
ends with {INCOMPLETE}.
"""


def add_context(commands: Commands) -> None:
    """Adds the command `context`."""
    context = commands.add_parser(
        "context",
        help="the contexts of --context, and their options",
        description="Lists the contexts of --context, and shows the options of one.",
        epilog=_EPILOG,
    )
    subcommands = context.add_subparsers(metavar="COMMAND", required=True)
    listing = subcommands.add_parser("list", help="all contexts, and the one in use")
    listing.set_defaults(run=("context", "list"))
    form = listing.add_mutually_exclusive_group()
    form.add_argument("--names", action="store_true", help="print only names, one in a line")
    add_output(form)
    show = subcommands.add_parser("show", help="the options of a context, without secrets")
    show.set_defaults(run=("context", "show"))
    add_context_name(show, "name", nargs="?", help="its name (default: the one that commands use)")
    add_output(show)
