// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.kernel to a device function:
//
//   tile.kernel @k(%x: memref<...>, ...) axes(...) warps(8) { tiles }
//   ->
//   gpu.module @kernels { llvm.func @k(%x: !llvm.ptr<1>, ...) { one thread } }
//
// Legal when every tile has a layout. KernelEmitter.h says how values become a
// thread's.

#include "EmittedKernel.h"
#include "KernelEmitter.h"

#include "deplo/Analysis/Occupancy.h"
#include "deplo/Conversion/Passes.h"
#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Tile/Analysis/RegisterPressure.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "deplo/Target/TargetDescription.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace deplo {

#define GEN_PASS_DEF_TILETOKERNELPASS
#include "deplo/Conversion/Passes.h.inc"

namespace {

constexpr StringLiteral sharedMemoryName = "shared_memory";
constexpr unsigned globalAddressSpace = 1, sharedAddressSpace = 3;
constexpr int64_t threadsPerWarp = 32;

/// The number of elements between the first and the last that a memref spans.
int64_t getSpan(MemRefType type, const SymbolicSizes &sizes) {
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t last = offset;
  for (auto [size, stride] : llvm::zip(type.getShape(), strides))
    last = llvm::SaturatingAdd<uint64_t>(
        last, llvm::SaturatingMultiply<uint64_t>(
                  std::max<int64_t>(sizes.getMax(size) - 1, 0),
                  sizes.getMax(stride)));
  return std::min<uint64_t>(last, INT64_MAX - 1) + 1;
}

/// The most that tiles are numbered by, and what the number of a block's tile
/// is multiplied with: chunks of all of them (persist_blocks).
int64_t getMostOfNumber(tile::EachTileOp tiles) {
  int64_t most = tiles.getNumTiles();
  int64_t count = llvm::divideCeil(most, tiles.getBlocks());
  for (Operation *user : tiles.getNumber().getUsers()) {
    auto product = dyn_cast<arith::MulIOp>(user);
    std::optional<int64_t> factor =
        product ? getConstantIntValue(product.getRhs()) : std::nullopt;
    int64_t value;
    if (!factor || llvm::MulOverflow(count, *factor, value))
      return INT64_MAX;
    most = std::max(most, value);
  }
  return most;
}

/// 32-bit arithmetic is enough if no coordinate, offset, bound or number in any
/// block reaches 2^31: blocks may start below an extent and reach past it by a
/// tile.
IntegerType chooseIndexType(tile::KernelOp kernel) {
  constexpr int64_t limit = int64_t(1) << 30;
  SymbolicSizes sizes = SymbolicSizes::get(kernel);
  bool fits = llvm::all_of(kernel.getMemrefs(), [&](BlockArgument argument) {
    return getSpan(cast<MemRefType>(argument.getType()), sizes) < limit;
  });
  for (unsigned i = 0; i < kernel.getAxes().size(); ++i)
    fits &= sizes.getMax(kernel.getAxis(i).getExtent()) < limit;
  kernel.walk([&](loop::SizeOp size) {
    fits &= sizes.getMax(size.getNumber()) < limit;
  });
  kernel.walk(
      [&](tile::EachTileOp tiles) { fits &= getMostOfNumber(tiles) < limit; });
  return IntegerType::get(kernel.getContext(), fits ? 32 : 64);
}

/// What the hardware takes of shared memory for each block.
constexpr int64_t reservedSharedBytes = 1024;

/// How many blocks of `kernel`, each with `sharedBytes` of shared memory, a
/// multiprocessor should hold. Those of clusters have slices that are short
/// enough for several, and rows in shared memory were chosen for the blocks
/// that it has room for, as long as ptxas takes no more registers than it
/// needs; but what shared memory has no room for needs no registers. Where
/// `blocks` that sweep rows fit on the device at once, they should: a few more
/// registers would leave some of them to run alone. Warps that have roles
/// share out registers of their own choice.
int32_t getResidentBlocks(tile::KernelOp kernel, tile::TargetAttr target,
                          int64_t sharedBytes, int64_t blocks) {
  for (auto producer : kernel.getBody()->getOps<tile::ProducerOp>()) {
    ArrayRef<int64_t> registers = producer.getRegisters();
    int64_t ofBlock =
        (registers[0] * producer.warps + registers[1] * *kernel.getWarps()) *
        threadsPerWarp;
    return std::max<int64_t>(target.getRegistersPerMultiprocessor() / ofBlock,
                             1);
  }
  constexpr int64_t unit = 8;
  int64_t threads = *kernel.getWarps() * threadsPerWarp;
  int64_t inLoops = tile::estimateLoopRegisters(kernel);
  int64_t tiles = std::max(tile::estimateRegisters(kernel), inLoops);
  // An instruction's sums have to fit what threads start with (ptxas, C7602).
  bool isByWgmma =
      kernel.walk([](tile::AsyncDotOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  int64_t registers = llvm::alignTo(
      tiles + (isByWgmma ? registersBesideSums : tile::otherRegisters), unit);
  int64_t resident = std::min<int64_t>(
      target.getRegistersPerMultiprocessor() / (registers * threads),
      target.getWarpsPerMultiprocessor() / *kernel.getWarps());
  int64_t room =
      target.getSharedPerMultiprocessor() / (sharedBytes + reservedSharedBytes);
  bool isLimitedByRegisters = resident < room;
  if (kernel.getClusterBlocks() == 1 && isLimitedByRegisters) {
    int64_t needed = llvm::divideCeil(blocks, target.getMultiprocessors());
    return inLoops != 0 && needed <= resident ? needed : 1;
  }
  return std::max<int64_t>(std::min(resident, room), 1);
}

struct TileToKernelPass : impl::TileToKernelPassBase<TileToKernelPass> {
  using TileToKernelPassBase::TileToKernelPassBase;

  void runOnOperation() override {
    SmallVector<tile::KernelOp> kernels(
        getOperation().getOps<tile::KernelOp>());
    if (kernels.empty())
      return;
    tile::TargetAttr target = tile::TargetAttr::lookup(getOperation());
    if (!target)
      return signalPassFailure();
    gpu::GPUModuleOp module = createModule(target);
    llvm::StringSet<> launched;
    getOperation().walk(
        [&](loop::LaunchOp launch) { launched.insert(launch.getKernel()); });
    llvm::StringMap<EmittedKernel> parts;
    for (auto concat : getOperation().getOps<tile::ConcatOp>())
      for (tile::PartOp part : concat.getParts())
        parts.try_emplace(part.getKernel());
    for (tile::KernelOp kernel : kernels) {
      StringRef name = kernel.getSymName();
      if (auto part = parts.find(name); part != parts.end()) {
        FailureOr<EmittedKernel> emitted =
            emit(kernel, module, target, /*isPart=*/true);
        if (failed(emitted))
          return signalPassFailure();
        part->second = *emitted;
        if (!launched.contains(name))
          continue;
      }
      FailureOr<EmittedKernel> emitted =
          emit(kernel, module, target, /*isPart=*/false);
      if (failed(emitted))
        return signalPassFailure();
      markKernel(*emitted, kernel.getClusterBlocks());
    }
    for (auto concat :
         llvm::make_early_inc_range(getOperation().getOps<tile::ConcatOp>()))
      if (failed(emitConcat(concat, parts, module)))
        return signalPassFailure();
    for (tile::KernelOp kernel : kernels)
      kernel.erase();
  }

  gpu::GPUModuleOp createModule(tile::TargetAttr target) {
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto module =
        gpu::GPUModuleOp::create(builder, getOperation().getLoc(), "kernels");
    module.setTargetsAttr(builder.getArrayAttr(NVVM::NVVMTargetAttr::get(
        &getContext(), /*O=*/3, "nvptx64-nvidia-cuda", target.getChip())));
    builder.setInsertionPointToStart(module.getBody());
    // Its size is given at launch; alignment for the widest shared-memory
    // access.
    LLVM::GlobalOp::create(builder, module.getLoc(),
                           LLVM::LLVMArrayType::get(builder.getI8Type(), 0),
                           /*isConstant=*/false, LLVM::Linkage::External,
                           sharedMemoryName, Attribute(),
                           /*alignment=*/16, sharedAddressSpace);
    return module;
  }

  FailureOr<EmittedKernel> emit(tile::KernelOp kernel, gpu::GPUModuleOp module,
                                tile::TargetAttr target, bool isPart) {
    if (failed(tile::verifyScheduled(kernel)))
      return failure();
    SymbolicSizes sizes = SymbolicSizes::get(kernel);
    int64_t blocks = 1;
    // Extent and step of each axis: where the launch gives an extent, it takes
    // as many blocks along the others times as that needs.
    SmallVector<int64_t> grid;
    bool isSymbolic = false;
    for (unsigned i = 0; i < kernel.getAxes().size(); ++i) {
      tile::AxisAttr axis = kernel.getAxis(i);
      llvm::append_range(grid, ArrayRef{axis.getExtent(), axis.getStep()});
      if (!sizes.isSymbolic(axis.getExtent()))
        blocks *= axis.getBlocks();
      else
        isSymbolic = true;
    }
    kernel.walk([&](tile::EachTileOp tiles) { blocks = tiles.getBlocks(); });
    if (blocks > maxBlocksPerLaunch)
      return kernel.emitError()
             << "kernel needs " << blocks << " blocks, the most is "
             << maxBlocksPerLaunch << "; raise block in its schedule";

    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto pointer =
        LLVM::LLVMPointerType::get(&getContext(), globalAddressSpace);
    SmallVector<tile::TensorMapAttr> maps = collectTensorMaps(kernel);
    SmallVector<Type> argumentTypes(maps.size(),
                                    LLVM::LLVMPointerType::get(&getContext()));
    argumentTypes.append(kernel.getNumMemrefs(), pointer);
    argumentTypes.append(sizes.getSizes().size(), builder.getI64Type());
    if (isPart)
      argumentTypes.push_back(builder.getI32Type());
    auto function = LLVM::LLVMFuncOp::create(
        builder, kernel.getLoc(),
        (kernel.getSymName() + (isPart ? "_part" : "")).str(),
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()),
                                    argumentTypes));
    int64_t threads = *kernel.getWarps() * threadsPerWarp;
    if (isPart) {
      function.setLinkage(LLVM::Linkage::Internal);
      function.setAlwaysInline(true);
    }
    for (auto producer : kernel.getBody()->getOps<tile::ProducerOp>())
      threads += producer.warps * threadsPerWarp;
    int64_t cluster = kernel.getClusterBlocks();
    if (cluster > target.getBlocksPerCluster())
      return kernel.emitError()
             << "kernel needs clusters of " << cluster << " blocks, "
             << target.getChip() << " has at most "
             << target.getBlocksPerCluster()
             << "; lower cluster in its schedule";
    annotateArguments(kernel, function, maps.size(), builder);
    annotateMaps(function, maps, builder);

    KernelEmitter emitter(
        kernel, function,
        FlatSymbolRefAttr::get(&getContext(), sharedMemoryName),
        chooseIndexType(kernel), alignment, maps, isPart);
    if (failed(emitter.run()))
      return failure();
    if (emitter.getSharedBytes() > target.getSharedPerBlock())
      return kernel.emitError()
             << "kernel needs " << emitter.getSharedBytes()
             << " bytes of shared memory a block, " << target.getChip()
             << " has " << target.getSharedPerBlock()
             << "; lower block or chunk in its schedule";
    // It begins behind what the hardware takes, at no multiple of more.
    auto sharedMemory = module.lookupSymbol<LLVM::GlobalOp>(sharedMemoryName);
    sharedMemory.setAlignment(std::max<int64_t>(
        sharedMemory.getAlignment().value_or(1),
        std::min(emitter.getSharedAlignment(), reservedSharedBytes)));
    if (!maps.empty())
      function->setAttr("tile.maps",
                        builder.getArrayAttr(
                            SmallVector<Attribute>(maps.begin(), maps.end())));
    std::optional<int64_t> ofContraction = tile::countContractionBlocks(
        kernel, emitter.getSharedBytes(), tile::describe(target));
    // Without it ptxas spills a few registers to have more blocks resident.
    int32_t resident = ofContraction.value_or(
        getResidentBlocks(kernel, target, emitter.getSharedBytes(), blocks));
    if (isSymbolic) {
      function->setAttr("tile.grid", builder.getDenseI64ArrayAttr(grid));
      kernel.walk([&](tile::EachTileOp tiles) {
        function->setAttr("tile.most_blocks", tiles.getBlocksAttr());
      });
    }
    return EmittedKernel{function, blocks,
                         threads,  emitter.getSharedBytes(),
                         resident, isProgrammatic(kernel)};
  }

  static bool isProgrammatic(tile::KernelOp kernel) {
    return !kernel.getBody()->getOps<tile::WaitDependenciesOp>().empty();
  }

  /// Tensor maps are given by value, and don't change.
  void annotateMaps(LLVM::LLVMFuncOp function,
                    ArrayRef<tile::TensorMapAttr> maps, OpBuilder &builder) {
    constexpr int64_t bytes = 128, mapAlignment = 64;
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
    for (unsigned i = 0; i < maps.size(); ++i) {
      function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(),
                          TypeAttr::get(type));
      function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                          builder.getI64IntegerAttr(mapAlignment));
      function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(),
                          builder.getUnitAttr());
    }
  }

  /// What is known of the pointers: aligned (as far as reads may be told that,
  /// see getReadAlignment), and what is written is read by no
  /// other access, so that loads may go through the read-only cache. Where the
  /// kernel starts before those that it depends on are complete, they write
  /// what it reads: such pointers are not noalias, and no load moves to before
  /// the wait. That those written are is enough to tell loads from stores.
  void annotateArguments(tile::KernelOp kernel, LLVM::LLVMFuncOp function,
                         unsigned maps, OpBuilder &builder) {
    for (auto [position, memref] : llvm::enumerate(kernel.getMemrefs())) {
      unsigned i = maps + position;
      bool written = llvm::any_of(memref.getUsers(), [](Operation *user) {
        return isa<tile::StoreOp, tile::TmaStoreOp>(user);
      });
      int64_t known =
          written ? alignment
                  : getReadAlignment(cast<MemRefType>(memref.getType()),
                                     SymbolicSizes::get(kernel), alignment);
      function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                          builder.getI64IntegerAttr(known));
      if (written || !isProgrammatic(kernel))
        function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                            builder.getUnitAttr());
      function.setArgAttr(i,
                          written ? LLVM::LLVMDialect::getWriteOnlyAttrName()
                                  : LLVM::LLVMDialect::getReadonlyAttrName(),
                          builder.getUnitAttr());
    }
  }
};

} // namespace
} // namespace deplo
