// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Loop/IR/Numbers.h"

#include "deplo/Dialect/Loop/IR/Loop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace deplo;
using namespace deplo::loop;

Value loop::createNumber(OpBuilder &builder, Location loc, Type type,
                         int64_t number, const SymbolicSizes &sizes) {
  if (!sizes.isSymbolic(number))
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, number));
  Value size = SizeOp::create(builder, loc, builder.getI64Type(), number);
  return type.isInteger(64)
             ? size
             : arith::TruncIOp::create(builder, loc, type, size).getResult();
}
