"""Group metrics, verdicts and alarms, all from one small table of counts. Needs no JAX.

Every metric is a function of the counts ``table[group, label, decision]`` of shape ``(k, 3, 2)``:
the third label is "not known". Selection rates, demographic parity and its alarm are of everybody;
what needs labels is of those who have one. Counts without the third label, ``(k, 2, 2)``, do too.

A permutation of the groups turns counts into hypergeometric ones and a resample of the rows into
multinomial ones, so ceilings and intervals never touch a row, and the tables of several rounds can
be added to pool them.

- `contingency_table` counts rows, and `selection_rates`, `accuracy` and others are rates of them;
- `judge` and `group_rows` say all of one round;
- `gap_statistics`, `ratio_statistics` compare any two groups over many rounds;
- `gap_alarms` tells, however often one looks, whether a bound was broken in some round;
- `label_shares` tells whether labels depend on the decision;
- `answer` puts facts, rule, alarm and verdict together, and `ffml.metrics.words` says them.

The functions that return arrays work over leading axes. What cannot be measured is NaN, never
silently 0 or 1:

- A group counts once it has a row. Groups without any are ignored if two others have rows.
- A model with one decision for all judged rows ("collapsed") has no ratio and no discrimination:
  an average must not reward a model that decides nothing.
- An equalized-odds ratio needs rows with that label from *every* group that counts. To leave out
  the group that cannot be measured would only raise the ratio, and hide whom it says nothing of.
- A ratio of 0 to 0 is undefined, such as false-positive rates when there is no false positive.
- Nothing that needs labels is measured where labels depend on the decision.
"""

from ffml.metrics._betting import GapAlarm, gap_alarms
from ffml.metrics._gaps import (
    NOTIONS,
    RoundGaps,
    comparisons,
    long_run_weights,
    round_gaps,
    side_counts,
    typical_weights,
)
from ffml.metrics._intervals import MIN_TASKS
from ffml.metrics._judgement import (
    Judgement,
    group_rows,
    judge,
    undefined_reasons,
    worst,
)
from ffml.metrics._noise import bootstrap_intervals, noise_ceilings
from ffml.metrics._statistics import (
    GapStatistics,
    RatioStatistics,
    gap_statistics,
    ratio_statistics,
)
from ffml.metrics.labels import LabelShares, label_shares
from ffml.metrics.rates import (
    METRICS,
    UNKNOWN,
    accuracy,
    balanced_accuracy,
    collapsed,
    contingency_table,
    demographic_parity_ratio,
    discrimination,
    equalized_odds_ratio,
    equalized_odds_ratios,
    false_positive_rates,
    labelled,
    selection_rates,
    true_positive_rates,
)

__all__ = [
    "METRICS",
    "MIN_TASKS",
    "NOTIONS",
    "UNKNOWN",
    "GapAlarm",
    "GapStatistics",
    "Judgement",
    "LabelShares",
    "RatioStatistics",
    "RoundGaps",
    "accuracy",
    "balanced_accuracy",
    "bootstrap_intervals",
    "collapsed",
    "comparisons",
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
    "label_shares",
    "labelled",
    "long_run_weights",
    "noise_ceilings",
    "ratio_statistics",
    "round_gaps",
    "selection_rates",
    "side_counts",
    "true_positive_rates",
    "typical_weights",
    "undefined_reasons",
    "worst",
]
