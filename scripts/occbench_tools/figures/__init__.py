"""Figures of the texts that are of no one experiment: a module each, with BLOCKS as the experiments' modules have."""
