#include "simulate/work.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/ranges.h>

#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "simulate/draws.hpp"

namespace occbench {
namespace {

/// A number in the string: its name and its range.
struct Parameter {
  std::string_view name;
  double least, most;
  bool whole = false;
};

constexpr double kMaxFactor = 1e6;
constexpr double kMaxUnits = 1e12;
constexpr Parameter kCycles{"CYCLES", 1, 1e12};
constexpr Parameter kLockstep{"lockstep", 0, 1e12};

/// A named field with a number.
struct NamedField {
  Parameter parameter;
  double Work::*value;
  std::string_view why_at_most_cycles;  ///< empty if it may be more
};

constexpr NamedField kNamedFields[] = {
    {{"issue", 0, 1e12}, &Work::issue_slots, "a warp alone issues at most one instruction a cycle"},
    {{"pipe", 0, 1e12}, &Work::pipe_cycles, "a warp alone keeps a pipe busy for no longer than it takes"},
    {{"bytes", 0, 1e12}, &Work::bytes, ""},
    {{"poll", 0, 1e6}, &Work::poll_cycles_per_warp, ""}};

/// One line of the grammar: a distribution's name, its parameters after CYCLES, and whether it has a seed.
struct Form {
  std::string_view name;
  std::vector<Parameter> parameters;
  bool seeded;
};

/// In the order of WorkForm.
const std::array<Form, 8>& forms() {
  static const std::array<Form, 8> all{
      {{"equal", {}, false},
       {"linear", {{"FIRST", 0, kMaxFactor}, {"LAST", 0, kMaxFactor}}, false},
       {"uniform", {{"LOW", 0, kMaxFactor}, {"HIGH", 0, kMaxFactor}}, true},
       {"lognormal", {{"SIGMA", 0, 4}}, true},
       {"exponential", {{"MOST", 0, kMaxFactor}}, true},
       {"bimodal", {{"FRACTION", 0, 1}, {"FACTOR", 0, kMaxFactor}}, true},
       {"every", {{"N", 1, kMaxUnits, true}, {"FACTOR", 0, kMaxFactor}}, false},
       {"last", {{"COUNT", 0, kMaxUnits, true}, {"FACTOR", 0, kMaxFactor}}, false}}};
  return all;
}

const Form& form_of(const Work& work) {
  return forms()[static_cast<std::size_t>(work.distribution.form)];
}

/// "uniform:CYCLES:LOW:HIGH:seed=N"
std::string syntax(const Form& form) {
  std::string text = fmt::format("{}:CYCLES", form.name);
  for (const Parameter& parameter : form.parameters) text += fmt::format(":{}", parameter.name);
  return text + (form.seeded ? ":seed=N" : "");
}

/// A piece of the text between colons, and where it begins.
struct Field {
  std::string_view text;
  std::size_t position;  ///< characters from 1
};

/// Reads one work string; every error names its position.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Work parse() {
    Work work;
    std::size_t begin = 0;
    if (text_.starts_with("warp/")) {
      work.per_warp = true;
      begin = 5;
    }
    split(begin);
    const Form& form = find_form();
    work.cycles = number(next(form, kCycles), kCycles);
    work.distribution.form = static_cast<WorkForm>(&form - forms().data());
    std::array<double, 2>& values = work.distribution.values;
    for (std::size_t i = 0; i < form.parameters.size(); ++i) {
      const Field field = next(form, form.parameters[i]);
      values[i] = number(field, form.parameters[i]);
      if (form.name == "uniform" && i == 1 && values[1] < values[0]) fail(field, "HIGH is below LOW");
    }
    named_fields(form, work);
    return work;
  }

 private:
  [[noreturn]] void fail(const Field& field, std::string_view complaint) const {
    throw InputError("work '{}', character {}: {}", text_, field.position, complaint);
  }

  void split(std::size_t begin) {
    while (true) {
      const std::size_t end = std::min(text_.find(':', begin), text_.size());
      fields_.push_back({text_.substr(begin, end - begin), begin + 1});
      if (end == text_.size()) return;
      begin = end + 1;
    }
  }

  const Form& find_form() {
    const Field& field = fields_[next_++];
    for (const Form& form : forms()) {
      if (form.name == field.text) return form;
    }
    fail(field,
         fmt::format("'{}' is not a distribution; there are {} (for work by warp with 'warp/' in front)",
                     field.text, fmt::join(mapped(forms(), &Form::name), ", ")));
  }

  Field next(const Form& form, const Parameter& parameter) {
    if (next_ == fields_.size()) {
      fail({"", text_.size() + 1}, fmt::format("{} is missing; write {}", parameter.name, syntax(form)));
    }
    return fields_[next_++];
  }

