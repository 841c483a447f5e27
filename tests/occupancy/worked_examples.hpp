#pragma once

#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace occbench {

/// A line of examples/worked_examples.csv by the file's names.
using Example = std::map<std::string, std::string>;

/// The cells of a line without quotes.
inline std::vector<std::string> cells_without_quotes(const std::string& line) {
  std::vector<std::string> cells{""};
  for (const char letter : line) {
    if (letter == ',') {
      cells.emplace_back();
    } else {
      cells.back() += letter;
    }
  }
  return cells;
}

inline std::vector<Example> read_worked_examples() {
  std::ifstream file(OCCBENCH_SOURCE_DIR "/examples/worked_examples.csv");
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> names = cells_without_quotes(line);
  std::vector<Example> examples;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = cells_without_quotes(line);
    Example& example = examples.emplace_back();
    for (std::size_t column = 0; column < names.size(); ++column) example[names[column]] = cells.at(column);
  }
  return examples;
}

/// A whole number of an example; `otherwise` where it says none.
inline int number(const Example& example, const std::string& name, int otherwise = 0) {
  const std::string& text = example.at(name);
  return text.empty() ? otherwise : std::stoi(text);
}

}  // namespace occbench
