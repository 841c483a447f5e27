"""Files written whole."""

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from occbench_tools import WrongInput

KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}


def target_of(file: Path) -> Path:
    """Where a write to `file` ends: at a regular file or a free name, through the symbolic links that lead there."""
    try:
        target = file.resolve(strict=False)
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return target
    except (OSError, RuntimeError) as error:  # links in a circle are a RuntimeError before Python 3.13
        raise WrongInput(f"cannot write {file}: {getattr(error, 'strerror', None) or error}") from error
    if stat.S_ISREG(mode):
        return target
    if stat.S_ISLNK(mode):
        raise WrongInput(f"cannot write {file}: Too many levels of symbolic links")
    kind = KINDS.get(stat.S_IFMT(mode), "a device")
    raise WrongInput(f"cannot write {file}: it is {kind}; name a file")


def require_not_another_kind(file: Path, mark: bytes, at: int = 0) -> None:
    """A file that is there and not empty has the mark of those that take its place, behind `at` bytes."""
    target = target_of(file)
    if not target.exists():
        return
    with target.open("rb") as there:
        begins = there.read(at + len(mark))
    if begins and begins[at:] != mark:
        raise WrongInput(
            f"cannot write {file}: a file of another kind is there already, without the mark of a picture of occbench; "
            "move it away or name another folder"
        )


def replace_bytes(file: Path, data: bytes) -> None:
    """At every instant the file is the old one or the new one, whole. A link stays, and leads to the new one."""
    target = target_of(file)
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=".occbench-", dir=target.parent)
        with open(descriptor, "wb") as new:
            new.write(data)
            new.flush()
            os.fsync(descriptor)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~umask()
        Path(temporary).chmod(mode)
        Path(temporary).replace(target)
        temporary = ""
    except OSError as error:
        raise WrongInput(f"cannot write {file}: {error.strerror}") from error
    finally:
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def replace_text(file: Path, text: str) -> None:
    replace_bytes(file, text.encode())


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