  double number(const Field& field, const Parameter& parameter) const {
    const auto value = read_number<double>(field.text, parameter.least, parameter.most);
    if (!value || (parameter.whole && *value != std::floor(*value))) {
      fail(field, fmt::format("{} must be a {}number from {} to {}, not '{}'", parameter.name,
                              parameter.whole ? "whole " : "", parameter.least, parameter.most, field.text));
    }
    return *value == 0 ? 0 : *value;  // no -0 in a canonical string
  }

  std::uint64_t whole_64_bits(const Field& field) const {
    const auto value = read_number<std::uint64_t>(field.text);
    if (!value)
      fail(field, fmt::format("seed must be a whole number from 0 to 2^64 - 1, not '{}'", field.text));
    return *value;
  }

  /// Reads `seed=` and the other named fields, each at most once, in any order.
  void named_fields(const Form& form, Work& work) {
    Field lockstep{};
    std::set<std::string_view> seen;
    for (; next_ < fields_.size(); ++next_) {
      const Field& whole = fields_[next_];
      const std::size_t sign = whole.text.find('=');
      const std::string_view name = whole.text.substr(0, sign);
      if (sign == std::string_view::npos) fail_unknown(whole, form);
      const Field value{whole.text.substr(sign + 1), whole.position + sign + 1};
      if (!seen.insert(name).second) fail(whole, fmt::format("{} is given twice", name));
      const auto* const field =
          std::ranges::find(kNamedFields, name, [](const NamedField& each) { return each.parameter.name; });
      if (name == "seed" && form.seeded) {
        work.distribution.seed = whole_64_bits(value);
      } else if (name == "lockstep") {
        work.lockstep_cycles = number(value, kLockstep);
        lockstep = value;
      } else if (field != std::end(kNamedFields)) {
        work.*field->value = number(value, field->parameter);
        if (!field->why_at_most_cycles.empty() && work.*field->value > work.cycles)
          fail(value, fmt::format("{}: {} must be at most {}", field->why_at_most_cycles, name, work.cycles));
      } else {
        fail_unknown(whole, form);
      }
    }
    if (work.lockstep_cycles && !work.rates().issue_bound()) {
      fail(lockstep,
           "only warps that can issue in almost every cycle stay in lockstep: issue must be above 0 and no "
           "less than pipe; leave lockstep out where it is less");
    }
  }

  [[noreturn]] void fail_unknown(const Field& field, const Form& form) const {
    fail(field,
         fmt::format("'{}' does not belong here; write {}[:issue=N][:pipe=N][:bytes=N][:lockstep=N][:poll=N]",
                     field.text, syntax(form)));
  }

  std::string_view text_;
  std::vector<Field> fields_;
  std::size_t next_ = 0;
};

/// cycles x factor as a whole number.
std::int64_t whole(double amount) {
  return static_cast<std::int64_t>(std::clamp(amount, 1.0, kMaxUnitCycles) + 0.5);
}

std::int64_t parse_cycles(std::string_view text, std::string_view source, std::size_t line) {
  const auto value = read_number<double>(text);
  if (!value) {
    throw InputError("{}:{}: '{}' is not a number of cycles; write one number a line", source, line, text);
  }
  const double cycles = std::floor(*value + 0.5);
  // Blocks that take no time never make the SMs busy: the simulation would not end.
  if (!(cycles >= 1 && cycles <= kMaxUnitCycles)) {
    throw InputError("{}:{}: {} cycles are out of range: 1 to {}, once rounded", source, line, text,
                     kMaxUnitCycles);
  }
  return static_cast<std::int64_t>(cycles);
}

}  // namespace

double Work::factor_of(std::int64_t index, std::int64_t count) const {
  const auto [first, second] = distribution.values;
  const auto bits = [&] { return random_bits(distribution.seed, static_cast<std::uint64_t>(index)); };
  switch (distribution.form) {
    case WorkForm::equal:
      break;
    case WorkForm::linear:
      if (count <= 1) return first;
      return first + (second - first) * (static_cast<double>(index) / static_cast<double>(count - 1));
    case WorkForm::uniform:
      return first + (second - first) * unit_interval(bits());
    case WorkForm::lognormal:
      return portable_exp(first * random_normal(distribution.seed, static_cast<std::uint64_t>(index)) -
                          first * first / 2);
    case WorkForm::exponential:
      return std::min(-portable_log(unit_interval(bits())), first);
    case WorkForm::bimodal:
      return unit_interval(bits()) < first ? second : 1.0;
    case WorkForm::every:
      return index % static_cast<std::int64_t>(first) == 0 ? second : 1.0;
    case WorkForm::last:
      return count - index <= static_cast<std::int64_t>(first) ? second : 1.0;
  }
  return 1;
}

bool Work::is_longest_first() const {
  const auto& [first, second] = distribution.values;
  return (distribution.form == WorkForm::linear && first > second) ||
         (distribution.form == WorkForm::last && first > 0 && second < 1);
}

