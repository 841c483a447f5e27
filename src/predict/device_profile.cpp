#include "predict/device_profile.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/ranges.h>

#include "files/input.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "predict/built_in_profiles.hpp"
#include "predict/parameters.hpp"

namespace occbench {
namespace {

constexpr int kMostSms = 4096;
constexpr int kMostSmsOfGpc = 64;
constexpr int kMostLatency = 1'000'000;
constexpr int kMostPpm = 100'000;
constexpr int kMostBusBits = 1 << 20;

/// Numbers separated by spaces.
std::optional<std::vector<int>> read_list(std::string_view text, int low, int high) {
  std::vector<int> list;
  for (const std::string_view word : split(text, ' ')) {
    if (trimmed(word).empty()) continue;
    const std::optional<int> number = read_number(trimmed(word), low, high);
    if (!number) return std::nullopt;
    list.push_back(*number);
  }
  return list;
}

/// Contents of a file, before its parts are combined.
struct Draft {
  DeviceProfile profile;
  std::optional<int> sm_count;
  int singleton_sms = 0;
  std::vector<int> gpc_sms;
};

/// Sets a field; false if the text is not a value for it, empty if there is no such field.
std::optional<bool> set(Draft& draft, std::string_view name, std::string_view text) {
  const auto text_field = [&](std::string& field) {
    field = text;
    return true;
  };
  const auto number_field = [&](auto& field, auto low, auto high) {
    const auto number = read_number(text, low, high);
    if (number) field = *number;
    return number.has_value();
  };
  const auto list_field = [&](std::vector<int>& field, int low, int high) {
    auto list = read_list(text, low, high);
    if (list) field = std::move(*list);
    return list.has_value();
  };
  DeviceProfile& profile = draft.profile;
  if (name == "name") return text_field(profile.name) && !text.empty();
  if (name == "gpu") return text_field(profile.gpu);
  if (name == "gpu_uuid") return text_field(profile.gpu_uuid);
  if (name == "memory_bus_bits") return number_field(profile.memory_bus_bits, 0, kMostBusBits);
  if (name == "compute_capability") {
    profile.compute_capability = parse_compute_capability(text);
    return true;
  }
  if (name == "sm_count") return number_field(draft.sm_count, 1, kMostSms);
  if (name == "singleton_sms") return number_field(draft.singleton_sms, 0, kMostSms);
  if (name == "gpc_sms") return list_field(draft.gpc_sms, 1, kMostSmsOfGpc);
  if (name == "tpc_replacement_latency_cycles") {
    return list_field(profile.model.tpc_replacement_latency_cycles, 0, kMostLatency);
  }
  if (name == "gpc_clock_ppm") return list_field(profile.model.gpc_clock_ppm, -kMostPpm, kMostPpm);
  const Parameter* const parameter = find_parameter(name);
  if (parameter == nullptr) return std::nullopt;
  return number_field(profile.model.parameters.*parameter->value, parameter->least_allowed,
                      parameter->most_allowed);
}

/// Combines the parts. @throws InputError if they do not fit each other
DeviceProfile finish(Draft draft, std::string_view source) {
  const auto expect = [&](bool fits, const std::string& complaint) {
    if (!fits) throw InputError("{}: {}", source, complaint);
  };
  expect(!draft.profile.name.empty(), "name is missing");
  expect(draft.profile.compute_capability != ComputeCapability{}, "compute_capability is missing");
  expect(draft.sm_count.has_value(), "sm_count is missing");
  DeviceModel& model = draft.profile.model;
  if (draft.gpc_sms.empty()) {
    model = DeviceModel::uniform(Topology::even(*draft.sm_count), model.parameters);
    return std::move(draft.profile);
  }
  model.topology = Topology(std::move(draft.gpc_sms), draft.singleton_sms);
  const int sms = model.topology.sm_count();
  expect(
      sms == *draft.sm_count,
      fmt::format("gpc_sms and singleton_sms are {} SMs together, sm_count says {}", sms, *draft.sm_count));
  const auto expect_values = [&](std::vector<int>& values, std::string_view name, int needed,
                                 std::string_view what) {
    if (values.empty()) values.assign(static_cast<std::size_t>(needed), 0);
    expect(std::ssize(values) == needed,
           fmt::format("{} has {} values, {} are needed: {}", name, values.size(), needed, what));
  };
  expect_values(model.tpc_replacement_latency_cycles, "tpc_replacement_latency_cycles",
                model.topology.tpc_count(), "one for each TPC, singleton ones last");
  expect_values(model.gpc_clock_ppm, "gpc_clock_ppm", model.topology.clock_domain_count(),
                "one for each GPC, then one for each singleton TPC");
  return std::move(draft.profile);
}

}  // namespace

DeviceProfile parse_profile(std::string_view text, std::string_view source) {
  Draft draft;
  draft.profile.model.parameters = typical_parameters();
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
    const std::optional<bool> was_set = set(draft, name, value);
    if (!was_set) {
      throw InputError("{}:{}: a device profile has no '{}'; `occbench calibrate` writes what it has", source,
                       line, name);
    }
    if (!*was_set) {
      throw InputError("{}:{}: '{}' is not a value for {}", source, line, value, name);
    }
  }
  return finish(std::move(draft), source);
}

