"""`python -m wengert profile`: the command line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from ..common.script_argument import add_script
from .script import NoScript, run_module, run_script

__all__ = ["NoScript", "run_command"]

USAGE = "python -m wengert profile [-h] [-o TRACE.json] [--json TABLES.json] [--quiet] [-m] SCRIPT.py [ARGUMENT...]"
WHAT = """Run a script, and print where its time went: calls of compiled functions by signature, user lines, compilation
by phase, traces and their reasons, what plain Python answered, programs on disk."""
AFTER = """The script is run as by `python SCRIPT.py ARGUMENT...`: it is the module __main__, sys.argv is its own, and
its exit status is the command's. The report is written to stderr when the script ends, also where it raises or calls
sys.exit. Open the trace file in ui.perfetto.dev or chrome://tracing. Within a program, `with wengert.profile() as p:`
does the same for a block."""


def command_parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("python -m wengert profile", usage=USAGE, description=WHAT, epilog=AFTER)
    made.add_argument("-o", "--output", metavar="TRACE.json", help="write a timeline in Chrome's trace event format")
    made.add_argument("--json", metavar="TABLES.json", help="write the tables as JSON")
    made.add_argument("--quiet", action="store_true", help="print no report")
    add_script(made)
    return made


def run_command(argv: Sequence[str]) -> int:
    """-> the exit status of the script."""
    known = command_parser()
    given = known.parse_args(argv)
    if not given.script:
        known.error("name a script: python -m wengert profile simulate.py")
    script, *arguments = given.script
    run = run_module if given.module else run_script
    made, status = run(script, arguments)
    sys.stdout.flush()
    if not given.quiet:
        print(f"\n{made}", file=sys.stderr)
    for path, write in ((given.output, made.save), (given.json, lambda path: write_json(path, made.json()))):
        if path is not None:
            try:
                write(path)
            except OSError as error:
                raise NoScript(f"cannot write {path}: {error.strerror}") from None
            more = ": open it in ui.perfetto.dev" if path == given.output else ""
            print(f"written to {path}{more}", file=sys.stderr)
    return status


def write_json(path: str, data: object) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
