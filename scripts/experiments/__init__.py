"""What the texts say of each experiment: a module of its name, and nothing elsewhere. It has

findings(rows)    its rule: what of its rows (recorded.Experiment) supports the claim, as findings (verdicts), none if
                  there is nothing to judge by
BLOCKS            what else its text under results/ shows: `{"cases": cases}` for what stands between
                  `<!-- NAME: cases -->` and `<!-- end -->`; a function from its rows to Markdown
"""

import importlib
import pkgutil

from recorded import suite

MODULES = {found.name: importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)}


def findings(name, run):
    if name not in MODULES:
        raise SystemExit(
            f"scripts/experiments/{name}.py is to say what bears the claim of {name} out, and is not there"
        )
    return MODULES[name].findings(run.of(name))


def block(name, what):
    """Of the text, whose rows are those of the recorded suite."""
    rows = suite().of(name)
    return MODULES[name].BLOCKS[what](rows) if rows else "Not recorded yet."
