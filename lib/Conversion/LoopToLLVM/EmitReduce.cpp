// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions. The order of a floating-point sum or product of n terms:
//
// 1. Term k goes to lane k mod 16, if the terms can be computed 16 at a time;
//    otherwise there is one lane.
// 2. A lane adds its terms in blocks of 16, the sums of blocks in blocks of 16,
//    and so on: no partial result is more than 16 * ceil(log16(n)) additions
//    away from a term.
// 3. The lanes are added pairwise: 8 and 8, 4 and 4, ...
// 4. Up to 15 terms that fill no row of lanes are added at the end.
//
// A part of a reduction has as many neighbouring rows of lanes, or terms, as
// any other; the last has what fills no row.
//
// It depends on n and on the kernel, not on the processor. Maxima, minima and
// integers need no blocks: their results don't depend on the order.

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace deplo;
using namespace deplo::loop;
using namespace deplo::host;

SmallVector<Value> KernelEmitter::combineAll(ArrayRef<Monoid> kinds,
                                             ValueRange lhs, ValueRange rhs) {
  SmallVector<Value> combined;
  for (auto [kind, left, right] : llvm::zip_equal(kinds, lhs, rhs))
    combined.push_back(combine(builder, loc, kind, left, right));
  return combined;
}

/// 16 lanes in a tree.
Value KernelEmitter::combineLanes(Monoid kind, Value vector) {
  for (int64_t width = laneCount / 2; width >= 1; width /= 2) {
    auto half = [&](int64_t from) -> Value {
      return vector::ExtractStridedSliceOp::create(builder, loc, vector, from,
                                                   width, 1);
    };
    vector = combine(builder, loc, kind, half(0), half(width));
  }
  return vector::ExtractOp::create(builder, loc, vector, 0);
}

/// One for each result, as wide as the current lanes.
SmallVector<Value> KernelEmitter::getIdentities(ReduceOp reduce) {
  SmallVector<Value> identities;
  for (auto [kind, type] :
       llvm::zip_equal(reduce.getMonoids(), reduce.getResultTypes())) {
    Value identity =
        arith::ConstantOp::create(builder, loc, getIdentity(kind, type));
    identities.push_back(laneVariable ? broadcast(identity) : identity);
  }
  return identities;
}

/// The values that the body yields in `iteration`.
SmallVector<Value> KernelEmitter::emitTerms(ReduceOp reduce, Value iteration) {
  values.map(reduce.getInductionVar(), iteration);
  emitOps(*reduce.getBody());
  SmallVector<Value> terms;
  for (Value value : reduce.getYield().getValues())
    terms.push_back(laneVariable ? getWide(value) : values.lookup(value));
  return terms;
}

/// Folds iterations `from` to `to`, no more than `blockedBy` * 16, starting
/// from the identities: in blocks of `blockedBy` if that is more than 1.
SmallVector<Value> KernelEmitter::accumulate(const Accumulation &accumulation,
                                             Value from, Value to,
                                             int64_t blockedBy) {
  auto serial = scf::ForOp::create(builder, loc, from, to, getIndex(blockedBy),
                                   accumulation.identities);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(serial.getBody());
  Value iteration = serial.getInductionVar();
  ValueRange accumulators = serial.getRegionIterArgs();
  SmallVector<Value> next;
  if (blockedBy == 1) {
    next = accumulation.step(iteration, accumulators);
  } else {
    Value end =
        arith::AddIOp::create(builder, loc, iteration, getIndex(blockedBy));
    end = arith::MinSIOp::create(builder, loc, end, to);
    next = combineAll(
        accumulation.kinds, accumulators,
        accumulate(accumulation, iteration, end, blockedBy / blockSize));
  }
  scf::YieldOp::create(builder, loc, next);
  return llvm::to_vector_of<Value>(serial.getResults());
}

/// The largest block of a sum of up to `count` terms; 1 where order does not
/// matter.
static int64_t getLargestBlock(ReduceOp reduce, int64_t count,
                               int64_t blockSize) {
  bool ordered = false;
  for (auto [kind, type] :
       llvm::zip_equal(reduce.getMonoids(), reduce.getResultTypes()))
    ordered |=
        isa<FloatType>(type) && (kind == Monoid::Add || kind == Monoid::Mul);
  int64_t block = 1;
  while (ordered && block * blockSize < count)
    block *= blockSize;
  return block;
}

