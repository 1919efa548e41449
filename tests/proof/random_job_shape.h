#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "strategies/graph/job_config.h"

/// What is drawn of a random job before its network: ranks, stages, micro batches, schedule, how
/// the step is made, and the settings of the job.
namespace drydock::strategies {

class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : random_(seed) {}
  std::int64_t Uniform(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool Chance(std::int64_t one_in) { return Uniform(1, one_in) == 1; }
  template <typename T>
  T AnyOf(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(Uniform(0, std::ssize(values) - 1))];
  }
  std::mt19937_64& random() { return random_; }

 private:
  std::mt19937_64 random_;
};

/// What is drawn before the network.
struct JobShape {
  std::int64_t world = 4;
  std::int64_t stages = 1;
  std::int64_t parts = 1;  ///< Of each stage.
  std::int64_t micros = 1;
  bool accumulators = false;
  bool recompute = false;
  bool clip = false;
  bool momentum = false;
  bool decay = false;       ///< Of matrices only.
  double loss_scale = 1.0;  ///< Backward begins with it; gradients are divided by it.
  bool half = false;        ///< Products and what passes between parts are float16.
  std::string scheduler = "1f1b";
};

[[nodiscard]] JobShape DrawShape(Drawn& drawn);
[[nodiscard]] JobConfig DrawConfig(Drawn& drawn, const JobShape& shape);

/// "8 ranks, 2 stages, 4 micro batches, level 2".
[[nodiscard]] std::string HowText(const JobShape& shape, const JobConfig& config);

}  // namespace drydock::strategies
