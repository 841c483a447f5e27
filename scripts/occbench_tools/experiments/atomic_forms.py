from occbench_tools.dataset import first, one
from occbench_tools.markdown import fill, table
from occbench_tools.verdicts import SAME_RATIO, WORTH, Finding, Findings

ADDRESSES = {"one": "one address", "one_a_block": "one a block", "one_a_thread": "one a thread"}
FORMS = {
    "atomic_ref": "`atomic_ref`, relaxed",
    "function": "`atomicAdd` with the scope",
    "ordered": "`atomic_ref`, default order",
    "compare_swap": "compare-and-swap loop",
}
TYPES = ("float32", "uint32", "uint64")
SCOPES = ("block", "device", "system")


def compared(of, addresses, changed, **base):
    """The row with `changed`, and that of an atomic_ref of device scope with relaxed order; None if one is not known."""
    plain = {"addresses": addresses, "form": "atomic_ref", "scope": "device", **base}
    rows = [first(of.rows, **wanted) for wanted in (plain | changed, plain)]
    return rows if all(rows) else None


def findings(of):
    found, told = [], []
    questions = (
        ("compare-and-swap loop", {"form": "compare_swap"}, lambda times: times >= WORTH),
        ("system scope", {"scope": "system"}, lambda times: times < WORTH),
        ("default order", {"form": "ordered"}, lambda times: times >= WORTH),
        ("atomicAdd", {"form": "function"}, lambda times: abs(times - 1) < SAME_RATIO),
    )
    for question, changed, holds in questions:
        parts = []
        for addresses, words in ADDRESSES.items():
            rows = compared(of, addresses, changed, type="float32")
            if rows:
                times = rows[0]["time_us"] / rows[1]["time_us"]
                # Models are comparable on the same grid only: a loop's time grows with the threads that contend.
                measured = f"{times:.2f} × the relaxed add's time, {rows[0]['grid_blocks']:,} blocks"
                found.append(Finding(f"{question}, {words}", holds(times), measured))
                parts.append(f"{times:.2f}")
        if parts:
            told.append(f"{question} {', '.join(parts)}")
    return Findings(found, f"time over a relaxed add's; {', '.join(ADDRESSES.values())}: {'; '.join(told)}")


def cases(of):
    columns = {f"{kind}, {scope}": {"type": kind, "scope": scope} for kind in TYPES for scope in SCOPES}
    lines = []
    for addresses, words in ADDRESSES.items():
        for form, name in FORMS.items():
            rows = (first(of.rows, addresses=addresses, form=form, **column) for column in columns.values())
            lines.append((words, name, *(fill(RATE, row) for row in rows)))
    return table(("addresses", "form", *(f"{name}:" for name in columns)), lines)


def figures(of):
    """What the default order costs float32 adds that share no address, by scope."""
    shares = []
    for scope in SCOPES:
        wanted = {"addresses": "one_a_thread", "type": "float32", "scope": scope}
        ordered, relaxed = (one(of.rows, form=form, **wanted) for form in ("ordered", "atomic_ref"))
        shares.append(f"{100 * ordered['throughput'] / relaxed['throughput']:.0f} % ({scope})")
    return (
        "With the default order and an address for each thread, `float32` adds reach this share of the rate of relaxed ones "
        f"of their scope: {', '.join(shares)}."
    )


RATE = "{throughput:.3g/1e9}"  # adds a nanosecond


BLOCKS = {"cases": cases, "figures": figures}
