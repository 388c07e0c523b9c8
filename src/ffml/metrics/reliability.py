"""Do probabilities mean what they say? Counts by tenths of them, which add up over rounds."""

from typing import Any

import numpy as np

NUM_BINS = 10
COUNTS = ("people", "positives", "probability")  # of each bin: rows, rows with label 1, Σ p


def reliability_counts(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Count people, positive labels and the sum of probabilities by tenths: ``(10, 3)``.

    >>> counts = reliability_counts(np.array([0.1, 0.85, 0.88]), np.array([0, 1, 0]))
    >>> counts[[1, 8]].round(2).tolist()
    [[1.0, 0.0, 0.1], [2.0, 1.0, 1.73]]
    """
    bins = np.clip((probabilities * NUM_BINS).astype(int), 0, NUM_BINS - 1)
    weights = (np.ones(len(bins)), labels.astype(float), probabilities.astype(float))
    return np.stack([np.bincount(bins, w, NUM_BINS) for w in weights], axis=1)


def reliability(counts: np.ndarray) -> dict[str, Any]:
    """Compare probabilities with how often label 1 came, from counts ``(10, 3)`` of any rounds.

    Returns:
        ``bins``, one record for each tenth that has people: how many, their mean probability and
        the share of label 1 among them; and ``error``, the mean difference between the two over
        all people (the expected calibration error), None without people.
    """
    filled = counts[counts[:, 0] > 0]
    people, positives, total = filled.T
    bins = [
        {"people": int(n), "probability": float(p / n), "label_share": float(k / n)}
        for n, k, p in zip(people, positives, total, strict=True)
    ]
    error = float(np.abs(positives - total).sum() / people.sum()) if len(filled) else None
    return {"bins": bins, "error": error}
