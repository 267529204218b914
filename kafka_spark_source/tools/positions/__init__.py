"""Positions of topics, groups and checkpoints, and moves of them, shown before they are made."""
