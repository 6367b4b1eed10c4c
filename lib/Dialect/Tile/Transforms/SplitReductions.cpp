// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rewrite of split_reduce and split_matmul_k; SplitReduce.cpp says what it
// does and why it is legal.

#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/Loop/IR/Prepared.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo::tile {

namespace {

/// How the iterations of one reduction are divided.
struct Parts {
  int64_t count;
  /// Iterations of each; 0 if only the program that runs knows.
  int64_t length;
  /// What is left over behind the last part.
  int64_t tail;

  int64_t getTotal() const { return count + (tail != 0 ? 1 : 0); }
};

/// The buffers that hold the results of one reduction, one for each monoid.
struct Partials {
  /// The number of the first as a SplitOperand; the others follow.
  unsigned first;
  SmallVector<MemRefType> types;
  /// Whether the part is the outermost coordinate rather than the innermost.
  bool partFirst;
};

class Splitter {
public:
  explicit Splitter(loop::KernelOp kernel)
      : builder(kernel.getContext()), sizes(SymbolicSizes::get(kernel)) {
    rest = kernel.clone();
    split.sizes = sizes;
    numBuffers = kernel.getArguments().size();
    for (unsigned buffer = 0; buffer < numBuffers; ++buffer)
      restOperands.push_back({buffer, {}});
    for (Value argument : kernel.getArguments())
      names.push_back(argument.getLoc());
  }

  FailureOr<Split> run(int64_t parts, int64_t leastPart);

private:
  Block *getAxisBody() {
    SmallVector<loop::ForOp> axes = getAxisLoops(*rest);
    return axes.empty() ? rest->getBody() : axes.back().getBody();
  }
  LogicalResult splitOne(loop::ReduceOp reduce, int64_t parts);
  FailureOr<SmallVector<Operation *>> getSlice(loop::ReduceOp reduce);
  Partials addPartials(loop::ReduceOp reduce, const Parts &parts);
  SplitKernel &addKernel(StringRef suffix, SmallVectorImpl<Value> &axes);
  Value addArgument(SplitKernel &kernel, SplitOperand operand, Type type);
  LogicalResult addPartsKernel(loop::ReduceOp reduce, const Parts &parts,
                               const Partials &partials, bool isTail);
  template <typename AccessOp>
  LogicalResult redirect(AccessOp access, SplitKernel &kernel, Value element,
                         Value part, const Parts &parts);
  void storeResults(SplitKernel &kernel, ValueRange values,
                    const Partials &partials, ArrayRef<Value> axes, Value part,
                    int64_t partNumber);
  SmallVector<Value> loadTotals(loop::ReduceOp reduce, ArrayRef<Value> buffers,
                                bool partFirst, ArrayRef<Value> axes,
                                int64_t count);
  void useTotals(loop::ReduceOp reduce, const Parts &parts,
                 const Partials &partials);
  void dropUnused();

  OpBuilder builder;
  SymbolicSizes sizes;
  OwningOpRef<loop::KernelOp> rest;
  SmallVector<SplitOperand> restOperands;
  /// Locations of the buffers, which hold their names.
  SmallVector<Location> names;
  unsigned numBuffers;
  unsigned numSplit = 0;
  /// Reductions over parts.
  DenseSet<Operation *> totals;
  Split split;
};

} // namespace

/// Between `parts` and twice as many parts of one length, which keeps the start
/// of each as aligned as can be; else something is left over, or, of an extent
/// that is known when the program runs, parts have no length that is known.
static Parts getParts(int64_t extent, int64_t parts, bool isSymbolic) {
  for (int64_t aligned : {64, 16, 8, 4})
    for (int64_t count = parts; count < 2 * parts; ++count)
      if (extent % (count * aligned) == 0)
        return Parts{count, extent / count, 0};
  if (isSymbolic)
    return Parts{parts, 0, 0};
  constexpr int64_t aligned = 64;
  int64_t length = extent / parts;
  if (length >= aligned)
    length -= length % aligned;
  return Parts{extent / length, length, extent % length};
}

