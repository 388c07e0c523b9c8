"""Data: everything before a task."""
