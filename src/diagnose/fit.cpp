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

CauseClaim* find(std::vector<CauseClaim>& claims, Cause cause) {
  const auto found = std::ranges::find(claims, cause, &CauseClaim::cause);
  return found == claims.end() ? nullptr : &*found;
}

/// The largest claim of a part that has points already, else that of `otherwise`.
CauseClaim* largest_of(std::vector<CauseClaim>& claims, Part part, Cause otherwise) {
  CauseClaim* largest = find(claims, otherwise);
  for (CauseClaim& each : claims) {
    if (each.claim.part == part && each.claim.points >= kLeastPoints &&
        (largest == nullptr || each.claim.points > largest->claim.points))
      largest = &each;
  }
  return largest;
}

void give(CauseClaim& to, double points, Confidence confidence, double& rest) {
  points = std::min(points, to.claim.most - to.claim.points);
  if (points <= 0) return;
  if (points > to.claim.points) to.claim.confidence = confidence;
  to.claim.points += points;
  rest -= points;
}

/// By what resident blocks leave to each part.
void share_by_parts(std::vector<CauseClaim>& claims, const MeasuredParts& parts, double& rest) {
  const double of_warps = std::clamp(parts.warps - sum(claims, Part::warps), 0.0, rest);
  const double of_blocks = std::clamp(parts.blocks - sum(claims, Part::blocks), 0.0, rest - of_warps);
  if (CauseClaim* warps = largest_of(claims, Part::warps, Cause::uneven_warps))
    give(*warps, of_warps, Confidence::measured, rest);
  double left = of_blocks;
  if (CauseClaim* blocks = largest_of(claims, Part::blocks, Cause::uneven_blocks))
    give(*blocks, left, Confidence::measured, left);
  if (CauseClaim* blocks = find(claims, Cause::uneven_blocks))
    give(*blocks, left, Confidence::measured, left);
  rest -= of_blocks - left;
}

}  // namespace

double fit(std::vector<CauseClaim>& claims, const Situation& situation) {
  net_gains(claims);
  if (!situation.achieved_pct) return std::max(0.0, situation.lost() - sum(claims));
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
      return 0;
    }
  }
  if (situation.parts) share_by_parts(claims, *situation.parts, rest);
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