/// Where the part of 0 to `end` that the reduction folds starts and ends.
std::pair<Value, Value> KernelEmitter::getShare(ReduceOp reduce, Value end) {
  if (!reduce.getPart())
    return {getIndex(0), end};
  Value parts = getIndex(*reduce.getParts());
  Value share = arith::CeilDivUIOp::create(builder, loc, end, parts);
  Value from = arith::MulIOp::create(builder, loc,
                                     values.lookup(reduce.getPart()), share);
  Value to = arith::AddIOp::create(builder, loc, from, share);
  return {from, arith::MinUIOp::create(builder, loc, to, end)};
}

/// The terms from number `from` to `to`, at most `count`.
SmallVector<Value> KernelEmitter::emitSerialReduce(ReduceOp reduce, Value from,
                                                   Value to, int64_t count) {
  SmallVector<Monoid> kinds = reduce.getMonoids();
  auto step = [&](Value iteration, ValueRange accumulators) {
    return combineAll(kinds, accumulators, emitTerms(reduce, iteration));
  };
  return accumulate({kinds, getIdentities(reduce), step}, from, to,
                    getLargestBlock(reduce, count, blockSize));
}

SmallVector<Value> KernelEmitter::emitReduceOverLanes(ReduceOp reduce) {
  SmallVector<Monoid> kinds = reduce.getMonoids();
  int64_t extent = reduce.getExtent();
  int64_t rows = sizes.getMax(extent) / laneCount;
  Value width = getIndex(laneCount);
  Value rowsEnd =
      sizes.isSymbolic(extent)
          ? arith::DivUIOp::create(builder, loc, getNumber(extent), width)
                .getResult()
          : getIndex(rows);
  auto step = [&](Value row, ValueRange accumulators) {
    Value first = arith::MulIOp::create(builder, loc, row, width);
    return combineAll(kinds, accumulators, emitTerms(reduce, first));
  };
  auto [from, to] = getShare(reduce, rowsEnd);
  laneVariable = reduce.getInductionVar();
  SmallVector<Value> lanes =
      accumulate({kinds, getIdentities(reduce), step}, from, to,
                 getLargestBlock(reduce, rows, blockSize));
  laneVariable = nullptr;
  SmallVector<Value> results;
  for (auto [kind, vector] : llvm::zip_equal(kinds, lanes))
    results.push_back(combineLanes(kind, vector));
  if (extent % laneCount == 0)
    return results;
  Value done = arith::MulIOp::create(builder, loc, rowsEnd, width);
  Value end = getNumber(extent);
  if (reduce.getPart()) {
    Value last = getIndex(*reduce.getParts() - 1);
    Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         values.lookup(reduce.getPart()), last);
    done = arith::SelectOp::create(builder, loc, isLast, done, end);
  }
  return combineAll(kinds, results,
                    emitSerialReduce(reduce, done, end, laneCount - 1));
}

/// Whether terms should be computed in lanes: what they load lies together.
static bool shouldWiden(ReduceOp reduce, const SymbolicSizes &sizes) {
  if (!canWiden(*reduce.getBody(), /*allowReductions=*/false))
    return false;
  return llvm::all_of(reduce.getBody()->getOps<LoadOp>(), [&](LoadOp load) {
    std::optional<int64_t> step =
        getStep(load, reduce.getInductionVar(), sizes);
    return step == 0 || step == 1;
  });
}

void KernelEmitter::emitReduce(ReduceOp reduce) {
  bool wide = !laneVariable && reduce.getExtent() >= 2 * laneCount &&
              shouldWiden(reduce, sizes);
  if (wide) {
    values.map(reduce.getResults(), emitReduceOverLanes(reduce));
    return;
  }
  auto [from, to] = getShare(reduce, getNumber(reduce.getExtent()));
  values.map(
      reduce.getResults(),
      emitSerialReduce(reduce, from, to, sizes.getMax(reduce.getExtent())));
}
