#include "cli/sweep.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <set>
#include <utility>

#include <fmt/ostream.h>

#include "cli/command.hpp"
#include "cli/device_list.hpp"
#include "files/stop_signals.hpp"
#include "occupancy/text.hpp"
#include "orchestrate/run.hpp"
#include "predict/device_profile.hpp"
#include "record/race.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGrammar =
    "occbench sweep KERNEL --AXIS VALUES... [OPTIONS]\n"
    "occbench sweep --source FILE.cu --kernel NAME --arg TYPE[N]... --AXIS VALUES... [OPTIONS]\n\n"
    "Values: 64,128 or 64:1024:64 or 64:1024:x2, sizes as 48K, shapes as 16x16; --registers =31,33 asks for "
    "exact counts;\n"
    "{1024 / block_size.x} is made of other axes.\n"
    "All values are combined with all others, the last axis fastest; --zip pairs them.\n";

std::string told_time(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", std::max(1.0, seconds));
  return fmt::format("{:.0f} minutes", seconds / 60);
}

/// How many cases there are and how long they will take, before anything runs.
std::string announcement(const Bench& bench) {
  double seconds = 0;
  for (const CaseRecord& each : bench.cases) seconds += expected_seconds(each);
  const auto skipped = std::ranges::count_if(
      bench.cases, [](const CaseRecord& each) { return each.times.status.has_value(); });
  std::string text = fmt::format("{}, about {}", counted(static_cast<long long>(bench.cases.size()), "case"),
                                 told_time(seconds));
  if (skipped > 0) text += fmt::format("; {} of them will be skipped", skipped);
  return text;
}

void print_list(const Bench& bench, Console& console) {
  std::vector<std::vector<std::string>> lines = {
      {"case", "registers", "spills, B", "blocks/SM", "theoretical", "predicted range", "limited by"}};
  for (const CaseRecord& each : bench.cases) {
    std::vector<std::string> line(lines.front().size());
    line[0] = each.identity.name;
    if (each.compiled) {
      line[1] = std::to_string(each.compiled->usage.registers_per_thread);
      line[2] = std::to_string(each.compiled->spill_bytes.value_or(0));
    }
    if (each.theory) {
      line[3] = std::to_string(each.theory->blocks_per_sm.value_or(0));
      line[4] = percent_text(each.theory->theoretical_pct);
      line[6] = to_string(each.theory->limiters);
    }
    if (each.prediction)
      line[5] = fmt::format("{} ({} to {})", percent_text(each.prediction->predicted_pct),
                            number_text(each.prediction->interval.low),
                            number_text(each.prediction->interval.high));
    if (!each.note.empty())
      line[6] += (line[6].empty() ? "" : "; ") + each.note.substr(0, each.note.find('\n'));
    lines.push_back(std::move(line));
  }
  fmt::print(console.out, "{}\n{}\n", text_table(lines, "<>>>>><"), announcement(bench));
}

/// Chooses the bench program and its flags.
void choose_program(SweepRequest& request, const CLI::App& parser) {
  if (request.kernel.empty() == request.source.empty())
    throw InputError("name a kernel ({}), or give --source FILE.cu --kernel NAME",
                     fmt::join(mapped(swept_kernels(request.run.benches), &SweptKernel::name), ", "));
  if (request.source.empty() != (parser.count("--kernel") == 0))
    throw InputError("--source FILE.cu and --kernel NAME go together: the file, and the kernel in it");
  if (request.gpu.compute_capability.empty() == request.gpu.sm_count.has_value())
    throw InputError("--cc and --sm-count go together: the device that cases are listed for");
  RunOptions& run = request.run;
  run.programs = {request.source.empty() ? find_kernel(swept_kernels(run.benches), request.kernel).program
                                         : sweep_program(run.benches)};
  run.flags = program_flags(request);
  // Nothing is known about a user's kernel except its counters.
  run.suite = "full";
}

std::string name_of(const SweepRequest& request) {
  return "sweep-" + (request.kernel.empty() ? fs::path(request.source).stem().string() : request.kernel);
}

