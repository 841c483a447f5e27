#pragma once

#include <unistd.h>
#include <utility>

namespace occbench {

/// A file descriptor that closes with its owner; -1 is none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() {
    close();
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const {
    return number_;
  }
  bool is_open() const {
    return number_ >= 0;
  }
  /// @returns false, with errno set, if written data cannot be kept
  bool close() {
    return !is_open() || ::close(std::exchange(number_, -1)) == 0;
  }

 private:
  int number_;
};

}  // namespace occbench
