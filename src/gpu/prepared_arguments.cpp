#include "gpu/prepared_arguments.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include <fmt/core.h>

#include "gpu/error.hpp"
#include "gpu/launch.hpp"
#include "gpu/resources.hpp"

namespace occbench {
namespace {

template <typename T>
std::vector<std::byte> contents_of(const Argument& argument) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(argument.count) * sizeof(T));
  T* const elements = reinterpret_cast<T*>(bytes.data());
  std::mt19937 generator(1);
  for (std::int64_t i = 0; i < argument.count; ++i) {
    if (argument.contents == Contents::iota) elements[i] = static_cast<T>(i);
    if (argument.contents != Contents::random) continue;
    const auto drawn = static_cast<std::uint32_t>(generator() >> 1);
    if constexpr (std::is_floating_point_v<T>) {
      elements[i] = static_cast<T>(static_cast<double>(drawn) / 2147483648.0);
    } else {
      elements[i] = static_cast<T>(drawn);
    }
  }
  return bytes;
}

template <typename T>
std::vector<std::byte> value_of(const Argument& argument) {
  std::vector<std::byte> bytes(sizeof(T));
  const T value = static_cast<T>(argument.value);
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <typename T>
std::vector<std::byte> bytes_of_type(const Argument& argument) {
  return argument.is_buffer() ? contents_of<T>(argument) : value_of<T>(argument);
}

/// What a buffer holds when the case begins, or the bytes of a value.
std::vector<std::byte> initial_bytes(const Argument& argument) {
  switch (argument.type) {
    case ElementType::int8:
      return bytes_of_type<std::int8_t>(argument);
    case ElementType::uint8:
      return bytes_of_type<std::uint8_t>(argument);
    case ElementType::int16:
      return bytes_of_type<std::int16_t>(argument);
    case ElementType::uint16:
      return bytes_of_type<std::uint16_t>(argument);
    case ElementType::int32:
      return bytes_of_type<std::int32_t>(argument);
    case ElementType::uint32:
      return bytes_of_type<std::uint32_t>(argument);
    case ElementType::int64:
      return bytes_of_type<std::int64_t>(argument);
    case ElementType::uint64:
      return bytes_of_type<std::uint64_t>(argument);
    case ElementType::float32:
      return bytes_of_type<float>(argument);
    case ElementType::float64:
      return bytes_of_type<double>(argument);
  }
  return {};
}

std::size_t device_bytes(const std::vector<Argument>& arguments) {
  std::size_t bytes = 0;
  for (const Argument& argument : arguments)
    bytes += static_cast<std::size_t>(argument.count) * bytes_of(argument.type);
  return bytes;
}

class PreparedArguments final : public Prepared {
 public:
  PreparedArguments(const Case& chosen, const Variant& variant, const std::vector<Argument>& arguments,
                    CheckResults check, const Amount& useful)
      : function_(variant.function),
        launch_(chosen.launch),
        small_(chosen.small),
        check_(std::move(check)),
        useful_(useful) {
    for (const Argument& argument : arguments) {
      initial_.push_back(initial_bytes(argument));
      buffers_.emplace_back(argument.is_buffer() ? initial_.back().size() : 0);
    }
    for (std::size_t i = 0; i < buffers_.size(); ++i) pointers_.push_back(buffers_[i].data());
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      places_.push_back(buffers_[i].size() > 0 ? static_cast<void*>(&pointers_[i]) : initial_[i].data());
    fill();
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    launch_kernel_with(Start::as_there_is_room, function_, launch_, stream, places_.data());
  }

  Check check(cudaStream_t stream) override {
    if (!check_ || small_) return Check::none;
    fill();
    launch(stream);
    occbench::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    std::vector<std::vector<std::byte>> after;
    for (const DeviceBuffer<std::byte>& buffer : buffers_) after.push_back(buffer.to_host());
    return check_(Results(initial_, std::move(after))) ? Check::ok : Check::wrong;
  }

  Amount useful() const override {
    return useful_;
  }

 private:
  void fill() {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (buffers_[i].size() > 0) buffers_[i].copy_from(initial_[i]);
    }
  }

  const void* function_;
  Launch launch_;
  bool small_;  ///< fewer blocks than the check expects
  CheckResults check_;
  Amount useful_;
  std::vector<std::vector<std::byte>>
      initial_;  ///< of buffers what they hold at first, of values their bytes
  std::vector<DeviceBuffer<std::byte>> buffers_;
  std::vector<std::byte*> pointers_;
  std::vector<void*> places_;  ///< of each argument, as a launch takes them
};

}  // namespace

std::uint64_t Results::fingerprint() const {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::vector<std::byte>& bytes : after_) {
    // Eight bytes at a time: buffers are large.
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, std::min(sizeof(word), bytes.size() - at));
      hash = (hash ^ word) * 0x100000001b3U;
      hash ^= hash >> 32U;
    }
  }
  return hash;
}

std::unique_ptr<Prepared> prepare_arguments(const Case& chosen, const Variant& variant,
                                            const std::vector<Argument>& arguments, const CheckResults& check,
                                            const Amount& useful) {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  occbench::check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  if (device_bytes(arguments) > free_bytes)
    throw CannotRun(fmt::format("the arguments need {} MB of device memory, and {} MB are free",
                                device_bytes(arguments) >> 20, free_bytes >> 20));
  return std::make_unique<PreparedArguments>(chosen, variant, arguments, check, useful);
}

}  // namespace occbench
