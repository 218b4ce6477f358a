"""Models behind HTTP: a model server in a thread, by both protocols, that can fail in several ways."""

import json
import threading
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from nicecf import NICE, ModelError, OptionError, replay
from nicecf.cli import main
from nicecf.models.remote import RemoteModel
from service.conftest import get, post, served


def approved(X):
    return 1 / (1 + np.exp(-(X["a"].astype(float) + (X["c"] == "x") - 1)))


class Server(BaseHTTPRequestHandler):
    """``how`` it answers and which ``failures`` come first belong to the server."""

    def do_POST(self):
        server = self.server
        server.headers.append(self.headers)
        server.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        if server.redirect:
            self.send_response(302)
            self.send_header("Location", server.redirect)
            self.end_headers()
            return
        if isinstance(server.how, bytes):
            self.wfile.write(server.how)
            return
        if server.failures:
            self.send_error(server.failures.pop(0))
            return
        answer = json.dumps(server.how(server.requests[-1], self.path)).encode() if server.how else b"<html>"
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer)

    def do_GET(self):
        self.server.headers.append(self.headers)
        self.send_error(404)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    made = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    made.requests, made.failures, made.how = [], [], by_protocol
    made.headers, made.redirect = [], None
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


SECRETS = ("clerk", "s3:cret", "s3%3Acret", "t0ken", "Y2xlcms")


def with_secrets(server, path):
    return server.url.replace("//", "//clerk:s3%3Acret@") + f"{path}?key=t0ken"


@pytest.mark.parametrize("path", PATHS)
def test_a_user_and_a_password_are_sent_as_basic_authentication(server, path):
    assert np.array_equal(RemoteModel(with_secrets(server, path)).predict_proba(X), local(X))
    assert b64decode(server.headers[0]["Authorization"].removeprefix("Basic ")) == b"clerk:s3:cret"
    assert "@" not in server.headers[0]["Host"]
    RemoteModel(server.url + path).predict_proba(X)
    assert "Authorization" not in server.headers[-1]


def test_they_are_not_sent_on_to_where_the_server_points(server):
    server.redirect = server.url.replace("127.0.0.1", "localhost") + "/elsewhere"
    with pytest.raises(ModelError):
        RemoteModel(with_secrets(server, PATHS[0]), tries=1).predict_proba(X)
    assert [("Authorization" in headers) for headers in server.headers] == [True, False]


def test_an_address_is_shown_without_what_is_secret_in_it():
    model = RemoteModel("https://clerk:s3%3Acret@bank:8443/v1/models/credit:predict?key=t0ken")
    assert model.shown_url == "https://***@bank:8443/v1/models/credit:predict?***"
    assert RemoteModel("http://bank/v1/models/credit:predict").shown_url == "http://bank/v1/models/credit:predict"


def broken(server, how):
    server.how = how
    return lambda url: RemoteModel(url, tries=1).predict_proba(X)


FAILURES = {
    "no predict endpoint": lambda server: lambda url: RemoteModel(url.replace(":predict", "")),
    "another protocol": lambda server: lambda url: RemoteModel(url.replace("http:", "ftp:")),
    "no protocol": lambda server: lambda url: RemoteModel(url.removeprefix("http://")),
    "a port that is no number": lambda server: lambda url: RemoteModel(url.replace("127.0.0.1:", "host:x")),
    "a password with a slash": lambda server: lambda url: RemoteModel(url.replace("s3%3Acret", "s3:cret/")),
    "brackets that are left open": lambda server: lambda url: RemoteModel(url.replace("127.0.0.1", "[")),
    "labels": lambda server: broken(server, lambda request, path: {"predictions": ["yes"] * 40}),
    "another form": lambda server: broken(server, lambda request, path: {}),
    "fewer rows": lambda server: broken(server, lambda request, path: {"predictions": [[0.5, 0.5]]}),
    "no JSON": lambda server: broken(server, None),
    "a status": lambda server: server.failures.append(400) or (lambda url: RemoteModel(url).predict_proba(X)),
    "nobody there": lambda server: lambda url: RemoteModel(url.replace(f":{server.server_port}", ":9"), tries=1).predict_proba(X),
    "no protocol that it knows": lambda server: broken(server, b"SSH-2.0\r\n"),
}  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES)
def test_no_error_names_what_is_secret(server, failure):
    fails = FAILURES[failure](server)
    with pytest.raises((ModelError, OptionError)) as raised:
        fails(with_secrets(server, PATHS[0]))
    assert "***@" in str(raised.value)
    for text in (str(raised.value), str(raised.value.__cause__)):
        assert not [secret for secret in SECRETS if secret in text]


def test_explainers_records_and_replays_do_not_hold_what_is_secret(server, tmp_path, capsys):
    nice = NICE(local, classes=["no", "yes"], search="greedy").fit(X, np.where(approved(X) > 0.5, "yes", "no"))
    nice.save(tmp_path / "credit.nice")
    remote = NICE.load(tmp_path / "credit.nice", model=RemoteModel(with_secrets(server, PATHS[0])))
    cfs = remote.explain(X[:2])
    record = cfs[0].to_record()
    remote.save(tmp_path / "again.nice")
    about = json.dumps([record, cfs.batch.provenance.about()])
    shown = [repr(remote), repr(remote.model), about, cfs.to_html(), str(replay(record, remote)), repr(cfs)]
    assert "***@" in repr(remote)
    for text in (*shown, (tmp_path / "again.nice").read_bytes().decode("latin-1")):
        assert not [secret for secret in SECRETS if secret in text]


def test_the_command_does_not_print_what_is_secret(server, tmp_path, capsys):
    nice = NICE(local, classes=["no", "yes"], search="greedy").fit(X, np.where(approved(X) > 0.5, "yes", "no"))
    nice.save(tmp_path / "credit.nice")
    for url in (with_secrets(server, "/predict"), with_secrets(server, PATHS[0])):
        server.failures[:] = [400]
        assert main(["serve", str(tmp_path / "credit.nice"), "--model-url", url]) in (1, 2)
        out, err = capsys.readouterr()
        assert "***@" in err
        assert not [secret for secret in SECRETS if secret in out + err]


def test_the_service_does_not_log_what_is_secret(server, tmp_path, caplog):
    nice = NICE(local, classes=["no", "yes"], search="greedy").fit(X, np.where(approved(X) > 0.5, "yes", "no"))
    nice.save(tmp_path / "credit.nice")
    remote = NICE.load(tmp_path / "credit.nice", model=RemoteModel(with_secrets(server, PATHS[0]), tries=1))
    service = served(remote)
    answers = [get(service, path).text for path in ("/v1/models/credit", "/openapi.json", "/metrics")]
    server.failures[:] = [400] * 20
    answer = post(service, {"instances": [{"a": 0.5, "c": "x"}]})
    assert answer.status_code == 502
    assert "***@" in caplog.text
    for text in (*answers, answer.text, caplog.text):
        assert not [secret for secret in SECRETS if secret in text]
