// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pack_operands: operands are copied to rows of a multiple of 16 bytes.
//
//   loop.launch @mm(%x, %w, %y) : memref<8205x5921xbf16>, ...
//
// becomes
//
//   %m = memref.alloc() : memref<8205x5928xbf16>
//   %p = memref.reinterpret_cast %m to offset: [0], sizes: [8205, 5921],
//     strides: [5928, 1]
//   loop.launch @packed(%x, %p)
//   loop.launch @mm(%p, %w, %y) : memref<8205x5921xbf16, strided<[5928, 1]>>,
//     ...
//
// Tensor maps, which wgmma's operands are copied by, take rows that are a
// multiple of 16 bytes apart.
//
// Legality: that of ChoosePacking.cpp; elements have the same indices. A copy
// of a buffer serves several contractions if no launch between them writes to
// it.

#include "OperandCopies.h"
#include "PassSupport.h"
#include "SchedulePins.h"
#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"

#define DEBUG_TYPE "deplo-pack-operands"

namespace deplo::tile {
#define GEN_PASS_DEF_PACKOPERANDSPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

static void writePacked(ImplicitLocOpBuilder &, Value element,
                        OperandForm::Store store) {
  store(element, {});
}

namespace {

struct PackOperandsPass : tile::impl::PackOperandsPassBase<PackOperandsPass> {
  using PackOperandsPassBase::PackOperandsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto options =
        remark::RemarkOpts::name("PackOperands").category(DEBUG_TYPE);
    FailureOr<Precision> mode = parsePrecision(precision, module);
    FailureOr<Pins> pins = parsePins(pin, module);
    TargetAttr target = succeeded(mode) && succeeded(pins)
                            ? TargetAttr::lookup(module)
                            : TargetAttr();
    if (!target)
      return signalPassFailure();
    llvm::StringMap<SmallVector<unsigned>> packed;
    for (auto kernel : module.getOps<loop::KernelOp>()) {
      auto contraction = loop::findContraction(kernel);
      if (!contraction || !areOfTensorCores(*pins, *contraction) ||
          llvm::is_contained(withoutWgmma, kernel.getSymName()))
        continue;
      auto packing = choosePacking(*contraction, *mode, describe(target),
                                   alignment, SymbolicSizes::get(kernel),
                                   getMmaPins(*pins, *contraction), pins->atom);
      if (!packing)
        continue;
      for (unsigned number : packing->arguments) {
        BlockArgument argument = kernel.getArguments()[number];
        remark::passed(argument.getLoc(), options.function(kernel.getSymName()))
            << remark::add("{0} is copied to rows of a multiple of 16 bytes, "
                           "for wgmma: {1}",
                           getMemrefName(argument), packing->reason);
        argument.setType(getPackedType(cast<MemRefType>(argument.getType())));
      }
      packed[kernel.getSymName()] = llvm::to_vector(packing->arguments);
    }
    if (packed.empty()) {
      remark::missed(module.getLoc(), options)
          << remark::add("no contraction is quicker by wgmma of operands in "
                         "longer rows");
      return markAllAnalysesPreserved();
    }
    replaceOperands(module, {"packed", getPackedType, writePacked}, packed);
  }
};

} // namespace
