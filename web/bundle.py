"""One page of the files in this folder, and of the module: bundle.py MODULE.wasm ROWS.csv VERSION PAGE.html"""

import base64
import csv
import gzip
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MOST_BYTES = 2_000_000


def joined(name: str, seen: set[str]) -> str:
    """A module of JavaScript after those that it imports, as one script. Names are unique over all of them."""
    if name in seen:
        return ""
    seen.add(name)
    text = (HERE / name).read_text()
    imported = "".join(joined(other, seen) for other in re.findall(r'^import .* from "\./(.+)";$', text, re.MULTILINE))
    text = re.sub(r"^import .*;\n", "", text, flags=re.MULTILINE)
    return imported + re.sub(r"^export ", "", text, flags=re.MULTILINE)


def script(name: str) -> str:
    return f'(() => {{\n"use strict";\n{joined(name, set())}}})();\n'


def lessons(rows_file: Path) -> str:
    """The lessons, each with its measured row."""
    with open(rows_file, newline="") as file:
        rows = {f"{row['experiment']}/{row['case']}": row for row in csv.DictReader(file)}
    told = json.loads((HERE / "lessons.json").read_text())
    for lesson in told:
        row = rows[lesson["case"]]
        lesson["row"] = {name: cell for name, cell in row.items() if cell}
    return json.dumps(told).replace("<", "\\u003c")


def page(module: Path, rows_file: Path, version: str) -> str:
    parts = {
        "/* page.css */": (HERE / "page.css").read_text(),
        "/* page.js */": script("page.js"),
        "/* worker.js */": script("worker.js"),
        "/* lessons */": lessons(rows_file),
        "/* module */": base64.b64encode(gzip.compress(module.read_bytes(), 9, mtime=0)).decode(),
        "<!-- version -->": version,
    }
    text = (HERE / "page.html").read_text()
    for place, part in parts.items():
        assert text.count(place) == 1, place
        text = text.replace(place, part)
    return text


def main() -> int:
    module, rows_file, version, out = sys.argv[1:]
    text = page(Path(module), Path(rows_file), version)
    if len(text.encode()) > MOST_BYTES:
        print(f"the page has {len(text.encode())} bytes, and {MOST_BYTES} are allowed", file=sys.stderr)
        return 1
    Path(out).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
