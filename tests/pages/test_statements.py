"""Every statement of every page runs, or is in the table of those that do not, and is right."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable

import pytest

from tests.integration.guides import ELSEWHERE, GUIDES
from tests.pages import commands, settings
from tests.pages.calls import mistake_in
from tests.pages.not_run import NOT_RUN, row_for
from tests.pages.statements import PAGES, ROOT, Kind, Statement, statements_in, statements_of
from tests.pages.tour import runs_on

STATEMENTS = [each for page in PAGES for each in statements_of(page)]


def of(kind: Kind) -> list[Statement]:
    return [each for each in STATEMENTS if each.kind is kind]


# --- The reader of pages --------------------------------------------------------------------------

PAGE = """\
Read with `spark.read.format("pykafka")`, `.mode("append")` or `load()`, set `kafka.acks=1`, and
run `pykafka
lag` with `--watch 5`, `INSERT INTO t SELECT 1` or ``SELECT * FROM pykafka.`t` ``; `INSERT INTO`,
`ALTER TABLE ... TYPE`, `map<string, string>` and `decimal(10, 2)` are words.

1. A list:

   ```python
   df.show()
   ```

```sql
DROP TABLE t;
SELECT 1;
```

```
# a comment
pykafka lag a \\
    --watch 5
A=1 make test
```

```
$ pykafka offsets t
output
```

```
apply_changes(target)
```
"""
FOUND = [
    (1, Kind.PYTHON, 'spark.read.format("pykafka")'),
    (1, Kind.CALL, '.mode("append")'),
    (1, Kind.SETTING, "kafka.acks=1"),
    (2, Kind.COMMAND, "pykafka lag"),
    (3, Kind.FLAG, "--watch 5"),
    (3, Kind.SQL, "INSERT INTO t SELECT 1"),
    (3, Kind.SQL, "SELECT * FROM pykafka.`t`"),
    (8, Kind.PYTHON, "df.show()\n"),
    (12, Kind.SQL, "DROP TABLE t"),
    (12, Kind.SQL, "SELECT 1"),
    (17, Kind.COMMAND, "pykafka lag a      --watch 5"),
    (17, Kind.COMMAND, "A=1 make test"),
    (24, Kind.COMMAND, "pykafka offsets t"),
    (29, Kind.PYTHON, "apply_changes(target)\n"),
]


def test_the_statements_of_a_page() -> None:
    found = statements_in(PAGE, "page.md")
    assert [(each.line, each.kind, each.text) for each in found] == FOUND
    assert [each.is_inline for each in found] == [True] * 7 + [False] * 7


def test_all_kinds_are_on_our_pages() -> None:
    counts = {kind: len(of(kind)) for kind in Kind}
    assert min(counts.values()) > 5, counts
    assert counts[Kind.PYTHON] > 100


# --- What runs ------------------------------------------------------------------------------------


def test_each_page_is_run_by_one_test() -> None:
    with_statements = {page for page in PAGES if runs_on(page)}
    guides = {f"docs/{page}" for page in GUIDES}
    assert with_statements == guides | ELSEWHERE.keys()
    assert not guides & ELSEWHERE.keys()
    for page, test in ELSEWHERE.items():
        assert f'Tour("{page}"' in (ROOT / "tests" / test).read_text(), page


def test_each_command_runs_or_is_in_the_table() -> None:
    # A test runs all command lines in the blocks of this page.
    run = "docs/operations.md"
    missing = [
        str(each)
        for each in of(Kind.COMMAND)
        if row_for(each) is None and (each.page != run or each.is_inline)
    ]
    assert missing == []


def test_each_row_of_the_table_has_a_statement() -> None:
    used = {row_for(each) for each in STATEMENTS}
    assert [row for row in NOT_RUN if row not in used] == []


# --- What does not run is right -------------------------------------------------------------------


def test_python_is_compiled() -> None:
    for each in of(Kind.PYTHON):
        if row_for(each):
            ast.parse(textwrap.dedent(each.text), str(each))


def expect_none(kind: Kind, mistake: Callable[[Statement], object]) -> None:
    """No statement of a kind has a mistake, except those in the table."""
    found = {str(each): mistake(each) for each in of(kind) if each.text not in settings.WRONG}
    assert {name: each for name, each in found.items() if each} == {}


def test_commands_are_accepted() -> None:
    expect_none(
        Kind.COMMAND, lambda each: commands.mistakes_in(each.text, is_inline=each.is_inline)
    )


def test_arguments_exist() -> None:
    known = {*commands.flags(), *(name for of in commands.FLAGS_OF_OTHERS.values() for name in of)}
    expect_none(Kind.FLAG, lambda each: {each.text.split()[0]} - known)


def test_options_take_their_values() -> None:
    expect_none(
        Kind.SETTING,
        lambda each: not settings.whose(each.text) and not settings.is_accepted(each.text),
    )


@pytest.mark.parametrize("setting", [*settings.WRONG, "unknown=1", "kafka.unknown=1"])
def test_wrong_options_are_refused(setting: str) -> None:
    assert not settings.is_accepted(setting)
    assert settings.whose(setting) is None


def test_calls_are_of_spark() -> None:
    expect_none(Kind.CALL, lambda each: row_for(each) is None and mistake_in(each.text))


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ("pykafka lagg x", "'lagg' is not a command"),
        ("pykafka lag --wach 5", "unrecognized arguments: --wach"),
        ("pykafka peek orders -n many", "'many' is not a number"),
        ("pykafka topics list | describe | remove", "'remove' is not a command"),
        ("make tests", "no target tests"),
        ("make chaos SECONDS=1", "no variable SECONDS"),
        ("python -m tests.unknown", "no module tests.unknown"),
        ("python examples/unknown.py", "no file examples/unknown.py"),
        ("pip install -e '.[spork]'", "no extra spork"),
    ],
)
def test_wrong_commands_are_found(line: str, mistake: str) -> None:
    assert mistake in " ".join(commands.mistakes_in(line, is_inline=True))


@pytest.mark.parametrize("call", ['.moode("append")', ".mode()", '.schema("a", "b")'])
def test_wrong_calls_are_found(call: str) -> None:
    assert mistake_in(call)