ExitStatus sweep(SweepRequest request, const CLI::App& parser, Console& console) {
  if (request.run.resume && request.fastest)
    throw InputError(
        "--fastest is not resumed: leave --resume out, and the race begins again (rows that are there are "
        "kept under another name)");
  if (request.run.resume && request.run.out.empty())
    throw InputError("--resume needs the file to go on with: --out FILE.csv");
  const StopOnSignals stop;
  choose_program(request, parser);
  if (!request.gpu.given()) {
    if (const std::string reason = why_no_gpu(); !reason.empty()) {
      try {
        static_cast<void>(planned_benches(request.run));  // which refuses a wrong axis
      } catch (const CannotList& failure) {
        if (failure.status() != ExitStatus::no_verdict) throw;  // else the GPU is missing
      }
      fmt::print(console.err, "nothing is measured: {}\n", reason);
      if (request.run.list)
        fmt::print(console.err,
                   "--gpu NAME, or --cc 9.0 --sm-count 132, lists the cases for a GPU that is not here\n");
      return ExitStatus::no_verdict;
    }
  }
  std::vector<Bench> benches = planned_benches(request.run);
  if (request.run.list) {
    for (const std::string& note : benches.front().notes) fmt::print(console.err, "{}\n", note);
    std::optional<DeviceProfile> given;
    if (parser.count("--profile") > 0) given = find_profile(parser.get_option("--profile")->results().back());
    predict_listed(benches.front().cases, given, console.err);
    print_list(benches.front(), console);
    return ExitStatus::done;
  }
  fmt::print(console.err, "{}\n",
             request.fastest ? counted(static_cast<long long>(benches.front().cases.size()), "case")
                             : announcement(benches.front()));
  const fs::path out = output_file(request.run.out, name_of(request));
  const std::string to_go_on = request.fastest ? "the same command races again, from the beginning"
                                               : "to go on: " + resuming_command(parser, out);
  const ExitStatus status = measure_benches(request.run, benches, out, to_go_on, console);
  if (!request.fastest) return status;
  std::vector<CaseRecord> cases = read_case_records(out);
  const std::set<std::string> wanted = names_of(benches.front().cases);
  keep_named(cases, wanted);
  if (cases.size() == wanted.size()) fmt::print(console.out, "{}", fastest_text(cases));
  return status;
}

/// Its axes.
std::string axes_help(const SweptKernel& kernel) {
  std::string text = fmt::format("{}: {}\n\nAxes:\n", kernel.name, kernel.description);
  for (const DescribedAxis& axis : kernel.axes) {
    const std::string otherwise = axis.values.empty() ? "" : fmt::format(" (default {})", axis.values);
    text += fmt::format("  {:<26} {}{}\n", fmt::format("--{} VALUES", axis.name), axis.meaning, otherwise);
  }
  return text;
}

ExitStatus help(const CLI::App& parser, const SweepRequest& request, Console& console) {
  fmt::print(console.out, "{}\n{}\n", parser.help("occbench"), kGrammar);
  try {
    const std::vector<SweptKernel> kernels = swept_kernels(request.run.benches);
    if (!request.kernel.empty()) {
      fmt::print(console.out, "{}", axes_help(find_kernel(kernels, request.kernel)));
    } else {
      fmt::print(console.out, "Kernels (occbench sweep KERNEL --help lists the axes):\n");
      for (const SweptKernel& kernel : kernels)
        fmt::print(console.out, "  {:<20} {}\n", kernel.name, kernel.description);
    }
  } catch (const InputError& missing) {
    if (!request.kernel.empty()) throw;
    fmt::print(console.out, "{}\n", missing.what());
  }
  return ExitStatus::done;
}

