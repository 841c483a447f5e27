"""The command: `python -m occbench` is `occbench`."""

import os
import sys
from typing import NoReturn

from occbench import _command


def main() -> NoReturn:
    program = str(_command.program())
    os.execve(program, [program, *sys.argv[1:]], _command.environment())


if __name__ == "__main__":
    main()
