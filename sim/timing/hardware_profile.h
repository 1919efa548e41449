#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/document/json_reader.h"
#include "strategies/graph/dtype.h"

namespace drydock::sim {

/// Number types that a device has a peak of its own for.
enum class PeakType : std::uint8_t { kFp64, kFp32, kTf32, kFp16, kBf16, kFp8, kInt8 };
inline constexpr std::size_t kPeakTypeCount = 7;

/// What a device does at an efficiency of its own.
enum class EfficiencyKind : std::uint8_t {
  kProduct,    ///< Products and convolutions; size = floating-point operations of the kernel.
  kAttention,  ///< Fused attention; size likewise.
  kVector,     ///< Element by element, bound by memory; size = bytes read and written.
  kMovement,   ///< Copies, slices, look-ups; size likewise.
};
inline constexpr std::size_t kEfficiencyKindCount = 4;

/// Share of the peak that kernels reach, by their size: between two points straight in the
/// logarithm of the size, beyond the ends as at the ends.
struct EfficiencyCurve {
  struct Point {
    double size = 1;
    double efficiency = 1;  ///< 0 < efficiency <= 1.
  };
  std::vector<Point> points = {};  ///< Ascending sizes, at least one.
  [[nodiscard]] double At(double size) const;
};

/// How the devices below one unit of a level are wired.
enum class Wiring : std::uint8_t {
  kSwitch,  ///< Each device has its whole bandwidth whatever the group.
  kMesh,    ///< One link per pair: n members use n - 1 of the links.
  kRing,    ///< Links to two neighbours.
};
inline constexpr std::array<std::string_view, 3> kWiringNames = {"switch", "mesh", "ring"};

/// How a collective is done.
enum class CollectiveAlgorithm : std::uint8_t {
  kRing,             ///< n - 1 steps, each to the next member; twice for AllReduce.
  kTree,             ///< Binary tree, up and down, pipelined.
  kHalvingDoubling,  ///< log2 n steps with ever more distant partners.
  kDirect,           ///< Everybody to everybody at once, or one message.
  kInNetwork,        ///< The switch reduces.
  kHierarchical,     ///< Level by level, each with what is best there.
};
inline constexpr std::size_t kCollectiveAlgorithmCount = 6;

/// "ring", "halving_doubling".
[[nodiscard]] std::string_view CollectiveAlgorithmName(CollectiveAlgorithm algorithm);

/// One level of the network, from the inside out: chip pair, node, rail, spine.
struct NetworkLevel {
  std::string name = {};
  std::int64_t devices = 0;  ///< Below one unit of the level; 0 = all there are.
  Wiring wiring = Wiring::kSwitch;
  /// What the communication library uses between units of the level below; the fastest counts.
  std::vector<CollectiveAlgorithm> algorithms = {};
  double bytes_per_second = 0;  ///< Of one device, one direction, nominal.
  double efficiency = 1;        ///< Share of it that large messages reach.
  double latency_seconds = 0;   ///< Of one step of a collective.
  /// Above 1: what all devices together may send out of one unit below is that much less.
  double oversubscription = 1;
  /// Of kInNetwork: bytes per second and device, and what is added to two steps.
  double reduce_bytes_per_second = 0;
  double reduce_latency_seconds = 0;
};

/// How a number of a profile came to be.
struct NumberSource {
  std::string field = {};   ///< "levels.node.latency_seconds".
  std::string origin = {};  ///< "vendor", "measured", "fitted", "assumed".
  std::string source = {};  ///< Document or measurement.
};

/// A device and the network between devices, as models of time want it. SI units throughout.
///
/// Files are described by docs/schema/hardware.schema.json; those that come with the program lie in
/// sim/timing/hardware.
struct HardwareProfile {
  std::string name = {};         ///< "910B".
  std::string description = {};  ///< "Ascend 910B2, ...".
  /// Dense operations per second of the matrix units, 0 = the type is not known to the device.
  std::array<double, kPeakTypeCount> peak_flops = {};
  double vector_flops = 0;             ///< Operations per second of the vector units.
  std::int64_t memory_bytes = 0;       ///< Of the device.
  std::int64_t usable_bytes = 0;       ///< What a framework gets of it.
  double memory_bytes_per_second = 0;  ///< Nominal.
  double kernel_launch_seconds = 0;    ///< What a kernel takes beside its work.
  double collective_launch_seconds = 0;
  std::int64_t devices_per_node = 1;
  /// A collective over several levels works on them at once for this share of the shorter ones.
  double level_overlap = 0;
  /// Share by which computation is slower while the device communicates.
  double overlap_slowdown = 0;
  std::int64_t communicator_bytes = 0;  ///< Buffers of one communicator on a device.
  std::int64_t context_bytes = 0;       ///< Of the run-time before the first tensor.
  std::array<EfficiencyCurve, kEfficiencyKindCount> efficiency = {};
  std::vector<NetworkLevel> levels = {};  ///< Inside out; the last one holds all devices.
  std::vector<NumberSource> sources = {};
};

/// "fp16"; "product".
[[nodiscard]] std::string_view PeakTypeName(PeakType type);
[[nodiscard]] std::string_view EfficiencyKindName(EfficiencyKind kind);

/// The peak that counts for products of a type; those of types that the device does not know run
/// as the nearest wider type.
[[nodiscard]] double PeakFlops(const HardwareProfile& profile, strategies::DType dtype);

/// A profile from its JSON document.
/// @error kInvalidArgument  a number is missing or absurd, levels do not nest, unknown field; with
///                          place and remedy
[[nodiscard]] Result<HardwareProfile> ReadHardwareProfile(strategies::JsonView document);

/// The same from text; `file` names it in messages.
[[nodiscard]] Result<HardwareProfile> ParseHardwareProfile(std::string_view text,
                                                           std::string_view file);

/// The same device with `devices` in each node.
/// @error kInvalidArgument  not a multiple of the levels inside, or no divisor of those outside
[[nodiscard]] Result<HardwareProfile> WithDevicesPerNode(HardwareProfile profile,
                                                         std::int64_t devices);

}  // namespace drydock::sim