void declare_source(CLI::App& parser, SweepRequest& request) {
  const auto passed = [&](const char* name, const char* meaning) {
    return pass_on(parser, name, request.run.flags, meaning);
  };
  parser
      .add_option_function<std::string>(
          "--source",
          [&request](const std::string& file) {
            request.source = file;
            request.run.flags.push_back("--occ_source=" + file);
          },
          "a CUDA file with a kernel of your own, compiled at run time")
      ->check(CLI::ExistingFile)
      ->type_name("FILE.cu");
  passed("--kernel", "the kernel in it, with its template arguments: 'product<32>'; given again: an axis")
      ->take_all()
      ->type_name("NAME");
  passed("--arg",
         "an argument, in order: float[1<<24], float[1024]=zeros, int[64]=iota, float[9]=@FILE, int=5; "
         "{NAME} is the value of an axis, {4096 / TILE} of an expression")
      ->take_all()
      ->type_name("TYPE[N]|VALUE");
  passed("--define", "definitions for the preprocessor, an axis: TILE=16,32")
      ->take_all()
      ->type_name("NAME=VALUES");
  passed("--include", "folder of headers")->take_all()->type_name("FOLDER");
  passed("--std", "C++ standard of the file (default c++20)")->type_name("c++17|c++20");
  passed("--check", "equal: configurations of equal grids and arguments must leave the same in the buffers")
      ->check(CLI::IsMember({"equal"}));
  passed("--check-against",
         "what must be in the buffers: a kernel of the file with its launch, 'naive<<<64x64,16x16>>>' (grid, "
         "block), or the bytes of a file")
      ->type_name("KERNEL|[N=]@FILE");
  passed("--tolerance", "of decimal elements, times the larger of 1 and what is expected (default 1e-4)")
      ->check(CLI::Range(0.0, 1.0));
}

bool has_right_time(const CaseRecord& record) {
  return record.times.time_us && record.times.status != TimeStatus::failed && record.check != Check::wrong;
}

double time_of(const CaseRecord& record) {
  return *record.times.time_us;
}

std::string occupancy_of(const CaseRecord& fastest, std::span<const CaseRecord* const> timed) {
  if (!fastest.theory) return {};
  const auto theory = [](const CaseRecord* each) { return each->theory ? each->theory->theoretical_pct : 0; };
  // The fastest of those with the highest theory.
  const CaseRecord& highest = **std::ranges::max_element(
      timed, {}, [&](const CaseRecord* each) { return std::pair(theory(each), -time_of(*each)); });
  std::string text =
      fmt::format("occupancy    theoretical {}", percent_text(fastest.theory->theoretical_pct));
  text += theory(&highest) <= fastest.theory->theoretical_pct
              ? ", the highest of the sweep"
              : fmt::format(" (the highest of the sweep is {}: {}, {:.2f} times as long)",
                            percent_text(theory(&highest)), highest.identity.name,
                            time_of(highest) / time_of(fastest));
  if (const auto achieved = fastest.readings.counters.achieved_pct)
    text += fmt::format("; achieved {}", percent_text(*achieved));
  return text + "\n";
}

}  // namespace

Action declare_sweep(CLI::App& parser) {
  const auto request = std::make_shared<SweepRequest>();
  const auto wants_help = std::make_shared<bool>(false);
  parser.allow_extras();
  parser.set_help_flag();
  parser.add_flag("-h,--help", *wants_help, "this text, and of a kernel its axes");
  parser.add_flag_callback(
      "--zip", [request] { request->run.flags.emplace_back("--occ_zip"); }, "pair the values of the axes");
  parser.add_flag("--fastest", request->fastest, "find the fastest configuration without measuring all");
  pass_on(parser, "--where", request->run.flags,
          "leave out configurations that do not meet it: 'block_size.x * block_size.y <= 1024'")
      ->take_all()
      ->type_name("EXPRESSION");
  declare_source(parser, *request);
  parser.add_flag("--list", request->run.list, "print the cases with theory and prediction, and end");
  add_one_device_option(parser, request->run.device)->capture_default_str();
  declare_measuring(parser, request->run);
  declare_gpu_option(parser, request->gpu, "With --list, for a GPU that need not be here");
  return [&parser, request, wants_help](Console& console) {
    take_axes(parser.remaining(), *request);
    if (*wants_help) return help(parser, *request, console);
    return sweep(*request, parser, console);
  };
}

