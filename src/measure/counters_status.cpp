#include "measure/counters_status.hpp"

namespace occbench {

std::string_view to_string(CountersStatus status) {
  switch (status) {
    case CountersStatus::ok:
      return "ok";
    case CountersStatus::denied:
      return "denied";
    case CountersStatus::busy:
      return "busy";
    case CountersStatus::unsupported:
      return "unsupported";
    case CountersStatus::off:
      return "off";
    case CountersStatus::failed:
      return "failed";
  }
  return "failed";
}

}  // namespace occbench
