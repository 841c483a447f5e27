"""The Python part of occbench: the report, and the texts and comparisons that are made of recorded rows.

Exit status as of `occbench`: 0 done, 1 a check or bound is not met, 2 a package is missing, 64 wrong use or input,
70 a fault of ours.
"""

import argparse
import contextlib
import importlib
import io
import os
import sys
import tomllib
import traceback
from pathlib import Path
from typing import NoReturn

from occbench_tools import WrongInput, tell

# The module, which has `declare(parser)`, which adds the arguments, and `run(options)`, which returns the exit status; and what
# the command is for.
COMMANDS = {
    "report": ("report.command", "draw the report or its charts; `occbench report` and scripts/plot call it"),
    "fleet": ("report.fleet", "draw the page of a fleet; `occbench fleet --page` calls it"),
    "figures": ("figures.command", "write the figures of README.md and of the texts under results/"),
    "compare-ncu": ("compare_ncu", "measure the same launches with occbench and with ncu (needs a GPU)"),
    "ncu-rules": ("ncu_rules", "record what ncu's rules estimate for some cases (needs a GPU)"),
    "repredict": ("repredict", "predict recorded rows again, in place"),
    "compare-profiles": ("compare_profiles", "predict the random launches of each GPU model with each profile"),
    "keep-timelines": ("keep_timelines", "copy some recorded timelines and per-SM files into results/"),
}
WRONG_INPUT, FAULT, NOT_THERE = 64, 70, 2
BROKEN_PIPE = 128 + 13  # as a shell tells of a program that ended by SIGPIPE


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(WRONG_INPUT, f"{self.prog}: {message}; --help lists what there is\n")


def run(arguments: list[str]) -> int | None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="python -m occbench_tools", description=__doc__, formatter_class=layout)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for name, (place, summary) in COMMANDS.items():
        subparser = commands.add_parser(name, help=summary, formatter_class=layout)
        if arguments[:1] == [name]:  # the others' packages need not be there
            module = importlib.import_module(f"occbench_tools.{place}")
            subparser.description = module.__doc__
            module.declare(subparser)
            subparser.set_defaults(run=module.run)
    options = parser.parse_args(arguments)
    return options.run(options)


def remedy() -> str:
    package = Path(__file__).resolve().parent
    script = package.parent / "python"
    if script.exists():
        return f"{script} --version sets it up"
    needed = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    return (
        f"install it: python3 -m venv FOLDER && FOLDER/bin/pip install {' '.join(needed)}; "
        "then name FOLDER/bin/python in the variable OCCBENCH_PYTHON"
    )


def printed(text: str) -> int:
    """The status of what standard output has taken of the text."""
    if sys.stdout is not None:  # as it is where a shell closed it
        try:
            print(text, end="", flush=True)
            return 0
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python tries again when it ends
            if isinstance(error, BrokenPipeError):
                return BROKEN_PIPE  # its reader has enough, as `head` has
    elif not text:
        return 0
    tell("standard output could not be written (is its disk full?): what it was to hold is lost")
    return WRONG_INPUT


def guarded() -> int:
    try:
        return run(sys.argv[1:]) or 0
    except SystemExit as end:  # --help, and what is wrong with the arguments
        return end.code or 0
    except WrongInput as error:
        tell(str(error))
        return WRONG_INPUT
    except ModuleNotFoundError as error:
        print(f"occbench: {sys.executable} has no package {error.name}; {remedy()}", file=sys.stderr)
        return NOT_THERE
    except Exception:
        traceback.print_exc()
        print(f"occbench: internal fault in {' '.join(sys.argv[1:2])}", file=sys.stderr)
        return FAULT


def main() -> int:
    with contextlib.redirect_stdout(io.StringIO()) as said:  # no print fails before the work is done
        status = guarded()
    unwritten = printed(said.getvalue())
    return status or unwritten


if __name__ == "__main__":
    if sys.stdout is not None:
        # A file's name is bytes, and few encodings have all characters of names.
        sys.stdout.reconfigure(errors="surrogateescape" if sys.stdout.encoding == "utf-8" else "backslashreplace")
    sys.exit(main())
