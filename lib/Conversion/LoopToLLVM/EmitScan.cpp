// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scans: a loop from the first iteration to the last that carries what the
// running values have folded. Sums and products of f32 are carried in f64, so
// that rounding errors of long rows don't add up.

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace deplo;
using namespace deplo::loop;
using namespace deplo::host;

/// The type in which `running` is carried, for one lane.
static Type getCarriedType(RunningOp running) {
  Type type = running.getType();
  bool rounds =
      running.getKind() == Monoid::Add || running.getKind() == Monoid::Mul;
  return rounds && type.isF32() ? Float64Type::get(type.getContext()) : type;
}

void KernelEmitter::emitScan(ScanOp scan) {
  SmallVector<RunningOp> ops(scan.getBody()->getOps<RunningOp>());
  SmallVector<Value> identities;
  for (RunningOp op : ops) {
    Value identity = arith::ConstantOp::create(
        builder, loc, getIdentity(op.getKind(), getCarriedType(op)));
    identities.push_back(laneVariable ? broadcast(identity) : identity);
  }
  auto serial =
      scf::ForOp::create(builder, loc, getIndex(0), getNumber(scan.getExtent()),
                         getIndex(1), identities);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(serial.getBody());
  values.map(scan.getInductionVar(), serial.getInductionVar());
  for (auto [op, carried] : llvm::zip_equal(ops, serial.getRegionIterArgs()))
    running[op] = carried;
  emitOps(*scan.getBody());
  SmallVector<Value> next;
  for (RunningOp op : ops)
    next.push_back(running.lookup(op));
  // Without carried values the builder has made the terminator.
  if (!next.empty())
    scf::YieldOp::create(builder, loc, next);
}

void KernelEmitter::emitRunning(RunningOp op) {
  Value value =
      laneVariable ? getWide(op.getValue()) : values.lookup(op.getValue());
  Value &carried = running[op];
  Type narrow = value.getType(), wide = carried.getType();
  if (narrow != wide)
    value = arith::ExtFOp::create(builder, loc, wide, value);
  carried = combine(builder, loc, op.getKind(), carried, value);
  values.map(
      op.getResult(),
      narrow == wide
          ? carried
          : arith::TruncFOp::create(builder, loc, narrow, carried).getResult());
}
