#include "reports/memory_tracker_csv.h"

#include <vector>

#include <gtest/gtest.h>

#include "sim/memory/lifetimes.h"

namespace drydock::reports {
namespace {

using sim::BufferKind;

// x(100 B) -> k0 -> a(100 B), workspace 100 B -> k1 -> loss(100 B); each rounds to 512 B.
// Clock: 0 prepare, 1 read inputs, 2 x; 3 k0, 4 a, 5 workspace, 6 workspace freed;
// 7 k1, 8 loss, 9 a freed. The input stays.
// Addresses: the persistent block lies at the top of the capacity, [cap - 1 GiB, cap), the common
// one below, [cap - 2 GiB, cap - 1 GiB); with a base of 0 and 2 GiB of capacity x is at 0x40000000,
// a at 0, the workspace at 0x200 and, since the workspace is free again, the loss there too.
sim::MemoryTrace Trace() {
  const sim::MemoryPlan plan{.buffers = {{.bytes = 100, .kind = BufferKind::kInput},
                                         {.bytes = 100},
                                         {.bytes = 100, .graph_output = true}},
                             .kernels = {{.inputs = {0}, .outputs = {1}, .workspace_bytes = 100},
                                         {.inputs = {1}, .outputs = {2}}}};
  return sim::ProfileMemory(plan, {.pool = {.capacity_bytes = 2 * sim::kGiB},
                                   .count_workspace = true,
                                   .keep_trace = true})
      .value()
      .trace;
}

const std::vector<KernelLabel>& Labels() {
  static const std::vector<KernelLabel> labels = {
      {.task_name = "MatMul",
       .node_name = "Default/MatMul-op0",
       .graph_name = "g",
       .file_name = "net.py",
       .line = 12},
      {.task_name = "ReduceMean", .node_name = "Default/a,b\nc", .graph_name = "g"}};
  return labels;
}

TEST(MemoryBlockCsv, HasOneRowPerAllocation) {
  EXPECT_EQ(
      MemoryBlockCsv(Trace(), Labels(), {.pool_name = "P", .graph_name = "g", .base_address = 0}),
      "start_time_stamp,end_time_stamp,device_addr,stream_id,pool_type,size,actual_peak_memory,"
      "file_name,line_num,type,producer_task,task_name,node_name,graph_name,user_tasks,"
      "last_user_task,python_stack,\n"
      "2,9223372036854775807,0x40000000,0,P,512,512,,,BatchMemory,1,DataSource,DataSource,g,{3},3,,"
      "\n"
      "4,9,0x0,0,P,512,1024,net.py,12,Kernel,3,MatMul,Default/MatMul-op0,g,{3-7},7,,\n"
      "5,6,0x200,0,P,512,1536,net.py,12,WorkSpace,3,MatMul,Default/MatMul-op0,g,{},,,\n"
      "8,9223372036854775807,0x200,0,P,512,1536,,,GraphOutput,7,ReduceMean,Default/a;b c,g,{7},7,"
      ",\n");
}

TEST(TaskCsv, HasOneRowPerTask) {
  EXPECT_EQ(TaskCsv(Trace(), Labels(), {.graph_name = "g"}),
            "time_stamp,task_name,node_name,graph_name,file_name,line_num,python_stack,\n"
            "0,PrepareData,PrepareData,g,,,,\n"
            "1,DataSource,DataSource,g,,,,\n"
            "3,MatMul,Default/MatMul-op0,g,net.py,12,,\n"
            "7,ReduceMean,Default/a;b c,g,,,,\n");
}

}  // namespace
}  // namespace drydock::reports
