"""Spark jobs that tests run with `own_process`. Each prints one line of JSON at its end."""

from tests.addressed import note_names

note_names()
