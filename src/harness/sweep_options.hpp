#pragma once

#include <optional>
#include <string>
#include <vector>

#include "axes/points.hpp"
#include "harness/source_family.hpp"

namespace CLI {
class App;
}

namespace occbench {

/// Which configurations of which kernel `occbench sweep` wants.
struct SweepOptions {
  std::string family;                   ///< one of the experiment's, or empty where there is a source
  std::optional<SourceOptions> source;  ///< a kernel in a file
  std::vector<GivenAxis> axes;
  Combine combine = Combine::product;
};

/// The flags of a bench binary that ask for a sweep.
class SweepFlags {
 public:
  void declare(CLI::App& app);

  /// Once they are parsed; empty where none asks for a sweep. @throws InputError for what is no NAME=VALUES
  std::optional<SweepOptions> options() const;

 private:
  std::string family_;
  std::string source_;
  SourceOptions from_;
  std::vector<std::string> axes_;
  std::vector<std::string> defines_;
  std::vector<std::string> includes_;
  std::string check_;
  bool zip_ = false;
};

}  // namespace occbench
