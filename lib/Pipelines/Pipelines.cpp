// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Pipelines/Pipelines.h"

#include "deplo/Conversion/Passes.h"
#include "deplo/Dialect/Graph/Transforms/Passes.h"
#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Loop/Transforms/Passes.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Target/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace deplo {

static void addCleanup(OpPassManager &manager) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void buildLinalgPipeline(OpPassManager &manager,
                         const CompilePipelineOptions &options) {
  OpPassManager &function = manager.nest<func::FuncOp>();
  function.addPass(createLinalgToGraphPass());
  addCleanup(function);
}

/// What a schedule says of windows; parsePins tells of what it can't say.
static graph::FusionPolicy getWindows(StringRef schedule) {
  graph::FusionPolicy policy = graph::FusionPolicy::Auto;
  SmallVector<StringRef> pins;
  schedule.split(pins, ',');
  for (StringRef pin : pins) {
    auto [name, value] = pin.split('=');
    if (name.trim() == "windows")
      policy = llvm::StringSwitch<graph::FusionPolicy>(value.trim())
                   .Case("always", graph::FusionPolicy::Always)
                   .Case("never", graph::FusionPolicy::Never)
                   .Default(graph::FusionPolicy::Auto);
  }
  return policy;
}

void buildGraphPipeline(OpPassManager &manager,
                        const CompilePipelineOptions &options) {
  tile::AttachTargetPassOptions target;
  target.chip = options.target;
  manager.addPass(tile::createAttachTargetPass(target));
  OpPassManager &function = manager.nest<func::FuncOp>();
  function.addPass(graph::createDecomposePass());
  addCleanup(function);
  function.addPass(graph::createSplitScanPass());
  function.addPass(graph::createGatherOperandsPass());
  addCleanup(function);
  graph::FuseVerticalPassOptions vertical;
  vertical.windows = getWindows(options.schedule);
  vertical.precision = options.precision;
  function.addPass(graph::createFuseVerticalPass(vertical));
  addCleanup(function);
  function.addPass(graph::createFuseHorizontalPass());
  addCleanup(function);
}

void buildLoopPipeline(OpPassManager &manager,
                       const CompilePipelineOptions &options) {
  manager.addPass(createGraphToLoopPass());
  addCleanup(manager);
  manager.addPass(loop::createCollapseLoopsPass());
  addCleanup(manager);
  manager.addPass(loop::createMergeEqualKernelsPass());
  OpPassManager &kernel = manager.nest<loop::KernelOp>();
  kernel.addPass(loop::createFuseReductionsPass());
  kernel.addPass(loop::createFuseLoopsPass());
  kernel.addPass(loop::createUnrollWindowsPass());
  addCleanup(kernel);
  tile::SplitReducePassOptions split;
  split.alignment = options.alignment;
  manager.addPass(tile::createSplitReducePass(split));
  if (options.prepareWeights)
    manager.addPass(loop::createPrepareWeightsPass());
  manager.addPass(loop::createVerifySizesPass());
}

/// Tells `step`, one of those that estimate contractions, what is pinned.
template <typename Options>
static Options tell(Options step, const CompilePipelineOptions &options) {
  step.pin = options.schedule;
  step.precision = options.precision;
  return step;
}

/// The same for those that choose wgmma.
template <typename Options>
static Options tellOfWgmma(Options step,
                           const CompilePipelineOptions &options) {
  step.withoutWgmma.assign(options.withoutWgmma.begin(),
                           options.withoutWgmma.end());
  return tell(step, options);
}

