"""Jars and distributions of brokers and registries: from where, checked, and kept in a folder.

Nothing is started here.
"""
