#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// Each block fills all of its shared memory, static and dynamic, from device memory, sums it up, and stays
/// until its cycles are over: occupancy limited by shared memory, with a duration known by construction. The
/// case's work must be equal for all blocks and long enough for the fill.
///
/// Variants: `dynamic`, without static shared memory; `static_N` with N bytes of it, N in
/// kSharedStagingStaticBytes.
extern const Kernel kSharedStaging;

inline constexpr int kSharedStagingStaticBytes[] = {1024, 4096, 8192, 12288, 16384, 24576, 32768, 49152};

/// "static_8192". @throws std::out_of_range if there is none of that size.
std::string_view shared_staging_variant(int static_bytes);

/// As the kernel's own, for any multiple of 4 bytes: for a variant compiled at run time.
std::unique_ptr<Prepared> prepare_shared_staging(std::int64_t static_bytes, const Case& chosen,
                                                 const Variant& variant);

}  // namespace occbench