void buildDivisionPipeline(OpPassManager &manager,
                           const CompilePipelineOptions &options) {
  auto transpose = tell(tile::TransposeOperandsPassOptions(), options);
  transpose.alignment = options.alignment;
  manager.addPass(tile::createTransposeOperandsPass(transpose));
  auto splitK = tell(tile::SplitMatmulKPassOptions(), options);
  splitK.alignment = options.alignment;
  manager.addPass(tile::createSplitMatmulKPass(splitK));
  auto pieces = tellOfWgmma(tile::SplitPiecesPassOptions(), options);
  pieces.alignment = options.alignment;
  manager.addPass(tile::createSplitPiecesPass(pieces));
  auto fusePieces = tell(tile::FusePiecesPassOptions(), options);
  fusePieces.alignment = options.alignment;
  manager.addPass(tile::createFusePiecesPass(fusePieces));
  auto pack = tellOfWgmma(tile::PackOperandsPassOptions(), options);
  pack.alignment = options.alignment;
  manager.addPass(tile::createPackOperandsPass(pack));
  // Those before have added launches that copy operands.
  if (options.prepareWeights)
    manager.addPass(loop::createPrepareWeightsPass());
}

void buildSchedulePipeline(OpPassManager &manager,
                           const CompilePipelineOptions &options) {
  manager.addPass(tile::createConcatGridsPass());
  auto schedule = tellOfWgmma(tile::SelectSchedulePassOptions(), options);
  schedule.alignment = options.alignment;
  manager.addPass(tile::createSelectSchedulePass(schedule));
  manager.addPass(tile::createTileifyPass());
  OpPassManager &kernel = manager.nest<tile::KernelOp>();
  addCleanup(kernel);
  kernel.addPass(tile::createChunkMatmulKPass());
  kernel.addPass(tile::createFuseChunksPass());
  kernel.addPass(tile::createCooperativeReducePass());
  addCleanup(kernel);
  kernel.addPass(tile::createBlockifyLaunchPass());
  kernel.addPass(tile::createClusterReducePass());
  kernel.addPass(tile::createChunkReducePass());
  addCleanup(kernel);
  kernel.addPass(tile::createSplitSweepsPass());
  kernel.addPass(tile::createStageInputsPass());
  tile::AlignRowsPassOptions alignRows;
  alignRows.alignment = options.alignment;
  kernel.addPass(tile::createAlignRowsPass(alignRows));
  kernel.addPass(tile::createTensorizePass());
  kernel.addPass(tile::createTransposeSmemPass());
  tile::RegisterTilePassOptions registerTile;
  registerTile.alignment = options.alignment;
  kernel.addPass(tile::createRegisterTilePass(registerTile));
  tile::PermuteRegisterTilePassOptions permute;
  permute.alignment = options.alignment;
  kernel.addPass(tile::createPermuteRegisterTilePass(permute));
  kernel.addPass(tile::createDoubleBufferPass());
  tile::TmaCopyPassOptions tmaCopy;
  tmaCopy.alignment = options.alignment;
  kernel.addPass(tile::createTmaCopyPass(tmaCopy));
  kernel.addPass(tile::createSplitInnerForSwizzlePass());
  tile::TmaStorePassOptions tmaStore;
  tmaStore.alignment = options.alignment;
  kernel.addPass(tile::createTmaStorePass(tmaStore));
  tile::WidenStoresPassOptions widen;
  widen.alignment = options.alignment;
  kernel.addPass(tile::createWidenStoresPass(widen));
  tile::AsyncCopyPassOptions asyncCopy;
  asyncCopy.alignment = options.alignment;
  kernel.addPass(tile::createAsyncCopyPass(asyncCopy));
  tile::SwizzleSmemPassOptions swizzle;
  swizzle.alignment = options.alignment;
  kernel.addPass(tile::createSwizzleSmemPass(swizzle));
  tile::PadSmemPassOptions padSmem;
  padSmem.alignment = options.alignment;
  kernel.addPass(tile::createPadSmemPass(padSmem));
  kernel.addPass(tile::createWarpSpecializePass());
  kernel.addPass(tile::createPersistBlocksPass());
  kernel.addPass(tile::createOverlapDotsPass());
  kernel.addPass(tile::createPipelineKOuterPass());
  kernel.addPass(tile::createComputeAheadPass());
  kernel.addPass(tile::createStageTotalsPass());
  kernel.addPass(tile::createPrefetchFragmentsPass());
  kernel.addPass(tile::createCarrySlotsPass());
  kernel.addPass(tile::createRasterizeGridPass());
  kernel.addPass(tile::createHoistLoadsPass());
  kernel.addPass(tile::createPrefetchChunksPass());
  kernel.addPass(tile::createMarkUnrollPass());
  kernel.addPass(tile::createBatchLoadsPass());
  tile::VectorizeAccessPassOptions vectorize;
  vectorize.alignment = options.alignment;
  kernel.addPass(tile::createVectorizeAccessPass(vectorize));
  kernel.addPass(tile::createEliminateBarriersPass());
  kernel.addPass(tile::createProgrammaticLaunchPass());
}

