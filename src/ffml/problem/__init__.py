"""What is asked: a model, a loss, and constraints on the gaps between groups."""
