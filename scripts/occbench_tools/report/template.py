"""Fills in a page's template, which lies beside this file."""

from pathlib import Path

import jinja2

HERE = Path(__file__).parent


def fill_in(template: str, **values: object) -> str:
    """Every name that the template uses must be given; text is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)