/// The operations outside of `reduce` that its body needs, in order.
FailureOr<SmallVector<Operation *>> Splitter::getSlice(loop::ReduceOp reduce) {
  DenseSet<Operation *> slice;
  SmallVector<Operation *> worklist = {reduce};
  while (!worklist.empty()) {
    WalkResult result = worklist.pop_back_val()->walk([&](Operation *op) {
      for (Value operand : op->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (!def || reduce->isAncestor(def) || !slice.insert(def).second)
          continue;
        if (def->getNumRegions() != 0)
          return WalkResult::interrupt();
        worklist.push_back(def);
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  SmallVector<Operation *> ordered;
  rest->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (slice.contains(op))
      ordered.push_back(op);
  });
  return ordered;
}

/// Whether the body loads along memory from one iteration to the next.
static bool isAlongMemory(loop::ReduceOp reduce) {
  WalkResult result = reduce.walk([&](loop::LoadOp load) {
    auto [strides, offset] = load.getMemRefType().getStridesAndOffset();
    for (auto [position, index] : llvm::enumerate(load.getIndices()))
      if (index == reduce.getInductionVar())
        for (auto [expr, stride] :
             llvm::zip_equal(load.getMap().getResults(), strides))
          if (stride == 1 && expr.isFunctionOfDim(position))
            return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Neighbours in the buffers are what neighbouring threads write: the columns
/// of a contraction, whatever lies along memory in its operands.
Partials Splitter::addPartials(loop::ReduceOp reduce, const Parts &parts) {
  bool isContraction = loop::findContraction(*rest).has_value();
  Partials partials{unsigned(numBuffers + split.temporaries.size()),
                    {},
                    isContraction || !isAlongMemory(reduce)};
  SmallVector<int64_t> shape;
  for (loop::ForOp axis : getAxisLoops(*rest))
    shape.push_back(axis.getExtent());
  shape.insert(partials.partFirst ? shape.begin() : shape.end(),
               parts.getTotal());
  for (Type type : reduce.getResultTypes())
    partials.types.push_back(MemRefType::get(shape, type));
  llvm::append_range(split.temporaries, partials.types);
  return partials;
}

/// A kernel with the loops over the axes of the rest. Leaves the builder in the
/// innermost, and their induction variables in `axes`.
SplitKernel &Splitter::addKernel(StringRef suffix,
                                 SmallVectorImpl<Value> &axes) {
  std::string number = numSplit > 1 ? std::to_string(numSplit) : "";
  builder.clearInsertionPoint();
  auto kernel = loop::KernelOp::create(
      builder, rest->getLoc(), (rest->getSymName() + suffix + number).str(),
      TypeRange());
  split.kernels.push_back({kernel, {}, suffix.str() + number});
  builder.setInsertionPointToEnd(kernel.getBody());
  for (loop::ForOp axis : getAxisLoops(*rest)) {
    auto loop = loop::ForOp::create(builder, axis.getLoc(), axis.getExtent());
    axes.push_back(loop.getInductionVar());
    builder.setInsertionPointToEnd(loop.getBody());
  }
  return split.kernels.back();
}

Value Splitter::addArgument(SplitKernel &kernel, SplitOperand operand,
                            Type type) {
  for (auto [known, argument] :
       llvm::zip_equal(kernel.operands, kernel.kernel->getArguments()))
    if (known.buffer == operand.buffer && argument.getType() == type)
      return argument;
  kernel.operands.push_back(operand);
  Location loc = operand.buffer < numBuffers ? names[operand.buffer]
                                             : kernel.kernel->getLoc();
  return kernel.kernel->getBody()->addArgument(type, loc);
}

/// Makes an access of the rest one of `kernel`, where iteration `element` is
/// that of one part: of `part`, or of the tail if that is null.
template <typename AccessOp>
LogicalResult Splitter::redirect(AccessOp access, SplitKernel &kernel,
                                 Value element, Value part,
                                 const Parts &parts) {
  auto memref = cast<BlockArgument>(access.getMemref());
  SplitOperand operand = restOperands[memref.getArgNumber()];
  MemRefType type = access.getMemRefType();
  auto use = llvm::find(access.getIndices(), element);
  AffineMap map = access.getMap();
  if (use == access.getIndices().end() || parts.length == 0) {
    access.getMemrefMutable().assign(addArgument(kernel, operand, type));
    return success();
  }
  if (llvm::count(access.getIndices(), element) != 1)
    return failure();
  MLIRContext *context = access.getContext();
  AffineExpr variable =
      getAffineDimExpr(use - access.getIndices().begin(), context);
  if (!part) {
    map = map.replace(variable, variable + parts.count * parts.length,
                      map.getNumDims(), map.getNumSymbols());
    access.setMap(map);
    access.getMemrefMutable().assign(addArgument(kernel, operand, type));
    return success();
  }

  auto [strides, offset] = type.getStridesAndOffset();
  if (offset != 0 || llvm::any_of(strides, ShapedType::isDynamic))
    return failure();
  SmallVector<int64_t> shape, viewStrides;
  SmallVector<AffineExpr> exprs;
  unsigned position = cast<AffineDimExpr>(variable).getPosition();
  for (auto [size, stride, expr] :
       llvm::zip_equal(type.getShape(), strides, map.getResults())) {
    if (expr == variable) {
      shape.push_back(parts.count);
      viewStrides.push_back(stride * parts.length);
      exprs.push_back(getAffineDimExpr(map.getNumDims(), context));
    } else if (expr.isFunctionOfDim(position)) {
      return failure();
    }
    shape.push_back(expr == variable ? parts.length : size);
    viewStrides.push_back(stride);
    exprs.push_back(expr);
  }
  operand.view = MemRefType::get(
      shape, type.getElementType(),
      StridedLayoutAttr::get(context, /*offset=*/0, viewStrides));
  // Row-major views have no layout attribute.
  if (auto plain = MemRefType::get(shape, type.getElementType());
      plain.getStridesAndOffset().first == viewStrides)
    operand.view = plain;
  SmallVector<Value> indices(access.getIndices());
  indices.push_back(part);
  OpBuilder at(access);
  Value view = addArgument(kernel, operand, operand.view);
  auto divided = AffineMap::get(map.getNumDims() + 1, 0, exprs, context);
  if constexpr (std::is_same_v<AccessOp, loop::LoadOp>)
    access.replaceAllUsesWith(
        loop::LoadOp::create(at, access.getLoc(), view, divided, indices,
                             access.getCondition(), access.getOtherwise())
            .getResult());
  else
    loop::StoreOp::create(at, access.getLoc(), access.getValue(), view, divided,
                          indices);
  access.erase();
  return success();
}

static AffineMap getPartialMap(unsigned numAxes, bool partFirst,
                               AffineExpr part, MLIRContext *context) {
  SmallVector<AffineExpr> exprs;
  for (unsigned axis = 0; axis < numAxes; ++axis)
    exprs.push_back(getAffineDimExpr(axis, context));
  exprs.insert(partFirst ? exprs.begin() : exprs.end(), part);
  unsigned dims = numAxes + (part.isSymbolicOrConstant() ? 0 : 1);
  return AffineMap::get(dims, 0, exprs, context);
}

/// Stores `values` as those of `part`, or of the part `partNumber` if that is
/// null.
void Splitter::storeResults(SplitKernel &kernel, ValueRange values,
                            const Partials &partials, ArrayRef<Value> axes,
                            Value part, int64_t partNumber) {
  MLIRContext *context = builder.getContext();
  AffineExpr expr = part ? getAffineDimExpr(axes.size(), context)
                         : getAffineConstantExpr(partNumber, context);
  SmallVector<Value> indices(axes);
  if (part)
    indices.push_back(part);
  AffineMap map = getPartialMap(axes.size(), partials.partFirst, expr, context);
  for (auto [number, value, type] : llvm::enumerate(values, partials.types)) {
    Value buffer =
        addArgument(kernel, {unsigned(partials.first + number), {}}, type);
    loop::StoreOp::create(builder, kernel.kernel->getLoc(), value, buffer, map,
                          indices);
  }
}

/// Where the number of an iteration is a value, it goes on counting from the
/// first iteration of the part, or of the tail if `part` is null.
static LogicalResult shiftNumbers(loop::ReduceOp copy, Value part,
                                  const Parts &parts,
                                  const SymbolicSizes &sizes) {
  for (Operation *user :
       llvm::make_early_inc_range(copy.getInductionVar().getUsers())) {
    if (isa<loop::LoadOp, loop::StoreOp>(user))
      continue;
    auto number = dyn_cast<arith::IndexCastOp>(user);
    if (!number)
      return failure();
    OpBuilder builder(number->getNextNode());
    Location loc = number.getLoc();
    Type type = number.getType();
    auto constant = [&](int64_t value) -> Value {
      if (sizes.isSymbolic(value)) {
        Value size =
            loop::SizeOp::create(builder, loc, builder.getI64Type(), value);
        return type == size.getType()
                   ? size
                   : arith::TruncIOp::create(builder, loc, type, size);
      }
      return arith::ConstantOp::create(builder, loc,
                                       builder.getIntegerAttr(type, value));
    };
    Value first = part ? arith::MulIOp::create(builder, loc,
                                               arith::IndexCastOp::create(
                                                   builder, loc, type, part),
                                               constant(parts.length))
                       : constant(parts.count * parts.length);
    auto shifted = arith::AddIOp::create(builder, loc, number, first);
    number.getResult().replaceAllUsesExcept(shifted, shifted);
  }
  return success();
}

/// The kernel that reduces all parts, or the tail.
LogicalResult Splitter::addPartsKernel(loop::ReduceOp reduce,
                                       const Parts &parts,
                                       const Partials &partials, bool isTail) {
  FailureOr<SmallVector<Operation *>> slice = getSlice(reduce);
  if (failed(slice))
    return failure();
  SmallVector<Value> axes;
  SplitKernel &kernel = addKernel(isTail ? "_tail" : "_parts", axes);
  IRMapping mapping;
  for (auto [axis, variable] : llvm::zip_equal(getAxisLoops(*rest), axes))
    mapping.map(axis.getInductionVar(), variable);
  Location loc = reduce.getLoc();
  Value part;
  if (!isTail) {
    auto loop = loop::ForOp::create(builder, loc, parts.count);
    part = loop.getInductionVar();
    builder.setInsertionPointToEnd(loop.getBody());
  }
  SmallVector<loop::LoadOp> loads;
  for (Operation *op : *slice)
    if (auto load = dyn_cast<loop::LoadOp>(builder.clone(*op, mapping)))
      loads.push_back(load);
  auto copy = parts.length == 0
                  ? loop::ReduceOp::create(
                        builder, loc, reduce.getMonoids(), reduce.getExtent(),
                        reduce.getResultTypes(), part, parts.count)
                  : loop::ReduceOp::create(builder, loc, reduce.getMonoids(),
                                           isTail ? parts.tail : parts.length,
                                           reduce.getResultTypes());
  mapping.map(reduce.getInductionVar(), copy.getInductionVar());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(copy.getBody());
    for (Operation &op : *reduce.getBody())
      builder.clone(op, mapping);
  }
  copy.walk([&](loop::LoadOp load) { loads.push_back(load); });
  SmallVector<loop::StoreOp> stores;
  copy.walk([&](loop::StoreOp store) { stores.push_back(store); });
  storeResults(kernel, copy.getResults(), partials, axes, part, parts.count);
  for (loop::LoadOp load : loads)
    if (failed(redirect(load, kernel, copy.getInductionVar(), part, parts)))
      return failure();
  for (loop::StoreOp store : stores)
    if (failed(redirect(store, kernel, copy.getInductionVar(), part, parts)))
      return failure();
  return parts.length == 0 ? success() : shiftNumbers(copy, part, parts, sizes);
}

/// A reduction over the parts in `buffers`.
SmallVector<Value> Splitter::loadTotals(loop::ReduceOp reduce,
                                        ArrayRef<Value> buffers, bool partFirst,
                                        ArrayRef<Value> axes, int64_t count) {
  Location loc = reduce.getLoc();
  MLIRContext *context = builder.getContext();
  auto total = loop::ReduceOp::create(builder, loc, reduce.getMonoids(), count,
                                      reduce.getResultTypes());
  totals.insert(total);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(total.getBody());
  SmallVector<Value> indices(axes), values;
  indices.push_back(total.getInductionVar());
  AffineMap map = getPartialMap(
      axes.size(), partFirst, getAffineDimExpr(axes.size(), context), context);
  for (Value buffer : buffers)
    values.push_back(loop::LoadOp::create(builder, loc, buffer, map, indices));
  loop::YieldOp::create(builder, loc, values);
  return llvm::to_vector_of<Value>(total.getResults());
}

/// Replaces `reduce` in the rest: by a reduction over the parts if there is no
/// other loop, else by the totals that one more kernel computes.
void Splitter::useTotals(loop::ReduceOp reduce, const Parts &parts,
                         const Partials &partials) {
  SmallVector<Value> axes;
  for (loop::ForOp axis : getAxisLoops(*rest))
    axes.push_back(axis.getInductionVar());
  auto isOtherLoop = [&](Operation &op) {
    return isa<loop::ForOp, loop::ReduceOp>(op) && &op != reduce;
  };
  auto getRestArgument = [&](SplitOperand operand, Type type) -> Value {
    restOperands.push_back(operand);
    return rest->getBody()->addArgument(type, reduce.getLoc());
  };
  SmallVector<Value> results, buffers;
  if (llvm::none_of(*getAxisBody(), isOtherLoop)) {
    for (auto [number, type] : llvm::enumerate(partials.types))
      buffers.push_back(
          getRestArgument({unsigned(partials.first + number), {}}, type));
    builder.setInsertionPoint(reduce);
    results =
        loadTotals(reduce, buffers, partials.partFirst, axes, parts.getTotal());
  } else {
    SmallVector<Value> totalAxes;
    SplitKernel &kernel = addKernel("_total", totalAxes);
    for (auto [number, type] : llvm::enumerate(partials.types))
      buffers.push_back(
          addArgument(kernel, {unsigned(partials.first + number), {}}, type));
    SmallVector<Value> values = loadTotals(reduce, buffers, partials.partFirst,
                                           totalAxes, parts.getTotal());
    AffineMap map =
        AffineMap::getMultiDimIdentityMap(axes.size(), builder.getContext());
    for (Value value : values) {
      SmallVector<int64_t> shape;
      for (loop::ForOp axis : getAxisLoops(*rest))
        shape.push_back(axis.getExtent());
      auto type = MemRefType::get(shape, value.getType());
      SplitOperand operand{unsigned(numBuffers + split.temporaries.size()), {}};
      split.temporaries.push_back(type);
      builder.setInsertionPointAfterValue(values.front());
      loop::StoreOp::create(builder, reduce.getLoc(), value,
                            addArgument(kernel, operand, type), map, totalAxes);
      builder.setInsertionPoint(reduce);
      results.push_back(loop::LoadOp::create(
          builder, reduce.getLoc(), getRestArgument(operand, type), map, axes));
    }
  }
  reduce.replaceAllUsesWith(results);
  reduce.erase();
}

/// Operations and arguments that the rest does not need any more.
void Splitter::dropUnused() {
  SmallVector<Operation *> operations;
  rest->walk([&](Operation *op) { operations.push_back(op); });
  for (Operation *op : llvm::reverse(operations))
    if (op != rest->getOperation() && isOpTriviallyDead(op))
      op->erase();
  Block *body = rest->getBody();
  for (unsigned i = body->getNumArguments(); i-- > 0;)
    if (body->getArgument(i).use_empty()) {
      body->eraseArgument(i);
      restOperands.erase(restOperands.begin() + i);
    }
}

LogicalResult Splitter::splitOne(loop::ReduceOp reduce, int64_t count) {
  Parts parts =
      getParts(reduce.getExtent(), count, sizes.isSymbolic(reduce.getExtent()));
  if (split.extent == 0) {
    split.extent = reduce.getExtent();
    split.parts = parts.getTotal();
  }
  ++numSplit;
  Partials partials = addPartials(reduce, parts);
  if (failed(addPartsKernel(reduce, parts, partials, /*isTail=*/false)) ||
      (parts.tail != 0 &&
       failed(addPartsKernel(reduce, parts, partials, /*isTail=*/true))))
    return failure();
  useTotals(reduce, parts, partials);
  return success();
}

FailureOr<Split> Splitter::run(int64_t parts, int64_t leastPart) {
  auto findLong = [&]() -> loop::ReduceOp {
    for (auto reduce : getAxisBody()->getOps<loop::ReduceOp>())
      if (sizes.getMax(reduce.getExtent()) / leastPart >= parts &&
          !totals.contains(reduce))
        return reduce;
    return {};
  };
  while (loop::ReduceOp reduce = findLong())
    if (failed(splitOne(reduce, parts)))
      return failure();
  if (numSplit == 0)
    return failure();
  dropUnused();
  split.kernels.push_back({std::move(rest), restOperands, ""});
  return std::move(split);
}

/// Parts are given what `kernel` was given: weights, too.
static void notePrepared(loop::KernelOp kernel, Split &split) {
  for (SplitKernel &part : split.kernels) {
    SmallVector<int64_t> numbers;
    for (auto [number, operand] : llvm::enumerate(part.operands))
      if (operand.buffer < kernel.getArguments().size() &&
          loop::isPrepared(kernel.getArguments()[operand.buffer]))
        numbers.push_back(number);
    part.kernel->getOperation()->removeAttr(loop::preparedArgumentsAttrName);
    if (!numbers.empty())
      part.kernel->getOperation()->setAttr(
          loop::preparedArgumentsAttrName,
          DenseI64ArrayAttr::get(kernel.getContext(), numbers));
  }
}

FailureOr<Split> splitReductions(loop::KernelOp kernel, int64_t parts,
                                 int64_t leastPart) {
  FailureOr<Split> split = Splitter(kernel).run(parts, leastPart);
  if (succeeded(split))
    notePrepared(kernel, *split);
  return split;
}

} // namespace deplo::tile
