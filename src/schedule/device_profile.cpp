#include "schedule/device_profile.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>
#include <variant>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "occupancy/input_error.hpp"
#include "schedule/built_in_profiles.hpp"
#include "schedule/trimmed.hpp"

namespace occbench {
namespace {

struct ProfileField {
  std::string_view name;
  std::variant<std::string DeviceProfile::*, ComputeCapability DeviceProfile::*, int DeviceProfile::*,
               double DeviceProfile::*, std::vector<int> DeviceProfile::*>
      member;
};

constexpr std::array kFields{
    ProfileField{"name", &DeviceProfile::name},
    ProfileField{"compute_capability", &DeviceProfile::compute_capability},
    ProfileField{"sm_count", &DeviceProfile::sm_count},
    ProfileField{"singleton_sms", &DeviceProfile::singleton_sms},
    ProfileField{"gpc_sms", &DeviceProfile::gpc_sms},
    ProfileField{"tpc_replacement_latency_cycles", &DeviceProfile::tpc_replacement_latency_cycles},
    ProfileField{"gpc_clock_ppm", &DeviceProfile::gpc_clock_ppm},
    ProfileField{"gpc_clock_spread_ppm", &DeviceProfile::gpc_clock_spread_ppm},
    ProfileField{"initial_dispatch_cycles_per_block", &DeviceProfile::initial_dispatch_cycles_per_block},
    ProfileField{"replacement_dispatch_cycles_per_block",
                 &DeviceProfile::replacement_dispatch_cycles_per_block},
    ProfileField{"block_launch_cycles", &DeviceProfile::block_launch_cycles},
    ProfileField{"warp_launch_cycles", &DeviceProfile::warp_launch_cycles},
    ProfileField{"busy_sm_warp_launch_cycles", &DeviceProfile::busy_sm_warp_launch_cycles},
    ProfileField{"warp_retire_cycles", &DeviceProfile::warp_retire_cycles},
    ProfileField{"second_sm_delay_cycles", &DeviceProfile::second_sm_delay_cycles},
    ProfileField{"gpc_delay_cycles", &DeviceProfile::gpc_delay_cycles},
    ProfileField{"sm_delay_cycles", &DeviceProfile::sm_delay_cycles},
    ProfileField{"replacement_latency_cycles", &DeviceProfile::replacement_latency_cycles},
    ProfileField{"launch_overhead_cycles", &DeviceProfile::launch_overhead_cycles},
    ProfileField{"poll_cycles_per_warp", &DeviceProfile::poll_cycles_per_warp},
    ProfileField{"jitter_cycles", &DeviceProfile::jitter_cycles},
    ProfileField{"bytes_per_cycle", &DeviceProfile::bytes_per_cycle},
};

constexpr int kMostSms = 4096;
constexpr int kMostSmsOfGpc = 64;
constexpr int kMostReplacementLatency = 1'000'000;
constexpr int kMostPpm = 100'000;
constexpr double kMostCycles = 1e6;

template <typename Number>
bool read_number(std::string_view text, Number low, Number high, Number& value) {
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  return error == std::errc() && end == last && value >= low && value <= high;
}

/// Numbers between spaces.
bool read_list(std::string_view text, int low, int high, std::vector<int>& list) {
  list.clear();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (!read_number(text.substr(0, end), low, high, list.emplace_back())) return false;
    text = trimmed(text.substr(end));
  }
  return !list.empty();
}

/// Sets a field; false if the text is not what it holds.
bool set(DeviceProfile& profile, const ProfileField& field, std::string_view text) {
  if (const auto* const string = std::get_if<0>(&field.member)) {
    profile.*(*string) = text;
    return !text.empty();
  }
  if (const auto* const capability = std::get_if<1>(&field.member)) {
    profile.*(*capability) = parse_compute_capability(text);
    return true;
  }
  if (const auto* const count = std::get_if<2>(&field.member)) {
    const int least = *count == &DeviceProfile::sm_count ? 1 : 0;
    return read_number(text, least, kMostSms, profile.*(*count));
  }
  if (const auto* const list = std::get_if<4>(&field.member)) {
    const auto [low, high] = *list == &DeviceProfile::gpc_sms         ? std::pair(1, kMostSmsOfGpc)
                             : *list == &DeviceProfile::gpc_clock_ppm ? std::pair(-kMostPpm, kMostPpm)
                                                                      : std::pair(0, kMostReplacementLatency);
    return read_list(text, low, high, profile.*(*list));
  }
  const auto number = std::get<3>(field.member);
  const double most = number == &DeviceProfile::gpc_clock_spread_ppm ? kMostPpm : kMostCycles;
  const double least = number == &DeviceProfile::bytes_per_cycle ? 1 : 0;
  return read_number(text, least, most, profile.*number);
}

int pairs_of(int sms) {
  return (sms + 1) / 2;
}

/// Fields that must fit one another. @throws InputError
void check_groups(const DeviceProfile& profile, std::string_view source) {
  const auto expect = [&](bool fits, std::string_view name, const std::string& what) {
    if (!fits) throw InputError(fmt::format("{}: {} {}", source, name, what));
  };
  const int sms = std::accumulate(profile.gpc_sms.begin(), profile.gpc_sms.end(), profile.singleton_sms);
  expect(sms == profile.sm_count, "gpc_sms",
         fmt::format("and singleton_sms are {} SMs together, sm_count says {}", sms, profile.sm_count));
  expect(profile.tpc_replacement_latency_cycles.size() == profile.tpc_count(),
         "tpc_replacement_latency_cycles",
         fmt::format("has {} values, one for each of {} pairs of SMs is needed",
                     profile.tpc_replacement_latency_cycles.size(), profile.tpc_count()));
  expect(profile.gpc_clock_ppm.size() == profile.clock_count(), "gpc_clock_ppm",
         fmt::format("has {} values, {} are needed: one for each GPC, and one for each pair of singleton SMs",
                     profile.gpc_clock_ppm.size(), profile.clock_count()));
}

std::string text_of(const DeviceProfile& profile, const ProfileField& field) {
  if (const auto* const string = std::get_if<0>(&field.member)) return profile.*(*string);
  if (const auto* const capability = std::get_if<1>(&field.member)) return to_string(profile.*(*capability));
  if (const auto* const count = std::get_if<2>(&field.member)) return fmt::format("{}", profile.*(*count));
  if (const auto* const list = std::get_if<4>(&field.member))
    return fmt::format("{}", fmt::join(profile.*(*list), " "));
  return fmt::format("{}", profile.*std::get<3>(field.member));
}

}  // namespace

