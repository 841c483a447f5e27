"""`parameters`, what an experiment varied, as `key=value;key=value`."""

import polars as pl


def parameter(name: str) -> pl.Expr:
    """Its text, null where a row has no such parameter."""
    return pl.col("parameters").str.extract(rf"(?:^|;){name}=([^;]*)")


def names(frame: pl.DataFrame) -> list[str]:
    """Those that are words."""
    keys = frame["parameters"].drop_nulls().str.extract_all(r"(?:^|;)\w+=").explode().drop_nulls()
    return keys.str.strip_chars(";=").unique(maintain_order=True).to_list()
