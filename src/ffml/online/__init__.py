"""One round: decide, be judged, remember, learn."""
