"""Models behind HTTP: a model server in a thread, by both protocols, that can fail in several ways."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from nicecf import NICE, ModelError, OptionError
from nicecf.cli import main
from nicecf.models.remote import RemoteModel


def approved(X):
    return 1 / (1 + np.exp(-(X["a"].astype(float) + (X["c"] == "x") - 1)))


class Server(BaseHTTPRequestHandler):
    """``how`` it answers and which ``failures`` come first belong to the server."""

    def do_POST(self):
        server = self.server
        server.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        if server.failures:
            self.send_error(server.failures.pop(0))
            return
        answer = json.dumps(server.how(server.requests[-1], self.path)).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    made = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    made.requests, made.failures, made.how = [], [], by_protocol
    thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    made.url = f"http://127.0.0.1:{made.server_port}"
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def by_protocol(request, path):
    if path.startswith("/v1"):
        p = approved(pd.DataFrame(request["instances"]))
        return {"predictions": np.column_stack([1 - p, p]).tolist()}
    X = pd.DataFrame({one["name"]: one["data"] for one in request["inputs"]})
    p = approved(X)
    table = np.column_stack([1 - p, p])
    labels = {"name": "predict", "shape": [len(X)], "datatype": "INT64", "data": (p > 0.5).astype(int).tolist()}
    return {"outputs": [labels, {"name": "predict_proba", "shape": list(table.shape), "datatype": "FP64", "data": table.ravel().tolist()}]}  # fmt: skip


X = pd.DataFrame({"a": np.linspace(-2, 2, 40).round(2), "c": ["x", "y"] * 20})
PATHS = ("/v1/models/credit:predict", "/v2/models/credit/infer")


def local(X):
    return np.column_stack([1 - approved(X), approved(X)])


@pytest.mark.parametrize("path", PATHS)
def test_both_protocols_give_the_digits_of_the_model(server, path):
    assert np.array_equal(RemoteModel(server.url + path).predict_proba(X), local(X))


@pytest.mark.parametrize("path", PATHS)
def test_an_explainer_of_the_model_takes_the_server_in_its_place(server, path, tmp_path):
    nice = NICE(local, classes=["no", "yes"], search="greedy").fit(X, np.where(approved(X) > 0.5, "yes", "no"))
    nice.save(tmp_path / "credit.nice")
    remote = NICE.load(tmp_path / "credit.nice", model=RemoteModel(server.url + path))
    assert remote.explain(X).to_frame().equals(nice.explain(X).to_frame())


def test_an_explainer_of_a_pipeline_takes_the_server_in_its_place(server, tmp_path):
    """The pipeline names its classes and features; the server does not."""
    y = np.where(approved(X) > 0.5, "yes", "no")
    encode = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    pipeline = make_pipeline(encode, DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, y)
    nice = NICE(pipeline).fit(X, y)
    nice.save(tmp_path / "credit.nice")
    server.how = lambda request, path: {
        "predictions": pipeline.predict_proba(pd.DataFrame(request["instances"])).tolist()
    }
    remote = NICE.load(tmp_path / "credit.nice", model=RemoteModel(server.url + PATHS[0]))
    assert remote.explain(X).to_frame().equals(nice.explain(X).to_frame())


def test_missing_cells_are_null_and_many_rows_are_several_requests(server, monkeypatch):
    monkeypatch.setattr("nicecf.models.remote._ROWS_PER_REQUEST", 15)
    rows = X.assign(c=[None, *X["c"][1:]])
    assert RemoteModel(server.url + PATHS[0]).predict_proba(rows).shape == (40, 2)
    assert [len(request["instances"]) for request in server.requests] == [15, 15, 10]
    assert server.requests[0]["instances"][0] == {"a": -2.0, "c": None}


def test_an_array_is_sent_as_lists_or_as_a_tensor(server):
    server.how = lambda request, path: {"predictions": [0.25, 0.5]} if "v1" in path else {"outputs": [{"name": "p", "shape": [2, 1], "datatype": "FP32", "data": [0.25, 0.5]}]}  # fmt: skip
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    for path in PATHS:
        assert RemoteModel(server.url + path).predict_proba(rows).tolist() == [[0.75, 0.25], [0.5, 0.5]]
    assert server.requests[0] == {"instances": [[1.0, 2.0], [3.0, 4.0]]}
    assert server.requests[1]["inputs"][0] == {"name": "input-0", "shape": [2, 2], "datatype": "FP64", "data": [1.0, 2.0, 3.0, 4.0]}  # fmt: skip


@pytest.mark.parametrize(
    "predictions", [["no", "yes"] * 20, [0, 1] * 20, [0.0, 1.0] * 20, [[1], [0]] * 20, [True, False] * 20], ids=str
)
def test_labels_instead_of_probabilities_are_refused_at_the_start(server, predictions, tmp_path):
    nice = NICE(local, classes=["no", "yes"], search="greedy").fit(X, np.where(approved(X) > 0.5, "yes", "no"))
    nice.save(tmp_path / "credit.nice")
    server.how = lambda request, path: {"predictions": predictions[: len(request["instances"])]}
    with pytest.raises(ModelError, match="returns labels instead of probabilities"):
        NICE.load(tmp_path / "credit.nice", model=RemoteModel(server.url + PATHS[0]))


def test_the_command_refuses_labels_before_it_serves(server, tmp_path, capsys):
    nice = NICE(local, classes=["no", "yes"], search="greedy").fit(X, np.where(approved(X) > 0.5, "yes", "no"))
    nice.save(tmp_path / "credit.nice")
    server.how = lambda request, path: {"predictions": [1] * len(request["instances"])}
    assert main(["serve", str(tmp_path / "credit.nice"), "--model-url", server.url + PATHS[0]]) == 1
    assert "returns labels instead of probabilities" in capsys.readouterr().err


def test_a_score_of_exactly_one_is_a_probability_later_on(server):
    model = RemoteModel(server.url + PATHS[0])
    server.how = lambda request, path: {"predictions": [0.3] * len(request["instances"])}
    model.predict_proba(X)
    server.how = lambda request, path: {"predictions": [1.0]}
    assert model.predict_proba(X[:1]).tolist() == [[0.0, 1.0]]


def test_a_server_that_is_down_for_a_moment_is_asked_again(server):
    server.failures[:] = [503, 500]
    assert RemoteModel(server.url + PATHS[0], pause=0.001).predict_proba(X).shape == (40, 2)
    assert len(server.requests) == 3


@pytest.mark.parametrize(("failures", "tries"), [([500] * 3, 3), ([400], 1)])
def test_a_server_that_fails_is_a_model_error_that_says_how(server, failures, tries):
    server.failures[:] = failures
    with pytest.raises(ModelError, match=f"did not answer after {tries} tries: status {failures[0]}"):
        RemoteModel(server.url + PATHS[0], pause=0.001).predict_proba(X)
    assert len(server.requests) == tries


def test_a_server_that_is_too_slow_is_not_waited_for(server):
    wait = threading.Event()
    server.how = lambda request, path: wait.wait(10)
    with pytest.raises(ModelError, match="did not answer after 2 tries: .*timed out"):
        RemoteModel(server.url + PATHS[0], timeout=0.05, tries=2, pause=0.001).predict_proba(X)
    wait.set()


@pytest.mark.parametrize(
    "answer", [{}, [], {"predictions": None}, {"predictions": [[0.5]]}, {"predictions": [[0.5, 0.5], [1]]}]
)
def test_an_answer_of_another_form_is_a_model_error(server, answer):
    server.how = lambda request, path: answer
    with pytest.raises(ModelError, match="answered in another form|returned 1 rows, expected 40"):
        RemoteModel(server.url + PATHS[0]).predict_proba(X)


@pytest.mark.parametrize(
    "url",
    ["file:///v1/models/a:predict", "http://host/predict", "host/v1/models/a:predict", "http:///v1/models/a:predict"],
)
def test_what_is_no_predict_endpoint_is_refused(url):
    with pytest.raises(OptionError, match="is not the address of a predict endpoint"):
        RemoteModel(url)
