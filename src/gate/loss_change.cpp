#include "gate/loss_change.hpp"

#include "diagnose/diagnose.hpp"
#include "gate/findings.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

std::string explanation(const Cases& cases) {
  try {
    return explanation_of(facts_of(case_record(cases.front()->row)));
  } catch (const InputError&) {
    return "";  // a row that says something impossible; the gate has its own word for it
  }
}

}  // namespace

void add_loss_change(const Sides& sides, ComparedCase& into) {
  const std::string now = explanation(sides.candidate);
  if (now.empty() || now == explanation(sides.baseline)) return;
  add_finding(into, Grade::note, "explanation", now);
}

}  // namespace occbench
