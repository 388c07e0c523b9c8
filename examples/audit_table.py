"""Audit a table of decisions that anybody made: facts, a verdict, an alarm. Nothing is learned."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from ffml.audit import Limits, audit_decisions
from ffml.report.audit_page import write_audit_report
from ffml.tables import DecisionRoles, open_table, read_decisions

rng = np.random.default_rng(0)
months = []
for number in range(24):  # in the second year, men are invited more often by 15 points
    month = pd.DataFrame({"sex": rng.choice(["F", "M"], 400)})
    rate = 0.3 + 0.15 * ((month.sex == "M") & (number >= 12))
    month["invited"] = np.where(rng.random(400) < rate, "yes", "no")
    months.append(month.assign(month=f"{2024 + number // 12}-{number % 12 + 1:02}"))

with TemporaryDirectory() as folder:
    table = Path(folder, "decisions.csv")
    pd.concat(months).to_csv(table, index=False)
    roles = DecisionRoles(decision="invited", positive="yes", sensitive=("sex",), time="month")
    audit = audit_decisions(read_decisions(open_table(table), roles), Limits(max_gap=0.05))
    for finding in audit.findings:
        print(f"{finding.answer}: {finding.words}")
    write_audit_report(audit, Path(sys.argv[1]).parent if sys.argv[1:] else Path(folder))
