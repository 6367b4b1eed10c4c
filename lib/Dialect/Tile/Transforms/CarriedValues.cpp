// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CarriedValues.h"

using namespace mlir;
using namespace deplo;

bool tile::takeCarriedValue(ArrayRef<Operation *> ops, scf::ForOp loop) {
  auto isCarried = [&](Value operand) {
    return llvm::is_contained(loop.getRegionIterArgs(), operand);
  };
  return llvm::any_of(ops, [&](Operation *op) {
    return op
        ->walk([&](Operation *inner) {
          return llvm::any_of(inner->getOperands(), isCarried)
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  });
}

Value tile::cloneFromBody(OpBuilder &builder, Value value, scf::ForOp loop,
                          IRMapping &mapping) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getParentOp() != loop || mapping.contains(value))
    return mapping.lookupOrDefault(value);
  for (Value operand : op->getOperands())
    cloneFromBody(builder, operand, loop, mapping);
  return builder.clone(*op, mapping)
      ->getResult(cast<OpResult>(value).getResultNumber());
}
