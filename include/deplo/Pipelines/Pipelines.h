// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the passes. Each stage takes a module from one level of IR to
// the next; the tool, the C API and the tests run the same functions.

#ifndef DEPLO_PIPELINES_PIPELINES_H
#define DEPLO_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace deplo {

struct CompilePipelineOptions
    : mlir::PassPipelineOptions<CompilePipelineOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("chip to compile for, as sm_90a"),
                             llvm::cl::init("sm_90a")};
  Option<std::string> schedule{
      *this, "schedule",
      llvm::cl::desc("choices to fix, as stage_inputs=always,warps=4"),
      llvm::cl::init("")};
  Option<std::string> precision{
      *this, "precision",
      llvm::cl::desc("what products of f32 may be computed in: ieee, f32, "
                     "f32-fast or tf32"),
      llvm::cl::init("f32")};
  Option<bool> prepareWeights{
      *this, "prepare-weights",
      llvm::cl::desc(
          "run launches that depend on weights alone once for all calls"),
      llvm::cl::init(false)};
  ListOption<std::string> withoutWgmma{
      *this, "without-wgmma",
      llvm::cl::desc("kernels that wgmma doesn't suit, by name")};
  Option<int64_t> alignment{
      *this, "alignment",
      llvm::cl::desc("bytes that every pointer argument is aligned to"),
      llvm::cl::init(16)};
};

/// linalg on tensors to level `graph`; functions of graph stay as they are.
void buildLinalgPipeline(mlir::OpPassManager &manager,
                         const CompilePipelineOptions &options);

/// Named operators to fused primitives: level `graph` to `tensor`.
void buildGraphPipeline(mlir::OpPassManager &manager,
                        const CompilePipelineOptions &options);

/// Fused primitives to loop nests: level `tensor` to `loop`.
void buildLoopPipeline(mlir::OpPassManager &manager,
                       const CompilePipelineOptions &options);

/// Makes kernels of their own of what blocks can't do together: parts of sums,
/// copies of operands. Stays in level `loop`.
void buildDivisionPipeline(mlir::OpPassManager &manager,
                           const CompilePipelineOptions &options);

/// Schedules kernels as they are: level `loop` to `tile`.
void buildSchedulePipeline(mlir::OpPassManager &manager,
                           const CompilePipelineOptions &options);

/// Both: loop nests to scheduled tile programs, level `loop` to `tile`.
void buildTilePipeline(mlir::OpPassManager &manager,
                       const CompilePipelineOptions &options);

/// Tile programs to the program of a thread: level `tile` to `kernel`.
void buildKernelPipeline(mlir::OpPassManager &manager,
                         const CompilePipelineOptions &options);

/// To the LLVM and NVVM dialects: from level `kernel`.
void buildLLVMPipeline(mlir::OpPassManager &manager,
                       const CompilePipelineOptions &options);

/// All of the above and PTX: the top pipeline `deplo-compile`.
void buildCompilePipeline(mlir::OpPassManager &manager,
                          const CompilePipelineOptions &options);

void registerPipelines();

/// What a pass is called among the steps of a compilation: `t:007_stage_inputs`
/// for `deplo-stage-inputs`. Empty for passes that only clean up.
std::string getStepName(llvm::StringRef passFlag);

} // namespace deplo

#endif // DEPLO_PIPELINES_PIPELINES_H
