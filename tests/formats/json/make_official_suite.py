"""Makes `official_suite/` from the JSON Schema Test Suite (MIT): `python -m
tests.formats.json.make_official_suite jsonschema-4.26.0.tar.gz`.

The sdist of `jsonschema` on PyPI has the suite: `pip download --no-deps --no-binary :all:
jsonschema==4.26.0`. Kept are the schemas of drafts 4 to 2020-12 with the instances that are valid;
a schema that several drafts have in common is kept once.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent / "official_suite"
_SHA256: Final = "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326"
DIALECTS: Final = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}


def main(archive: Path) -> None:
    """Write the files of the folder."""
    if hashlib.sha256(archive.read_bytes()).hexdigest() != _SHA256:
        raise SystemExit(f"{archive} is not the archive that the suite is made from")
    files = dict(_files(archive))
    cases: dict[str, dict[str, Any]] = {}
    for draft, dialect in DIALECTS.items():
        for name, content in files.items():
            if name.startswith(f"tests/{draft}/"):
                for case in _cases(content, dialect):
                    about = f"{name.removeprefix(f'tests/{draft}/')}: {case.pop('about')}"
                    key = json.dumps([about, case])
                    cases.setdefault(key, {"about": about, "drafts": [], **case})
                    cases[key]["drafts"].append(draft)
    _write("cases.jsonl", cases.values())
    remotes = {name: text for name, text in files.items() if name.startswith("remotes/")}
    _write(
        "remotes.jsonl",
        (
            {"uri": f"http://localhost:1234/{name.removeprefix('remotes/')}", "schema": schema}
            for name, schema in remotes.items()
            if not name.startswith(("remotes/draft3/", "remotes/draft-next/"))
        ),
    )


def _files(archive: Path) -> Iterator[tuple[str, Any]]:
    with tarfile.open(archive) as files:
        for member in sorted(files.getnames()):
            _, _, name = member.partition("/json/")
            if name.startswith(("tests/", "remotes/")) and name.endswith(".json"):
                content = files.extractfile(member)
                assert content is not None
                yield name, json.load(content)


def _cases(content: Any, dialect: str) -> Iterator[dict[str, Any]]:
    for case in content:
        schema = case["schema"]
        if isinstance(schema, dict) and schema.get("$schema") == dialect:
            schema = {word: each for word, each in schema.items() if word != "$schema"}
        valid = [test["data"] for test in case["tests"] if test["valid"]]
        if valid:
            yield {"about": case["description"], "schema": schema, "valid": valid}


def _write(name: str, rows: Any) -> None:
    lines = [json.dumps(each, ensure_ascii=True, separators=(",", ":")) + "\n" for each in rows]
    (FOLDER / name).write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
