#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// The same results from fewer threads that compute more each: 1, 2, 4 or 8 (after V. Volkov, Better
/// Performance at Lower Occupancy, GTC 2010). No `Work` describes them, so nothing is predicted.
///
/// Variants, N results per thread:
///   product_N         matrix product by tiles in shared memory; a value of B serves N multiply-adds
///   walks_together_N  N walks through a table in L2, a load of each in flight at once
///   walks_in_turn_N   the same walks, one after the other
/// `extent` is the number of results; the grid has `extent` / (256 N) blocks.
extern const Kernel kResultsPerThread;

inline constexpr int kResultsPerThreadBlockThreads = 256;
inline constexpr int kResultsPerThreadCounts[] = {1, 2, 4, 8};

enum class ResultsBody { product, walks_together, walks_in_turn };
inline constexpr ResultsBody kResultsBodies[] = {ResultsBody::product, ResultsBody::walks_together,
                                                 ResultsBody::walks_in_turn};

std::string_view to_string(ResultsBody body);

/// "product_4". @throws std::out_of_range if there is none.
std::string_view results_variant(ResultsBody body, int results);

/// A number of results that every count divides into whole tiles, equal for each of `sms` SMs: about `waves`
/// waves of full SMs of 2,048 threads that compute eight each.
std::int64_t results_extent(int sms, int waves);

}  // namespace occbench
