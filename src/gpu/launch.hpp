#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include <cuda_runtime_api.h>

#include "gpu/error.hpp"
#include "gpu/kernel.hpp"
#include "occupancy/launch.hpp"

namespace occbench {

/// Sets a function's attributes as `launch` needs them: dynamic shared memory beyond the default, carveout,
/// clusters beyond the portable size. They persist on the function, so every case sets all of them.
/// @throws CudaError
void configure(const void* function, const Launch& launch);

/// How the blocks of a grid start: as there is room, or all at once (cooperative), so that they may wait for
/// one another.
enum class Start { as_there_is_room, together };

/// Queues `function` on `stream`. `arguments` points to each argument. @throws CudaError
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

/// Frees a resource of the runtime.
template <auto destroy>
struct Destroyed {
  void operator()(auto* resource) const {
    static_cast<void>(destroy(resource));
  }
};

/// A CUDA stream that does not synchronize with the default stream.
class Stream {
 public:
  Stream() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    stream_.reset(stream);
  }

  cudaStream_t get() const {
    return stream_.get();
  }
  void synchronize() const {
    check(cudaStreamSynchronize(get()), "cudaStreamSynchronize");
  }

 private:
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroyed<cudaStreamDestroy>> stream_;
};

/// A CUDA event with timing.
class Event {
 public:
  Event() {
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event), "cudaEventCreate");
    event_.reset(event);
  }

  cudaEvent_t get() const {
    return event_.get();
  }
  void record(cudaStream_t stream) {
    check(cudaEventRecord(get(), stream), "cudaEventRecord");
  }
  void synchronize() const {
    check(cudaEventSynchronize(get()), "cudaEventSynchronize");
  }

  /// Microseconds from `earlier` to this event, both reached.
  double microseconds_since(const Event& earlier) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, earlier.get(), get()), "cudaEventElapsedTime");
    return 1000.0 * static_cast<double>(milliseconds);
  }

 private:
  std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroyed<cudaEventDestroy>> event_;
};

/// One value in pinned host memory that host and device see at once.
template <typename T>
class SharedValue {
 public:
  SharedValue() {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, sizeof(T), cudaHostAllocMapped), "cudaHostAlloc");
    value_.reset(new (memory) T());
  }

  volatile T* get() {
    return value_.get();
  }

 private:
  std::unique_ptr<T, Destroyed<cudaFreeHost>> value_;
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
    data_.reset(static_cast<T*>(memory));
  }
  explicit DeviceBuffer(std::span<const T> values) : DeviceBuffer(values.size()) {
    copy_from(values);
  }

  T* data() const {
    return data_.get();
  }
  std::size_t size() const {
    return size_;
  }
  std::size_t bytes() const {
    return size_ * sizeof(T);
  }

  /// Sets every byte to `value`: outputs are poisoned before a check, so that unwritten elements show.
  void fill_bytes(unsigned char value) {
    if (size_ == 0) return;
    check(cudaMemset(data(), value, bytes()), "cudaMemset");
    wait();
  }

  /// @param values as many as the buffer has
  void copy_from(std::span<const T> values) {
    if (size_ == 0) return;
    check(cudaMemcpy(data(), values.data(), bytes(), cudaMemcpyHostToDevice), "cudaMemcpy to device");
    wait();
  }

  std::vector<T> to_host() const {
    std::vector<T> values(size_);
    if (size_ > 0)
      check(cudaMemcpy(values.data(), data(), bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy to host");
    return values;
  }

 private:
  /// A memset or an upload from pageable memory may return before it has ended, and launches are queued on
  /// streams that do not wait for the default one.
  static void wait() {
    check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }

  std::unique_ptr<T, Destroyed<cudaFree>> data_;
  std::size_t size_ = 0;
};

}  // namespace occbench
