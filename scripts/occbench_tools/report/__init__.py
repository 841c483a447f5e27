"""The page of `occbench report`, and its charts as pictures."""
