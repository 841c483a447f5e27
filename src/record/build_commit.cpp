#include "build_commit.hpp"

#include "record/provenance.hpp"

namespace occbench {

std::string_view build_commit() {
  return kBuildCommit;
}

}  // namespace occbench
