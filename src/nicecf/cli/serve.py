"""``nicecf serve``: saved explainers behind HTTP, in the form of KServe's V1 protocol."""

from __future__ import annotations

import argparse
import errno
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nicecf.cli import common
from nicecf.cli.codes import DONE
from nicecf.cli.terminal import say

if TYPE_CHECKING:
    from pandas import DataFrame, Series

    from nicecf import NICE, Constraints
    from nicecf.service.explainers import Service, Source
    from nicecf.service.limits import Limits

# How long a search may keep the event loop waiting while it runs Python (5 ms by default): the answer of a health check
# waits several times.
_SWITCH_SECONDS = 0.001
# Files that a service has open besides its connections: models, libraries, logs.
_OWN_FILES = 64
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_EXAMPLE = """\
examples:
  nicecf serve --demo
  nicecf serve credit.nice --model model.skops --port 8000
  nicecf serve credit.nice --model forest.skops --trust sklearn.tree._tree.Tree
  nicecf serve credit=a.nice limits=b.nice --model credit=a.skops --model limits=b.onnx
  nicecf serve credit.nice --wording english.toml --wording deutsch.toml
  nicecf serve --keys keys.txt --new-key backoffice

In a browser, the address shows a page; GET / lists the routes. Files that change are taken up while requests go on."""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "serve",
        help="put explainers behind HTTP, beside a model server",
        description="Put explainers from nicecf fit behind HTTP, in the form of KServe's V1 protocol.",
        usage="nicecf serve [NAME=]EXPLAINER ... [options]",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_run)
    parser.add_argument(
        "explainers", nargs="*", metavar="[NAME=]EXPLAINER", help="what nicecf fit wrote (name: that of the file)"
    )
    parser.add_argument("--demo", action="store_true", help="serve a generated loan book and a forest for it")
    where = parser.add_argument_group("address")
    where.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="address to listen at (default: 127.0.0.1)"
    )
    where.add_argument("--port", type=int, default=8000, metavar="N", help="port; 0 takes a free one (default: 8000)")
    where.add_argument("--keys", metavar="FILE", help="API keys, as digests; needed for any address but this machine's")
    where.add_argument(
        "--audit-log", metavar="FILE", help="append a line of JSON for each request: who asked what, and no values"
    )
    where.add_argument("--new-key", metavar="NAME", help="print a new key, add its digest to --keys, and stop")
    model = parser.add_argument_group("model")
    model.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="[NAME=]MODEL",
        help="model of all explainers, or of one (default: that of fit, unless it is code)",
    )
    model.add_argument(
        "--model-url",
        action="append",
        default=[],
        metavar="[NAME=]URL",
        help="model behind HTTP: .../v1/models/NAME:predict or .../v2/models/NAME/infer",
    )
    model.add_argument("--trust-pickle", action="store_true", help="load a pickle: it can run any code")
    model.add_argument(
        "--trust", type=common.names, default=[], metavar="TYPES", help="safe types in a skops file: a,b"
    )
    people = parser.add_argument_group("people")
    people.add_argument(
        "--target",
        action="append",
        default=[],
        metavar="[NAME=]CLASS",
        help="the decision that people want: the page begins with it (default: any other than the model's)",
    )
    people.add_argument(
        "--wording",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="names, units and classes for all explainers, or for one, in a TOML file; one for each language",
    )
    _add_limits(parser)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    limits = parser.add_argument_group("limits")
    for option, kind, default, help in (
        ("--max-rows", int, 100, "rows in one request"),
        ("--max-bytes", int, 1_000_000, "bytes in one request"),
        ("--time-limit", float, 10.0, "seconds per request, then the best answer so far"),
        ("--patience", float, 10.0, "further seconds, then the model counts as hanging"),
        ("--max-connections", int, 512, "open connections; idle ones give way to new ones"),
        ("--queue", int, 256, "requests that may wait; others get 429"),
        ("--together", int, 256, "rows in one call"),
        ("--window", float, 3.0, "milliseconds to wait for requests to merge; 0: no merging"),
    ):
        limits.add_argument(option, type=kind, default=default, metavar="N", help=f"{help} (default: {default:g})")