void take_axes(const std::vector<std::string>& words, SweepRequest& request) {
  bool in_axis = false;
  for (const std::string& word : words) {
    if (word.starts_with("--")) {
      const std::size_t equals = word.find('=');
      const bool has_values = equals != std::string::npos;
      request.axes.emplace_back(word.substr(2, has_values ? equals - 2 : equals),
                                has_values ? word.substr(equals + 1) : "");
      in_axis = true;
    } else if (in_axis) {
      std::string& values = request.axes.back().second;
      values += (values.empty() ? "" : ",") + word;
    } else if (request.kernel.empty() && request.source.empty()) {
      request.kernel = word;
    } else {
      throw InputError("'{}' is no axis; axes are --NAME VALUES, as --block-size 64:1024:64", word);
    }
  }
  for (const auto& [name, values] : request.axes) {
    if (values.empty())
      throw InputError("--{} has no values; write --{} 64,128 or --{} 64:1024:64", name, name, name);
  }
}

std::vector<std::string> program_flags(const SweepRequest& request) {
  std::vector<std::string> flags = request.run.flags;
  if (!request.kernel.empty()) flags.push_back("--occ_sweep=" + request.kernel);
  for (const auto& [name, values] : request.axes)
    flags.push_back(fmt::format("--occ_axis={}={}", name, values));
  if (request.fastest) flags.emplace_back("--occ_fastest");
  if (!request.run.list) return flags;
  if (named_gpu(request.gpu) != nullptr) {
    flags.push_back("--occ_gpu=" + request.gpu.name);
  } else if (request.gpu.given()) {
    flags.push_back("--occ_cc=" + request.gpu.compute_capability);
    flags.push_back(fmt::format("--occ_sm_count={}", *request.gpu.sm_count));
  }
  return flags;
}

std::string fastest_text(std::span<const CaseRecord> cases) {
  std::vector<const CaseRecord*> timed;
  for (const CaseRecord& each : cases) {
    if (has_right_time(each)) timed.push_back(&each);
  }
  if (timed.empty()) return "No configuration ran with a right result: the rows say why.\n";
  // The fastest is measured like every case; the median of an equally fast one can be lower.
  std::ranges::sort(timed, {}, [](const CaseRecord* each) {
    const std::optional<RaceOutcome> outcome = race_outcome(*each);
    return std::pair(is_ruled_out(outcome) || outcome == RaceOutcome::as_fast, time_of(*each));
  });
  const CaseRecord& fastest = *timed.front();
  std::string text = fmt::format("\nfastest      {}   {:.4g} us\n", fastest.identity.name, time_of(fastest));
  const auto count = [&](RaceOutcome outcome) { return std::ranges::count(cases, outcome, race_outcome); };
  const auto as_fast = std::ranges::count_if(
      timed, [&](const CaseRecord* each) { return each != &fastest && !is_ruled_out(race_outcome(*each)); });
  text += fmt::format(
      "certainty    {} ruled out by 95 % intervals, {} by one or two launches that were 5 % slower or more; "
      "{} not told from the fastest\n",
      count(RaceOutcome::ruled_out_by_intervals), count(RaceOutcome::ruled_out_by_launches), as_fast);
  for (std::size_t i = 1, shown = 0; i < timed.size() && shown < 3; ++i) {
    if (is_ruled_out(race_outcome(*timed[i]))) continue;
    text += fmt::format("             {}   {:.4g} us\n", timed[i]->identity.name, time_of(*timed[i]));
    ++shown;
  }
  const auto left_out = count(RaceOutcome::left_out);
  const auto failed = static_cast<long>(cases.size() - timed.size()) - left_out;
  text += fmt::format("left out     {} without a launch, {} that cannot run or are wrong, of {}\n", left_out,
                      failed, cases.size());
  return text + occupancy_of(fastest, timed);
}

}  // namespace occbench
