"""Bytes that nobody sent on purpose: whatever they are, only our own exceptions may come out.

`targets` says what bytes are given to and needs nothing but the package; `seeds` are honest bytes
to begin with; `run` is the fuzzer (atheris), in a process of its own that `python -m tests.fuzz`
starts. What it finds becomes a plain test beside the code that was wrong.
"""
