"""How columns become numbers, always in the same way."""
