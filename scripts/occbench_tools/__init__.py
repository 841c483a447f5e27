"""The Python part of occbench: the report, and the texts and comparisons that are made of recorded rows."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  a Python of any age may have been asked
    sys.exit(f"occbench: {sys.executable} is older than Python 3.11: name a newer one in the variable OCCBENCH_PYTHON")


def printable(text: str) -> str:
    """Characters that are not shown, as a terminal's commands are not, stand by their codes."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\u{ord(c):04x}" for c in text)


def tell(message: str) -> None:
    """A line on standard error. No character of a file's names reaches a terminal that it would obey."""
    print(f"occbench: {printable(message)}", file=sys.stderr)


class WrongInput(Exception):
    """Input from the user that cannot be used. The message names the file or value, the limit and the fix."""
