#include "sim/timing/hardware_profile.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "sim/timing/kernel_time.h"
#include "tests/source_dir.h"

namespace drydock::sim {
namespace {

std::string ProfileText(const std::string& name) {
  std::ifstream file(SourceDir() + "/sim/timing/hardware/" + name + ".json");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

Error Failure(const std::string& text) {
  const auto profile = ParseHardwareProfile(text, "mine.json");
  EXPECT_FALSE(profile);
  return profile ? Error() : profile.error();
}

TEST(HardwareProfile, AllThatComeWithTheProgramAreRead) {
  std::size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(SourceDir() + "/sim/timing/hardware")) {
    const std::string name = entry.path().stem().string();
    const auto profile = ParseHardwareProfile(ProfileText(name), name);
    ASSERT_TRUE(profile) << FormatError(profile.error());
    EXPECT_EQ(profile->name, name);
    EXPECT_GT(PeakFlops(*profile, strategies::DType::kBFloat16), 0);
    ++count;
  }
  EXPECT_GE(count, 8U);
}

TEST(HardwareProfile, NumbersOfTheDataSheet) {
  const auto profile = ParseHardwareProfile(ProfileText("A100-80"), "");
  ASSERT_TRUE(profile);
  EXPECT_EQ(PeakFlops(*profile, strategies::DType::kFloat16), 312e12);
  EXPECT_EQ(PeakFlops(*profile, strategies::DType::kFloat32), 156e12);  // as TF32
  EXPECT_EQ(profile->memory_bytes, 80LL << 30);
  EXPECT_EQ(profile->levels.front().devices, 8);
}

// The page of graph documents is no help for a profile: the remedy for its fields is its own.
TEST(HardwareProfile, FieldsThatAreMissingOrUnknownPointToItsOwnPage) {
  const std::string good = ProfileText("cpu-test");
  for (const Error& error : {Failure("{}"), Failure(Replaced(good, "{", "{\"zzz\": 1,"))}) {
    EXPECT_TRUE(IsCausedBy(error, DocumentCause::kFields)) << error.message;
    EXPECT_EQ(error.hint, "docs/timing.md and docs/schema/hardware.schema.json say what there is");
  }
}

TEST(HardwareProfile, BadOnesAreRefusedWithPlaceAndRemedy) {
  const std::string good = ProfileText("cpu-test");
  struct Case {
    std::string from, to, reason;
  };
  for (const Case& item : {
           Case{"\"value\": 68719476736", "\"value\": 64", "hardware:absurd-number"},
           Case{"\"value\": 100000000000.0", "\"value\": -1", "hardware:absurd-number"},
           Case{"\"value\": 100000000000.0", "\"value\": \"nan\"", "hardware:absurd-number"},
           Case{"\"wiring\": \"switch\"", "\"wiring\": \"torus\"", "hardware:unknown-word"},
           Case{"\"origin\": \"assumed\"", "\"origin\": \"rumour\"", "hardware:unknown-word"},
           Case{"\"drydock.hardware/1\"", "\"drydock.hardware/9\"", "hardware:unknown-word"},
           Case{"\"ring\"", "\"hierarchical\"", "hardware:unknown-word"},
       }) {
    const Error error = Failure(Replaced(good, item.from, item.to));
    EXPECT_EQ(error.reason, item.reason) << FormatError(error);
    EXPECT_FALSE(error.hint.empty());
    ASSERT_TRUE(error.place);
    EXPECT_EQ(error.place->file, "mine.json");
    EXPECT_GT(error.place->line, 1);
  }
  EXPECT_NE(Failure(Replaced(good, "\"vector_flops\"", "\"vector_flop\"")).message, "");
  EXPECT_NE(Failure(good.substr(0, good.size() / 2)).message, "");
  for (const char* text : {"nope", "{\"schema\": NaN}", "\x01"}) {
    EXPECT_FALSE(Failure(text).hint.empty()) << text;
  }
}

TEST(HardwareProfile, CurvesAreStraightInTheLogarithmOfTheSize) {
  const EfficiencyCurve curve{
      .points = {{.size = 1e3, .efficiency = 0.2}, {.size = 1e5, .efficiency = 0.6}}};
  EXPECT_DOUBLE_EQ(curve.At(1), 0.2);
  EXPECT_NEAR(curve.At(1e4), 0.4, 1e-12);  // Half way from 3 to 5 in the exponent.
  EXPECT_DOUBLE_EQ(curve.At(1e9), 0.6);
}

TEST(HardwareProfile, DevicesPerNodeMoveTheLevelOfNodes) {
  const auto profile = ParseHardwareProfile(ProfileText("A100-80"), "");
  ASSERT_TRUE(profile);
  const auto four = WithDevicesPerNode(*profile, 4);
  ASSERT_TRUE(four);
  EXPECT_EQ(four->levels[0].devices, 4);
  const auto three = WithDevicesPerNode(*profile, 3);  // 256 devices of a rail are no multiple.
  ASSERT_FALSE(three);
  EXPECT_EQ(three.error().reason, "hardware:devices-per-node");
}

TEST(KernelTime, IsTheLongerOfComputingAndMoving) {
  const auto profile = ParseHardwareProfile(ProfileText("cpu-test"), "");
  ASSERT_TRUE(profile);
  // 1 TFLOP/s and 100 GB/s at full efficiency: 2e9 operations take 2 ms, 1e9 bytes 10 ms.
  EXPECT_DOUBLE_EQ(
      KernelSeconds(*profile, {.kind = EfficiencyKind::kProduct, .flops = 2e9, .bytes = 1e6}),
      2e-3);
  EXPECT_DOUBLE_EQ(
      KernelSeconds(*profile, {.kind = EfficiencyKind::kProduct, .flops = 2e9, .bytes = 1e9}),
      1e-2);
  // Vector units do 0.1 TFLOP/s: 2e9 operations take 20 ms.
  EXPECT_DOUBLE_EQ(
      KernelSeconds(*profile, {.kind = EfficiencyKind::kVector, .flops = 2e9, .bytes = 1e9}), 2e-2);
}

}  // namespace
}  // namespace drydock::sim
