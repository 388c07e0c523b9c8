"""Refuse cells that cannot run before the first of them starts."""

import json
from collections.abc import Sequence
from dataclasses import replace

from ffml.recipe.build import assemble, check_config
from ffml.recipe.sources import open_stream
from ffml.studies.compare._spec import RunSpec


def check_cells(cells: Sequence[RunSpec]) -> None:
    """Open every data set once (downloading it if need be) and build every learner.

    Raises:
        FFMLError: data, an optional library or a setting is not what it must be.
    """
    streams = {}
    for config in {
        replace(c, config=replace(c.config, seed=0)).key: c.config for c in cells
    }.values():
        check_config(config)
        source = json.dumps([config.data, config.data_options], sort_keys=True, default=str)
        if source not in streams:
            streams[source] = open_stream(
                config.data,
                config.data_options,
                seed=config.seed,
            )
        assemble(config, *streams[source])