def _run(options: argparse.Namespace) -> int:
    from nicecf.exceptions import OptionError
    from nicecf.support.extras import require

    for module in ("msgspec", "prometheus_client", "starlette", "uvicorn"):
        require(module, extra="serve", needed_by="nicecf serve", package=module.replace("_", "-"))
    if options.new_key is not None:
        return _new_key(options)
    if options.demo == bool(options.explainers):
        raise OptionError("name the explainers to serve, such as credit.nice, or use --demo; one of the two.")
    if options.keys is None and options.host not in _LOOPBACK:
        raise OptionError(
            f"--host {options.host} is open to others: make a key with --keys FILE --new-key NAME, and add --keys FILE."
        )
    from nicecf.service.explainers import Service

    limits = _limits(options)
    # Before anything is trained or loaded, which takes a while: an address that is taken is said at once.
    with _listening(options.host, options.port) as listening:
        sources = _demo(options.wording) if options.demo else _sources(options)
        service = Service(sources, limits=limits, keys_file=options.keys, audit_log=options.audit_log)
        return _served(service, options, listening)


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket at an address; it does not answer before the service does."""
    from nicecf.exceptions import OptionError
    from nicecf.support.files import reason

    if not 0 <= port < 2**16:
        raise OptionError(f"--port must be from 0 to 65535, got {port}.")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        # A name such as localhost may have several: IPv4 first, which every client speaks.
        family, *_, address = min(found, key=lambda one: one[0] != socket.AF_INET)
        bound = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise OptionError(f"--host {host} is no address of this machine: {reason(error)}.") from error
    try:
        if os.name == "posix":  # elsewhere it would take a port from whoever listens there
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise OptionError(
                f"port {port} of {host} is taken by another program. Choose another with --port N, or --port 0 for a "
                "free one."
            ) from error
        raise OptionError(
            f"nicecf cannot listen at port {port} of {host}: {reason(error)}. Choose another with --host and --port."
        ) from error
    return bound


def _new_key(options: argparse.Namespace) -> int:
    from nicecf.exceptions import OptionError
    from nicecf.service.keys import new_key

    if options.keys is None:
        raise OptionError("--new-key needs --keys FILE, where the digest of the key is kept.")
    key, line = new_key(options.new_key)
    number = os.open(options.keys, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with open(number, "a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    say(f"{key}\nThis key is shown once; {options.keys} keeps its digest. Send it as: Authorization: Bearer KEY")
    return DONE


def _limits(options: argparse.Namespace) -> Limits:
    from nicecf.exceptions import OptionError
    from nicecf.service.limits import Limits

    for name in ("max_rows", "max_bytes", "max_connections", "queue", "together", "time_limit"):
        if not getattr(options, name) > 0:
            raise OptionError(f"--{name.replace('_', '-')} must be above 0, got {getattr(options, name)}.")
    for name in ("patience", "window"):
        if not getattr(options, name) >= 0:
            raise OptionError(f"--{name} must be 0 or more, got {getattr(options, name)}.")
    return Limits(
        rows=options.max_rows,
        bytes=options.max_bytes,
        seconds=options.time_limit,
        patience=options.patience,
        connections=_with_open_files(options.max_connections),
        queue=options.queue,
        together=options.together,
        window=options.window / 1000,
    )


def _with_open_files(connections: int) -> int:
    """Return how many connections this process may open, raising its limit of open files if it can."""
    from nicecf.service.connections import BACKLOG, RESERVE

    try:
        import resource
    except ImportError:  # there is no such limit on Windows
        return connections
    own = RESERVE + 2 * BACKLOG + _OWN_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < connections + own:
        soft = min(connections + own, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft < connections + own:
        connections = max(1, soft - own)
        say(f"At most {connections:,} connections: this process may open {soft:,} files (ulimit -n).")
    return connections


def _demo(wordings: list[str]) -> dict[str, Source]:
    from nicecf import NICE
    from nicecf.cli.showcase import forest
    from nicecf.service.explainers import Source

    say("Training a forest on a generated loan book ...")
    X, y = demo_book(3_000)

    def load() -> NICE:
        # It learns what is plausible, and still looks for few changes: plans can then be told apart by both.
        nice = NICE(forest().fit(X, y), optimize="balanced", constraints=_demo_rules()).fit(X, y)
        return nice.with_search(optimize="sparsity")

    own = [str(Path(__file__).with_name(f"loans_{language}.toml")) for language in ("en", "de")]
    return {
        "loans": Source(
            load,
            wordings=_of_each(wordings or own, ["loans"])["loans"],
            target="approved",
            examples=_demo_applicants(),
        )
    }


def demo_book(n_rows: int, *, seed: int = 0) -> tuple[DataFrame, Series[Any]]:
    """Return the loan book of the demo: without the share of debts, so that its plans can say "at least".

    Of columns that a function computes from others, nothing is proven but single values.
    """
    from nicecf.benchmark.datasets import loan_book

    X, y = loan_book(n_rows, seed=seed)
    return X.drop(columns="debt_to_income"), y


def _demo_rules() -> Constraints:
    """Return what an applicant can do about an application, and how far."""
    from nicecf import Constraints
    from nicecf.benchmark.datasets import loan_rules
    from nicecf.cli.showcase import BEYOND_APPLICANTS

    return Constraints(
        relations=loan_rules().relations,
        immutable=[*BEYOND_APPLICANTS, "employment", "housing", "purpose", "channel"],
        increasing=["income", "savings"],
        decreasing=["monthly_debt", "utilisation", "open_lines", "loan_amount"],
        within={"income": "30%", "monthly_debt": "60%", "loan_amount": "50%", "savings": ["200%", 10_000]},
        allowed={"has_guarantor": [True], "is_customer": [True]},
        step={"term_months": 12},
    )


def _demo_applicants() -> DataFrame:
    """Return people whose values go together: drawn rows combine what no applicant has, such as debts above income."""
    from nicecf.benchmark.datasets import loan_book

    people, _ = loan_book(150, seed=5)
    is_known = people.drop(columns="months_since_late").notna().all(axis=1)
    can_pay = (people["debt_to_income"] <= 0.45) & (people["income"] >= 15_000)
    is_of_age = people["years_employed"] <= people["age"] - 16
    return people[is_known & can_pay & is_of_age].drop(columns="debt_to_income")


def _sources(options: argparse.Namespace) -> dict[str, Source]:
    from nicecf.exceptions import OptionError, listed

    explainers = dict(_named(one) for one in options.explainers)
    if len(explainers) < len(options.explainers):
        raise OptionError("two explainers have the same name: name them NAME=EXPLAINER.")
    models, urls = (_by_name(given, explainers) for given in (options.model, options.model_url))
    both = [name for name in explainers if name in models and name in urls]
    if both:
        raise OptionError(f"{listed(both)} has a --model and a --model-url; use one of the two.")
    wordings, targets = _of_each(options.wording, explainers), _by_name(options.target, explainers)
    return {
        name: replace(
            _source(path, models.get(name), urls.get(name), options), wordings=wordings[name], target=targets.get(name)
        )
        for name, path in explainers.items()
    }


def _source(path: str, model: str | None, url: str | None, options: argparse.Namespace) -> Source:
    from nicecf.models import files as modelfiles
    from nicecf.service.explainers import Source

    if url is not None:
        return Source(_at_url(path, url), (path,))
    asked = argparse.Namespace(model=model, trust_pickle=options.trust_pickle, trust=options.trust)

    def load() -> NICE:
        return common.load_explainer(path, asked)[0]

    is_file = model is not None and modelfiles.kind_of(model) != "python"
    return Source(load, (path, *([model] if is_file and model is not None else [])))


def _at_url(path: str, url: str) -> Callable[[], NICE]:
    from nicecf import NICE
    from nicecf.models.remote import RemoteModel
    from nicecf.support.files import existing

    model = RemoteModel(url)
    return lambda: NICE.load(existing(path), model=model)


def _named(given: str) -> tuple[str, str]:
    """``credit=a.nice``, or a file whose name is that of the explainer."""
    name, equals, path = given.partition("=")
    if equals and os.sep not in name:
        return name, path
    return os.path.basename(given).rpartition(".")[0] or os.path.basename(given), given


def _by_name(given: Iterable[str], explainers: Iterable[str]) -> dict[str, str]:
    """The model of each explainer: what is said for all, and for single ones."""
    found: dict[str, str] = {}
    known = list(explainers)
    for one in given:
        name, equals, value = one.partition("=")
        if equals and name in known:
            found[name] = value
        else:
            found = {**dict.fromkeys(known, one), **found}
    return found


def _of_each(given: Iterable[str], explainers: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The files of each explainer: those for all, and its own."""
    found: dict[str, tuple[str, ...]] = dict.fromkeys(explainers, ())
    for one in given:
        name, equals, path = one.partition("=")
        is_own = bool(equals) and name in found
        for each in [name] if is_own else found:
            found[each] += (path if is_own else one,)
    return found


