"""What traced programs read, for examples/python/README.md."""

from occbench_tools.dataset import Results, each, gpu_of, packed, read_rows
from occbench_tools.markdown import revision, table

SUMS = "programs/python_sums.csv"


def python_sums(results: Results) -> str:
    texts = []
    for model in results.models:
        if not packed(model.folder / SUMS):
            continue
        rows = read_rows(model.file(SUMS), model.occbench).sort("time_us", descending=True)
        lines = [
            (
                f"`{row['case'].removeprefix('trace/')}`",
                f"{row['time_us']:,.0f}",
                f"{row['theoretical_pct']:.1f} %",
                f"{row['predicted_pct']:.1f} %",
                f"{row['achieved_pct']:.1f} %",
                row["explanation"],
            )
            for row in each(rows)
        ]
        head = ("kernel", "time, µs:", "theory:", "predicted:", "achieved:", "finding")
        on = rows.row(0, named=True)
        texts.append(f"On an {gpu_of(rows)}, driver {on['driver']}, {revision(on)}:\n\n{table(head, lines)}")
    return "\n\n".join(texts)


BLOCKS = {"python sums": python_sums}
