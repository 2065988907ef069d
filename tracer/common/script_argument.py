"""The arguments by which commands name a script that they run."""

import argparse


def add_script(parser: argparse.ArgumentParser) -> None:
    """`-m` and the script, with what it is given: `.module`, and `.script`, a list, empty where none was named."""
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module's name, as for `python -m`")
    parser.add_argument(
        "script",
        metavar="SCRIPT.py [ARGUMENT...]",
        nargs=argparse.REMAINDER,
        help="the path of a script, and what it is given; options of this command come in front",
    )
