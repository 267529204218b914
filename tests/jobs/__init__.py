"""Spark jobs that tests run with `own_process`. Each prints one line of JSON at its end."""
