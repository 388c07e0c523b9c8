"""The page says what the run says, to who may read it, and nothing of the data becomes markup."""

import asyncio
import datetime
import html
import json
import logging
import socket
import sqlite3
from collections import Counter
from contextlib import closing
from html.parser import HTMLParser
from importlib import resources
from urllib.parse import urlsplit

import numpy as np
import pytest
from hostile import HOSTILE, hostile_run
from lives import ask, begun, labels, live, unlabelled
from loaned import serving
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

import ffml
from ffml.service import _page
from ffml.service._look import NOBODY
from ffml.service._page import FILES, MOST_STREAMS, TEMPLATES
from ffml.service.app import create_app
from ffml.service.tokens import make_token
from ffml.store import Away, Store
from ffml.store.copying import copy_ledger

PARTS = "/runs/loans/page/parts"


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page") / "loans"
    run = live(folder)
    run.update(unlabelled(5, 40))  # labels that have not come
    run.close()
    return folder


@pytest.fixture
def folder(first, tmp_path):
    copy_ledger(first, tmp_path / "loans")
    return tmp_path / "loans"


@pytest.fixture
def client(folder):
    with TestClient(create_app({"loans": str(folder)}), "http://localhost") as client:
        yield client


class Read(HTMLParser):
    """Tags, attributes, and the texts of all elements."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        if data.strip():
            self.texts.append(data.strip())


# -- what it says ------------------------------------------------------------------------------


def test_the_answer_is_the_run_s_own_and_comes_first(folder, client):
    texts = Read(client.get(PARTS).text).texts
    run = ffml.open(folder, write=False)
    sentences = str(run.answer).splitlines()
    assert texts[: len(sentences) + 2] == [
        *(run.answer["notions"][0]["verdict"], "Asked for: demographic parity within 5 points"),
        *sentences,
    ]
    card = Read(client.get("/page/runs").text).texts
    assert card[:2] == ["loans", texts[0]] and sentences[0] in card
    run.close()


def test_numbers_are_those_of_plain_sql(folder, client):
    text = client.get(PARTS).text
    texts = Read(text).texts
    [(people, chosen, waiting)] = ask(
        folder,
        "select count(*), avg(decision), sum(label is null) from people where decision is not null",
    )
    tiles = {label: texts[i - 1] for i, label in enumerate(texts)}
    assert tiles["people decided so far"] == f"{people:,}"
    assert tiles["were decided 'paid'"] == f"{100 * chosen:.1f} of 100"
    assert tiles["labels have not come yet"] == f"{waiting:,}"
    rates = dict(
        ask(
            folder,
            "select groups, avg(unpriced) from people where decision is not null group by groups",
        )
    ).values()
    apart = f"{100 * (max(rates) - min(rates)):.1f} points"
    assert tiles["apart by sex, if nothing were asked"] == apart
    row = f'<tr><th scope="row">2024-05</th><td>40</td><td>{waiting}</td><td>less than a day</td>'
    assert row in text
    newest = ask(
        folder,
        "select r.task, d.id, d.version from decisions d join rounds r on r.round = d.round "
        "where d.decision is not null order by d.seq desc limit 12",
    )
    for task, id, version in newest:
        assert f"<td>{task}</td><td>{id}</td>" in text and f"<td>{version}</td>" in text
    changes = ask(folder, "select v.number, e.at from versions v join events e on e.seq = v.event")
    for number, at in changes:
        assert f'<th scope="row">{number}</th>' in text
        assert f'<td class="time">{at[:19].replace("T", " ")}</td>' in text


def test_a_period_shows_its_own_rates_and_leaves_answer_and_evidence(folder, client):
    whole, part = (client.get(PARTS + asked).text for asked in ("", "?start=2024-03&end=2024-04"))
    rates = dict(
        ask(
            folder,
            "select groups, avg(decision) from people where decision is not null "
            "and task in ('2024-03', 'counter', '2024-04') group by groups",
        )
    )
    said = next(t for t in Read(part).texts if "in this part" in t)
    for groups, rate in rates.items():
        assert f"{100 * rate:.1f} of 100 {json.loads(groups)['sex']}" in said
    assert Read(whole).texts[:7] == Read(part).texts[:7]
    assert evidence(part) == {task: evidence(whole)[task] for task in evidence(part)}
    assert [*evidence(part)] == ["2024-03", "counter", "2024-04"]
    swapped = client.get(PARTS + "?start=2024-04&end=2024-03")
    assert evidence(swapped.text) == evidence(part)
    for bad in ("start=2024-77", "end=x", "shoe=3"):
        assert client.get(f"{PARTS}?{bad}").status_code == 400


def test_decisions_by_day_and_how_late_labels_came(folder, client):
    with closing(sqlite3.connect(folder / "run.db")) as raw, raw:
        raw.execute("update events set at = '2026-05-' || (10 + seq) || 'T08:00:00.000000+00:00'")
    text = client.get(PARTS).text
    [(newest,)] = ask(folder, "select min(at) from people where task = '2024-05'")
    age = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(newest)
    assert f"<td>{age.days:,} days</td>" in text
    figure = text.partition('id="chart-days"')[2].partition("</figure>")[0]
    cells = Read(figure.partition("<tbody>")[2]).texts
    days = dict(zip(cells[::3], zip(cells[1::3], cells[2::3], strict=True), strict=True))
    counted = ask(
        folder,
        "select substr(at, 1, 10), count(*), sum(decision) from people where decision is not null "
        "group by 1",
    )
    assert {day: (str(n), str(chosen)) for day, n, chosen in counted}.items() <= days.items()
    assert {both for day, both in days.items() if day not in dict(r[:2] for r in counted)} == (
        {("0", "0")}
    )
    events = "join events a on a.seq = d.event join events b on b.seq = l.event"
    late = ask(
        folder,
        f"select b.seq - a.seq from labels l join decisions d on d.seq = l.decision {events}",
    )
    middle = float(np.median([days for (days,) in late]))
    assert f"Half of the newest {len(late)} labels that came later took {middle:.1f} days" in text


def evidence(text):
    """Return the evidence by task, from the table below its chart."""
    figure = text.partition('id="chart-evidence-0"')[2].partition("</figure>")[0]
    cells = Read(figure.partition("<tbody>")[2]).texts
    return dict(zip(cells[::2], cells[1::2], strict=True))


def test_a_run_before_its_first_task_is_listed(tmp_path, monkeypatch, client):
    monkeypatch.setattr(Store, "tasks", lambda self: [])
    assert NOBODY in client.get("/page/runs").text
    reply = client.get(PARTS)
    assert (reply.status_code, reply.json()["error"]) == (400, NOBODY)


def test_people_without_a_known_group_are_named(folder, client):
    client.post("/runs/loans/decide", json={"person": {"person": "x", "income": 50.0}})
    said = [
        text for text in Read(client.get(PARTS).text).texts if "who are in no rate by it" in text
    ]
    assert len(said) == 1 and "the sex of 1 person" in said[0]


def test_a_run_that_begins_has_a_page_too(tmp_path):
    begun(tmp_path / "loans").close()
    with TestClient(create_app({"loans": str(tmp_path / "loans")}), "http://localhost") as client:
        text = client.get(PARTS).text
        assert "All labels are there." in html.unescape(text)
        assert "No label has come later than its decision." in text


# -- to whom -----------------------------------------------------------------------------------


def test_ids_are_shown_to_admins_only_and_nothing_to_strangers(folder):
    run = ffml.open(folder)
    tokens = {scope: make_token(run.store, scope, [scope]) for scope in ("decide", "read", "admin")}
    ids = {id for (id,) in ask(folder, "select id from decisions")}
    run.close()
    with TestClient(create_app({"loans": str(folder)}), "http://localhost") as client:

        def page(path, scope):
            return client.get(path, headers={"authorization": f"Bearer {tokens.get(scope, 'x')}"})

        for path in (PARTS, "/runs/loans/page/changes", "/page/runs", "/page/changes"):
            assert page(path, "nobody").status_code == 401
            assert page(path, "decide").status_code == 403
        cells = {scope: {*Read(page(PARTS, scope).text).texts} for scope in ("read", "admin")}
        assert cells["admin"] & ids and not cells["read"] & ids
        frame = client.get("/runs/loans/page").text
        assert "data-closed" in frame and "paid" not in frame


def test_the_list_has_the_runs_that_a_token_may_read(first, tmp_path):
    for name in ("one", "two"):
        copy_ledger(first, tmp_path / name)
    run = ffml.open(tmp_path / "one")
    token = make_token(run.store, "me", ["read"])
    run.close()
    other = ffml.open(tmp_path / "two")
    make_token(other.store, "you", ["read"])
    other.close()
    runs = {name: str(tmp_path / name) for name in ("one", "two")}
    with TestClient(create_app(runs), "http://localhost") as client:
        text = client.get("/page/runs", headers={"authorization": f"Bearer {token}"}).text
        assert "/runs/one/page" in text and "two" not in text


def test_another_site_s_name_for_this_machine_is_refused(client):
    assert client.get(PARTS, headers={"host": "evil.example"}).status_code == 403


# -- nothing becomes markup --------------------------------------------------------------------

TAGS = {"section", "p", "strong", "span", "ul", "li", "h2", "h3", "form", "label", "select"}
TAGS |= {"option", "button", "figure", "figcaption", "svg", "path", "text", "rect", "circle"}
TAGS |= {"details", "summary", "div", "table", "thead", "tbody", "tr", "th", "td", "a"}


NAME = '<b onclick=x> & "it\'s" ?#{{ 7 * 7 }}'


def test_hostile_names_stay_text_everywhere(tmp_path):
    hostile_run(tmp_path / "run").close()
    with TestClient(create_app({NAME: str(tmp_path / "run")}), "http://localhost") as client:
        listed = Read(client.get("/page/runs").text)
        [link] = [attributes["href"] for tag, attributes in listed.tags if tag == "a"]
        frame = Read(client.get(link).text)
        assert NAME in frame.texts and NAME in listed.texts
        [body] = [attributes for tag, attributes in frame.tags if tag == "body"]
        page = Read(client.get(body["data-parts"]).text)
    assert {tag for tag, _ in page.tags + listed.tags} <= TAGS
    names = {name for _, attributes in page.tags + frame.tags for name in attributes}
    assert not [name for name in names if name.startswith("on") or name == "style"]
    said = "\n".join(page.texts)
    for piece in ("F", "M", "yes", "sex", "x", "1", "y"):  # each was shown somewhere
        assert f"{piece}{HOSTILE}" in said or f"{piece}{HOSTILE}" in str(page.tags), piece
    assert {f"3-{i}{HOSTILE}" for i in range(40)} & {*page.texts}  # ids of the newest decisions
    assert "times larger than before" in said


def test_the_policy_allows_no_script_but_the_page_s_own(client):
    for path in ("/", "/runs/loans/page", PARTS, *FILES):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "*" not in policy
        assert headers["x-content-type-options"] == "nosniff"
    text = client.get("/runs/loans/page").text
    assert all(tag != "script" or "src" in attributes for tag, attributes in Read(text).tags)


def test_the_page_asks_for_nothing_from_elsewhere():
    own = "http://www.w3.org/2000/svg"
    texts = [text for text, _ in FILES.values()]
    assert "://" not in "".join(texts).replace(own, "")
    files = resources.files("ffml.service")
    assert not any("://" in files.joinpath(name).read_text() for name in TEMPLATES)
    assert FILES["/page/page.js"][0].count("\n") < 200


# -- live --------------------------------------------------------------------------------------


def test_a_stream_tells_each_change_once_and_ends_when_told(monkeypatch):
    monkeypatch.setattr(_page, "STEP", 0.01)
    monkeypatch.setattr(_page, "STILL_THERE", 0.0)
    streams, states, heard = _page.Streams(most=1), ["a", "a", "b"], []

    async def hear(message):
        text = message.get("body", b"").decode()
        heard.extend([text] if text else [])
        if message["type"] == "http.response.start":  # counted before the first event
            with pytest.raises(HTTPException):
                streams.response(lambda: "", lambda: 1.0)
        if '"b"' in text:
            streams.close()

    async def listen():
        response = streams.response(lambda: states.pop(0) if states else "b", lambda: 1.0)
        await response({"type": "http", "asgi": {"spec_version": "2.4"}}, None, hear)

    monkeypatch.setattr(streams, "_wait", lambda seconds: asyncio.sleep(0.01))
    asyncio.run(asyncio.wait_for(listen(), 10))
    assert heard == ['data: "a"\n\n', ": still there\n\n", 'data: "b"\n\n']
    assert streams.open == 0


def test_a_crowd_at_once_gets_no_more_streams_than_there_may_be(folder):
    with serving(create_app({"loans": str(folder)})) as at:
        where, ends = urlsplit(at), []
        for _ in range(MOST_STREAMS + 8):
            ends.append(socket.create_connection((where.hostname, where.port), 30))
            ends[-1].sendall(b"GET /runs/loans/page/changes HTTP/1.1\r\nhost: localhost\r\n\r\n")
        codes = [one.recv(12).split()[1] for one in ends]
        for one in ends:
            one.close()
    assert Counter(codes) == {b"200": MOST_STREAMS, b"503": 8}


def test_a_stream_of_a_run_whose_database_goes_away_ends(folder, client, caplog, monkeypatch):
    def away(self):
        raise Away("no server answers there")

    monkeypatch.setattr(type(client.app.state.runs["loans"].run.store), "head", property(away))
    caplog.set_level(logging.INFO)
    said = client.get("/runs/loans/page/changes")
    assert (said.status_code, said.text) == (200, "")
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]


def test_a_part_is_drawn_once_until_the_run_changes(folder):
    app = create_app({"loans": str(folder)})
    served, times = app.state.runs["loans"], []

    def draw(run):
        times.append(run)
        return str(len(times))

    assert [served.kept.of(draw)[0] for _ in range(3)] == ["1"] * 3
    assert served.kept.of(draw, "other")[0] == "2"
    served.run.label(labels(5).assign(month="2024-05"))
    text, state = served.kept.of(draw)
    assert text == "3" and state == served.run.store.head
    served.close()
