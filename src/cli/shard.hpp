#pragma once

#include <set>
#include <span>
#include <string>

#include "record/case_record.hpp"

namespace occbench {

/// About how long a case takes, s: the mean beside its launches, and the work of one wave after another. The
/// same on every machine, for GPUs of one model.
double expected_seconds(const CaseRecord& record);

/// One of `count` parts of a run. @pre 1 <= index <= count
struct Shard {
  int index = 1;
  int count = 1;
};

/// Reads "3/16". @throws InputError if it is no such text
Shard parse_shard(const std::string& text);

/// Full names of the cases of a shard. Each case is in one shard, and shards take about equally long: the
/// longest case goes to the shard that has least so far, then the next. The order of `cases` does not matter.
/// @throws InputError if the shard has none
std::set<std::string> cases_of_shard(std::span<const CaseRecord> cases, Shard shard);

/// A filter, as case_filter() reads it, that these full names match and no other.
std::string filter_of_names(const std::set<std::string>& names);

}  // namespace occbench
