"""What the benchmark prints: medians, ratios to ours, FLOPs and memory."""

import statistics
from typing import Any

from outer.shapes import Contender, Shape


def rows_of(
    contenders: list[Contender],
    seconds: dict[Any, list[float]],
    memory: list[float | None],
    rates: dict[str, float],
) -> list[dict[str, Any]]:
    """Put together what is known of each contender.

    A ratio is the median of the ratios of one turn each: contenders of a turn met the same machine.
    What others are compared with is the paper's recipe on as many devices, or else on all.
    """
    ours = {label: i for i, label in enumerate(rates)}  # the paper's recipe comes first
    rows = []
    for i, one in enumerate(contenders):
        base = ours.get(one.devices, len(ours) - 1)
        ratios = [own / other for own, other in zip(seconds[i], seconds[base], strict=True)]
        median = statistics.median(seconds[i])
        rate = rates.get(one.devices)
        share = one.flops / median / rate if one.flops and rate else None
        rows.append(
            {
                "name": one.name,
                "devices": one.devices,
                "milliseconds": 1e3 * median,
                "fastest_milliseconds": 1e3 * min(seconds[i]),
                "times_ours": statistics.median(ratios),
                "gigaflop": one.flops and one.flops / 1e9,
                "share_of_matrix_rate": share,
                "megabytes": None if memory[i] is None else memory[i] / 2**20,
            }
        )
    return rows


def show(
    shape: Shape, rows: list[dict[str, Any]], rates: dict[str, float], missing: list[str]
) -> None:
    """Print the table of one shape in Markdown."""
    print(
        f"\n### {shape.name}: {shape.tasks} tasks, {shape.features} features, {shape.shots} + "
        f"{shape.shots} rows a class, {shape.steps} inner steps\n"
    )
    print("| contender | on | ms (fastest) | times ours | GFLOP | of matrix rate | MB |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        print(
            f"| {row['name']} | {row['devices']} | {row['milliseconds']:.1f} "
            f"({row['fastest_milliseconds']:.1f}) | {row['times_ours']:.2f} | "
            f"{_number(row['gigaflop'], '.2f')} | {_number(row['share_of_matrix_rate'], '.0%')} | "
            f"{_number(row['megabytes'], '.0f')} |"
        )
    for name in missing:
        print(f"| {name} | not installed: pip install 'ffml[bench]' | | | | | |")
    for label, rate in rates.items():
        print(f"\nSmall matrix products of these shapes, {label}: {rate / 1e9:.0f} GFLOP/s")


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
