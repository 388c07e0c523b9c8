"""The paper's tables and figures: what they need, what they show, and what they say they are."""

import html
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from playing import Player

from ffml.base import FFMLError
from ffml.online.state import Round
from ffml.recipe.build import build, check_config
from ffml.recipe.config import configure_run
from ffml.recipe.recipes import Recipe
from ffml.research.reproduce import ITEMS, QUICK, Reproduction, Setting, duration
from ffml.research.reproduce._figures import LOOKS, MAX_DBC, MAX_LOSS, by_round, needed
from ffml.research.reproduce._paper import DATA, LABELS, SYMBOLS, TABLE_2, TABLE_3
from ffml.research.reproduce._paper_tables import end_task, end_task_table, rescaled
from ffml.studies.cells import Store, packed_cell
from ffml.studies.compare import plan, run_cells
from ffml.studies.efficiency import SUPPORT_SIZES, Point
from ffml.studies.play import compute
from ffml.studies.text_tables import Best

NAN = float("nan")


# -- settings ------------------------------------------------------------------------------------


def test_only_the_paper_setting_says_nothing():
    full = Setting()
    assert full.note == full.suffix == "" and full.all_seeds == tuple(range(10))
    assert full.shares == (0.9, 0.3) and full.iterations_of("crime") == 3500
    assert "quick setting: 2 of 10 repeats, 20 iterations a round instead of 3,000 to 3,500" in (
        QUICK.note
    )
    assert QUICK.note.endswith("not comparable with the paper") and QUICK.suffix == "-quick"
    reduced = Setting(seeds=(0, 1, 2), rounds=5)
    assert reduced.suffix == "-reduced"
    assert reduced.note == (
        "reduced setting: 3 of 10 repeats, the first 5 tasks of a stream; not comparable with the "
        "paper"
    )
    clean = Setting("clean")
    assert clean.suffix == "-clean" and clean.note.startswith("clean protocol: no synthetic rows")
    assert clean.shares == (0.5,) and replace(QUICK, protocol="clean").suffix == "-clean-quick"


def test_settings_that_cannot_work():
    with pytest.raises(FFMLError, match="unknown protocol 'papr'; did you mean 'paper'"):
        Setting("papr")
    with pytest.raises(FFMLError, match="tolerance must be > 0, got 0"):
        Setting(tolerance=0.0)
    for name in ("iterations", "rounds"):
        with pytest.raises(FFMLError, match=f"{name} must be >= 1, got 0"):
            Setting(**{name: 0})


def test_runs_follow_the_paper():
    cells = Setting().cells(["adult"], list(LABELS))
    assert [cell.label for cell in cells[::10]] == list(LABELS.values())
    given = {"augment_to": 2500, "validation_fraction": 0.9, "seed": 9}
    assert cells[-1].config == configure_run("adult", given, "paper")
    by_label = {cell.label: cell.config.settings for cell in cells}
    for label in ("FFML", "m-FTML"):
        assert by_label[label]["num_outer_steps"] == 3000 and by_label[label]["outer_lr"] == 0.1
    for label in ("TWP", "OGDLC", "AdpOLC", "GenOLC"):
        assert by_label[label]["num_steps"] == 3000
    assert by_label["TWP"]["lr"] == by_label["OGDLC"]["lr"] == by_label["GenOLC"]["lr"] == 0.1
    assert {s["model"] for s in by_label.values()} == {"mlp"}
    assert {s["notions"] for s in by_label.values()} == {("dbc",)}


def test_a_tolerance_is_for_those_that_learn_from_memory_and_is_said():
    setting = Setting(tolerance=0.01)
    assert "reduced setting: rounds end once they have settled within 1 %" in setting.note
    stops = {
        cell.label: cell.config.settings.get("stop")
        for cell in setting.cells(["adult"], list(LABELS))
    }
    assert {label for label, stop in stops.items() if stop == "settled"} == {"FFML", "m-FTML"}
    assert {stop for label, stop in stops.items()} == {"settled", None}
    for cell in setting.cells(["adult"], ["ffml"]):
        assert cell.config.settings["stop.tolerance"] == 0.01
        assert cell.config.settings["num_outer_steps"] == 3000
        check_config(cell.config)


