#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "gpu/error.hpp"
#include "gpu/kernel.hpp"
#include "occupancy/launch.hpp"

namespace occbench {

/// Sets a function's attributes as `launch` needs them: dynamic shared memory beyond the default, carveout,
/// clusters beyond the portable size. They stay with the function, so every case sets all of them again.
/// @throws CudaError
void configure(const void* function, const Launch& launch);

/// How the blocks of a grid start: as there is room, or all at once, so that they may wait for one another.
enum class Start { as_there_is_room, together };

/// Queues `function` on `stream`. `arguments` has the place of each argument. @throws CudaError
void launch_kernel_with(Start start, const void* function, const Launch& launch, cudaStream_t stream,
                        void** arguments);

/// Queues `function` on `stream`. `arguments` must have exactly the types of the kernel's parameters. @throws
/// CudaError
template <typename... Arguments>
void launch_kernel(Start start, const void* function, const Launch& launch, cudaStream_t stream,
                   Arguments... arguments) {
  std::array<void*, sizeof...(Arguments)> pointers{&arguments...};
  launch_kernel_with(start, function, launch, stream, pointers.data());
}

template <typename... Arguments>
void launch_kernel(const void* function, const Launch& launch, cudaStream_t stream, Arguments... arguments) {
  launch_kernel(Start::as_there_is_room, function, launch, stream, arguments...);
}

/// A CUDA stream of its own, not synchronizing with the default stream.
class Stream {
 public:
  Stream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~Stream() {
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }

  cudaStream_t get() const {
    return stream_;
  }
  void synchronize() const {
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A CUDA event with timing.
class Event {
 public:
  Event() {
    check(cudaEventCreate(&event_), "cudaEventCreate");
  }
  ~Event() {
    if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }

  cudaEvent_t get() const {
    return event_;
  }
  void record(cudaStream_t stream) {
    check(cudaEventRecord(event_, stream), "cudaEventRecord");
  }
  void synchronize() const {
    check(cudaEventSynchronize(event_), "cudaEventSynchronize");
  }

  /// Microseconds from `earlier` to this event, both reached.
  double microseconds_since(const Event& earlier) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "cudaEventElapsedTime");
    return 1000.0 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// One value in pinned host memory that host and device see at once.
template <typename T>
class SharedValue {
 public:
  SharedValue() {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, sizeof(T), cudaHostAllocMapped), "cudaHostAlloc");
    value_ = new (memory) T();
  }
  ~SharedValue() {
    static_cast<void>(cudaFreeHost(value_));
  }
  SharedValue(const SharedValue&) = delete;
  SharedValue& operator=(const SharedValue&) = delete;

  volatile T* get() {
    return value_;
  }

 private:
  T* value_ = nullptr;
};

/// `size()` elements of device memory. Copies and fills have ended when they return.
template <typename T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes()), "cudaMalloc");
    data_ = static_cast<T*>(memory);
  }
  explicit DeviceBuffer(std::span<const T> values) : DeviceBuffer(values.size()) {
    if (size_ == 0) return;
    check(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), "cudaMemcpy to device");
    wait();
  }
  ~DeviceBuffer() {
    if (data_ != nullptr) static_cast<void>(cudaFree(data_));
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  T* data() {
    return data_;
  }
  const T* data() const {
    return data_;
  }
  std::size_t size() const {
    return size_;
  }
  std::size_t bytes() const {
    return size_ * sizeof(T);
  }

  /// Every byte becomes `value`: outputs are poisoned before a check, so that what was not written shows.
  void fill_bytes(unsigned char value) {
    if (size_ == 0) return;
    check(cudaMemset(data_, value, bytes()), "cudaMemset");
    wait();
  }

  /// @param values as many as the buffer has
  void copy_from(std::span<const T> values) {
    check(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), "cudaMemcpy to device");
    wait();
  }

  std::vector<T> to_host() const {
    std::vector<T> values(size_);
    if (size_ > 0)
      check(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy to host");
    return values;
  }

 private:
  /// Neither a memset nor an upload from pageable memory need have ended when it returns, and launches are
  /// queued on streams that do not wait for the default one.
  static void wait() {
    check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace occbench
