#pragma once

#include <string_view>

#include "gpu/kernel.hpp"

namespace occbench {

/// One counter in device memory to which threads add 1. Without an atomic, updates get lost: another thread
/// reads the same old value between a thread's read and its write. The sum is of integers, so that the
/// missing updates can be counted exactly.
///
/// Variants: plain, relaxed or atomic, by every thread or by thread 0 of each block (data_race_variant).
/// - plain: total = total + 1, a load that L1 can serve, an add and a store
/// - relaxed: load and store are relaxed atomics of device scope (cuda::atomic_ref). The memory model does
///   not call this a data race, but updates still get lost.
/// - atomic: one relaxed fetch_add of device scope
/// The result of the first two is wrong by design: `check` then returns lost_updates. `atomic` must lose none.
extern const Kernel kDataRace;

enum class RaceForm { plain, relaxed, atomic };
enum class RaceAdders { thread, block };

inline constexpr RaceForm kRaceForms[] = {RaceForm::plain, RaceForm::relaxed, RaceForm::atomic};
inline constexpr RaceAdders kRaceAdders[] = {RaceAdders::thread, RaceAdders::block};

std::string_view to_string(RaceForm form);
std::string_view to_string(RaceAdders adders);

/// Name of the variant: "plain_thread".
std::string_view data_race_variant(RaceForm form, RaceAdders adders);

}  // namespace occbench
