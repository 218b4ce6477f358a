"""The command: what it refuses, and a process that serves, is asked, and is told to stop."""

import inspect
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

from nicecf import Wording
from nicecf.cli import main, serve
from service.conftest import table

MODEL = """
import time
import numpy as np

{source}
def model(X):
    if (X["age"] == 77).all():
        time.sleep(1.5)
    return probabilities(X)
"""


@pytest.fixture
def refused(capsys):
    def run(*arguments, code=2):
        assert main(["serve", *map(str, arguments)]) == code
        (line,) = capsys.readouterr().err.strip().splitlines()
        return line

    return run


class TestRefusals:
    def test_nothing_to_serve(self, refused):
        assert "name the explainers to serve" in refused()
        assert "name the explainers to serve" in refused("--demo", "credit.nice")

    def test_an_address_of_others_needs_keys(self, refused):
        assert "--host 0.0.0.0 is open to others" in refused("--demo", "--host", "0.0.0.0")

    def test_a_file_that_is_not_there(self, refused, tmp_path):
        assert "credit.nice" in refused(tmp_path / "credit.nice", "--model", "model.skops", code=1)

    def test_two_of_one_name(self, refused):
        assert "two explainers have the same name" in refused("a/credit.nice", "b/credit.nice")

    def test_a_model_and_a_url(self, refused):
        said = refused("credit.nice", "--model", "m.skops", "--model-url", "http://127.0.0.1/v1/models/m:predict")
        assert "has a --model and a --model-url" in said

    @pytest.mark.parametrize(("option", "value"), [("--queue", "0"), ("--time-limit", "-1"), ("--window", "-1")])
    def test_a_limit_of_nothing(self, refused, option, value):
        assert f"{option} must be" in refused("--demo", option, value)

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
    def test_a_port_that_is_taken_is_said_before_anything_is_trained_or_loaded(self, refused, monkeypatch, host):
        for name in ("_demo", "_sources"):
            monkeypatch.setattr(serve, name, lambda *_: pytest.fail("it was trained or loaded"))
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            for what in ("--demo", "credit.nice"):
                assert refused(what, "--port", port, "--host", host) == (
                    f"nicecf: port {port} of {host} is taken by another program. Choose another with --port N, or "
                    "--port 0 for a free one."
                )

    @pytest.mark.parametrize("port", [-1, 65536])
    def test_a_port_that_there_is_not(self, refused, port):
        assert f"--port must be from 0 to 65535, got {port}" in refused("--demo", f"--port={port}")

    def test_an_address_of_another_machine(self, refused, tmp_path):
        keys = tmp_path / "keys.txt"
        said = refused("--demo", "--host", "nowhere.invalid", "--keys", keys)
        assert "--host nowhere.invalid is no address of this machine" in said
        assert "cannot listen at port 8000 of 192.0.2.1" in refused("--demo", "--host", "192.0.2.1", "--keys", keys)

    def test_a_port_is_free_again_where_nothing_could_be_served(self, refused, tmp_path):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        for _ in range(2):
            assert "credit.nice" in refused(tmp_path / "credit.nice", "--port", port, code=1)

    def test_a_key_without_a_file(self, refused):
        assert "--new-key needs --keys" in refused("--new-key", "desk")

    def test_a_wording_that_does_not_fit_is_named(self, refused, tmp_path, monkeypatch):
        from service import conftest

        (tmp_path / "bank_of_words.py").write_text(MODEL.format(source=inspect.getsource(conftest.probabilities)))
        monkeypatch.syspath_prepend(tmp_path)
        conftest.fitted(search="greedy").save(tmp_path / "credit.nice")
        (tmp_path / "words.toml").write_text('[names]\nincom = "x"\n')
        command = (tmp_path / "credit.nice", "--model", "bank_of_words:model", "--wording")
        said = refused(*command, tmp_path / "words.toml")
        assert "words.toml: names of the wording refers to the feature 'incom', which does not exist" in said
        assert "words.toml: names" in refused(*command, f"credit={tmp_path / 'words.toml'}")
        assert "there is no file" in refused(*command, tmp_path / "word.toml", code=1)
        assert "there is no file other=" in refused(*command, "other=words.toml", code=1)

    def test_a_missing_extra_says_what_to_install(self, refused, monkeypatch):
        monkeypatch.setitem(sys.modules, "uvicorn", None)
        said = refused("--demo", code=1)
        assert said.startswith(
            "nicecf: nicecf serve needs uvicorn, which is not installed. Install it with: pip install 'nicecf[serve]'"
        )


def test_a_new_key_is_printed_once_and_only_its_digest_is_kept(capsys, tmp_path):
    from nicecf.service.keys import Keys

    path = tmp_path / "keys.txt"
    assert main(["serve", "--keys", str(path), "--new-key", "desk"]) == 0
    key = capsys.readouterr().out.splitlines()[0]
    assert key not in path.read_text()
    assert Keys.of_file(path).name_of(key)
    assert path.stat().st_mode & 0o077 == 0


