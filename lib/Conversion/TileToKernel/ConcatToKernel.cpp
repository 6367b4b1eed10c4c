// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile.concat becomes a function that calls those of its parts, which are
// inlined.

#include "EmittedKernel.h"

#include "deplo/Target/TargetDescription.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace deplo {

void markKernel(const EmittedKernel &emitted, int64_t cluster) {
  LLVM::LLVMFuncOp function = emitted.function;
  Builder builder(function.getContext());
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    builder.getDenseI32ArrayAttr(
                        {static_cast<int32_t>(emitted.threads), 1, 1}));
  if (cluster > 1)
    function->setAttr(
        NVVM::NVVMDialect::getClusterDimAttrName(),
        builder.getDenseI32ArrayAttr({static_cast<int32_t>(cluster), 1, 1}));
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    builder.getI32IntegerAttr(emitted.resident));
  function->setAttr("tile.launch",
                    tile::LaunchAttr::get(function.getContext(), emitted.blocks,
                                          emitted.threads, emitted.sharedBytes,
                                          cluster, emitted.isProgrammatic));
}

/// What is known of an argument that is passed to parts is what all of them
/// know.
static void annotateAlike(LLVM::LLVMFuncOp whole, unsigned argument,
                          LLVM::LLVMFuncOp part, unsigned ofPart,
                          bool isFirst) {
  DictionaryAttr more = part.getArgAttrDict(ofPart);
  SmallVector<NamedAttribute> common;
  for (NamedAttribute attribute :
       isFirst ? more : whole.getArgAttrDict(argument))
    if (more.get(attribute.getName()) == attribute.getValue())
      common.push_back(attribute);
  whole.setArgAttrs(argument, common);
}

/// A function that calls, in each block, the part that the block belongs to.
LogicalResult emitConcat(tile::ConcatOp concat,
                         const llvm::StringMap<EmittedKernel> &parts,
                         gpu::GPUModuleOp module) {
  EmittedKernel whole{{}, 0, 0, 0, INT32_MAX, true};
  for (tile::PartOp part : concat.getParts()) {
    const EmittedKernel &emitted = parts.find(part.getKernel())->second;
    if (whole.threads != 0 && whole.threads != emitted.threads)
      return part.emitOpError()
             << "has blocks of " << emitted.threads
             << " threads, those before it have " << whole.threads
             << "; give all parts the same warps in their schedules";
    whole.threads = emitted.threads;
    whole.blocks += emitted.blocks;
    whole.sharedBytes = std::max(whole.sharedBytes, emitted.sharedBytes);
    whole.resident = std::min(whole.resident, emitted.resident);
    // Whoever doesn't wait can't start early.
    whole.isProgrammatic &= emitted.isProgrammatic;
  }
  if (whole.blocks > maxBlocksPerLaunch)
    return concat.emitError()
           << "kernel needs " << whole.blocks << " blocks, the most is "
           << maxBlocksPerLaunch << "; raise block in its schedule";

  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Block *body = concat.getBody();
  auto pointer =
      LLVM::LLVMPointerType::get(concat.getContext(), /*addressSpace=*/1);
  SmallVector<Type> types(body->getNumArguments(), pointer);
  whole.function = LLVM::LLVMFuncOp::create(
      builder, concat.getLoc(), concat.getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(concat.getContext()),
                                  types));
  markKernel(whole, /*cluster=*/1);

  Block *at = whole.function.addEntryBlock(builder);
  SmallVector<Value> pointers(at->getArguments());
  builder.setInsertionPointToStart(at);
  Location loc = concat.getLoc();
  Value block = NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
  int64_t start = 0;
  llvm::SmallDenseSet<unsigned> annotated;
  for (tile::PartOp part : concat.getParts()) {
    const EmittedKernel &emitted = parts.find(part.getKernel())->second;
    builder.setInsertionPointToEnd(at);
    auto getConstant = [&](int64_t value) {
      return LLVM::ConstantOp::create(builder, loc,
                                      builder.getI32IntegerAttr(value));
    };
    int64_t end = start + emitted.blocks;
    if (end != whole.blocks) {
      Value isPart = LLVM::ICmpOp::create(
          builder, loc, LLVM::ICmpPredicate::ult, block, getConstant(end));
      Block *call = whole.function.addBlock();
      at = whole.function.addBlock();
      LLVM::CondBrOp::create(builder, loc, isPart, call, at);
      builder.setInsertionPointToStart(call);
    }
    SmallVector<Value> operands;
    for (auto [number, buffer] : llvm::enumerate(part.getBuffers())) {
      unsigned argument = cast<BlockArgument>(buffer).getArgNumber();
      operands.push_back(pointers[argument]);
      annotateAlike(whole.function, argument, emitted.function, number,
                    /*isFirst=*/annotated.insert(argument).second);
    }
    operands.push_back(
        LLVM::SubOp::create(builder, part.getLoc(), block, getConstant(start)));
    LLVM::CallOp::create(builder, part.getLoc(), emitted.function, operands);
    LLVM::ReturnOp::create(builder, loc, ValueRange());
    start = end;
  }
  concat.erase();
  return success();
}

} // namespace deplo
