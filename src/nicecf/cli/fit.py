"""``nicecf fit``: fit an explainer to a training table and a model, and save it to a file."""

from __future__ import annotations

import argparse
import json
import os
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nicecf.cli import common
from nicecf.cli.codes import DONE
from nicecf.cli.language import add_language_option, counted, number, phrase
from nicecf.cli.terminal import in_one_line, say

if TYPE_CHECKING:
    import pandas as pd

    from nicecf import NICE
    from nicecf.tables.files.parquet_parts import ParquetTable

_EXAMPLE = """\
example:
  nicecf fit --train train.parquet --label income --model model.skops \\
    --out credit.nice --protected sex,race"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "fit",
        help="fit an explainer to a training table and a model, and save it to a file",
        description="Fit an explainer to a training table and a fitted model, and save it to a file.",
        usage="nicecf fit --train FILE --label COLUMN --model MODEL --out FILE [options]",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_run)
    parser.add_argument(
        "--train",
        required=True,
        metavar="FILE",
        help="training table (.csv, .parquet, ...; - stdin), or a folder of Parquet files",
    )
    parser.add_argument(
        "--label", metavar="COLUMN", help="column with the labels (may be left out with --no-justified)"
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="where to save the explainer, such as credit.nice")
    common.add_model_options(parser, required=True)
    common.add_table_options(parser)
    how = parser.add_argument_group("counterfactuals")
    how.add_argument(
        "--optimize",
        metavar="GOAL",
        default="sparsity",
        help="sparsity (the default), proximity, plausibility, balanced, none, ...",
    )
    how.add_argument(
        "--search",
        metavar="HOW",
        help="thorough (the default, but for the goal none), greedy (the paper's, faster), or exact (trees and linear "
        "models; the best there is, with a proof; needs: pip install 'nicecf[exact]')",
    )
    how.add_argument("--neighbors", type=int, metavar="N", help="donors that the thorough search considers")
    how.add_argument("--one-donor", action="store_true", help="thorough search: all new values from one training row")
    how.add_argument(
        "--ordinal",
        metavar="HOW",
        default="rank",
        help="ordered categories: rank (the default) or overlap (the paper's)",
    )
    how.add_argument("--no-justified", action="store_true", help="the labels of donors need not agree with the model")
    how.add_argument("--min-count", type=int, default=1, metavar="K", help="only use values that K training rows share")
    how.add_argument("--no-share-donor", action="store_true", help="never return a training row")
    how.add_argument("--seed", type=int, metavar="N", help="seed of the autoencoder (default: 0)")
    decision = parser.add_argument_group("decision")
    decision.add_argument("--decision", metavar="CUTOFF", help="0.3 (for the second class), denied=0.3,..., or predict")
    decision.add_argument("--min-probability", type=float, metavar="P", help="minimum probability of the new class")
    decision.add_argument("--classes", type=common.names, metavar="a,b", help="classes, if the model names none")
    common.add_rule_options(parser)
    add_language_option(parser)


def _run(options: argparse.Namespace) -> int:
    from nicecf import NICE
    from nicecf.exceptions import ModelError, OptionError, listed
    from nicecf.models import files as modelfiles
    from nicecf.tables.files.parquet_parts import ParquetTable

    if options.label is None and not options.no_justified:
        raise OptionError("--label is missing: name the label column of the training table (or use --no-justified).")
    model_file = options.model if modelfiles.kind_of(options.model) != "python" else None
    common.check_outputs({"--out": options.out}, [options.train, model_file, options.rules])
    rules = common.rules_of(options)
    model = common.load_model(options)
    X, y = _training(options)
    trained = _trained_columns(X.columns, model, options)
    X = X.only(trained) if isinstance(X, ParquetTable) else X[trained]
    labels = _labels(model, options, y)
    nice = NICE(
        model,
        optimize=options.optimize,
        search=options.search,
        neighbors=options.neighbors,
        mix_donors=not options.one_donor,
        ordinal=options.ordinal,
        justified=not options.no_justified,
        classes=labels if options.classes else None,
        categorical_features="auto" if options.categorical is None else options.categorical,
        decision=_decision(options.decision, labels),
        min_probability=options.min_probability,
        constraints=rules,
        random_state=options.seed,
        share_donor=not options.no_share_donor,
        min_count=options.min_count,
    )
    try:
        nice.fit(X, y, progress=common.progress("training rows"))
    except ModelError as error:
        table = X.like() if isinstance(X, ParquetTable) else X
        numbers = [str(name) for name in table.select_dtypes("number").columns]
        hint = f" Read as numbers: {listed(numbers)}; if one is a code such as 01234, add --text COLUMN."
        raise ModelError(f"{error}{hint if numbers and not options.text else ''}") from error
    notes = {
        "model": {"given": options.model, "sha256": modelfiles.checksum(options.model)},
        "label": options.label,
        "ignored": options.ignore,
    }
    nice.save(options.out, notes=notes)
    say(_told(nice, options, y))
    return DONE


def _training(options: argparse.Namespace) -> tuple[pd.DataFrame | ParquetTable, Any]:
    """The features of the training table, read in parts if it is a folder, and its labels."""
    if os.path.isdir(options.train):
        return common.training_parts(options)
    table = common.training_table(options.train, options)
    return common.split(table, options.train, label=options.label, ignored=options.ignore)


def _trained_columns(columns: Sequence[str], model: Any, options: argparse.Namespace) -> list[str]:
    """The columns in the order that the model was trained on, if the model knows it."""
    from nicecf.exceptions import FileError, did_you_mean, listed
    from nicecf.models.boosters import columns_of, is_booster
    from nicecf.tables.requirements import untrained

    if is_booster(model):
        trained = columns_of(model, columns)
    else:
        trained = [str(name) for name in _said_by(model, "feature_names_in_", [])]
    known = list(columns)
    missing = [name for name in trained if name not in known]
    extra = [str(name) for name in known if name not in trained] if trained else []
    if missing:
        close = did_you_mean(missing[0], extra).replace("Did you mean", "Is it")
        raise FileError(f"{untrained(options.train, missing, extra)}.{close}")
    if extra:
        raise FileError(
            f"{untrained(options.train, missing, extra)}. Leave it out with --ignore "
            f"{shlex.quote(','.join([*options.ignore, *extra]))}"
        )
    n_trained = None if is_booster(model) else _said_by(model, "n_features_in_", None)
    if not trained and isinstance(n_trained, int) and n_trained != len(known):
        raise FileError(
            f"{options.train} has {common.counted(len(known), 'feature column')}, {listed(known)}, but the model "
            f"was trained on {n_trained} (without names). Leave out the others with --ignore."
        )
    return trained or known


def _labels(model: Any, options: argparse.Namespace, y: Any) -> list[Any]:
    """The classes as labels: from the model, else from --classes, else from the training table."""
    from nicecf.exceptions import plain

    own = _said_by(model, "classes_", None)
    seen = [] if y is None else [plain(label) for label in y.unique()]
    if options.classes:
        known = {str(label): label for label in (seen if own is None else map(plain, own))}
        return [known.get(name, name) for name in options.classes]
    return seen if own is None else [plain(label) for label in own]


def _said_by(model: Any, name: str, default: Any) -> Any:
    """An attribute of the model; ModelError if the model's own code raises."""
    from nicecf.exceptions import ModelError

    try:
        return getattr(model, name, default)
    except Exception as error:
        raise ModelError(f"the model raised {type(error).__name__} when asked for its {name}: {error}") from error


