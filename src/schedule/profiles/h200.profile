# NVIDIA H200. Fitted to hold launches recorded under tests/data/h200_hold.
name = h200
compute_capability = 9.0
sm_count = 132
fill_cycles_per_block = 0.42
refill_cycles_per_block = 1.2
sm_start_cycles_per_block = 24
sm_start_cycles_per_warp = 7.5
hand_over_cycles = 300
warp_overhead_cycles = 265
jitter_cycles = 60
bytes_per_cycle = 2170
