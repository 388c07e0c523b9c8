"""The model card is read back by a Markdown parser that knows nothing of how it was written."""

import hashlib
from dataclasses import replace

import pytest
from loans import ROLES, write_loans
from made_up import NASTY, RACE, SEX, Page, make_run, page_of
from markdown_it import MarkdownIt
from quick import QUICK, SMALL

from ffml.report.card import model_card_text
from ffml.wrappers import WRAPPERS

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


class Card:
    """Headings, plain text and tables as a reader sees them, and the tokens behind them."""

    def __init__(self, source):
        self.source = source
        self.tokens = PARSER.parse(self.source)
        inline = [token for token in self.tokens if token.type == "inline"]
        self.inner = [child for token in inline for child in token.children]
        self.words = "\n".join(self.shown(token) for token in inline)
        starts = [i for i, token in enumerate(self.tokens) if token.type == "heading_open"]
        self.headings = [self.shown(self.tokens[i + 1]) for i in starts]
        self.tables = []
        for i, token in enumerate(self.tokens):
            if token.type == "table_open":
                self.tables.append([])
            if token.type == "tr_open":
                self.tables[-1].append([])
            if token.type in ("th_open", "td_open"):
                self.tables[-1][-1].append(self.shown(self.tokens[i + 1]))

    @staticmethod
    def shown(token):
        return "".join(child.content for child in token.children)

    def table(self, *headers):
        [found] = [rows for rows in self.tables if set(headers) <= set(rows[0])]
        return found


def card_of(run):
    return Card(model_card_text(run))


def changed(run, **changes):
    return replace(run, config=run.config | changes)


@pytest.fixture(scope="module")
def run():
    return make_run()


def test_a_card_says_whether_decisions_were_adapted_to_labels_of_their_task(run):
    supports = [None, *range(1, len(run.rounds))]
    for support, said in (
        (supports, "after adapting to other rows"),
        ([0] * len(supports), "before any label of that task"),
    ):
        rounds = replace(run.rounds, columns={**run.rounds.columns, "n_support": support})
        card = card_of(replace(run, rounds=rounds)).words
        assert said in card and ("meant to be adapted" in card) == any(support)


def test_wrappers_are_said_in_a_sentence_each_with_their_limits(run):
    copy = changed(run, wrappers=["corrected", "evened", "of another ffml"])
    card, page = card_of(copy), "".join(page_of(copy).text)
    for text in (card.words, page):
        assert "ffml with corrected, evened and of another ffml (model mlp) learned" in text
        for name in ("corrected", "evened"):
            line = WRAPPERS[name].__doc__.splitlines()[0]
            assert f"With {name}: {line}" in text
    said = "groups of the people to be decided about are estimated from their features"
    assert said in card.words and said not in card_of(run).words


def test_the_recipe_is_shown_as_data(card, run):
    facts = "Method: ffml; Adaptation (inner): gradient; Learning (outer): pooled; Model: mlp; "
    facts += "Wrappers: corrected; inner.lr: 0.001; radius: 1e+06"
    assert all(fact in card.words for fact in facts.split("; "))
    [shown] = [dict(rows) for rows in page_of(run).tables if rows[0][0] == "Method"]
    assert "; ".join(f"{name}: {value}" for name, value in shown.items()) == facts


@pytest.fixture(scope="module")
def card(run):
    return card_of(run)


def test_sections(card):
    assert card.headings == [
        "Model card: adult: decisions, by sex",
        "Model",
        "Intended use",
        "Out of scope",
        "Training stream",
        "Method and settings",
        "Evaluation",
        "By group, all rounds pooled",
        "What could not be measured",
        "Limitations",
        "How to reproduce",
    ]


def test_no_claim(card):
    assert "is fair" not in card.words.lower() and "fair model" not in card.words.lower()
    assert "do not show that the model is free of discrimination" in card.words


def test_gaps_of_every_column_are_those_of_the_page():
    run = make_run(columns=(SEX, RACE))
    card, page = card_of(run), page_of(run)
    _, *rows = card.table("compared", "typical gap")
    _, *shown = page.table("Compared", "Typical gap")
    assert [row[0] for row in rows] == [f"{row[1]}, {row[0]}" for row in shown]
    for row, same in zip(rows, shown, strict=True):  # "1.2 (0.1 to 3.4)" and "1.20.1 to 3.4"
        assert [cell.replace(" (", "").rstrip(")") for cell in row[1:]] == same[2:]


def test_groups_and_constraints_are_those_of_the_page():
    names = [f"demographic-parity[{c}]" for c in ("sex=Male", "race=A")]
    run = make_run(columns=(SEX, RACE), names=names)
    card, page = card_of(run), page_of(run)
    shown = [table for table in page.tables if "Impact ratio" in table[0]]
    for name, (_, *same) in zip(("sex", "race"), shown, strict=True):
        [[_, *rows]] = [t for t in card.tables if t[0][0] == name]
        plain = [[cell.replace(" (", "").rstrip(")") for cell in row] for row in rows]
        assert plain == same
    _, *rows = card.table("constraint", "last λ")
    _, *shown = page.table("Constraint", "Last\xa0λ")
    assert [row[:4] for row in rows] == [row[:4] for row in shown]


