"""The ways in which a query runs, each a module with a function from a query to an answer."""
