#include "fleet/hash_table.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace occbench {

std::uint64_t hash_of(std::string_view text) {
  // 0 marks a free place of the table.
  return std::max<std::uint64_t>(1, std::hash<std::string_view>()(text));
}

HashTable::HashTable() : places_(1024) {}

std::size_t HashTable::place_of(std::uint64_t hash) const {
  const std::size_t mask = places_.size() - 1;
  std::size_t place = hash & mask;
  while (places_[place].hash != 0 && places_[place].hash != hash) place = (place + 1) & mask;
  return place;
}

std::uint64_t HashTable::insert(std::uint64_t hash, std::uint64_t value) {
  if (3 * (used_ + 1) > 2 * places_.size()) grow();
  Place& place = places_[place_of(hash)];
  if (place.hash == 0) {
    place = {hash, value};
    ++used_;
  }
  return place.value;
}

bool HashTable::contains(std::uint64_t hash) const {
  return places_[place_of(hash)].hash != 0;
}

void HashTable::grow() {
  std::vector<Place> before(2 * places_.size());
  before.swap(places_);
  for (const Place& place : before) {
    if (place.hash != 0) places_[place_of(place.hash)] = place;
  }
}

}  // namespace occbench