std::optional<std::uint64_t> Work::seed() const {
  return form_of(*this).seeded ? std::optional(distribution.seed) : std::nullopt;
}

Work Work::scaled(double factor) const {
  Work work = *this;
  work.cycles = std::max(1.0, cycles * factor);
  work.issue_slots *= factor;
  work.pipe_cycles *= factor;
  work.bytes *= factor;
  if (!work.rates().issue_bound()) work.lockstep_cycles.reset();
  return work;
}

std::int64_t Work::cycles_of(std::int64_t index, std::int64_t count) const {
  return whole(cycles * factor_of(index, count));
}

std::int64_t Work::cycles_of_warp(std::int64_t block, int warp, std::int64_t grid_blocks,
                                  int warps_per_block) const {
  return cycles_of(unit_of(block, warp, warps_per_block), unit_count(grid_blocks, warps_per_block));
}

std::string to_string(const Work& work) {
  const Form& form = form_of(work);
  std::string text = fmt::format("{}{}:{}", work.per_warp ? "warp/" : "", form.name, work.cycles);
  for (std::size_t i = 0; i < form.parameters.size(); ++i)
    text += fmt::format(":{}", work.distribution.values[i]);
  if (form.seeded) text += fmt::format(":seed={}", work.distribution.seed);
  if (work.issue_slots > 0) text += fmt::format(":issue={}", work.issue_slots);
  if (work.pipe_cycles > 0) text += fmt::format(":pipe={}", work.pipe_cycles);
  if (work.bytes > 0) text += fmt::format(":bytes={}", work.bytes);
  if (work.lockstep_cycles) text += fmt::format(":lockstep={}", *work.lockstep_cycles);
  if (work.poll_cycles_per_warp > 0) text += fmt::format(":poll={}", work.poll_cycles_per_warp);
  return text;
}

std::string work_in_cycles(std::string_view text, std::optional<double> clock_mhz) {
  constexpr std::string_view kMicroseconds = "us";
  const std::size_t begin = text.find(':') + 1;
  const std::size_t end = std::min(text.find(':', begin), text.size());
  const std::string_view amount = text.substr(begin, end - begin);
  if (begin == 0 || !amount.ends_with(kMicroseconds)) return std::string(text);
  const std::string_view number = amount.substr(0, amount.size() - kMicroseconds.size());
  const auto microseconds = read_number<double>(number);
  if (!microseconds) throw InputError("work '{}': '{}' is no number of microseconds", text, amount);
  if (!clock_mhz || *clock_mhz <= 0) {
    throw InputError(
        "work '{}' is in microseconds, and the GPU's clock is not known: give --clock-mhz, or cycles", text);
  }
  return fmt::format("{}{}{}", text.substr(0, begin), std::round(*microseconds * *clock_mhz),
                     text.substr(end));
}

std::string work_grammar() {
  constexpr std::pair<std::string_view, std::string_view> kExamples[] = {
      {"equal:200000", "every block 200,000 cycles"},
      {"equal:100us", "every block 100 microseconds, at the GPU's clock"},
      {"linear:200000:0.2:1.8", "from 0.2 times as long (first block) to 1.8 (last)"},
      {"uniform:200000:0.5:1.5:seed=7", "drawn evenly from 0.5 to 1.5 times"},
      {"lognormal:200000:0.75:seed=7", "drawn, sigma 0.75, mean 1"},
      {"exponential:200000:8:seed=7", "drawn, mean 1, at most 8 times"},
      {"bimodal:200000:0.1:8:seed=7", "a tenth of the blocks 8 times as long"},
      {"every:200000:16:4", "each 16th block 4 times as long"},
      {"last:200000:50:8", "the last 50 blocks 8 times as long"},
      {"warp/uniform:200000:0.5:1.5", "any form by warp, block by block"},
      {"equal:80000:issue=20000", "of which a warp issues 20,000 instructions"},
      {"equal:80000:pipe=40000", "and keeps a pipe busy for 40,000 cycles"},
      {"equal:80000:bytes=65536", "in which a warp moves 65,536 bytes of device memory"},
      {"equal:80000:issue=80000:lockstep=30000", "warps in lockstep for 30,000 cycles"},
      {"equal:200000:poll=2.5", "warps that look at a clock every 2.5 cycles a warp"}};
  std::string text = "Work of a block, in cycles that it takes alone:\n";
  for (const auto& [example, meaning] : kExamples) text += fmt::format("  {:<40} {}\n", example, meaning);
  return text;
}

Work parse_work(std::string_view text) {
  return Parser(text).parse();
}