def test_the_quick_setting_does_less_of_everything():
    for cell in QUICK.cells(DATA, list(LABELS), shares=QUICK.shares):
        settings = cell.config.settings
        steps = settings.get("num_outer_steps", settings.get("num_steps"))
        assert (steps, settings["rounds"], settings["model"]) == (20, 20, "linear")
        assert cell.config.seed in (0, 1) and cell.config.augment_to == 2500
        check_config(cell.config)  # whatever the package's defaults come to be


def test_the_clean_protocol_runs_what_compare_runs():
    ours = Setting("clean").cells(DATA, list(LABELS))
    assert {c.key for c in ours} == {c.key for c in plan(DATA, list(LABELS), protocol="clean")}


# -- items ---------------------------------------------------------------------------------------


def test_items_and_what_they_cost():
    runs = {name: len(item.cells(QUICK)) for name, item in ITEMS.items()}
    assert runs == {
        "table2": 36,
        "figure2": 72,
        "figure3": 72,
        "figure4": 36,
        "figure5": 8,
        "figure6": 8,
        "figure7": 16,
        "table3": 0,
    }
    assert len(Reproduction([], QUICK, Path("nowhere")).cells) == 96
    assert len(Reproduction([], Setting(), Path("nowhere")).cells) == 480


@pytest.mark.parametrize("setting", [Setting(), QUICK], ids=["paper", "quick"])
def test_items_share_runs(setting):
    """FFML as it is stands in every figure; it is run once."""
    all_methods = {cell.key for cell in ITEMS["table2"].cells(setting)}
    for name, label in (("figure5", "FFML"), ("figure7", "FFML"), ("figure6", "|U| = 32")):
        whole = [cell for cell in ITEMS[name].cells(setting) if cell.label == label]
        assert whole and {cell.key for cell in whole} <= all_methods
    assert all_methods < {cell.key for cell in ITEMS["figure2"].cells(setting)}


@pytest.mark.parametrize("setting", [Setting(), QUICK], ids=["paper", "quick"])
def test_ablations_leave_out_what_their_names_say(setting):
    cells = {cell.label: cell for cell in ITEMS["figure5"].cells(setting)}
    whole = cells.pop("FFML").config.settings
    changed = {}
    for label, cell in cells.items():
        check_config(cell.config)
        settings = cell.config.settings
        changed[label] = {n: v for n, v in settings.items() if v != whole.get(n)}
    assert changed["without inner constraints"] == {"inner": "gradient"}
    assert changed["without augmented term"] == {"damping": 0.0}
    both = changed["without augmented term and outer constraints"]
    assert {"damping": 0.0, "outer": "loss-only"}.items() <= both.items()
    assert set(both) <= {"damping", "outer", "outer.by_size", "wrappers"}


def test_every_line_has_a_look_of_its_own():
    for name, item in ITEMS.items():
        labels = {cell.label for cell in item.cells(QUICK)}
        assert labels <= set(LOOKS), name
        assert len({LOOKS[label].colour for label in labels}) == len(labels)


# -- the paper's numbers -------------------------------------------------------------------------


def test_values_of_the_paper():
    for data in DATA:
        assert set(TABLE_2[data]) == {"dp", "eo", "disc", "accuracy"}
        assert {len(values) for values in TABLE_2[data].values()} == {len(LABELS)}
        assert max(TABLE_2[data]["dp"]) == TABLE_2[data]["dp"][-1]  # FFML, in bold there
        assert max(TABLE_2[data]["eo"]) == TABLE_2[data]["eo"][-1]
    best = {d: list(LABELS)[int(np.argmax(TABLE_2[d]["accuracy"]))] for d in DATA}
    assert best == {"bank": "gen-olc", "adult": "m-ftml", "crime": "ffml"}
    assert TABLE_2["crime"]["disc"] == (0.23, 0.78, 0.25, 0.31, 0.15, 0.17)


