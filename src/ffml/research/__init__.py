"""The paper: its tables and figures, and its theory measured."""
