// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel is a nest of parallel loops. In its body come the values that are
// the same for all inner loops, reductions among them, then inner loops for
// each result that has more elements, as a loop.scan where it needs running
// values. Maps are computed where they are used: in
// the body of a reduction from loads, once more in the inner loops.

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace deplo::graph {

loop::KernelOp KernelEmitter::emit(StringRef name, ArrayRef<Type> argumentTypes,
                                   ArrayRef<unsigned> argumentNumbers) {
  argumentOf = argumentNumbers;
  kernel = loop::KernelOp::create(builder, loc, name, argumentTypes);
  Scope scope(nullptr, OpBuilder::atBlockEnd(kernel.getBody()));
  for (unsigned loop : loops.parallel) {
    auto forOp = loop::ForOp::create(scope.builder, loc, loops.getExtent(loop));
    scope.inductionVars[loop] = forOp.getInductionVar();
    scope.builder.setInsertionPointToEnd(forOp.getBody());
  }
  emitParallelValues(scope);
  emitOutputs(scope);
  return kernel;
}

/// Everything that does not depend on inner loops, in program order.
void KernelEmitter::emitParallelValues(Scope &scope) {
  for (unsigned index = 0; index < loops.items.size(); ++index)
    if (loops.items[index].isPerIteration)
      emitItem(index, scope);
}

/// The variable and the body of a loop inside of the parallel ones.
std::pair<Value, Block *> KernelEmitter::emitSweep(unsigned loop, bool isScan,
                                                   Scope &scope) {
  int64_t extent = loops.getExtent(loop);
  if (isScan) {
    auto scan = loop::ScanOp::create(scope.builder, loc, extent);
    return {scan.getInductionVar(), scan.getBody()};
  }
  auto sweep = loop::ForOp::create(scope.builder, loc, extent);
  return {sweep.getInductionVar(), sweep.getBody()};
}

void KernelEmitter::emitOutputs(Scope &scope) {
  // Results with the same inner loops share them.
  SmallVector<SmallVector<const KernelLoops::Output *>> nests;
  for (const KernelLoops::Output &output : loops.outputs) {
    if (output.swept.empty()) {
      emitStore(output, scope);
      continue;
    }
    auto *nest = llvm::find_if(nests, [&](const auto &others) {
      return others.front()->swept == output.swept;
    });
    if (nest == nests.end())
      nests.push_back({&output});
    else
      nest->push_back(&output);
  }
  for (ArrayRef<const KernelLoops::Output *> outputs : nests) {
    const KernelLoops::Loops &swept = outputs.front()->swept;
    SmallVector<unsigned> wanted;
    for (const KernelLoops::Output *output : outputs)
      wanted.push_back(output->item);
    // The reduction of a product's rows has stored them.
    if (storesWhatItFolds && swept == foldedLoops)
      continue;
    bool isScan = llvm::any_of(getMissing(wanted, scope), [&](unsigned item) {
      return loops.items[item].primitive.isScan();
    });
    Scope inner(&scope, scope.builder);
    for (unsigned loop : swept) {
      auto [variable, body] = emitSweep(loop, isScan, inner);
      inner.inductionVars[loop] = variable;
      // Loads that do not depend on the inner loops go before them.
      if (loop == swept.front())
        scope.builder.setInsertionPoint(body->getParentOp());
      inner.builder.setInsertionPointToEnd(body);
    }
    emitReads(wanted, inner);
    for (const KernelLoops::Output *output : outputs)
      emitStore(*output, inner);
    scope.builder.setInsertionPointToEnd(scope.builder.getInsertionBlock());
  }
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

Value KernelEmitter::lookup(unsigned item, const Scope &scope) const {
  for (const Scope *at = &scope; at; at = at->parent)
    if (Value value = at->values.lookup(item))
      return value;
  return {};
}

SmallVector<unsigned> KernelEmitter::getMissing(ArrayRef<unsigned> wanted,
                                                const Scope &scope) const {
  SmallVector<unsigned> pending(wanted), missing;
  llvm::SmallDenseSet<unsigned> visited;
  while (!pending.empty()) {
    unsigned index = pending.pop_back_val();
    if (lookup(index, scope) || !visited.insert(index).second)
      continue;
    missing.push_back(index);
    for (std::optional<unsigned> source : loops.items[index].sources)
      if (source)
        pending.push_back(*source);
  }
  llvm::sort(missing);
  return missing;
}

void KernelEmitter::emitReads(ArrayRef<unsigned> wanted, Scope &scope) {
  for (unsigned index : getMissing(wanted, scope))
    emitItem(index, scope);
}

void KernelEmitter::emitItem(unsigned index, Scope &scope) {
  const KernelLoops::Item &item = loops.items[index];
  Value value;
  if (item.primitive.isReduction()) {
    value = emitReduce(item, scope);
  } else if (item.primitive.isScan()) {
    value = emitRunning(item, scope);
  } else if (isa_and_nonnull<GatherOp>(item.primitive.op)) {
    value = emitGather(item, scope);
  } else {
    SmallVector<Value> operands;
    for (unsigned read = 0; read < item.primitive.reads.size(); ++read)
      operands.push_back(emitRead(item, read, scope));
    value =
        item.primitive.op ? emitMap(item, operands, scope) : operands.front();
  }
  scope.values[index] = value;
}

Value KernelEmitter::emitRead(const KernelLoops::Item &item, unsigned read,
                              Scope &scope) {
  if (std::optional<unsigned> source = item.sources[read]) {
    emitReads(*source, scope);
    return lookup(*source, scope);
  }
  if (std::optional<unsigned> access = item.accesses[read])
    return emitLoad(
        *access, item.primitive.op ? item.primitive.op->getLoc() : loc, scope);
  auto constant = item.primitive.reads[read].source.getDefiningOp<ConstantOp>();
  return getConstant(cast<TypedAttr>(
      cast<SplatElementsAttr>(constant.getValue()).getSplatValue<Attribute>()));
}

Value KernelEmitter::emitMap(const KernelLoops::Item &item, ValueRange operands,
                             Scope &scope) {
  auto map = cast<MapOp>(item.primitive.op);
  IRMapping mapping;
  mapping.map(map.getBody()->getArguments(), operands);
  for (Operation &op : map.getBody()->without_terminator()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      mapping.map(constant.getResult(), getConstant(constant.getValue()));
    else if (auto index = dyn_cast<IndexOp>(op))
      mapping.map(
          index.getResult(),
          emitCoordinate(item.coordinates[index.getAxis()], index, scope));
    else if (auto size = dyn_cast<SizeOp>(op))
      mapping.map(size.getResult(),
                  loop::SizeOp::create(scope.builder, size.getLoc(),
                                       size.getType(), size.getNumber()));
    else
      scope.builder.clone(op, mapping);
  }
  return mapping.lookup(map.getYielded());
}

/// The sum of the loops' numbers, each times its factor.
Value KernelEmitter::emitCoordinate(const LinearCoordinate &coordinate,
                                    IndexOp op, Scope &scope) {
  Type type = op.getType();
  Value sum;
  for (auto [loop, factor] : coordinate.terms) {
    Value term = arith::IndexCastOp::create(scope.builder, op.getLoc(), type,
                                            getInductionVar(loop, scope));
    if (factor != 1)
      term = arith::MulIOp::create(scope.builder, op.getLoc(), term,
                                   getNumber(type, factor, scope.builder));
    sum = sum ? arith::AddIOp::create(scope.builder, op.getLoc(), sum, term)
              : term;
  }
  if (sum && coordinate.constant == 0)
    return sum;
  Value constant =
      getConstant(scope.builder.getIntegerAttr(type, coordinate.constant));
  return sum ? arith::AddIOp::create(scope.builder, op.getLoc(), sum, constant)
             : constant;
}

/// An integer that is computed with, which may be a size that is known when the
/// program runs.
Value KernelEmitter::getNumber(Type type, int64_t number, OpBuilder &at) {
  return sizes.isSymbolic(number)
             ? createNumber<loop::SizeOp>(at, loc, type, number, sizes)
             : getConstant(at.getIntegerAttr(type, number));
}

/// Constants stand at the top of the kernel, once each.
Value KernelEmitter::getConstant(TypedAttr value) {
  Value &constant = constants[value];
  if (!constant) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(kernel.getBody());
    for (Operation &op : *kernel.getBody()) {
      if (!isa<arith::ConstantOp>(op))
        break;
      builder.setInsertionPointAfter(&op);
    }
    constant = arith::ConstantOp::create(builder, loc, value);
  }
  return constant;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The type in which elements of `type` accumulate: a bool as the number 0 or
/// 1, so that `max` is or and `min` is and. Products of i8 need more bits.
static Type getAccumulatorType(Type type, bool ofProducts = false) {
  if (type.isInteger(1) || (ofProducts && type.isInteger(8)))
    return IntegerType::get(type.getContext(), 32);
  bool isNarrow = isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
  return isNarrow ? Float32Type::get(type.getContext()) : type;
}

static Value widen(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (value.getType().isInteger(1))
    return arith::ExtUIOp::create(builder, loc, type, value);
  if (type.isInteger())
    return arith::ExtSIOp::create(builder, loc, type, value);
  return arith::ExtFOp::create(builder, loc, type, value);
}

static Value narrow(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (type.isInteger())
    return arith::TruncIOp::create(builder, loc, type, value);
  return arith::TruncFOp::create(builder, loc, type, value);
}

Value KernelEmitter::emitReduce(const KernelLoops::Item &item, Scope &scope) {
  Value value = emitReduceLoops(item, /*depth=*/0, scope);
  Type type = getElementTypeOrSelf(item.primitive.op->getResult(0).getType());
  return narrow(scope.builder, item.primitive.op->getLoc(), value, type);
}

Value KernelEmitter::emitRunning(const KernelLoops::Item &item, Scope &scope) {
  auto scan = cast<ScanOp>(item.primitive.op);
  Type type = scan.getType().getElementType();
  Value element = widen(scope.builder, scan.getLoc(), emitRead(item, 0, scope),
                        getAccumulatorType(type));
  Value running = loop::RunningOp::create(scope.builder, scan.getLoc(),
                                          scan.getKind(), element);
  return narrow(scope.builder, scan.getLoc(), running, type);
}

/// Stores the product whose rows `item` folds, and what is computed of it,
/// where it is computed: a second loop would compute it again.
void KernelEmitter::storeProduct(const KernelLoops::Item &item, Scope &scope) {
  bool hasProduct = llvm::any_of(loops.items, [](const auto &other) {
    return isa_and_nonnull<ContractOp>(other.primitive.op);
  });
  if (!hasProduct || storesWhatItFolds)
    return;
  storesWhatItFolds = true;
  foldedLoops = item.reduced;
  for (const KernelLoops::Output &output : loops.outputs)
    if (output.swept == foldedLoops) {
      emitReads(output.item, scope);
      emitStore(output, scope);
    }
}

Value KernelEmitter::emitReduceLoops(const KernelLoops::Item &item,
                                     size_t depth, Scope &scope) {
  Operation *op = item.primitive.op;
  Location opLoc = op->getLoc();
  Type type = getAccumulatorType(getElementTypeOrSelf(op->getResult(0)),
                                 /*ofProducts=*/isa<ContractOp>(op));
  if (depth == item.reduced.size()) {
    Value element = widen(scope.builder, opLoc, emitRead(item, 0, scope), type);
    if (isa<ReduceOp>(op))
      return element;
    Value other = widen(scope.builder, opLoc, emitRead(item, 1, scope), type);
    if (type.isInteger())
      return arith::MulIOp::create(scope.builder, opLoc, element, other);
    return arith::MulFOp::create(scope.builder, opLoc, element, other,
                                 arith::FastMathFlags::contract);
  }
  unsigned loop = item.reduced[depth];
  auto reduce = dyn_cast<ReduceOp>(op);
  auto loopOp = loop::ReduceOp::create(scope.builder, opLoc,
                                       reduce ? reduce.getKind() : Monoid::Add,
                                       loops.getExtent(loop), type);
  Scope inner(&scope, OpBuilder::atBlockEnd(loopOp.getBody()));
  inner.inductionVars[loop] = loopOp.getInductionVar();
  OpBuilder::InsertPoint after = scope.builder.saveInsertionPoint();
  if (!scope.parent)
    scope.builder.setInsertionPoint(loopOp);
  Value value = emitReduceLoops(item, depth + 1, inner);
  if (reduce && !scope.parent)
    storeProduct(item, inner);
  loop::YieldOp::create(inner.builder, opLoc, value);
  scope.builder.restoreInsertionPoint(after);
  return loopOp.getResult(0);
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

Value KernelEmitter::getInductionVar(unsigned loop, const Scope &scope) const {
  for (const Scope *at = &scope; at; at = at->parent)
    if (Value value = at->inductionVars.lookup(loop))
      return value;
  llvm_unreachable("a loop that is not open");
}

std::pair<AffineMap, SmallVector<Value>>
KernelEmitter::getCoordinates(unsigned access, const Scope &scope) {
  SmallVector<AffineExpr> exprs;
  SmallVector<Value> operands;
  const BufferAccess &buffer = loops.accesses[access];
  for (const BoxCoordinate &box : buffer.view.coordinates) {
    AffineExpr expr = builder.getAffineConstantExpr(box.constant);
    if (box.factor != 0) {
      AffineExpr variable = builder.getAffineDimExpr(operands.size());
      if (buffer.isDivided) {
        LoopPart part = loops.getPart(box.loop);
        variable = variable.floorDiv(part.divisor);
        if (!part.isOutermost)
          variable = variable % part.extent;
      }
      expr = expr + variable * box.factor;
      operands.push_back(getInductionVar(loops.getLoop(buffer, box), scope));
    }
    exprs.push_back(expr);
  }
  return {AffineMap::get(operands.size(), 0, exprs, builder.getContext()),
          operands};
}

Value KernelEmitter::emitLoad(unsigned access, Location readLoc, Scope &scope) {
  // A load that the inner loops don't move belongs outside of them.
  const BufferAccess &buffer = loops.accesses[access];
  auto isInner = [&](const BoxCoordinate &box) {
    return box.factor != 0 &&
           !llvm::is_contained(loops.parallel, loops.getLoop(buffer, box));
  };
  Scope *at = &scope;
  if (llvm::none_of(buffer.view.coordinates, isInner))
    while (at->parent)
      at = at->parent;
  auto [map, operands] = getCoordinates(access, *at);
  Value argument = kernel.getArguments()[argumentOf[access]];
  // The same element may be there already.
  for (const Scope *open = at; open; open = open->parent)
    for (const auto &load : open->loaded)
      if (load.argument == argument && load.map == map &&
          load.operands == operands)
        return load.value;
  Value value =
      loop::LoadOp::create(at->builder, readLoc, argument, map, operands);
  if (loops.accesses[access].isBool)
    value = arith::TruncIOp::create(at->builder, readLoc, builder.getI1Type(),
                                    value);
  at->loaded.push_back({argument, map, operands, value});
  return value;
}

void KernelEmitter::emitStore(const KernelLoops::Output &output, Scope &scope) {
  auto [map, operands] = getCoordinates(output.access, scope);
  Value argument = kernel.getArguments()[argumentOf[output.access]];
  Value value = lookup(output.item, scope);
  if (value.getType().isInteger(1))
    value =
        arith::ExtUIOp::create(scope.builder, loc, builder.getI8Type(), value);
  loop::StoreOp::create(scope.builder, loc, value, argument, map, operands);
}

} // namespace deplo::graph
