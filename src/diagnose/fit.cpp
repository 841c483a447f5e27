#include "diagnose/fit.hpp"

#include <algorithm>

#include "diagnose/diagnose.hpp"

namespace occbench {
namespace {

bool explains_loss(const CauseClaim& each) {
  return each.claim.part != Part::theory && each.claim.part != Part::beside;
}

/// Points of a part; of all parts where none is given.
double sum(const std::vector<CauseClaim>& claims, std::optional<Part> part = std::nullopt) {
  double points = 0;
  for (const CauseClaim& each : claims) {
    if (explains_loss(each) && (!part || each.claim.part == *part)) points += each.claim.points;
  }
  return points;
}

void limit(std::vector<CauseClaim>& claims, double most, std::optional<Part> part = std::nullopt) {
  const double now = sum(claims, part);
  if (now <= most) return;
  const double factor = std::max(0.0, most) / now;
  for (CauseClaim& each : claims) {
    if (explains_loss(each) && (!part || each.claim.part == *part)) each.claim.points *= factor;
  }
}

/// Losses below 0 are gains: the largest loss of the same launch is so much smaller.
void net_gains(std::vector<CauseClaim>& claims) {
  double gains = 0;
  for (CauseClaim& each : claims) {
    if (explains_loss(each) && each.claim.points < 0) gains -= std::exchange(each.claim.points, 0.0);
  }
  for (; gains > 0;) {
    const auto largest = std::ranges::max_element(
        claims, {}, [](const CauseClaim& each) { return explains_loss(each) ? each.claim.points : -1; });
    if (largest == claims.end() || largest->claim.points <= 0) return;
    const double taken = std::min(gains, largest->claim.points);
    largest->claim.points -= taken;
    gains -= taken;
  }
}

/// Of work that was inferred, what is uneven is left out of the prediction, and not chance.
bool within_interval_of_prediction(const Situation& situation) {
  if (!situation.facts.prediction || !situation.achieved_pct || situation.facts.work_is_inferred)
    return false;
  const Prediction& prediction = *situation.facts.prediction;
  return *situation.achieved_pct >= prediction.interval.low - kLeastPoints &&
         *situation.achieved_pct <= prediction.interval.high + kLeastPoints;
}

void give(CauseClaim& to, double points, Confidence confidence, double& rest) {
  points = std::min(points, to.claim.most - to.claim.points);
  if (points <= 0) return;
  if (points > to.claim.points) to.claim.confidence = confidence;
  to.claim.points += points;
  rest -= points;
}

/// What resident blocks leave to a part: to the largest claim of it that has points already, else, and where that cannot
/// have cost so much, to that of `otherwise`.
void share_part(std::vector<CauseClaim>& claims, Part part, double measured, Cause otherwise, double& rest) {
  double left = std::clamp(measured - sum(claims, part), 0.0, rest);
  CauseClaim* largest = nullptr;
  CauseClaim* other = nullptr;
  for (CauseClaim& each : claims) {
    if (each.cause == otherwise) other = &each;
    if (each.claim.part == part && each.claim.points >= kLeastPoints &&
        (largest == nullptr || each.claim.points > largest->claim.points))
      largest = &each;
  }
  rest -= left;
  for (CauseClaim* const to : {largest, other}) {
    if (to != nullptr) give(*to, left, Confidence::measured, left);
  }
  rest += left;
}

}  // namespace

double fit(std::vector<CauseClaim>& claims, const Situation& situation) {
  net_gains(claims);
  const double lost = std::max(0.0, situation.lost());
  if (situation.parts) {
    limit(claims, std::max(0.0, situation.parts->blocks), Part::blocks);
    limit(claims, std::max(0.0, situation.parts->warps), Part::warps);
  }
  limit(claims, lost);
  double rest = lost - sum(claims);
  if (rest < kLeastPoints) return rest;
  for (CauseClaim& each : claims) {
    if (each.claim.part == Part::either && each.claim.takes_rest) {
      give(each, rest, Confidence::inferred, rest);
      return rest;
    }
  }
  if (situation.parts) {
    share_part(claims, Part::warps, situation.parts->warps, Cause::uneven_warps, rest);
    share_part(claims, Part::blocks, situation.parts->blocks, Cause::uneven_blocks, rest);
  }
  // Chance moves the points of the largest simulated loss.
  if (rest >= kLeastPoints && within_interval_of_prediction(situation)) {
    const auto largest = std::ranges::max_element(
        claims, {}, [](const CauseClaim& each) { return explains_loss(each) ? each.claim.points : 0; });
    if (largest != claims.end() && largest->claim.points > 0)
      give(*largest, rest, Confidence::inferred, rest);
  }
  return rest;
}

}  // namespace occbench
