#include "kernels/assembled.hpp"

namespace occbench {
namespace {

// The last line keeps the array from being empty; no function has this name.
constexpr Assembled kTable[] = {
#include "assembled_table.inc"
    {"", "", 0, 0}};

}  // namespace

constinit const std::span<const Assembled> kAssembled{kTable, std::size(kTable) - 1};

}  // namespace occbench
