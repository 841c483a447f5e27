#include "gpu/prepared_arguments.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <utility>

#include <fmt/core.h>

#include "gpu/error.hpp"
#include "gpu/launch.hpp"
#include "occupancy/input_error.hpp"

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
  if (argument.contents == Contents::file)
    return bytes_of_file(argument.file, static_cast<std::size_t>(argument.count) * sizeof(T));
  return argument.is_buffer() ? contents_of<T>(argument) : value_of<T>(argument);
}

/// Initial contents of a buffer, or the bytes of a value.
std::vector<std::byte> initial_bytes(const Argument& argument) {
  constexpr std::vector<std::byte> (*kInOrder[])(const Argument&) = {
      bytes_of_type<std::int8_t>,   bytes_of_type<std::uint8_t>,  bytes_of_type<std::int16_t>,
      bytes_of_type<std::uint16_t>, bytes_of_type<std::int32_t>,  bytes_of_type<std::uint32_t>,
      bytes_of_type<std::int64_t>,  bytes_of_type<std::uint64_t>, bytes_of_type<float>,
      bytes_of_type<double>};
  return kInOrder[static_cast<std::size_t>(argument.type)](argument);
}

std::size_t device_bytes(const std::vector<Argument>& arguments) {
  std::size_t bytes = 0;
  for (const Argument& argument : arguments)
    bytes += static_cast<std::size_t>(argument.count) * bytes_of(argument.type);
  return bytes;
}

template <typename T>
bool equal_elements(std::span<const std::byte> found, std::span<const std::byte> expected, double tolerance) {
  const auto* const a = reinterpret_cast<const T*>(found.data());
  const auto* const b = reinterpret_cast<const T*>(expected.data());
  for (std::size_t i = 0; i < expected.size() / sizeof(T); ++i) {
    const auto value = static_cast<double>(a[i]);
    const auto wanted = static_cast<double>(b[i]);
    if (value == wanted || (std::isnan(value) && std::isnan(wanted))) continue;
    // Written so that NaN is wrong.
    const bool near =
        std::isfinite(wanted) && std::abs(value - wanted) <= tolerance * std::max(1.0, std::abs(wanted));
    if (!near) return false;
  }
  return true;
}

}  // namespace

/// The arguments on the device.
class ArgumentBuffers {
 public:
  explicit ArgumentBuffers(const std::vector<Argument>& arguments) : arguments_(arguments) {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    const std::size_t needed = device_bytes(arguments);
    if (needed > free_bytes)
      throw CannotRun(fmt::format("the arguments need {} MB of device memory, and {} MB are free",
                                  needed >> 20, free_bytes >> 20));
    // A copy on the device is faster.
    const bool twice = needed <= free_bytes / 4;
    for (const Argument& argument : arguments) {
      initial_.push_back(initial_bytes(argument));
      const std::span<const std::byte> held(initial_.back().data(),
                                            argument.is_buffer() ? initial_.back().size() : 0);
      buffers_.emplace_back(held.size());
      if (twice) originals_.emplace_back(held);
    }
    for (std::size_t i = 0; i < buffers_.size(); ++i) pointers_.push_back(buffers_[i].data());
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      places_.push_back(buffers_[i].size() > 0 ? static_cast<void*>(&pointers_[i]) : initial_[i].data());
  }

  const std::vector<Argument>& arguments() const {
    return arguments_;
  }
  const std::vector<std::vector<std::byte>>& initial() const {
    return initial_;
  }
  /// Pointers to each argument, as a launch takes them.
  void** places() {
    return places_.data();
  }

