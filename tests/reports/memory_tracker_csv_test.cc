#include "reports/memory_tracker_csv.h"

#include <gtest/gtest.h>

#include "sim/fleet/memory_plan.h"
#include "sim/memory/lifetimes.h"
#include "tests/reports/quick_start.h"

namespace drydock::reports {
namespace {

using sim::BufferKind;

// x(100 B) -> k0 -> a(100 B), workspace 100 B -> k1 -> loss(100 B), one step; each rounds to 512 B.
// The clock goes on behind each task (after its stamp) and before each hand-out and free:
// task 0 reads inputs, x at 2; k0 asks at 2: a at 3, workspace at 4, launched at 4, workspace freed
// at 6; x stays. k1 asks at 6: loss at 7, launched at 7, a freed at 9. The step returns at 9.
// Addresses: inputs of the first step lie with the parameters at the top of 2 GiB, [1 GiB, 2 GiB);
// a at 0, the workspace at 0x200 and, since it is free again, the loss there too.
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

TrackedNames Names() {
  return {.kernels = {{.task_name = "0_Default/MatMul-op0",
                       .node_name = "Default/MatMul-op0",
                       .python_stack = "File:net.py;Line:12;Function:|"},
                      {.task_name = "1_Default/a,b\nc", .node_name = "Default/a,b\nc"}},
          .buffers = {{}, {}, {}}};
}

constexpr const char* kManager =
    "mindspore/ccsrc/backend/ms_backend/runtime/actors/base/memory_manager_actor.cc,47,";

TEST(MemoryBlockCsv, HasOneRowPerAllocation) {
  const std::string manager = kManager;
  EXPECT_EQ(
      MemoryBlockCsv(Trace(), Names(), {.pool_name = "P", .base_address = 0}),
      "start_time_stamp,end_time_stamp,device_addr,stream_id,pool_type,size,actual_used_memory,"
      "actual_peak_memory,file_name,line_num,type,producer_task,task_name,node_name,graph_name,"
      "user_tasks,last_user_task,python_stack,is_persistent,is_small,\n"
      "2,9223372036854775807,0x40000000,0,P,512,512,512," +
          manager +
          "Kernel,0,kernel_graph_0_HostDSActor,kernel_graph_0_HostDSActor,,{4},4,,1,0,\n"
          "3,9,0x0,0,P,512,1024,1024," +
          manager +
          "Kernel,2,0_Default/MatMul-op0,Default/MatMul-op0,kernel_graph0,{7},7,"
          "File:net.py;Line:12;Function:|,0,0,\n"
          "4,6,0x200,0,P,512,1536,1536," +
          manager +
          "WorkSpace,2,0_Default/MatMul-op0,Default/MatMul-op0,kernel_graph0,{},,"
          "File:net.py;Line:12;Function:|,0,0,\n"
          "7,9223372036854775807,0x200,0,P,512,1536,1536," +
          manager + "Kernel,6,1_Default/a;b c,Default/a;b c,kernel_graph0,{},,,0,0,\n");
}

TEST(TaskCsv, HasOneRowPerTask) {
  const std::string actors = "mindspore/ccsrc/backend/ms_backend/runtime/actors/base/";
  EXPECT_EQ(TaskCsv(Trace(), Names()),
            "time_stamp,task_name,node_name,graph_name,file_name,line_num,python_stack,\n"
            "0,kernel_graph_0_HostDSActor,kernel_graph_0_HostDSActor,," +
                actors +
                "data_source_actor.cc,46,,\n"
                "4,0_Default/MatMul-op0,Default/MatMul-op0,kernel_graph0," +
                actors +
                "kernel_actor.cc,133,File:net.py;Line:12;Function:|,\n"
                "7,1_Default/a;b c,Default/a;b c,kernel_graph0," +
                actors +
                "kernel_actor.cc,133,,\n"
                "9,kernel_graph_0_OutputActor,UpdateOutputDeviceAddress,," +
                actors + "output_actor.cc,795,,\n");
}

// Data is prepared tensor by tensor: a task at 0 and its block at 2, the next task at 2, its block
// at 4. Constants come first.
TEST(MemoryBlockCsv, PreparesConstantsThenParameters) {
  const sim::MemoryPlan plan{.buffers = {{.bytes = 100, .kind = BufferKind::kParameter},
                                         {.bytes = 4, .kind = BufferKind::kConstant},
                                         {.bytes = 100}},
                             .kernels = {{.inputs = {0, 1, 1}, .outputs = {2}}}};
  const sim::MemoryTrace trace = sim::ProfileMemory(plan, {.keep_trace = true}).value().trace;
  ASSERT_EQ(trace.blocks.size(), 3U);
  EXPECT_EQ(trace.blocks[0].buffer, 1);
  EXPECT_EQ(trace.blocks[0].start_time_stamp, 2);
  EXPECT_EQ(trace.blocks[1].producer.time_stamp, 2);
  EXPECT_EQ(trace.blocks[1].start_time_stamp, 4);
  // Each operand counts: the constant is read twice by the kernel, which is launched last.
  EXPECT_EQ(trace.blocks[0].user_tasks.size(), 2U);
  EXPECT_EQ(trace.blocks[0].user_tasks[0], trace.blocks[0].user_tasks[1]);
}

// Kernels are numbered together with the ends of events before them.
TEST(NamesOfPlan, NumbersKernelsWithTheirEvents) {
  const strategies::LocalProgram program = QuickStartProgram();
  const sim::MemoryPlan plan = sim::PlanMemory(program);
  const TrackedNames names = NamesOfPlan(program, plan);
  ASSERT_EQ(names.kernels.size(), plan.kernels.size());
  std::size_t launches = 0;
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    launches += plan.kernels[k].events.size();
    EXPECT_EQ(names.kernels[k].task_name,
              std::to_string(launches++) + "_" + names.kernels[k].node_name);
  }
}

}  // namespace
}  // namespace drydock::reports