void buildTilePipeline(OpPassManager &manager,
                       const CompilePipelineOptions &options) {
  buildDivisionPipeline(manager, options);
  buildSchedulePipeline(manager, options);
}

void buildKernelPipeline(OpPassManager &manager,
                         const CompilePipelineOptions &options) {
  TileToKernelPassOptions kernel;
  kernel.alignment = options.alignment;
  manager.addPass(createTileToKernelPass(kernel));
  addCleanup(manager.nest<gpu::GPUModuleOp>());
}

void buildLLVMPipeline(OpPassManager &manager,
                       const CompilePipelineOptions &options) {
  OpPassManager &device = manager.nest<gpu::GPUModuleOp>();
  device.addPass(createExpandMathPass());
  device.addPass(createWidenBF16Pass());
  device.addPass(createSCFToControlFlowPass());
  device.addPass(createConvertVectorToLLVMPass());
  device.addPass(createConvertGpuOpsToNVVMOps());
  device.addPass(createConvertNVVMToLLVMPass());
  addCleanup(device);
  device.addPass(createReconcileUnrealizedCastsPass());
  device.addPass(createLegalizeForNVVMPass());
}

void buildCompilePipeline(OpPassManager &manager,
                          const CompilePipelineOptions &options) {
  buildLinalgPipeline(manager, options);
  buildGraphPipeline(manager, options);
  buildLoopPipeline(manager, options);
  buildTilePipeline(manager, options);
  buildKernelPipeline(manager, options);
  buildLLVMPipeline(manager, options);
  manager.addPass(createKernelToPtxPass());
}

void registerPipelines() {
  auto add = [](StringRef name, StringRef description, auto build) {
    PassPipelineRegistration<CompilePipelineOptions>(name, description, build);
  };
  add("deplo-linalg-pipeline",
      "linalg on tensors to graph, from other compilers", buildLinalgPipeline);
  add("deplo-graph-pipeline",
      "graph to tensor: named operators to fused primitives",
      buildGraphPipeline);
  add("deplo-loop-pipeline", "tensor to loop: fused primitives to loop nests",
      buildLoopPipeline);
  add("deplo-tile-pipeline",
      "loop to tile: loop nests to scheduled tile programs", buildTilePipeline);
  add("deplo-kernel-pipeline", "tile to kernel: the program of a thread",
      buildKernelPipeline);
  add("deplo-llvm-pipeline", "kernel to the LLVM and NVVM dialects",
      buildLLVMPipeline);
  add("deplo-compile", "linalg or graph to PTX: all stages in order",
      buildCompilePipeline);
}

