"""Communities and Crime: is a community more violent than its state's median? One task = one state.

The protected attribute is 1 where Black residents are the largest or second largest of four
groups. The published columns cannot be compared for that as they stand: each is normalised to
0–1 on its own scale, and doing so anyway gets 10.7 % of the protected labels wrong.
`PERCENTAGES` brings them back to percentages first, which agrees with the unnormalised release
in 98.2 % of communities; 42 % are protected.
"""

from typing import TYPE_CHECKING

from ffml.base import Stream
from ffml.datasets._people import Dataset, people_stream, read_shipped

if TYPE_CHECKING:
    import pandas as pd

# Column -> (percentage at 0, percentage from 0 to 1), fitted against the unnormalised release on
# 1,707 communities, residual standard deviation <= 0.19 points.
PERCENTAGES = {
    "racepctblack": (0.0, 51.31),
    "racePctWhite": (34.74, 64.90),
    "racePctAsian": (0.03, 16.22),
    "racePctHisp": (0.11, 53.71),
}

# The police survey (LEMAS) did not reach 84 % of the communities. Its columns are recognised by
# the missing values; this one has 0 in their place.
MISSING_AS_ZERO = "LemasPctOfficDrugUn"

# fmt: off
STATES = {  # by FIPS code
    1: "Alabama", 2: "Alaska", 4: "Arizona", 5: "Arkansas", 6: "California", 8: "Colorado",
    9: "Connecticut", 10: "Delaware", 11: "District of Columbia", 12: "Florida", 13: "Georgia",
    15: "Hawaii", 16: "Idaho", 17: "Illinois", 18: "Indiana", 19: "Iowa", 20: "Kansas",
    21: "Kentucky", 22: "Louisiana", 23: "Maine", 24: "Maryland", 25: "Massachusetts",
    26: "Michigan", 27: "Minnesota", 28: "Mississippi", 29: "Missouri", 30: "Montana",
    31: "Nebraska", 32: "Nevada", 33: "New Hampshire", 34: "New Jersey", 35: "New Mexico",
    36: "New York", 37: "North Carolina", 38: "North Dakota", 39: "Ohio", 40: "Oklahoma",
    41: "Oregon", 42: "Pennsylvania", 44: "Rhode Island", 45: "South Carolina",
    46: "South Dakota", 47: "Tennessee", 48: "Texas", 49: "Utah", 50: "Vermont", 51: "Virginia",
    53: "Washington", 54: "West Virginia", 55: "Wisconsin", 56: "Wyoming",
}
# fmt: on


def load(*, seed: int = 0) -> Stream:
    """Load Communities and Crime: 43 tasks of 3 to 278 communities.

    States with a single community (Delaware, District of Columbia, Kansas) are dropped. Label 1
    is a rate of violent crime strictly above the median of the state's communities, so that ties
    leave a little less than half of them positive. The four race columns are not features, and
    neither are names and the columns of a police survey that most communities lack. One further
    number is missing (``OtherPerCap`` of Natchez, Mississippi) and counts as the
    column's median in the first task, as in any table.

    Args:
        seed: draws the order of the tasks.

    >>> stream = load()
    >>> stream.num_tasks, len(stream.schema.features), stream.schema.contrasts
    (43, 95, ('black_top_two=yes',))
    """
    frame = read_shipped("crime")
    not_features = {"state", "communityname", "ViolentCrimesPerPop", MISSING_AS_ZERO, *PERCENTAGES}
    answered = frame.columns[frame.notna().mean() > 0.5]
    numbers = [column for column in answered if column not in not_features]
    rate = frame["ViolentCrimesPerPop"]
    by_state = rate.groupby(frame["state"])
    people = frame[numbers].assign(
        name=frame["state"].map(STATES),
        violent=rate > by_state.transform("median"),
        black_top_two=black_top_two(frame).map({False: "no", True: "yes"}),
    )
    return people_stream(
        people[by_state.transform("size") >= 2],
        name="crime",
        task="name",
        label="violent",
        sensitive={"black_top_two": ("no", "yes")},
        seed=seed,
    )


def black_top_two(frame: "pd.DataFrame") -> "pd.Series":
    """Say where at most one of the other groups is larger than that of Black residents."""
    percentages = frame[list(PERCENTAGES)].copy()
    for column, (at_zero, slope) in PERCENTAGES.items():
        percentages[column] = at_zero + slope * percentages[column]
    larger = percentages.gt(percentages["racepctblack"], axis="index")
    return larger.sum(axis="columns") <= 1


CRIME = Dataset(
    name="crime",
    summary="Violent crime in 1,991 communities of the United States, by state",
    load=load,
    num_tasks=43,
    num_rows=1_991,
    task="state with at least two communities",
    label="violent crimes per head above the median of the state's communities",
    sensitive="Black residents are the largest or second largest of four groups",
    citation="Redmond, M. (2009). Communities and Crime. UCI Machine Learning Repository. "
    "https://doi.org/10.24432/C53W3X",
    licence="CC BY 4.0",
    shipped=True,
)