def test_every_method_has_paper_settings_of_its_own():
    for method in ("twp", "ogdlc", "gen-olc", "adp-olc"):
        settings = configure_run("crime", {"method": method}, "paper").settings
        assert settings["num_steps"] == 3500
        assert settings.get("lr", 0.05) == 0.05
        assert settings.get("damping") == Recipe(method).values().get("damping")  # not FFML's δ
    settings = configure_run("crime", {"method": "m-ftml"}, "paper").settings
    assert (settings["num_outer_steps"], settings["outer_lr"]) == (3500, 0.05)


def test_the_paper_preset_is_table_3():
    for data in DATA:
        settings = configure_run(data, {}, "paper").settings
        assert tuple(settings[name] for name in SYMBOLS) == TABLE_3[data]


# -- numbers from rounds -------------------------------------------------------------------------


def frame_of(values, metric="dp", data="adult", label="FFML", validation=0.9):
    """``values[seed][t]`` is the metric of round t + 1."""
    return pd.DataFrame(
        {
            "label": label,
            "data": data,
            "validation": validation,
            "seed": seed,
            "round": t,
            "rounds": len(row),
            "n_validation": 100,
            "seconds": 0.1,
            metric: value,
        }
        for seed, row in enumerate(values)
        for t, value in enumerate(row, start=1)
    )


def test_mean_and_standard_error_by_round():
    table = by_round(frame_of([[0.2, NAN], [0.4, NAN], [0.9, 0.7]]), ["dp"])
    first, second = table.to_dict("records")
    assert first["mean"] == pytest.approx(0.5) and first["repeats"] == 3
    deviation = math.sqrt((0.3**2 + 0.1**2 + 0.4**2) / 2)
    assert first["standard_error"] == pytest.approx(deviation / math.sqrt(3))
    assert second["mean"] == 0.7 and second["repeats"] == 1
    assert math.isnan(second["standard_error"])


def test_rescaling_by_hand():
    lines = pd.DataFrame({"label": list("abc"), "mean": [0.2, 0.5, 0.1], "std": [0.1, 0.0, NAN]})
    found = rescaled(lines)
    assert found["mean"].tolist() == pytest.approx([0.4, 1.0, 0.2])
    assert found["std"].tolist() == pytest.approx([0.2, 0.0, NAN], nan_ok=True)
    assert lines["mean"].tolist() == [0.2, 0.5, 0.1] and set(found["metric"]) == {"disc_rescaled"}
    nobody = rescaled(lines.assign(mean=0.0))
    assert nobody["mean"].tolist() == [0.0, 0.0, 0.0]
    undefined = rescaled(lines.assign(mean=NAN))
    assert undefined["mean"].isna().all()


def end_frame(data="bank"):
    """All methods, three repeats of two rounds; method i has DP 0.1 i in the end."""
    frames = []
    for i, label in enumerate(LABELS.values()):
        values = [[9.0, 0.1 * i + d] for d in (-0.01, 0.0, 0.01)]
        frame = frame_of(values, "dp", data, label)
        last = frame["round"] == 2
        frame["eo"] = np.where(last & (frame["seed"] > 0), 0.5, NAN) if i else NAN
        frame["disc"] = np.where(last, 0.1 + 0.05 * i, 9.0)
        frame["accuracy"] = np.where(last, 0.8 - 0.01 * i, 0.0)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def test_end_task_is_the_last_round():
    table = end_task(end_frame()).set_index(["metric", "label"])
    ffml = table.loc[("dp", "FFML")]
    assert ffml["mean"] == pytest.approx(0.5) and ffml["std"] == pytest.approx(0.01)
    assert (ffml["paper"], ffml["repeats"]) == (0.97, 3) and ffml["best"]
    assert table.loc[("accuracy", "TWP"), "mean"] == pytest.approx(80.0)
    assert table.loc[("accuracy", "TWP"), "best"] and table.loc[("disc", "TWP"), "best"]
    assert table.loc[("disc", "FFML"), "mean"] == pytest.approx(0.35)
    assert math.isnan(table.loc[("disc", "FFML"), "paper"])  # the paper's is rescaled
    assert table.loc[("disc_rescaled", "FFML"), "mean"] == 1.0
    assert table.loc[("disc_rescaled", "TWP"), "mean"] == pytest.approx(0.1 / 0.35)
    assert table.loc[("disc_rescaled", "FFML"), "paper"] == 0.07
    assert table.groupby("metric")["best"].sum().to_dict() == {
        "dp": 1,
        "eo": 5,  # a tie
        "disc": 1,
        "disc_rescaled": 1,
        "accuracy": 1,
    }


