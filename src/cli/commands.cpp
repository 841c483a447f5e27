#include "cli/commands.hpp"

namespace occbench {
namespace {

constexpr Command kCommands[] = {
    {"calc", "theoretical occupancy, what limits it and what would change it", declare_calc},
};

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

}  // namespace occbench