std::size_t DeviceProfile::tpc_count() const {
  int pairs = pairs_of(singleton_sms);
  for (const int sms : gpc_sms) pairs += pairs_of(sms);
  return static_cast<std::size_t>(pairs);
}

std::size_t DeviceProfile::clock_count() const {
  return gpc_sms.size() + static_cast<std::size_t>(pairs_of(singleton_sms));
}

bool DeviceProfile::knows_gpcs_of(int sms) const {
  return !gpc_sms.empty() && std::accumulate(gpc_sms.begin(), gpc_sms.end(), singleton_sms) == sms &&
         tpc_replacement_latency_cycles.size() == tpc_count() && gpc_clock_ppm.size() == clock_count();
}

DeviceProfile parse_profile(std::string_view text, std::string_view source) {
  DeviceProfile profile;
  std::array<bool, kFields.size()> seen{};
  std::size_t line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view whole = text.substr(begin, end - begin);
    const std::string_view content = trimmed(whole.substr(0, whole.find('#')));
    begin = end + 1;
    if (content.empty()) continue;
    const std::size_t sign = std::min(content.find('='), content.size());
    const std::string_view name = trimmed(content.substr(0, sign));
    const std::string_view value = trimmed(content.substr(std::min(sign + 1, content.size())));
    const auto field = std::ranges::find(kFields, name, &ProfileField::name);
    if (field == kFields.end()) {
      throw InputError(
          fmt::format("{}:{}: a device profile has no '{}'; `occbench calibrate` writes what it has", source,
                      line, name));
    }
    if (!set(profile, *field, value)) {
      throw InputError(fmt::format("{}:{}: '{}' is not a value for {}", source, line, value, name));
    }
    seen[static_cast<std::size_t>(field - kFields.begin())] = true;
  }
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (!seen[i]) throw InputError(fmt::format("{}:{}: {} is missing", source, line, kFields[i].name));
  }
  check_groups(profile, source);
  return profile;
}

std::string to_string(const DeviceProfile& profile) {
  std::string text;
  for (const ProfileField& field : kFields)
    text += fmt::format("{} = {}\n", field.name, text_of(profile, field));
  return text;
}

std::vector<std::string_view> built_in_profiles() {
  std::vector<std::string_view> names;
  for (const BuiltInProfile& profile : kBuiltInProfiles) names.push_back(profile.name);
  return names;
}

DeviceProfile find_profile(const std::string& name_or_file) {
  std::string names;
  for (const BuiltInProfile& profile : kBuiltInProfiles) {
    if (profile.name == name_or_file) return parse_profile(profile.text, profile.name);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", profile.name);
  }
  std::ifstream file(name_or_file, std::ios::binary);
  if (!file) {
    throw InputError(
        fmt::format("no device profile '{}': neither a built-in one ({}) nor a file that can be read",
                    name_or_file, names));
  }
  return parse_profile(std::string(std::istreambuf_iterator<char>(file), {}), name_or_file);
}

std::vector<int> even_gpcs(int sm_count) {
  constexpr int kMostSms = 18;
  const int gpcs = (sm_count + kMostSms - 1) / kMostSms;
  const int pairs = (sm_count + 1) / 2;
  std::vector<int> sms;
  for (int gpc = 0; gpc < gpcs; ++gpc) sms.push_back(2 * (pairs / gpcs + (gpc < pairs % gpcs)));
  if (sm_count % 2 != 0) --sms.back();
  return sms;
}

std::vector<int> gpcs_of(const DeviceProfile& profile, int sm_count) {
  return profile.knows_gpcs_of(sm_count) ? profile.gpc_sms : even_gpcs(sm_count);
}

DeviceProfile default_profile(ComputeCapability compute_capability, int sm_count) {
  DeviceProfile profile = find_profile("h200");
  profile.name = "default";
  profile.compute_capability = compute_capability;
  profile.sm_count = sm_count;
  profile.singleton_sms = 0;
  profile.gpc_sms = even_gpcs(sm_count);
  profile.tpc_replacement_latency_cycles.assign(profile.tpc_count(), 0);
  profile.gpc_clock_ppm.assign(profile.clock_count(), 0);
  return profile;
}

DeviceProfile profile_of_device(ComputeCapability compute_capability, int sm_count) {
  for (const BuiltInProfile& built_in : kBuiltInProfiles) {
    DeviceProfile profile = parse_profile(built_in.text, built_in.name);
    if (profile.compute_capability == compute_capability && profile.sm_count == sm_count) return profile;
  }
  return default_profile(compute_capability, sm_count);
}

}  // namespace occbench
