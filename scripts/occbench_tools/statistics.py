"""The one median and the one quantile of texts, charts and comparisons."""

from collections.abc import Iterable
from typing import overload

import polars as pl


@overload
def quantile(values: pl.Expr, share: float) -> pl.Expr: ...
@overload
def quantile(values: Iterable[float], share: float) -> float: ...
def quantile(values, share):
    """By linear interpolation between neighbours, as `occbench` and NumPy have it. Nulls are left out.

    `share`: from 0 to 1. `values`: numbers, or an expression, of which the quantile is an expression."""
    if not isinstance(values, pl.Expr):
        values = pl.Series(values=values, dtype=pl.Float64)
        if values.drop_nulls().is_empty():
            raise ValueError("no values, no quantile")
    return values.quantile(share, interpolation="linear")


def median(values):
    return quantile(values, 0.5)
