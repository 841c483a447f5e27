"""Figures of the texts that are of no one experiment: a module each, with BLOCKS as the experiments' modules have."""

import importlib
import pkgutil

MODULES = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
BLOCKS = {name: block for module in MODULES for name, block in getattr(module, "BLOCKS", {}).items()}