def ask(address, path, body=None):
    request = urllib.request.Request(
        address + path, None if body is None else json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


class Process:
    """``nicecf serve`` in a process of its own, at a free port."""

    def __init__(self, *arguments, folder):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nicecf.cli", "serve", *arguments, "--port", "0"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=folder,
        )  # fmt: skip
        said = ""
        while (found := re.search(r"at (http://127\.0\.0\.1:\d+)\n", said)) is None:
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read()
            said += line
        self.address = found[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def test_a_signal_to_stop_lets_what_was_asked_be_answered(tmp_path):
    from service import conftest

    (tmp_path / "bank.py").write_text(MODEL.format(source=inspect.getsource(conftest.probabilities)))
    conftest.fitted(search="greedy").save(tmp_path / "credit.nice")
    with Process("credit.nice", "--model", "bank:model", folder=tmp_path) as served:
        row = {**conftest.rows_of(table(1))[0], "age": 40}
        assert ask(served.address, "/v1/models/credit:explain", {"instances": [row]})["explanations"][0]["found"]
        answers = []
        slow = threading.Thread(
            target=lambda: answers.append(
                ask(served.address, "/v1/models/credit:explain", {"instances": [{**row, "age": 77}]})
            )
        )
        slow.start()
        for _ in range(500):  # until it is being explained
            with urllib.request.urlopen(f"{served.address}/metrics") as measures:
                if b'nicecf_batch_rows_count{model="credit"} 2.0' in measures.read():
                    break
        served.process.send_signal(signal.SIGTERM)
        slow.join(30)
        out, err = served.process.communicate(timeout=30)
    assert answers[0]["explanations"][0]["found"]
    assert served.process.returncode == 0
    assert "Stopped; every request was answered." in out
    assert err == ""


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_wordings_of_the_demo_name_everything(language):
    X, y = serve.demo_book(3_000)
    wording = Wording.from_toml(Path(serve.__file__).with_name(f"loans_{language}.toml"))
    assert wording.language == language
    wording.check(X.columns, y.unique())
    assert set(wording.names) == set(X.columns)
    assert set(wording.classes) == set(wording.probabilities) == set(y)
    assert {"income", "loan_amount", "term_months", "interest_rate"} <= set(wording.units)
    if language == "de":
        categories = {name: set(X[name].dropna()) for name in X if X[name].map(type).eq(str).any()}
        assert {name: set(values) for name, values in wording.values.items()} == categories


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], {"a": (), "b": ()}),
        (["en.toml", "b=de.toml"], {"a": ("en.toml",), "b": ("en.toml", "de.toml")}),
        (["c=en.toml"], {"a": ("c=en.toml",), "b": ("c=en.toml",)}),
    ],
    ids=str,
)
def test_a_wording_is_for_all_or_for_one(given, expected):
    assert serve._of_each(given, ["a", "b"]) == expected


@pytest.mark.deep
def test_the_demo_starts_and_its_examples_are_explained(tmp_path):
    with Process("--demo", folder=tmp_path) as served:
        examples = ask(served.address, "/v1/models/loans/example")
        answer = ask(served.address, "/v1/models/loans:explain", examples)
        assert len(answer["explanations"]) == len(examples["instances"])
        assert all(one["found"] for one in answer["explanations"])
        parameters = {"plans": True, "n": 3, "language": "de", "display": True}
        plans = ask(served.address, "/v1/models/loans:explain", {**examples, "parameters": parameters})["explanations"]
        strengths = {name for row in plans for one in row["counterfactuals"] for name in one["strengths"]}
        assert strengths == {"fewest", "nearest", "most_plausible"}
        assert {row["display"]["decision"] for row in plans} <= {"bewilligt", "abgelehnt"}
        assert ask(served.address, "/v1/models/loans")["has_plausibility"]


def test_the_demo_shows_people_who_exist_and_changes_nothing_that_the_bank_decides(monkeypatch):
    from nicecf.benchmark import datasets

    monkeypatch.setattr("nicecf.search.autoencoder._MOST_EPOCHS", 1)
    book = datasets.loan_book
    monkeypatch.setattr(datasets, "loan_book", lambda n_rows, *, seed=0: book(min(n_rows, 400), seed=seed))
    source = serve._demo([])["loans"]
    people = book(150, seed=5)[0].loc[source.examples.index]
    assert source.examples.equals(people.drop(columns="debt_to_income"))
    assert people["debt_to_income"].max() <= 0.45
    changes = source.load().explain(source.examples, n_counterfactuals=3).changes()
    for feature, low, high in (("loan_amount", 0.5, 1), ("monthly_debt", 0.4, 1), ("income", 1, 1.3)):
        moved = changes[changes["feature"] == feature]
        assert len(moved), feature
        assert (moved["after"] / moved["before"]).between(low, high).all(), feature
    assert not {"interest_rate", "credit_score", "age", "employment", "purpose"} & set(changes["feature"])
