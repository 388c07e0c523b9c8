"""What the paper prints: the numbers of its tables, and the names of its methods."""

# The order and the names of Table 2; the package's names are the keys.
LABELS = {
    "twp": "TWP",
    "m-ftml": "m-FTML",
    "ogdlc": "OGDLC",
    "adp-olc": "AdpOLC",
    "gen-olc": "GenOLC",
    "ffml": "FFML",
}
DATA = ("bank", "adult", "crime")

# Table 2: end-task performance, in the order of `LABELS`; accuracy in per cent.
TABLE_2: dict[str, dict[str, tuple[float, ...]]] = {
    "bank": {
        "dp": (0.09, 0.68, 0.36, 0.76, 0.81, 0.97),
        "eo": (0.11, 0.65, 0.35, 0.72, 0.78, 0.96),
        "disc": (0.19, 0.72, 0.23, 0.22, 0.11, 0.07),
        "accuracy": (52.14, 53.69, 52.36, 54.89, 56.78, 52.55),
    },
    "adult": {
        "dp": (0.05, 0.54, 0.41, 0.60, 0.78, 0.91),
        "eo": (0.04, 0.43, 0.30, 0.62, 0.69, 0.87),
        "disc": (0.32, 0.69, 0.21, 0.19, 0.12, 0.10),
        "accuracy": (51.21, 67.91, 52.31, 48.36, 47.87, 61.35),
    },
    "crime": {
        "dp": (0.40, 0.38, 0.48, 0.68, 0.70, 0.74),
        "eo": (0.38, 0.29, 0.39, 0.43, 0.64, 0.69),
        "disc": (0.23, 0.78, 0.25, 0.31, 0.15, 0.17),
        "accuracy": (51.23, 48.69, 49.10, 58.89, 49.43, 59.57),
    },
}

# Table 3: hyper-parameters of FFML, in the order of its columns.
SYMBOLS = {
    "inner.lr": "η₁",
    "outer_lr": "η₂",
    "tasks_per_round": "|U|",
    "damping": "δ",
    "inner.num_steps": "N_step",
    "num_outer_steps": "N_iter",
}
TABLE_3: dict[str, tuple[float, ...]] = {
    "bank": (0.01, 0.01, 32, 50, 5, 3000),
    "adult": (0.001, 0.1, 32, 60, 3, 3000),
    "crime": (0.001, 0.05, 32, 50, 5, 3500),
}

PUBLISHED_VALUES = (
    "The published values were produced by code whose DP and EO include a random term growing with "
    "the round and look at the decisions of one group; they are printed for orientation and are "
    "not targets."
)
