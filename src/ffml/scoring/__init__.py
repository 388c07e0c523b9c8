"""Deciding where the data are: a model's decisions on Spark or Ray, the same as ``ffml predict``'s.

Prepare a model once, then decide wherever the rows are::

    scorer = ffml.scoring.prepare("runs/loans", people="new.parquet")
    decided = ffml.scoring.on_spark(scorer, spark.read.parquet("new.parquet"), keep=["applicant"])
    decided = ffml.scoring.on_ray(scorer, ray.data.read_parquet("new.parquet"), keep=["applicant"])
"""

from ffml.scoring._engines import on_ray, on_spark
from ffml.scoring._scorer import Scorer, prepare, score

__all__ = ["Scorer", "on_ray", "on_spark", "prepare", "score"]
