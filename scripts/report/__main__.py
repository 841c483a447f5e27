"""The Python half of `occbench report`, which calls it with files that it has read before.

Exit status as of `occbench`: 64 wrong input, 70 a fault of ours.
"""

import argparse
import sys
import traceback
from pathlib import Path

try:
    from charts import CHARTS, LeftOut, draw_all
    from files import replace_text
    from occbench import Occbench
    from page import write_page
    from pictures import FORMATS, write_pictures
    from rows import WrongInput, load
except ModuleNotFoundError as error:
    print(
        f"occbench: {sys.executable} has no {error.name}: run scripts/python --version, which sets it up",
        file=sys.stderr,
    )
    sys.exit(2)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--occbench", required=True, help="the program to ask for columns and curves")
    parser.add_argument("--output", type=Path, default=Path("report.html"))
    parser.add_argument("--timeline", type=Path)
    parser.add_argument("--per-sm", type=Path)
    parser.add_argument("--pictures", type=Path, help="write pictures into this folder instead of a page")
    parser.add_argument("--chart", action="append", default=[], help="only this chart")
    parser.add_argument("--picture-format", action="append", default=[], choices=FORMATS)
    return parser.parse_args()


def beside(file: Path, name: str) -> Path | None:
    folder = file.parent / name
    return folder if folder.is_dir() else None


def check_names(names: list[str]) -> None:
    known = [chart.name for chart in CHARTS]
    for name in names:
        if name not in known:
            raise WrongInput(f"there is no chart '{name}'; the charts are {', '.join(known)}")


def say(left_out: list[LeftOut]) -> None:
    for entry in left_out:
        print(f"occbench: left out: {entry.chart.name}: {entry.reason}", file=sys.stderr)


def report(options: argparse.Namespace) -> int:
    check_names(options.chart)
    first = options.files[0]
    rows = load(
        options.files,
        Occbench(options.occbench),
        options.timeline or beside(first, "timeline"),
        options.per_sm or beside(first, "per_sm"),
    )
    drawn, left_out = draw_all(rows, options.chart)
    say(left_out)
    if options.pictures:
        for file in write_pictures(drawn, options.pictures, options.picture_format or list(FORMATS)):
            print(file)
    else:
        replace_text(options.output, write_page(rows, drawn, left_out))
        print(options.output)
    return 70 if any(entry.fault for entry in left_out) else 0


def main() -> int:
    try:
        return report(arguments())
    except WrongInput as error:
        print(f"occbench: {error}", file=sys.stderr)
        return 64
    except Exception:
        traceback.print_exc()
        print("occbench: internal fault: the report could not be drawn", file=sys.stderr)
        return 70


if __name__ == "__main__":
    sys.exit(main())
