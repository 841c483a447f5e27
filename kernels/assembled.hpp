#pragma once

#include <span>
#include <string_view>

#include "gpu/kernel.hpp"

namespace occbench {

/// The assembler's reports on every kernel of this library, for each architecture of the build. Empty if the
/// build could not keep them.
extern const std::span<const Assembled> kAssembled;

/// A variant that finds its own lines in that table.
inline Variant make_variant(std::string_view name, const void* function) {
  return {name, function, kAssembled};
}
template <typename... Parameters>
Variant make_variant(std::string_view name, void (*function)(Parameters...)) {
  return make_variant(name, reinterpret_cast<const void*>(function));
}

}  // namespace occbench
