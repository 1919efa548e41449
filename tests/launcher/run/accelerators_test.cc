#include "launcher/run/accelerators.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drydock::launcher {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

/// A machine's sysfs made of files.
class Accelerators : public ::testing::Test {
 protected:
  Accelerators() {
    std::string pattern = ::testing::TempDir() + "sysfs-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
  }
  ~Accelerators() override { fs::remove_all(root_); }

  void AddDevice(const std::string& address, const std::string& vendor, const std::string& kind,
                 int node) const {
    const fs::path folder = root_ / "bus/pci/devices" / address;
    Write(folder / "vendor", vendor);
    Write(folder / "class", kind);
    Write(folder / "numa_node", std::to_string(node));
  }
  void AddNode(int node, const std::string& cpus) const {
    Write(root_ / "devices/system/node" / ("node" + std::to_string(node)) / "cpulist", cpus);
  }
  static void Write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }

  fs::path root_;
};

TEST_F(Accelerators, AreNumberedByTheirAddresses) {
  AddDevice("0000:82:00.0", "0x19e5", "0x120000", 1);
  AddDevice("0000:01:00.0", "0x19e5", "0x120000", 0);
  AddDevice("0000:03:00.0", "0x10de", "0x030200", 0);
  AddDevice("0000:00:02.0", "0x8086", "0x030000", 0);  // a display, no accelerator
  AddDevice("0000:00:1f.0", "0x19e5", "0x020000", 0);  // a network card
  AddNode(0, "0-3,8");
  AddNode(1, "4-7");
  Write(root_ / "devices/system/node/possible", "0-1");
  const MachineNuma machine = ReadMachineNuma(root_);
  EXPECT_THAT(machine.node_of_device, ElementsAre(0, 0, 1));
  EXPECT_THAT(machine.cpus_of_node.at(0), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(machine.cpus_of_node.at(1), ElementsAre(4, 5, 6, 7));
}

TEST_F(Accelerators, AMachineWithoutThemGivesNoShares) {
  EXPECT_EQ(ReadMachineNuma(root_), MachineNuma());
  EXPECT_THAT(DeviceShares({}, {0, 1}), IsEmpty());
}

TEST(DeviceShares, ComeFromTheNodeOfTheDevice) {
  const MachineNuma machine = {.node_of_device = {1, 0},
                               .cpus_of_node = {{0, {0, 1}}, {1, {2, 3}}}};
  // 4 processors / 2 devices = 2 each.
  EXPECT_THAT(DeviceShares(machine, {0, 1, 2, 3}),
              ElementsAre(ElementsAre(2, 3), ElementsAre(0, 1)));
}

TEST(DeviceShares, WhatANodeLacksComesFromNodesWithoutDevices) {
  // 6 / 2 = 3 each; node 0 has 4, so the second device gets 1 of them and 2 of node 1.
  const MachineNuma machine = {.node_of_device = {0, 0},
                               .cpus_of_node = {{0, {0, 1, 2, 3}}, {1, {4, 5}}}};
  EXPECT_THAT(DeviceShares(machine, {0, 1, 2, 3, 4, 5}),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5)));
}

TEST(DeviceShares, WithoutNodesSlicesByNumber) {
  // 5 / 2 = 2 each, one processor is left over.
  const MachineNuma machine = {.node_of_device = {0, -1}, .cpus_of_node = {{0, {0, 1}}}};
  EXPECT_THAT(DeviceShares(machine, {4, 3, 2, 1, 0}),
              ElementsAre(ElementsAre(4, 3), ElementsAre(2, 1)));
}

TEST(DeviceShares, MoreDevicesThanProcessorsGiveNone) {
  EXPECT_THAT(DeviceShares({.node_of_device = {0, 0}}, {1}), IsEmpty());
}

TEST(CpusOfList, RangesAndSingleNumbers) {
  EXPECT_THAT(CpusOfList("0-1,5"), Optional(ElementsAre(0, 1, 5)));
  EXPECT_THAT(CpusOfList(""), Optional(IsEmpty()));
  EXPECT_EQ(CpusOfList("0-x"), std::nullopt);
  EXPECT_EQ(CpusOfList("0-99999999"), std::nullopt);
}

}  // namespace
}  // namespace drydock::launcher
