"""Fuzzing: for any bytes, the decoders may raise only our own exceptions.

`targets` has the functions to fuzz and needs only the package; `seeds` has valid bytes to start
with; `run` is the fuzzer (atheris), a process that `python -m tests.fuzz` starts. Each finding
becomes a plain test.
"""
