"""Where the time of a round goes: a trace to look at, and a table.

    python benchmarks/profile_round.py [--data adult] [--rounds N] [--out FOLDER]

Plays a few rounds of the default recipe and of ``--method ffml``. The first round, which compiles,
is shown by itself. A trace of the later ones goes to FOLDER, to be opened at ui.perfetto.dev.
"""

import argparse
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

import ffml

RECIPES = {"default": {}, "ffml": {"method": "ffml"}}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="adult")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--out", type=Path, default=Path("runs/profile"))
    arguments = parser.parse_args()
    ffml.configure()
    for name, given in RECIPES.items():
        profiled(name, arguments.data, given, arguments.rounds, arguments.out / name)


def profiled(name, data, given, rounds, folder):
    """Play rounds with a stopwatch on every part, and print what they took."""
    import jax
    from profiling.kernels import kernel_seconds

    from ffml.online.loop import step
    from ffml.recipe.build import build
    from ffml.recipe.config import configure_run

    experiment = build(configure_run(data, given))
    watch = Stopwatch()
    with watch.on(experiment.loop) as loop:
        tasks = watch.each(islice(experiment.stream.tasks(), rounds))
        state, _ = step(loop, experiment.state, next(tasks))
        compiling = watch.taken()
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0  # it would slow Python down; our parts are marked anyway
        with jax.profiler.trace(str(folder), create_perfetto_trace=True, profiler_options=options):
            watch.taken()
            for task in tasks:
                state, _ = step(loop, state, task)
            usual = watch.taken()
    show(name, data, rounds, compiling, usual)
    kernels = kernel_seconds(folder)
    if kernels.total() > 1e-3 * rounds:  # else nothing much is compiled
        print("\nWithin compiled programs, of all devices together:\n")
        print("| what | ms a round |\n| --- | --- |")
        for what, seconds in kernels.most_common():
            print(f"| {what} | {1e3 * seconds / (rounds - 1):.1f} |")
    print(f"\nTrace: {folder}")


class Stopwatch:
    """Adds up the time of named parts; what a part calls counts for what it calls."""

    def __init__(self) -> None:
        self.seconds, self._inside, self._since = Counter(), ["the rest"], time.perf_counter()

    def taken(self):
        """Return what was added up so far, and start anew."""
        self._add()
        taken, self.seconds = self.seconds, Counter()
        return taken

    def each(self, items):
        """Yield items, timed as reading."""
        iterator = iter(items)
        following = self.timed("read the task", lambda: next(iterator, None))
        while (item := following()) is not None:
            yield item

    def timed(self, name, function):
        """Return the function with a watch on it."""
        import jax

        def watched(*arguments, **named):
            self._add()
            self._inside.append(name)
            with jax.profiler.TraceAnnotation(name):
                result = jax.block_until_ready(function(*arguments, **named))
            self._add()
            self._inside.pop()
            return result

        return watched

    @contextmanager
    def on(self, loop):
        """Watch the parts of a round."""
        from ffml.online import decide, learn
        from ffml.online import loop as rounds

        parts = {
            (rounds, "decided_about"): "decide about people",
            (rounds, "judge_decisions"): "judge decisions",
            (decide, "support_batch"): "draw support rows",
            (rounds, "refuse_divergence"): "check that numbers are finite",
            (learn, "shard_tasks"): "move tasks to devices",
            (learn, "draw_tasks"): "draw tasks from memory",
            (learn, "remember"): "remember the task",
        }
        before = {place: getattr(*place) for place in parts}
        for place, name in parts.items():
            setattr(*place, self.timed(name, before[place]))
        features = loop.features
        if features is not None:
            fit = self.timed("fit what describes people", features.fit)
            describe = self.timed("describe people", features.describe)
            features = features._replace(fit=fit, describe=describe)
        watched = replace(loop, features=features)
        vars(watched)["adapt"] = self.timed("adapt to the task", loop.adapt)
        vars(watched)["update"] = self.timed("learn: update", loop.update)
        yield watched
        for place, function in before.items():
            setattr(*place, function)

    def _add(self):
        now = time.perf_counter()
        self.seconds[self._inside[-1]] += now - self._since
        self._since = now


def show(name, data, rounds, compiling, usual):
    """Print milliseconds by part."""
    total = sum(usual.values())
    print(f"\n### {name} on {data}, {rounds} rounds\n")
    print("| part | first round, ms | a later round, ms | share |\n| --- | --- | --- | --- |")
    for part, seconds in usual.most_common():
        each = 1e3 * seconds / max(rounds - 1, 1)
        print(f"| {part} | {1e3 * compiling[part]:.0f} | {each:.1f} | {seconds / total:.0%} |")
    everything = 1e3 * total / max(rounds - 1, 1)
    print(f"| all | {1e3 * sum(compiling.values()):.0f} | {everything:.1f} | 100% |")


if __name__ == "__main__":
    main()