def test_table_2_as_people_read_it():
    made = end_task_table(Setting(), end_frame())
    [table] = made.tables
    assert list(table.header) == ["metric", "", *LABELS.values()]
    lines = {(line[0], line[1]): line[2:] for line in table.lines}
    assert lines["DP ↑", "paper"] == [f"{value:.2f}" for value in TABLE_2["bank"]["dp"]]
    best = lines["DP ↑", "here"][-1]
    assert best == "0.50 ± 0.01" and isinstance(best, Best)
    assert lines["EO ↑", "here"][0] == "–"  # undefined is neither 0 nor 1
    assert lines["EO ↑", "here"][1] == "0.50 ± 0.00 (2)"  # in two repeats of three
    assert ("Disc ↓", "paper") not in lines and ("Disc ↓, rescaled", "paper") in lines
    assert lines["DP ↑", "is"][-1] == "lower (-47.0 sd)"  # 0.50 ± 0.01 beside 0.97
    assert lines["EO ↑", "is"][:2] == ["–", "–"]  # undefined; no spread
    assert isinstance(lines["accuracy, % ↑", "here"][0], Best)
    assert lines["accuracy, % ↑", "here"][0] == "80.0 ± 0.0"
    assert "are not targets" in made.caption and "random term" in made.caption


def curve_frame(points, seed=0, round_=1):
    frame = pd.DataFrame(points, columns=list(Point._fields))
    place = {"label": "FFML", "data": "bank", "validation": 0.9, "seed": seed, "round": round_}
    return pd.DataFrame(place, index=frame.index).join(frame)


def test_rows_needed_of_every_round():
    reached = [(0, 9.0, 0.0), (10, MAX_LOSS, -MAX_DBC), (20, 0.0, 0.0)]
    never = [(0, 9.0, 0.0), (10, 0.0, 2 * MAX_DBC)]
    unknown = [(0, 0.0, NAN), (10, 0.0, NAN)]
    frame = pd.concat(
        [curve_frame(reached), curve_frame(never, 1), curve_frame(unknown, 2)], ignore_index=True
    )
    table = needed(frame)
    assert table["seed"].tolist() == [0, 1]
    assert table["rows"].tolist() == pytest.approx([10, NAN], nan_ok=True)


# -- learning curves -----------------------------------------------------------------------------

TINY = {
    "rounds": 3,
    "shots": 4,
    "tasks_per_round": 2,
    "rows_per_task": 32,
    "num_steps": 2,
}


def tiny_cells(seeds=(0,)):
    options = {"synthetic": {"num_tasks": 3, "rows_per_task": (30, 40)}}
    return plan(["synthetic"], ["twp"], seeds=seeds, settings=TINY, data_options=options)


