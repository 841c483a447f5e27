"""Files and functions are short enough to be read at a glance: see docs/architecture.md."""

import ast
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 60
CPP = {".cpp", ".hpp", ".cu", ".cuh"}
NO_FUNCTION = re.compile(r"\s*(namespace|class|struct|union|enum|extern)\b|.*= \{+$")


def sources():
    """Every file of the project in C++, CUDA, Python or shell."""
    folders = ["bench", "examples", "kernels", "scripts", "src", "tests"]
    files = [file for folder in folders for file in (ROOT / folder).rglob("*") if file.is_file()]
    commands = [file for file in files if file.is_relative_to(ROOT / "scripts") and not file.suffix]
    return [file for file in files if file.suffix in CPP | {".py", ".bash"}] + commands


def begin_of_signature(lines, opening):
    """The first line of what `lines[opening]` ends with a brace."""
    begin = opening
    while begin > 0 and lines[begin - 1].strip() and not re.search(r"[;{}:]$|\},$|^\s*//|^#|>$", lines[begin - 1]):
        begin -= 1
    return begin


def cpp_functions(text):
    """First line and length of each function: clang-format puts its closing brace under the first letter."""
    lines = text.split("\n")
    for opening, line in enumerate(lines):
        if not line.endswith(" {"):
            continue
        begin = begin_of_signature(lines, opening)
        if NO_FUNCTION.match(lines[begin]) or NO_FUNCTION.match(line):
            continue
        indent = re.match(r"\s*", lines[begin]).group()
        closing = next((i for i in range(opening + 1, len(lines)) if re.match(indent + r"\}", lines[i])), opening)
        yield lines[begin], closing - begin + 1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.end_lineno - node.lineno + 1


class Sizes(unittest.TestCase):
    def test_a_function_is_found_and_measured(self):
        cpp = "namespace a {\n\nint f(int a,\n      int b) {\n  if (a) {\n    return b;\n  }\n}\n\n}  // namespace a\n"
        self.assertIn(("int f(int a,", 6), list(cpp_functions(cpp)))
        self.assertEqual(list(python_functions("def f():\n    x = 1\n    return x\n")), [("f", 3)])

    def test_no_file_has_more_than_400_lines(self):
        files = sources()
        self.assertGreater(len(files), 500)
        long = [f"{file}: {count}" for file in files if (count := file.read_text().count("\n")) > MOST_LINES_OF_A_FILE]
        self.assertEqual(long, [])

    def test_no_function_has_more_than_60_lines(self):
        count = 0
        long = []
        for file in sources():
            functions = cpp_functions if file.suffix in CPP else python_functions if file.suffix == ".py" else None
            for name, lines in functions(file.read_text()) if functions else []:
                count += 1
                if lines > MOST_LINES_OF_A_FUNCTION:
                    long.append(f"{file}: {lines} lines: {name.strip()}")
        self.assertGreater(count, 4000)
        self.assertEqual(long, [])


if __name__ == "__main__":
    unittest.main()
