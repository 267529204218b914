"""What people see and answer: tables, texts that are safe to show, status lines and questions.

Knows no command and no broker.
"""