Durations parse_durations(std::string_view text, std::string_view source, bool per_warp) {
  Durations durations{{}, per_warp, std::string(source)};
  std::size_t line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    durations.cycles.push_back(parse_cycles(trimmed(text.substr(begin, end - begin)), source, line));
    begin = end + 1;
  }
  if (durations.cycles.empty()) {
    throw InputError("{}:1: no durations; write one number of cycles a line", source);
  }
  return durations;
}

Tasks::Tasks(const Work& work, std::int64_t grid_blocks, int warps_per_block)
    : source_(work),
      source_units_(work.unit_count(grid_blocks, warps_per_block)),
      per_warp_(work.per_warp),
      grid_blocks_(grid_blocks),
      warps_per_block_(warps_per_block),
      rates_(work.rates()),
      lockstep_cycles_(work.lockstep_cycles),
      poll_cycles_per_warp_(work.poll_cycles_per_warp) {
  if (work.distribution.form == WorkForm::equal) everywhere_ = unit_cycles(0);
}

Tasks::Tasks(Durations durations, std::int64_t grid_blocks, int warps_per_block)
    : source_units_(durations.per_warp ? grid_blocks * warps_per_block : grid_blocks),
      per_warp_(durations.per_warp),
      grid_blocks_(grid_blocks),
      warps_per_block_(warps_per_block),
      poll_cycles_per_warp_(durations.poll_cycles_per_warp) {
  const auto given = static_cast<std::int64_t>(durations.cycles.size());
  if (given != 1 && given != source_units_) {
    throw InputError("{}:{}: {} durations for a grid of {} {}; give one for each, or one for all",
                     durations.source, std::min(given, source_units_) + 1, given, source_units_,
                     durations.per_warp ? "warps" : "blocks");
  }
  const std::vector<std::int64_t>& cycles = durations.cycles;
  const auto [least, most] = std::ranges::minmax(cycles);
  spread_cycles_ = static_cast<double>(most - least);
  source_ = std::make_shared<const Durations>(std::move(durations));
  if (least == most) everywhere_ = unit_cycles(0);
}

double Tasks::unit_cycles(std::int64_t unit) const {
  if (const Work* const work = std::get_if<Work>(&source_)) {
    return static_cast<double>(work->cycles_of(unit, source_units_));
  }
  const std::vector<std::int64_t>& cycles = std::get<1>(source_)->cycles;
  return static_cast<double>(cycles[cycles.size() == 1 ? 0 : static_cast<std::size_t>(unit)]);
}

double Tasks::block_cycles(std::int64_t block) const {
  if (everywhere_) return *everywhere_ * stretch_;
  if (!per_warp_) return unit_cycles(block) * stretch_;
  double sum = 0;
  double longest = 0;
  for (int warp = 0; warp < warps_per_block_; ++warp) {
    const double cycles = unit_cycles(block * warps_per_block_ + warp);
    sum += cycles;
    longest = std::max(longest, cycles);
  }
  return (within_blocks_ ? sum / warps_per_block_ : longest) * stretch_;
}

double Tasks::warp_cycles(std::int64_t block, int warp) const {
  if (!differ_within_blocks()) return block_cycles(block);
  return unit_cycles(block * warps_per_block_ + warp) * stretch_;
}

double Tasks::mean_cycles() const {
  if (everywhere_) return *everywhere_ * stretch_;
  const std::int64_t units = per_warp_ ? grid_blocks_ * warps_per_block_ : grid_blocks_;
  double sum = 0;
  for (std::int64_t unit = 0; unit < units; ++unit) sum += unit_cycles(unit);
  return sum / static_cast<double>(units) * stretch_;
}

double Tasks::longest_block_cycles() const {
  if (everywhere_) return block_cycles(0);
  double longest = 0;
  for (std::int64_t block = 0; block < grid_blocks_; ++block)
    longest = std::max(longest, block_cycles(block));
  return longest;
}

bool Tasks::is_longest_first() const {
  if (everywhere_) return false;
  if (const Work* const work = std::get_if<Work>(&source_)) return work->is_longest_first();
  for (std::int64_t block = 1; block < grid_blocks_; ++block) {
    if (block_cycles(block) > block_cycles(block - 1)) return false;
  }
  return block_cycles(grid_blocks_ - 1) < block_cycles(0);
}

Tasks Tasks::even_everywhere() const {
  Tasks tasks = *this;
  tasks.everywhere_ = mean_cycles() / stretch_;
  return tasks;
}

Tasks Tasks::even_within_blocks() const {
  Tasks tasks = *this;
  tasks.within_blocks_ = true;
  return tasks;
}

Tasks Tasks::alone() const {
  Tasks tasks = *this;
  tasks.rates_ = {};
  return tasks;
}

Tasks Tasks::stretched(double factor) const {
  Tasks tasks = *this;
  tasks.stretch_ *= factor;
  return tasks;
}

}  // namespace occbench
