"""Records for operators: shown, written, decoded and encoded, as values or lines."""
