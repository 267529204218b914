"""Topics for operators: what they are, hold and have set, and changes of that."""