def test_what_could_not_be_measured(card):
    why = "(no favourable decisions: 3 rounds; only favourable decisions: 1 round)"
    assert f"demographic parity could not be measured in 4 of 41 rounds {why}." in card.words
    assert "In 4 rounds everybody received the same decision." in card.words
    assert "rounds were judged on fewer than 30 rows" in card.words
    assert "nan" not in card.words.lower().split()


def test_everything_measured_is_said():
    run = make_run(1, undefined=(), collapsed=())
    assert "Both ratios could be measured in every round." in card_of(run).words


def test_every_setting_and_version_is_there(card):
    _, *rows = card.table("setting", "value")
    assert ["inner.lr", "0.001"] in rows and ["radius", "1e+06"] in rows
    assert "jax: 0.7.0" in card.words and "From the same data set" in card.words
    [fence] = [token for token in card.tokens if token.type == "fence"]
    assert fence.content == "ffml run adult --method ffml --max-gap 0.02\n"


def test_names_are_shown_and_do_nothing():
    nasty = NASTY + " | `code` *em* __b__ [a](http://b) ![i](j) ~~s~~ \\ <!-- &amp; # h"
    column = {"name": nasty, "groups": [nasty + "0", nasty + "1"]}
    run = make_run(5, (column,), names=(f"dp[{nasty}]",), task=nasty, undefined=(2,))
    data = run.config["data"] | {"name": nasty, "label": nasty, "citation": f"\n# {nasty}\n"}
    command = f"ffml run '{nasty}\n```\n# out'"
    settings = {nasty: nasty}
    card = card_of(changed(run, method=nasty, settings=settings, data=data, command=command))
    kinds = {token.type for token in card.tokens} | {token.type for token in card.inner}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "em_open", "s_open"}
    code = [token.content for token in card.inner if token.type == "code_inline"]
    assert code == ["ffml predict --support"]
    bold = [t for t in card.inner if t.type == "strong_open"]
    assert len(bold) == card.source.count("\n- **")
    assert (
        card.headings[0] == f"Model card: {nasty}: decisions, by {nasty}"
        and len(card.headings) == 11
    )
    assert card.words.count(nasty) > 15
    for rows in card.tables:
        assert len({len(row) for row in rows}) == 1
    shown = [row[0].removesuffix(" (highest rate)") for row in card.table("impact ratio")[1:]]
    assert sorted(shown) == [nasty + "0", nasty + "1"]
    [fence] = [token for token in card.tokens if token.type == "fence"]
    assert fence.content == command + "\n"


def test_interrupted():
    card = card_of(make_run(num_rounds=7, status="interrupted"))
    assert "The run was interrupted; this card covers the 7 rounds" in card.words


def test_a_run_on_a_table_says_where_its_rows_come_from(tmp_path, run_main):
    table = write_loans(tmp_path / "loans.csv")
    arguments = ["run", table, *ROLES, "--drop", "applicant", *QUICK, *SMALL, "--set", "rounds=2"]
    code, _, error = run_main(*arguments, "--out", tmp_path / "run")
    assert code == 0, error
    fingerprint = hashlib.sha256(table.read_bytes()).hexdigest()
    card = Card((tmp_path / "run" / "model_card.md").read_text("utf-8"))
    page = Page((tmp_path / "run" / "report.html").read_text("utf-8"))
    assert card.headings[0] == "Model card: loans: approved, by sex"
    for fact in ("Label: approved", "Task column: month", "Inputs: age, income, job"):
        assert fact in card.words
    assert "Columns left out: applicant" in card.words and "Rows left out: 0" in card.words
    assert f"data whose SHA-256 is {fingerprint}" in card.words
    assert str(tmp_path) not in card.words  # a card is handed around; a path is not of interest
    [facts] = [dict(rows) for rows in page.tables if rows[0][0] == "Name"]
    assert facts["Fingerprint (SHA-256)"] == fingerprint and facts["Path"] == str(table)
    assert facts["Name"] == "loans.csv" and facts["Input columns"] == "age, income, job"
    assert (facts["Task column"], facts["Columns left out"]) == ("month", "applicant")
    assert facts["Favourable label"] == "yes" and facts["Rows left out"] == "0"
    assert not {"Description", "Citation", "Licence"} & set(facts)
    assert "learned to predict approved = yes on loans.csv" in page.words

    (tmp_path / "run" / "model_card.md").unlink()
    code, _, error = run_main("run", "--resume", tmp_path / "run")  # what is missing is written
    assert code == 0 and (tmp_path / "run" / "model_card.md").exists()
