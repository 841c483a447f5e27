from occbench_tools.dataset import each, first, parameter, parameter_of, pick
from occbench_tools.markdown import table
from occbench_tools.verdicts import Finding, Findings

ADDERS = {"thread": "every thread", "block": "thread 0 of a block"}
FORMS = {"plain": "load, add, store", "relaxed": "relaxed load and store", "atomic": "atomic add"}


def share(of, row):
    """Lowest to highest share of updates lost, over the launches."""
    shares = of.samples(row, "lost_updates_pct")
    if shares.is_empty():
        return f"{row['lost_updates_pct']:.4g}"
    low, high = f"{shares.min():.4g}", f"{shares.max():.4g}"
    return low if low == high else f"{low} to {high}"


def findings(of):
    found, shares_of_all = [], []
    sms = max((int(parameter_of(row, "sms")) for row in each(of.rows)), default=0)
    for adders, words in ADDERS.items():
        for form in ("plain", "relaxed"):
            row = first(of.rows, form=form, adders=adders, sms=sms, blocks=sms)
            if not row:
                continue
            measured = f"{share(of, row)} % lost"
            found.append(Finding(f"{FORMS[form]} by {words}", row["check"] == "lost_updates", measured))
            shares_of_all.append(row["lost_updates_pct"])
            shares = of.samples(row, "lost_updates_pct")
            if len(shares) > 1:
                sums = shares.n_unique()
                measured = (
                    f"{sums} different sums in {len(shares)} launches"
                    if sums > 1
                    else f"one sum in all {len(shares)} launches"
                )
                found.append(Finding(f"{FORMS[form]} by {words}, repeated", sums > 1, measured))
    atomics = pick(of.rows, form="atomic")
    if not atomics.is_empty():
        right = len(atomics.filter(check="ok"))
        found.append(Finding("atomics", right == len(atomics), f"sums right in {right} of {len(atomics)} cases"))
    lost = f"{min(shares_of_all):.4g} to {max(shares_of_all):.4g} %" if shares_of_all else "nothing"
    of_atomics = f"; atomics: {found[-1].measured}" if not atomics.is_empty() else ""
    return Findings(found, f"{sms} blocks on {sms} SMs lose {lost} without atomics{of_atomics}")


def cases(of):
    grids = of.rows.select(parameter("blocks").cast(int).unique().sort()).to_series()
    columns = [(form, adders) for adders in ADDERS for form in ("plain", "relaxed")]
    lines = []
    for blocks in grids:
        rows = [first(of.rows, form=form, adders=adders, blocks=blocks) for form, adders in columns]
        known = next(row for row in rows if row)
        lines.append((blocks, parameter_of(known, "sms"), *(share(of, row) if row else "" for row in rows)))
    head = (f"{FORMS[form]}; {ADDERS[adders]}:" for form, adders in columns)
    return table(("blocks:", "SMs:", *head), lines)


def costs(of):
    """Time of the racing add and of the atomic, one line a grid."""
    grids = of.rows.select(parameter("blocks").cast(int).unique().sort()).to_series()
    lines = []
    for blocks in grids:
        times = []
        for adders in ADDERS:
            for form in FORMS:
                row = first(of.rows, form=form, adders=adders, blocks=blocks)
                times.append(f"{row['time_us']:.1f}" if row else "")
        lines.append((blocks, *times))
    head = (f"{FORMS[form]}; {ADDERS[adders]}:" for adders in ADDERS for form in FORMS)
    return table(("blocks:", *head), lines)


BLOCKS = {"cases": cases, "costs": costs}