def test_a_measured_run_is_the_run_itself(tmp_path):
    [cell] = tiny_cells()
    measured, store, plain = (
        replace(cell, sizes=(0, 5)),
        Store(tmp_path / "a"),
        Store(tmp_path / "b"),
    )
    plain.save(cell, *compute(cell, lambda *at: None))
    assert plain.finished(cell) and not plain.finished(measured)
    events = []
    bad = replace(measured, label="broken", config=replace(cell.config, data_options={"x": 1}))
    with pytest.raises(FFMLError, match="1 of 2 runs failed, the others are kept: broken on"):
        run_cells([bad, cell, measured], store, workers=1, tell=lambda *e: events.append(e[0]))
    assert sorted(events) == ["failed", "finished", *["said"] * 3, *["started"] * 2]
    assert run_cells([cell, measured], store, workers=1) == []  # nothing is computed again
    frames = [kept.load([cell]).drop(columns="seconds") for kept in (store, plain)]
    pd.testing.assert_frame_equal(*frames)
    assert store.seconds([measured]) > store.seconds([cell]) > 0
    frame = store.load_curves([measured])
    assert list(frame) == [*cell.place, "round", *Point._fields]
    assert frame["round"].tolist() == [1, 1, 2, 2, 3, 3] and frame["loss"].notna().all()
    assert not store.finished(replace(cell, sizes=(0, 1)))
    assert not store.finished(replace(tiny_cells([1])[0], sizes=(0, 5)))
    path = store.path(cell)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FFMLError, match="no results of twp on synthetic, seed 0; run that cell"):
        store.load_curves([measured])


# -- everything together -------------------------------------------------------------------------


def stub_rounds(cell, count):
    """Rounds that look as if they had been played."""
    rng = np.random.default_rng([cell.config.seed, len(cell.label)])
    names = ("dp", "eo", "disc", "accuracy", "balanced_accuracy", "loss", "dbc")
    nothing = np.zeros(1)
    return [
        Round(
            round=t,
            task=f"task {t}",
            n_rows=2500,
            n_support=200,
            n_validation=8,
            metrics={name: rng.uniform(0.3, 1) if t != 2 else NAN for name in names},
            undefined={},
            tables={"sex": np.ones((2, 2, 2), int)},  # of the 8
            constraint=nothing,
            reliability=np.zeros((10, 3)),
            multipliers=nothing,
            violation=nothing,
            clipped_violation=nothing,
            iterations=20,
            seconds=1.0,
        )
        for t in range(1, count + 1)
    ]


def stub(made, count):
    """Fill the stores of a reproduction with made-up results."""
    experiment = SimpleNamespace(
        problem=SimpleNamespace(constraint_names=("parity",)),
        loop=SimpleNamespace(schema=SimpleNamespace(sensitive=())),
    )
    curve = [Point(n, 1 - 0.01 * n, 0.5 - 0.01 * n) for n in SUPPORT_SIZES[:6]]
    for cell in made.cells:
        curves = [curve] * count if cell.sizes else []
        rounds = stub_rounds(cell, count)
        made.runs.save(cell, packed_cell(cell, experiment, rounds, 60.0, curves, 6.0))


def texts(figure):
    return " ".join(text.get_text() for text in figure.texts)


MADE = ("table2", "figure2", "figure4", "figure5", "table3")  # the others are made alike


def test_items_from_stored_results(tmp_path, run_main, monkeypatch):
    setting = replace(QUICK, rounds=3)
    made = Reproduction(MADE, setting, tmp_path / "reproduce")
    stub(made, 3)
    drawn = {}
    monkeypatch.setattr(
        "ffml.research.reproduce._run.write_item", _spying(drawn)
    )  # a figure's words are looked up before they are wrapped
    code, out, err = run_main("reproduce", *MADE, "--quick", "--rounds", "3", "--json")
    assert code == 0, err
    assert "all 78 runs are finished already; nothing is computed again" in err
    records, folder = json.loads(out), made.folder
    assert [record["item"] for record in records] == list(MADE)
    expected = {f"{n}-quick.{kind}" for n in MADE for kind in ("csv", "json")}
    expected |= {f"figure{i}-quick.{kind}" for i in (2, 4, 5) for kind in ("svg", "png")}
    expected |= {"table2-quick.md", "table3-quick.md", "index.html", "cells"}
    assert {path.name for path in folder.iterdir()} == expected
    note = setting.note
    assert note.startswith("quick setting") and note.endswith("not comparable with the paper")
    for record in records:
        stem = f"{record['item']}-quick"
        assert json.loads((folder / f"{stem}.json").read_text()) == record
        assert record["note"] == record["setting"]["note"] == note
        numbers = pd.read_csv(folder / f"{stem}.csv")
        assert set(numbers["setting"]) == {note} and len(numbers)
        if record["item"].startswith("figure"):
            assert note in " ".join(texts(drawn[record["item"]]).split())
            assert note in html.unescape((folder / f"{stem}.svg").read_text())
            assert note.encode() in (folder / f"{stem}.png").read_bytes()[:2000]
        else:
            assert note[1:] in (folder / f"{stem}.md").read_text()
    assert records[0]["runs"] == 36 and records[0]["time"] == "36 min"
    assert records[2]["run_seconds"] == 36 * 66  # the runs and their curves
    page = (folder / "index.html").read_text()
    assert page.count("ot comparable with the paper") >= 2 + len(MADE)  # banner, title, each item
    assert page.count("data:image/svg+xml;base64,") == 3 and 'src="http' not in page
    for value in ("0.97", "59.57", "are not targets", "seeds 0, 1", "ffml reproduce table2"):
        assert value in page