def _decision(given: str | None, labels: Sequence[Any]) -> Any:
    """None, a cut-off, "predict", or a cut-off for each of some classes."""
    from nicecf.exceptions import OptionError

    if given is None or given == "predict":
        return given
    try:
        return float(given)
    except ValueError:
        pass
    try:
        read = json.loads(given) if given.lstrip().startswith("{") else dict(_pair(one) for one in common.names(given))
        return {common.label_of(name, labels, "--decision"): float(cutoff) for name, cutoff in read.items()}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, OptionError):
            raise
        raise OptionError(
            f"--decision {given!r} is not known; use a cut-off such as 0.3, one per class "
            "(denied=0.3,approved=0.6), or predict."
        ) from None


def _pair(one: str) -> tuple[str, str]:
    name, found, cutoff = one.rpartition("=")
    if not found:
        raise ValueError(one)
    return name.strip(), cutoff


def _told(nice: NICE, options: argparse.Namespace, y: Any) -> str:
    """What was fitted, in a few lines."""
    import numpy as np

    fitted = nice._fitted
    assert fitted.neighborhood is not None
    learned, is_categorical = fitted.neighborhood.donors, fitted.schema.full.is_categorical
    n_rows = int(learned.n_decided.sum())
    classes = nice.classes_
    donors = np.empty(0, dtype=np.intp)
    if len(classes):
        group = learned.index.group(np.arange(len(learned.index.values))) % len(classes)
        donors = np.bincount(group, minlength=len(classes))
        decided, by_class = (_by_class(classes, counts) for counts in (learned.n_decided, donors))
        kind = "cli.donors" if options.no_justified else "cli.donors_justified"
        said = [("decides", phrase("cli.decides", decided=decided)), ("donors", phrase(kind, donors=by_class))]
    else:
        scores = fitted.panel.probabilities(learned.outputs)[:, 0]
        low, high = (float(f"{one:.6g}") for one in (scores.min(), scores.max()))
        said = [("scores", phrase("cli.scores", low=low, high=high))]
    table = phrase(
        "cli.table",
        rows=counted("cli.rows", n_rows),
        features=counted("cli.features", len(is_categorical)),
        numbers=counted("cli.numbers", int((~is_categorical).sum())),
        categories=counted("cli.categories", int(is_categorical.sum())),
    )
    lines = [
        ("model", options.model),
        ("table", table),
        *said,
        ("seeks", phrase("cli.seeks", optimize=str(nice.optimize), search=nice.search_)),
    ]
    if nice.constraints is not None:
        lines.append(
            ("rules", ", ".join(f"{name} {_plainly(value)}" for name, value in nice.constraints.to_dict().items()))
        )
    empty = [str(label) for label, count in zip(classes, donors, strict=True) if not count]
    if empty:
        lines.append(("beware", phrase("cli.no_donors", classes=", ".join(empty))))
    trust = [
        *(["--trust", ",".join(options.trust)] if options.trust else []),
        *["--trust-pickle"] * options.trust_pickle,
    ]
    target = [] if len(classes) else ["--target-score", f"{float(f'{np.quantile(scores, 0.75):.2g}'):g}:"]
    command = shlex.join(["nicecf", "explain", options.out, "new.csv", *trust, *target, "--out", "out.csv"])
    facts = common.facts([(phrase(f"cli.fact_{name}"), one) for name, one in lines])
    ready = phrase("cli.ready", file=in_one_line(options.out))
    return f"{ready}\n{facts}\n{phrase('cli.next', command=in_one_line(command))}"


def _by_class(classes: Iterable[Any], counts: Iterable[Any]) -> str:
    return ", ".join(f"{label} {number(count)}" for label, count in zip(classes, counts, strict=True))


def _plainly(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(str(one) for one in value)
    return str(value)
