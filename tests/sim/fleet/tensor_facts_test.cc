#include "sim/fleet/tensor_facts.h"

#include <gtest/gtest.h>

namespace drydock::sim {
namespace {

TEST(ScopeOfNetwork, LeavesOutWhatTheCompilerPutsInFront) {
  EXPECT_EQ(ScopeOfNetwork("Gradients/Default/net/a"), "Default/net/a");
  EXPECT_EQ(ScopeOfNetwork("Gradients/recompute_Default/net/a"), "Default/net/a");
  EXPECT_EQ(ScopeOfNetwork("Default/Gradients/a"), "Default/Gradients/a");
  EXPECT_EQ(ScopeOfNetwork(""), "");
}

TEST(LayerOf, EndsAtTheFirstNumberedCell) {
  EXPECT_EQ(LayerOf("Default/net/blocks-CellList/3-Block/attention-Attention/0-Linear"),
            "Default/net/blocks-CellList/3-Block");
  EXPECT_EQ(LayerOf("Default/net/blocks-CellList/12-Block"),
            "Default/net/blocks-CellList/12-Block");
}

TEST(LayerOf, IsTheWholeScopeWithoutNumbers) {
  EXPECT_EQ(LayerOf("Default/net/head-Linear"), "Default/net/head-Linear");
  EXPECT_EQ(LayerOf("Default/3"), "Default/3");  // no Cell
  EXPECT_EQ(LayerOf("Default/conv1-Conv/x"), "Default/conv1-Conv/x");
  EXPECT_EQ(LayerOf(""), "");
}

}  // namespace
}  // namespace drydock::sim
