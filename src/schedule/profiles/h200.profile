# NVIDIA H200. Order, hand-over and what an SM takes from traces (results/nvidia-h200/block-scheduling.md), the
# cycles fitted to hold launches recorded under tests/data/h200_hold.
name = h200
compute_capability = 9.0
sm_count = 132
eager_sms = 8
eager_period = 92
fill_cycles_per_block = 0.42
refill_cycles_per_block = 1.2
sm_start_cycles_per_block = 26
sm_start_cycles_per_warp = 5
sm_spread_cycles = 400
hand_over_cycles = 300
warp_overhead_cycles = 166
jitter_cycles = 130
bytes_per_cycle = 2170
