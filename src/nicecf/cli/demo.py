"""``nicecf demo``: one person explained in four ways, then a test set by both searches, and a report."""

from __future__ import annotations

import argparse
import os
import tempfile
from typing import Any

from nicecf.cli.codes import DONE


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "demo",
        help="see what nicecf does, on a generated table, with a report",
        description="Explain one person in four ways, then a test set by both searches, and write a report. The table "
        "is generated, or UCI Adult from the folder that NICECF_DATA names.",
    )
    parser.set_defaults(run=_run)
    parser.add_argument("--report", metavar="FILE", help="where to write the report (default: a new temporary folder)")


def _run(options: argparse.Namespace) -> int:
    from nicecf.cli import showcase as demo
    from nicecf.support.files import check_writable

    # A new folder: in the current one, the name could belong to something else.
    path = options.report
    if path is None:
        path = os.path.join(tempfile.mkdtemp(prefix="nicecf-demo-"), "report.html")
    check_writable(path)
    demo.main(report=path)
    return DONE
