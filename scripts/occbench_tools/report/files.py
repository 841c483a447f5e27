"""Files written whole."""

import os
import tempfile
from pathlib import Path

from occbench_tools import WrongInput


def replace_text(file: Path, text: str) -> None:
    """At every instant the file is the old one or the new one, whole."""
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=file.parent, delete=False) as new:
            new.write(text)
        Path(new.name).chmod(0o666 & ~umask())
        Path(new.name).replace(file)
    except OSError as error:
        raise WrongInput(f"{file} cannot be written: {error.strerror}") from error


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