def _spying(drawn):
    from ffml.research.reproduce._made import write_item

    def write(folder, stem, made, facts):
        drawn[facts["item"]] = made.figure
        return write_item(folder, stem, made, facts)

    return write


def test_the_page_collects_what_was_made_with_one_setting(tmp_path, run_main):
    code, _, _ = run_main("reproduce", "table3", "--quick", "-q")
    assert code == 0
    page = Path("reproduce/index.html")
    assert "Table 3" in page.read_text() and "Table 2:" not in page.read_text()
    setting = replace(QUICK, seeds=(0,), rounds=2)
    stub(Reproduction(["table2"], setting, Path("reproduce")), 2)
    words = ("--quick", "--seeds", "0", "--rounds", "2")
    code, out, _ = run_main("reproduce", "table2", *words)
    assert code == 0 and "Made table2" in out
    assert "Table 2:" in page.read_text() and "Table 3" not in page.read_text()
    assert run_main("reproduce", "table3", *words)[0] == 0
    assert "Table 2:" in page.read_text() and "Table 3" in page.read_text()
    assert run_main("reproduce", "table3", "-q")[0] == 0  # the paper's setting
    assert "not comparable" not in page.read_text()
    assert Path("reproduce/table3.md").exists() and Path("reproduce/table3-quick.md").exists()
    assert set(pd.read_csv("reproduce/table3.csv")["setting"]) == {"as in the paper"}


def test_list(run_main, tmp_path):
    code, out, _ = run_main("reproduce", "--list")
    assert code == 0 and all(name in out for name in ITEMS)
    assert "together they need 480" in out and not list(tmp_path.iterdir())
    _, out, _ = run_main("reproduce", "figure5", "--list", "--json", "--quick")
    assert json.loads(out) == [{"item": "figure5", "what": ITEMS["figure5"].title, "runs": 8}]


