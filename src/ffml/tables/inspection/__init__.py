"""What a table looks like, and what is likely wrong with it."""
