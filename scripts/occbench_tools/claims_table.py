"""The table of claims: what documents say, what recorded rows show, and whether the two agree.

Claims and sources are those of the experiments, which their bench binaries print. What was measured and the verdict are
computed from the rows and their samples (FILE.samples.csv). Each experiment has a rule (occbench_tools/experiments),
which turns its rows into findings. Each finding supports the claim, does not, or is about something that the claim does not
name; one rule makes the verdict of them.
The table has one line an experiment; its text under results/ has the source and all findings.
"""

from occbench_tools import experiments
from occbench_tools.dataset import Run
from occbench_tools.markdown import table
from occbench_tools.program import Claim
from occbench_tools.verdicts import measured, verdict


def table_of_claims(runs: dict[str, Run], claims: list[Claim], texts: str | None = None) -> str:
    """A line for each experiment. What was measured is that of the first of `runs`; the verdict is of all.

    runs: by the name of the GPU model
    texts: where the texts of the experiments lie, which have the sources and what a verdict excepts
    """
    first = next(iter(runs))
    lines = []
    for claim in claims:
        findings = {gpu: experiments.findings(run.of(claim.experiment)) for gpu, run in runs.items()}
        verdicts = {gpu: verdict(of_model).partition(" (")[0] for gpu, of_model in findings.items()}
        same = len(set(verdicts.values())) == 1
        told = verdicts[first] if same else ", ".join(f"{gpu}: {of_model}" for gpu, of_model in verdicts.items())
        name = f"[{claim.experiment}]({texts}/{claim.experiment}.md)" if texts else f"`{claim.experiment}`"
        lines.append((name, claim.claim, measured(findings[first]), told))
    return table(("experiment", "claim", f"measured, {first}", f"verdict, {' and '.join(runs)}"), lines)
