"""The terminal of a user: tables, texts that are safe to show, status lines and questions.

Knows no command and no broker.
"""
