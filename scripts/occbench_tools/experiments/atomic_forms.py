from occbench_tools.dataset import first
from occbench_tools.markdown import table
from occbench_tools.verdicts import WORTH, Finding, Findings

ADDRESSES = {"one": "one address", "one_a_block": "one a block", "one_a_thread": "one a thread"}
FORMS = {
    "atomic_ref": "`atomic_ref`, relaxed",
    "function": "`atomicAdd` with the scope",
    "ordered": "`atomic_ref`, default order",
    "compare_swap": "compare-and-swap loop",
}
TYPES = ("float32", "uint32", "uint64")
SCOPES = ("block", "device", "system")


def ratio(of, addresses, changed, **base):
    """Time with `changed` over that of an atomic_ref of device scope with relaxed order; None if one is not known."""
    plain = {"addresses": addresses, "form": "atomic_ref", "scope": "device", **base}
    rows = [first(of.rows, **wanted) for wanted in (plain | changed, plain)]
    return rows[0]["time_us"] / rows[1]["time_us"] if all(rows) else None


def findings(of):
    found, told = [], []
    questions = (
        ("compare-and-swap loop", {"form": "compare_swap"}, lambda times: times >= WORTH),
        ("system scope", {"scope": "system"}, lambda times: times < WORTH),
        ("default order", {"form": "ordered"}, lambda times: times >= WORTH),
    )
    for question, changed, holds in questions:
        parts = []
        for addresses, words in ADDRESSES.items():
            times = ratio(of, addresses, changed, type="float32")
            if times is not None:
                found.append(Finding(f"{question}, {words}", holds(times), f"{times:.2f} × the relaxed add's time"))
                parts.append(f"{times:.2f}")
        if parts:
            told.append(f"{question} {', '.join(parts)}")
    return Findings(found, f"time over a relaxed float add's; {', '.join(ADDRESSES.values())}: {'; '.join(told)}")


def rate(row):
    """Adds a nanosecond, or dashes where the case is not made."""
    return f"{1e-9 * row['throughput']:.3g}" if row else "–"


def cases(of):
    columns = [(type_, scope) for type_ in TYPES for scope in SCOPES]
    lines = []
    for addresses, words in ADDRESSES.items():
        for form, name in FORMS.items():
            rows = (first(of.rows, addresses=addresses, form=form, type=type_, scope=scope) for type_, scope in columns)
            lines.append((words, name, *map(rate, rows)))
    return table(("addresses", "form", *(f"{type_}, {scope}:" for type_, scope in columns)), lines)


BLOCKS = {"cases": cases}
