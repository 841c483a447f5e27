#include "simulate/dispatcher.hpp"

#include <algorithm>
#include <bit>
#include <span>

namespace occbench {

FirstWave first_wave(const Topology& topology, int blocks_per_sm, std::int64_t grid_blocks, bool even) {
  const int sms = topology.sm_count();
  if (!even || grid_blocks / sms >= blocks_per_sm) return {blocks_per_sm, {}};
  FirstWave wave{static_cast<int>(grid_blocks / sms), {}};
  const auto rest = static_cast<std::size_t>(grid_blocks % sms);
  const auto add = [&](int sm) {
    if (wave.rest.size() < rest) wave.rest.push_back(sm);
  };
  for (const bool second : {false, true}) {
    for (int sm = 0; sm < topology.singleton_sms(); ++sm) {
      if (topology.is_second_of_tpc(sm) == second) add(sm);
    }
  }
  // TPCs are numbered across GPCs: the first TPC of each, then the second of each.
  const std::span<const int> gpc_sms = topology.gpc_sms();
  const int longest = gpc_sms.empty() ? 0 : std::ranges::max(gpc_sms);
  for (const int of_tpc : {0, 1}) {
    for (int place = of_tpc; place < longest; place += 2) {
      for (int gpc = 0; gpc < topology.gpc_count(); ++gpc) {
        if (place < gpc_sms[static_cast<std::size_t>(gpc)]) add(topology.first_sm(gpc) + place);
      }
    }
  }
  return wave;
}

Dispatcher::Dispatcher(const Topology& topology, int first_gpc, int gpcs_between_singletons)
    : topology_(topology),
      room_(static_cast<std::size_t>(topology.sm_count())),
      first_gpc_(first_gpc),
      gpcs_between_singletons_(gpcs_between_singletons) {
  for (int group = 0; group <= topology.gpc_count(); ++group)
    groups_.push_back({topology.first_sm(group), 0});
  begin_cycle();
}

void Dispatcher::begin_cycle() {
  visited_ = topology_.gpc_count();
  place_ = 0;
  next_gpc_ = first_gpc_;
  since_singletons_ = 1;
}

void Dispatcher::begin(const FirstWave& wave) {
  for (int sm = 0; sm < topology_.sm_count(); ++sm) add_room(sm, wave.rounds);
  rounds_left_ = total_;
  rest_ = wave.rest;
}

void Dispatcher::add_room(int sm, int blocks) {
  const auto index = static_cast<std::size_t>(sm);
  total_ += blocks;
  room_[index] += blocks;
  Group& group = groups_[static_cast<std::size_t>(topology_.gpc_of(sm))];
  const std::uint64_t bit = std::uint64_t{1} << (sm - group.first_sm);
  group.with_room = room_[index] > 0 ? group.with_room | bit : group.with_room & ~bit;
}

void Dispatcher::set_room(int sm, int room_now) {
  add_room(sm, room_now - room(sm));
  std::erase(rest_, sm);
}

void Dispatcher::begin_rest() {
  begin_cycle();
  for (const int sm : rest_) add_room(sm, 1);
  rest_.clear();
}

int Dispatcher::next() {
  if (!rest_.empty() && (rounds_left_ == 0 || total_ == 0)) begin_rest();
  if (total_ == 0) return -1;
  rounds_left_ = std::max(0, rounds_left_ - 1);
  while (true) {
    const Group& group = groups_[static_cast<std::size_t>(visited_)];
    const std::uint64_t left = place_ < 64 ? group.with_room >> place_ : 0;
    if (left != 0) {
      place_ += std::countr_zero(left) + 1;
      const int sm = group.first_sm + place_ - 1;
      add_room(sm, -1);
      return sm;
    }
    end_visit();
  }
}

bool Dispatcher::choose_roomiest(int group, int blocks) {
  constexpr int kSmsOfTpc = 2;
  chosen_.clear();
  if (group == topology_.gpc_count() && blocks > kSmsOfTpc) return false;
  const Group& of = groups_[static_cast<std::size_t>(group)];
  if (std::popcount(of.with_room) < blocks) return false;
  for (std::uint64_t left = of.with_room; left != 0; left &= left - 1) {
    chosen_.push_back(of.first_sm + std::countr_zero(left));
  }
  std::ranges::stable_sort(chosen_, std::ranges::greater{}, [&](int sm) { return room(sm); });
  chosen_.resize(static_cast<std::size_t>(blocks));
  return true;
}

const std::vector<int>& Dispatcher::next_cluster(int blocks) {
  // Twice round: singleton TPCs are visited in every second cycle at least.
  for (int tried = 0; tried < 2 * (topology_.gpc_count() + 1); ++tried) {
    const int group = visited_;
    end_visit();
    if (!choose_roomiest(group, blocks)) continue;
    for (const int sm : chosen_) add_room(sm, -1);
    return chosen_;
  }
  chosen_.clear();
  return chosen_;
}

void Dispatcher::end_visit() {
  place_ = 0;
  if (since_singletons_ >= gpcs_between_singletons_) {
    since_singletons_ = 0;
    visited_ = topology_.gpc_count();
    return;
  }
  ++since_singletons_;
  visited_ = next_gpc_;
  next_gpc_ = next_gpc_ + 1 < topology_.gpc_count() ? next_gpc_ + 1 : 0;
}

}  // namespace occbench