std::string getStepName(StringRef passFlag) {
  // The number of a scheduling step is part of its name, whether or not those
  // between have been written.
  static const std::pair<StringLiteral, StringLiteral> steps[] = {
      {"deplo-linalg-to-graph", "g:linalg_to_graph"},
      {"deplo-decompose", "g:decompose"},
      {"deplo-split-scan", "g:split_scan"},
      {"deplo-gather-operands", "g:gather_operands"},
      {"deplo-fuse-vertical", "g:fuse_vertical"},
      {"deplo-fuse-horizontal", "g:fuse_horizontal"},
      {"deplo-graph-to-loop", "l:graph_to_loop"},
      {"deplo-collapse-loops", "l:collapse_loops"},
      {"deplo-merge-equal-kernels", "l:merge_equal_kernels"},
      {"deplo-fuse-reductions", "l:fuse_reductions"},
      {"deplo-fuse-loops", "l:fuse_loops"},
      {"deplo-unroll-windows", "l:unroll_windows"},
      {"deplo-prepare-weights", "l:prepare_weights"},
      {"deplo-attach-target", "g:attach_target"},
      {"deplo-split-reduce", "l:split_reduce"},
      {"deplo-select-schedule", "t:select_schedule"},
      {"deplo-tileify", "t:001_tileify"},
      {"deplo-chunk-matmul-k", "t:002_chunk_matmul_k"},
      {"deplo-fuse-chunks", "t:fuse_chunks"},
      {"deplo-split-matmul-k", "l:003_split_matmul_k"},
      {"deplo-split-pieces", "l:split_pieces"},
      {"deplo-fuse-pieces", "l:fuse_pieces"},
      {"deplo-concat-grids", "l:concat_grids"},
      {"deplo-cooperative-reduce", "t:004_cooperative_reduce"},
      {"deplo-blockify-launch", "t:005_blockify_launch"},
      {"deplo-cluster-reduce", "t:cluster_reduce"},
      {"deplo-chunk-reduce", "t:006_chunk_reduce"},
      {"deplo-split-sweeps", "t:split_sweeps"},
      {"deplo-stage-inputs", "t:007_stage_inputs"},
      {"deplo-align-rows", "t:align_rows"},
      {"deplo-tensorize", "t:tensorize"},
      {"deplo-transpose-smem", "t:transpose_smem"},
      {"deplo-register-tile", "t:008_register_tile"},
      {"deplo-permute-register-tile", "t:009_permute_register_tile"},
      {"deplo-double-buffer", "t:010_double_buffer"},
      {"deplo-tma-copy", "t:011_tma_copy"},
      {"deplo-split-inner-for-swizzle", "t:012_split_inner_for_swizzle"},
      {"deplo-tma-store", "t:tma_store"},
      {"deplo-warp-specialize", "t:warp_specialize"},
      {"deplo-persist-blocks", "t:persist_blocks"},
      {"deplo-overlap-dots", "t:overlap_dots"},
      {"deplo-async-copy", "t:013_async_copy"},
      {"deplo-swizzle-smem", "t:swizzle_smem"},
      {"deplo-pad-smem", "t:014_pad_smem"},
      {"deplo-pipeline-k-outer", "t:015_pipeline_k_outer"},
      {"deplo-compute-ahead", "t:compute_ahead"},
      {"deplo-stage-totals", "t:stage_totals"},
      {"deplo-hoist-loads", "t:hoist_loads"},
      {"deplo-widen-stores", "t:widen_stores"},
      {"deplo-rasterize-grid", "t:rasterize_grid"},
      {"deplo-prefetch-fragments", "t:prefetch_fragments"},
      {"deplo-prefetch-chunks", "t:prefetch_chunks"},
      {"deplo-mark-unroll", "t:016_mark_unroll"},
      {"deplo-batch-loads", "t:batch_loads"},
      {"deplo-vectorize-access", "t:vectorize_access"},
      {"deplo-eliminate-barriers", "t:eliminate_barriers"},
      {"deplo-programmatic-launch", "t:programmatic_launch"},
      {"deplo-tile-to-kernel", "k:tile_to_kernel"},
      {"deplo-legalize-for-nvvm", "k:legalize_for_nvvm"},
      {"deplo-kernel-to-ptx", "k:kernel_to_ptx"},
      {"deplo-ptxas", "k:ptxas"},
      {"deplo-loop-to-llvm", "h:loop_to_llvm"},
  };
  for (const auto &[flag, step] : steps)
    if (flag == passFlag)
      return step.str();
  return {};
}

} // namespace deplo
