"""What `profile_round.py` needs."""
