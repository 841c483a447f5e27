#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace occbench {

/// 64 bits that stand for a text. Among ten million texts two agree with a chance of 3 in a million.
std::uint64_t hash_of(std::string_view text);

/// Numbers by hash, in 16 bytes a place: open addressing, at most two thirds full.
class HashTable {
 public:
  HashTable();

  /// Puts a value where there is none yet. @returns the value that is there now
  std::uint64_t insert(std::uint64_t hash, std::uint64_t value);

  bool contains(std::uint64_t hash) const;

 private:
  struct Place {
    std::uint64_t hash = 0;  ///< 0 = free
    std::uint64_t value = 0;
  };

  std::size_t place_of(std::uint64_t hash) const;
  void grow();

  std::vector<Place> places_;  ///< as many as a power of two
  std::size_t used_ = 0;
};

}  // namespace occbench