  void fill() {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (buffers_[i].size() == 0) continue;
      if (originals_.empty()) {
        buffers_[i].copy_from(initial_[i]);
      } else {
        check(cudaMemcpy(buffers_[i].data(), originals_[i].data(), buffers_[i].size(),
                         cudaMemcpyDeviceToDevice),
              "cudaMemcpy");
      }
    }
    // cudaMemcpy does not wait for a copy on the device.
    check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }

  /// @param compared  arguments whose results are needed; empty: all
  Results results(const std::vector<bool>& compared = {}) {
    std::vector<std::vector<std::byte>> after(buffers_.size());
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (compared.empty() || compared[i]) after[i] = buffers_[i].to_host();
    }
    return {initial_, std::move(after)};
  }

 private:
  std::vector<Argument> arguments_;
  std::vector<std::vector<std::byte>> initial_;  ///< initial contents of buffers, bytes of values
  std::vector<DeviceBuffer<std::byte>> buffers_;
  std::vector<DeviceBuffer<std::byte>> originals_;  ///< empty if there is too little memory
  std::vector<std::byte*> pointers_;
  std::vector<void*> places_;
};

namespace {

class PreparedArguments final : public Prepared {
 public:
  PreparedArguments(const Case& chosen, const Variant& variant, std::shared_ptr<ArgumentBuffers> buffers,
                    CheckResults check, std::vector<bool> compared, const Amount& useful)
      : function_(variant.function),
        launch_(chosen.launch),
        small_(chosen.small),
        check_(std::move(check)),
        compared_(std::move(compared)),
        useful_(useful),
        buffers_(std::move(buffers)) {
    buffers_->fill();
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    launch_kernel_with(Start::as_there_is_room, function_, launch_, stream, buffers_->places());
  }

  Check check(cudaStream_t stream) override {
    if (!check_ || small_) return Check::none;
    buffers_->fill();
    launch(stream);
    occbench::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    ResultsAnswer answer = check_(buffers_->results(compared_));
    why_wrong_ = std::move(answer.why_wrong);
    return answer.is_right ? Check::ok : Check::wrong;
  }

  std::string why_wrong() const override {
    return why_wrong_;
  }

  Amount useful() const override {
    return useful_;
  }

 private:
  const void* function_;
  Launch launch_;
  bool small_;  ///< fewer blocks than the check expects
  CheckResults check_;
  std::string why_wrong_;
  std::vector<bool> compared_;
  Amount useful_;
  std::shared_ptr<ArgumentBuffers> buffers_;
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
                                            const Amount& useful, std::vector<bool> compared,
                                            std::shared_ptr<ArgumentBuffers>* kept) {
  std::shared_ptr<ArgumentBuffers> buffers;
  if (kept != nullptr && *kept && (*kept)->arguments() == arguments) {
    buffers = *kept;
  } else {
    if (kept != nullptr) kept->reset();  // frees its memory for the next
    buffers = std::make_shared<ArgumentBuffers>(arguments);
    if (kept != nullptr) *kept = buffers;
  }
  return std::make_unique<PreparedArguments>(chosen, variant, std::move(buffers), check, std::move(compared),
                                             useful);
}

Results results_of(const void* function, const Launch& launch, const std::vector<Argument>& arguments) {
  ArgumentBuffers buffers(arguments);
  buffers.fill();
  configure(function, launch);
  launch_kernel_with(Start::as_there_is_room, function, launch, nullptr, buffers.places());
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return buffers.results();
}

std::vector<std::byte> bytes_of_file(const std::filesystem::path& file, std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::error_code unknown;  // a pipe, on which a read could wait forever, does not have this size
  std::ifstream stream;
  if (std::filesystem::file_size(file, unknown) == size && !unknown) stream.open(file, std::ios::binary);
  if (!stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size)))
    throw InputError("{} cannot be read or does not have the {} bytes of the buffer", file.string(), size);
  return bytes;
}

bool equal_within(ElementType type, std::span<const std::byte> found, std::span<const std::byte> expected,
                  double tolerance) {
  if (type == ElementType::float32) return equal_elements<float>(found, expected, tolerance);
  if (type == ElementType::float64) return equal_elements<double>(found, expected, tolerance);
  return std::ranges::equal(found, expected);
}

}  // namespace occbench
