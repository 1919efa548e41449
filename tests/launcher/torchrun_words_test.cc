#include "launcher/torchrun_words.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/msrun_options.h"

namespace drydock::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<std::vector<std::string>> Translated(const std::vector<std::string>& words) {
  FlagSet flags;
  MsrunOptions options;
  AddMsrunFlags(flags, options);
  return TranslateTorchrunWords(words, flags);
}

TEST(TorchrunWords, OneNode) {
  EXPECT_THAT(
      Translated({"--standalone", "--nproc-per-node", "4", "train.py", "--nnodes", "9"}).value(),
      ElementsAre("--worker_num=4", "--local_worker_num=4", "--master_port=0", "--join=True",
                  "train.py", "--nnodes", "9"));
}

TEST(TorchrunWords, SeveralNodes) {
  // 2 nodes x 8 ranks
  EXPECT_THAT(Translated({"--nnodes=2", "--nproc_per_node=8", "--node_rank", "1", "--rdzv_id=job",
                          "--rdzv_backend=c10d", "--rdzv_endpoint=10.0.0.1:29500", "train.py"})
                  .value(),
              ElementsAre("--worker_num=16", "--local_worker_num=8", "--master_addr=10.0.0.1",
                          "--master_port=29500", "--join=True", "--node_rank=1", "train.py"));
}

TEST(TorchrunWords, ModulesAndPrograms) {
  EXPECT_THAT(Translated({"--nproc_per_node=2", "-m", "package.train", "-x"}).value(),
              ElementsAre("--worker_num=2", "--local_worker_num=2", "--master_port=0",
                          "--join=True", "python", "-m", "package.train", "-x"));
  EXPECT_THAT(Translated({"--nproc_per_node=2", "--no_python", "bash", "-c", "true"}).value(),
              ElementsAre("--worker_num=2", "--local_worker_num=2", "--master_port=0",
                          "--join=True", "bash", "-c", "true"));
}

TEST(TorchrunWords, MsrunsOwnWordsStayAsTheyAre) {
  EXPECT_THAT(Translated({"--worker_num", "4", "net.py", "--nnodes=2"}).value(),
              ElementsAre("--worker_num", "4", "net.py", "--nnodes=2"));
}

TEST(TorchrunWords, AModuleMayStandBehindMsrunsFlags) {
  EXPECT_THAT(
      Translated({"--sim_level=1", "--worker_num=4", "-m", "package.train", "-x"}).value(),
      ElementsAre("--sim_level=1", "--worker_num=4", "python", "-m", "package.train", "-x"));
}

TEST(TorchrunWords, WhatIsNotHandledIsRefused) {
  for (const auto& [words, what] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--nnodes=1:4", "train.py"}, "1:4"},
           {{"--nproc_per_node=gpu", "train.py"}, "gpu"},
           {{"--nproc_per_node=2", "--worker_num=4", "train.py"}, "--worker_num"},
           {{"--nnodes=2", "--rdzv_backend=etcd", "train.py"}, "etcd"},
           {{"--standalone", "--nnodes=2", "train.py"}, "--standalone"},
           {{"--nnodes=1", "--rdzv_endpoint=a:b", "train.py"}, "a:b"},
           {{"--nnodes=2", "--rdzv_endpoint=:29500", "train.py"}, ":29500"},
           {{"--nnodes=2", "--rdzv_endpoint=a:70000", "train.py"}, "a:70000"},
           {{"--nproc_per_node"}, "nproc_per_node"}}) {
    const auto translated = Translated(words);
    ASSERT_FALSE(translated.has_value()) << what;
    EXPECT_THAT(translated.error().message, HasSubstr(what));
  }
}

}  // namespace
}  // namespace drydock::launcher
