#include "harness/run.hpp"

// The main function of a program with one experiment, the user's own.
int main(int argc, char** argv) {
  const occbench::Experiment* const experiments[] = {&occbench::experiment};
  return occbench::measuring_main(experiments, {}, argc, argv);
}
