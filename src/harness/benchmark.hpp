#pragma once

#include <bit>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "axes/point.hpp"
#include "gpu/prepared_arguments.hpp"
#include "harness/experiment.hpp"

// A benchmark of a user's own kernel: a function that gets the values of the axes and returns a launch. Theory,
// prediction, time, counters, rows and `occbench sweep` come with it. examples/matrix_product has one.
namespace occbench {

/// A configuration's launch. Nothing is allocated before it is measured.
struct Launchable {
  const void* function = nullptr;  ///< as kernel() makes it
  Launch launch;
  std::vector<Argument> arguments = {};     ///< in the order of the kernel's parameters
  std::optional<Work> work = std::nullopt;  ///< work of each block, for the prediction
  Amount useful = {1, "launches"};          ///< of one launch; throughput is this over time
  CheckResults check = {};                  ///< of the buffers after one launch; left out with --occ_small
};

/// A kernel as a Launchable takes it: `kernel(product<32>)`.
template <typename... Parameters>
const void* kernel(void (*function)(Parameters...)) {
  return reinterpret_cast<const void*>(function);
}

/// A value that is a template argument of the kernel: one of the constants.
template <int... kValues>
struct OneOf {
  std::int64_t value;
};

[[noreturn]] void throw_no_instance(std::int64_t value, std::initializer_list<int> instances);

/// The kernel for a value that is a template argument: `make` gets it as a constant.
/// `instance(OneOf<16, 32>{tile}, [](auto tile) { return kernel(product<tile>); })`
/// @throws InputError for a value that the kernel is not compiled for
template <int... kValues, typename Make>
const void* instance(OneOf<kValues...> of, const Make& make) {
  const void* found = nullptr;
  ((of.value == kValues ? void(found = make(std::integral_constant<int, kValues>())) : void()), ...);
  if (found == nullptr) throw_no_instance(of.value, {kValues...});
  return found;
}

/// Likewise for two values.
template <int... kFirst, int... kSecond, typename Make>
const void* instance(OneOf<kFirst...> first, OneOf<kSecond...> second, const Make& make) {
  return instance(first, [&](auto one) {
    return instance(second, [&](auto other) { return make(decltype(one)(), other); });
  });
}

/// The element type of T. Only the types of ElementType have one.
template <typename T>
constexpr ElementType element_type() {
  if constexpr (std::is_same_v<T, float>) return ElementType::float32;
  if constexpr (std::is_same_v<T, double>) return ElementType::float64;
  if constexpr (std::is_integral_v<T>)  // in pairs, from int8 and uint8 on
    return static_cast<ElementType>(2 * std::countr_zero(sizeof(T)) + (std::is_signed_v<T> ? 0 : 1));
}

/// A buffer of `count` elements that are random, 0, or 0, 1, 2, ...; and a value.
template <typename T>
Argument random_values(std::int64_t count) {
  return {.type = element_type<T>(), .count = count, .contents = Contents::random};
}
template <typename T>
Argument zeros(std::int64_t count) {
  return {.type = element_type<T>(), .count = count, .contents = Contents::zeros};
}
template <typename T>
Argument iota(std::int64_t count) {
  return {.type = element_type<T>(), .count = count, .contents = Contents::iota};
}
template <typename T>
Argument value(T of) {
  return {.type = element_type<T>(), .value = static_cast<double>(of)};
}

/// An axis of a benchmark: its name as on the command line and its values in the grammar of expand_values().
struct OwnAxis {
  std::string name;
  std::string values;
  std::string meaning = "";
};

/// An experiment of one kernel: each configuration of the axes, in every suite. `occbench sweep NAME` takes other
/// values for them.
/// @param claim  the expectation, a sentence
Experiment benchmark(std::string_view name, std::string_view claim, std::vector<OwnAxis> axes,
                     std::function<Launchable(const Point& at)> configure);

}  // namespace occbench
