"""Group metrics, their noise ceilings and their intervals, all from one small table.

Every metric is a function of the counts
``table[group, label, decision]`` of shape ``(k, 2, 2)``. A permutation of the groups turns them
into hypergeometric counts and a resample of the rows into multinomial counts, so ceilings and
intervals never touch a row, and the tables of several rounds can be added to pool them.

The functions that return arrays work over leading axes ``(..., k, 2, 2)``. What cannot be measured
is NaN, never silently 0 or 1:

- A group counts once it has a row. Groups without any are ignored if two others have rows.
- A model with one decision for all judged rows ("collapsed") has no ratio and no discrimination:
  an average must not reward a model that decides nothing.
- An equalized-odds ratio needs rows with that label from *every* group that counts. To leave out
  the group that cannot be measured would only raise the ratio, and hide whom it says nothing of.
- A ratio of 0 to 0 is undefined, such as false-positive rates when there is no false positive.
"""

from ffml.metrics._betting import (
    GapAlarm,
    gap_alarms,
)
from ffml.metrics._gaps import (
    NOTIONS,
    GapStatistics,
    RoundGaps,
    gap_statistics,
    largest_gap,
    long_run_weights,
    round_gaps,
    typical_weights,
)
from ffml.metrics._judgement import (
    Judgement,
    group_rows,
    judge,
    undefined_reasons,
    worst,
)
from ffml.metrics._noise import (
    bootstrap_intervals,
    noise_ceilings,
)
from ffml.metrics._rates import (
    METRICS,
    accuracy,
    balanced_accuracy,
    collapsed,
    contingency_table,
    demographic_parity_ratio,
    discrimination,
    equalized_odds_ratio,
    equalized_odds_ratios,
    false_positive_rates,
    selection_rates,
    true_positive_rates,
)
from ffml.metrics._ratios import RatioStatistics, ratio_statistics

__all__ = [
    "METRICS",
    "NOTIONS",
    "GapAlarm",
    "GapStatistics",
    "Judgement",
    "RatioStatistics",
    "RoundGaps",
    "accuracy",
    "balanced_accuracy",
    "bootstrap_intervals",
    "collapsed",
    "contingency_table",
    "demographic_parity_ratio",
    "discrimination",
    "equalized_odds_ratio",
    "equalized_odds_ratios",
    "false_positive_rates",
    "gap_alarms",
    "gap_statistics",
    "group_rows",
    "judge",
    "largest_gap",
    "long_run_weights",
    "noise_ceilings",
    "ratio_statistics",
    "round_gaps",
    "selection_rates",
    "true_positive_rates",
    "typical_weights",
    "undefined_reasons",
    "worst",
]