def _served(service: Service, options: argparse.Namespace, listening: socket.socket) -> int:
    """Serve until a signal says to stop; what was asked by then is answered."""
    import uvicorn

    from nicecf.service.app import app_of
    from nicecf.service.connections import BACKLOG, Connections, OnceInAWhile

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self.started:
                say(_told(service, options, listening.getsockname()[1]))

    config = uvicorn.Config(
        app_of(service),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=int(options.time_limit + options.patience) + 1,
        http=Connections(service.limits),  # type: ignore[arg-type]  # made like the protocols of uvicorn
        h11_max_incomplete_event_size=64_000,
        backlog=BACKLOG,
        ws="none",
    )
    for name in ("asyncio", "uvicorn.error"):  # their messages tell what clients do wrong
        logging.getLogger(name).addFilter(OnceInAWhile())
    sys.setswitchinterval(_SWITCH_SECONDS)
    server = Server(config)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:  # how the server passes a signal on, after it has stopped
        say("Stopped; every request was answered.")
    return DONE


def _told(service: Service, options: argparse.Namespace, port: int) -> str:
    host = f"[{options.host}]" if ":" in options.host else options.host
    address = f"http://{host}:{port}"
    name = next(iter(service.versions))
    key = "" if service.keys is None else " -H 'Authorization: Bearer KEY'"
    return (
        f"Serving {', '.join(service.versions)} at {address}\n"
        f"Try:  curl -s{key} {address}/v1/models/{name}/example \\\n"
        f"        | curl -s{key} -H 'Content-Type: application/json' -d @- {address}/v1/models/{name}:explain\n"
        "Stop with Ctrl-C."
    )