def test_interrupted(run_main, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("ffml.studies.play.run_cells", interrupt)
    code, out, _ = run_main("reproduce", "figure7", "--quick")
    assert code == 130
    said = re.sub(r"\s+", " ", out)
    assert "interrupted; 0 of 16 runs are finished" in said and "with the same command" in said
    assert not Path("reproduce/index.html").exists()


BAD = [
    (["table9"], "unknown item 'table9'; did you mean 'table3'? Known: table2, figure2, figure3"),
    (["figures"], "Known: table2, figure2, figure3, figure4, figure5, figure6, figure7, table3"),
    (["--protocol", "papr"], "unknown protocol 'papr'; did you mean 'paper'?"),
    (["--seeds", "4-0"], "--seeds takes seeds such as 0-4 or 0,1,2, got '4-0'"),
    (["--iterations", "0"], "iterations must be >= 1, got 0"),
    (["--rounds", "-1"], "rounds must be >= 1, got -1"),
    (["--jobs", "0"], "--jobs must be >= 1, got 0"),
    (["--out", "file"], "file is a file, not a folder; choose another --out"),
    (["--nonsense"], "No such option: --nonsense"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_mistakes_are_one_line_with_code_two_and_leave_nothing(arguments, message, refuses):
    refuses(message, "reproduce", *arguments)


def test_damaged_data_are_refused_before_anything_runs(refuses, monkeypatch):
    monkeypatch.setenv("FFML_DATA_HOME", "corrupt")
    refuses("bank-additional-full.csv is damaged", "reproduce", "figure5")


def test_times_as_people_say_them():
    assert [duration(s) for s in (0, 89, 90, 5399, 5400, 360000)] == [
        "0 s",
        "89 s",
        "2 min",
        "90 min",
        "1.5 h",
        "100.0 h",
    ]


# -- runs that are kept as text --------------------------------------------------------------------

KEPT = Path(__file__).parents[2] / "benchmarks" / "table2"


def test_a_kept_run_is_taken_and_not_computed_again(tmp_path, run_main, monkeypatch):
    setting = Setting(seeds=(0,), iterations=1, rounds=2)
    words = ("reproduce", "figure5", "--seeds", "0", "--iterations", "1", "--rounds", "2")
    words += ("--kept", "kept", "--json")
    first = Reproduction(["figure5"], setting, Path("first"), Path("kept"))
    experiment = build(tiny_cells()[0].config)
    rounds = Player.of(experiment).play(experiment.stream.tasks())
    for cell in first.cells:
        first.runs.save(cell, packed_cell(cell, experiment, rounds, 60.0))
    first.exchange()
    files = {path.name: path.read_bytes() for path in Path("kept").iterdir()}
    assert len(files) == 4 and max(map(len, files.values())) < 6000
    monkeypatch.setattr("ffml.studies.play.compute", None)  # nothing is left to compute
    code, out, err = run_main(*words, "--out", "second")
    assert code == 0 and "all 4 runs are finished already" in err, err
    assert {path.name: path.read_bytes() for path in Path("kept").iterdir()} == files
    second = Reproduction(["figure5"], setting, Path("second"))
    frames = [made.runs.load(made.cells).drop(columns="n_rows") for made in (first, second)]
    pd.testing.assert_frame_equal(*frames, check_like=True)
    assert json.loads(out)[0]["run_seconds"] == 240


def test_what_is_finished_is_shown_with_what_is_missing(tmp_path, run_main, monkeypatch):
    words = ("reproduce", "table2", "figure5", "--quick", "--seeds", "0", "--rounds", "2")
    setting = replace(QUICK, seeds=(0,), rounds=2)
    code, _, err = run_main(*words, "--finished")
    assert code == 2 and "no run of these items is finished yet; leave out --finished" in err
    some = Reproduction(["table2"], setting, Path("reproduce"))
    some.cells = [c for c in some.cells if c.label == "TWP" or c.config.data == "crime"]
    stub(some, 2)
    monkeypatch.setattr("ffml.studies.play.compute", None)  # nothing is computed
    code, out, err = run_main(*words, "--finished")
    assert code == 0 and "Made table2 in" in out, err  # of figure 5 nothing is finished
    page = Path("reproduce/table2-quick.md").read_text()
    assert "| accuracy, % ↑ | paper | 52.14 | 53.69 |" in page  # though nothing ran for it
    assert "nan" not in page
    assert "10 of 18 runs are missing: m-FTML on bank (1), OGDLC on bank (1)," in page
    assert "on crime (" not in page
    assert json.loads(Path("reproduce/table2-quick.json").read_text())["runs"] == 8


def test_the_runs_that_the_repository_keeps_are_those_it_asks_for():
    """If a setting got another name or default on purpose, write it into the files as well."""
    settings = [Setting(seeds=(0, 1, 2), tolerance=tolerance) for tolerance in (0.01, None)]
    items = [ITEMS[name] for name in ("table2", "figure5", "figure6")]
    cells = [cell for setting in settings for item in items for cell in item.cells(setting)]
    asked = [cell.description for cell in cells]
    for path in KEPT.glob("*.json"):
        run = json.loads(path.read_text(encoding="utf-8"))
        assert run["run"] in asked, path.name
        assert len(run["tasks"]) == len(run["counts"][0]) == len(run["by_round"]["loss"])
