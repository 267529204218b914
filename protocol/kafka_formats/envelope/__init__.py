"""What the records of a topic say about the rows of a table."""
