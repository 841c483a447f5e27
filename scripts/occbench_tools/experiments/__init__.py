"""What the texts say of each experiment: a module of its name, and nothing elsewhere. It has

findings(of)      its rule: which of its rows (dataset.Experiment) support the claim, as findings (verdicts); none if
                  nothing was measured
BLOCKS            what else its text under results/ shows: `{"cases": cases}` for what stands between
                  `<!-- NAME: cases -->` and `<!-- end -->`; a function from the experiment to Markdown
"""

import importlib
import pkgutil
from collections.abc import Sequence

from occbench_tools import WrongInput
from occbench_tools.dataset import Experiment
from occbench_tools.verdicts import Finding

MODULES = {found.name: importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)}
NOT_RECORDED = "Not recorded yet."


def findings(of: Experiment) -> Sequence[Finding]:
    if of.name not in MODULES:
        raise WrongInput(
            f"{__path__[0]}/{of.name}.py is not there: its function findings(of) says which rows support the claim of "
            f"{of.name}, and its BLOCKS what else the text shows"
        )
    return [] if of.every.is_empty() else MODULES[of.name].findings(of)


def block(of: Experiment, name: str) -> str:
    return NOT_RECORDED if of.rows.is_empty() else MODULES[of.name].BLOCKS[name](of)