std::string to_string(const DeviceProfile& profile) {
  const DeviceModel& model = profile.model;
  std::string text = fmt::format("name = {}\n", profile.name);
  if (!profile.gpu.empty()) text += fmt::format("gpu = {}\n", profile.gpu);
  if (!profile.gpu_uuid.empty()) text += fmt::format("gpu_uuid = {}\n", profile.gpu_uuid);
  if (profile.memory_bus_bits > 0) text += fmt::format("memory_bus_bits = {}\n", profile.memory_bus_bits);
  text += fmt::format("compute_capability = {}\nsm_count = {}\nsingleton_sms = {}\ngpc_sms = {}\n",
                      to_string(profile.compute_capability), profile.sm_count(),
                      model.topology.singleton_sms(), fmt::join(model.topology.gpc_sms(), " "));
  text +=
      fmt::format("tpc_replacement_latency_cycles = {}\ngpc_clock_ppm = {}\n",
                  fmt::join(model.tpc_replacement_latency_cycles, " "), fmt::join(model.gpc_clock_ppm, " "));
  for (const Parameter& parameter : parameters()) {
    text += fmt::format("{} = {}\n", parameter.name, model.parameters.*parameter.value);
  }
  return text;
}

std::vector<std::string_view> built_in_profiles() {
  return mapped(kBuiltInProfiles, &BuiltInProfile::name);
}

DeviceProfile find_profile(const std::string& name_or_file) {
  for (const BuiltInProfile& profile : kBuiltInProfiles) {
    if (profile.name == name_or_file) return parse_profile(profile.text, profile.name);
  }
  std::error_code missing;
  if (!std::filesystem::exists(name_or_file, missing)) {
    throw InputError("no device profile '{}': neither a built-in one ({}) nor a file", name_or_file,
                     fmt::join(built_in_profiles(), ", "));
  }
  return parse_profile(read_text(name_or_file), name_or_file);
}

DeviceProfile resized(DeviceProfile profile, int sm_count) {
  if (profile.sm_count() == sm_count) return profile;
  profile.model = DeviceModel::uniform(Topology::even(sm_count), profile.model.parameters);
  return profile;
}

Seeds::Seeds(const Chance& chance, const DeviceProfile& profile)
    : chance_(chance), gpcs_(profile.model.topology.gpc_sms().size()) {
  if (!chance.first_gpc) return;
  const auto most = static_cast<std::int64_t>(gpcs_) - 1;
  if (*chance.first_gpc >= 0 && *chance.first_gpc <= most) return;
  throw InputError(
      "first_gpc = {} is out of range: {} SMs have GPCs 0 to {} by the profile {}; leave it out where it is "
      "not known",
      *chance.first_gpc, profile.sm_count(), most, profile.name);
}

}  // namespace occbench
