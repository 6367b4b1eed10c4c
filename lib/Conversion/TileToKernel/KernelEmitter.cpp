// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelEmitter.h"

#include "deplo/Analysis/LayoutConversion.h"
#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Tile/Analysis/BufferAccess.h"
#include "deplo/Dialect/Tile/IR/TileGrid.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace deplo {

KernelEmitter::KernelEmitter(tile::KernelOp kernel, LLVM::LLVMFuncOp function,
                             FlatSymbolRefAttr sharedMemory,
                             IntegerType indexType, int64_t alignment,
                             ArrayRef<tile::TensorMapAttr> maps, bool isPart)
    : kernel(kernel), function(function), sharedMemory(sharedMemory),
      indexType(indexType), alignment(alignment), maps(maps), isPart(isPart),
      builder(kernel.getLoc(), kernel.getContext()),
      sizes(SymbolicSizes::get(kernel)), copyGroups(kernel) {}

LogicalResult KernelEmitter::run() {
  entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  for (auto [memref, pointer] : llvm::zip(
           kernel.getMemrefs(), entry->getArguments().drop_front(maps.size())))
    mapping.map(memref, pointer);

  Type i32 = builder.getI32Type();
  thread = NVVM::ThreadIdXOp::create(builder, i32);
  Value warpSize = arith::ConstantIntOp::create(builder, i32, 32);
  lane = arith::RemUIOp::create(builder, thread, warpSize);
  warp = arith::DivUIOp::create(builder, thread, warpSize);
  // What wgmma is told must be the same in all lanes. Of pieces of f32 there
  // are no registers to spare for what follows from a shuffle and not from the
  // thread's number: those shuffle where they need it.
  if (kernel
          .walk([](tile::AsyncDotOp dot) {
            return dot.isOfPieces() ? WalkResult::advance()
                                    : WalkResult::interrupt();
          })
          .wasInterrupted()) {
    auto number = [&](int64_t value) {
      return arith::ConstantIntOp::create(builder, i32, value);
    };
    warp = NVVM::ShflOp::create(builder, i32, number(-1), warp, number(0),
                                number(31), NVVM::ShflKind::idx, UnitAttr());
  }
  // Those of tiles are computed for each.
  if (!kernel.walk([](tile::EachTileOp) { return WalkResult::interrupt(); })
           .wasInterrupted())
    emitAxes(getBlockNumber(), kernel.getAxisValues());
  emitClusterBarriers();
  llvm::DenseSet<Value> readByWgmma;
  kernel.walk([&](tile::AsyncDotOp dot) {
    readByWgmma.insert(tile::getMemory(dot.getLhs()));
    readByWgmma.insert(tile::getMemory(dot.getRhs()));
  });
  kernel.walk([&](Operation *op) {
    if (isa<tile::CopyOp, tile::AsyncCopyOp, tile::WriteOp>(op))
      for (Value operand : op->getOperands())
        writesForWgmma |= readByWgmma.contains(tile::getMemory(operand));
  });

  if (failed(emitBlock(*kernel.getBody())))
    return failure();
  // What copies read of shared memory is there until they have.
  if (kernel.walk([](tile::TmaStoreOp) { return WalkResult::interrupt(); })
          .wasInterrupted())
    NVVM::CpAsyncBulkWaitGroupOp::create(builder, 0, builder.getUnitAttr());
  builder.setInsertionPointToEnd(entry);
  LLVM::ReturnOp::create(builder, ValueRange());
  return success();
}

Value KernelEmitter::getBlockNumber() {
  // A part of a larger grid is told the number.
  Value block = isPart
                    ? Value(entry->getArguments().back())
                    : NVVM::BlockIdXOp::create(builder, builder.getI32Type());
  return indexType.getWidth() > 32
             ? arith::ExtUIOp::create(builder, indexType, block).getResult()
             : block;
}

/// Of the grid, without tile.each_tile.
Value KernelEmitter::getBlocksAlong(unsigned axis) {
  tile::AxisAttr attribute = kernel.getAxis(axis);
  if (!sizes.isSymbolic(attribute.getExtent()))
    return getIndex(attribute.getBlocks());
  return arith::CeilDivUIOp::create(builder, getNumber(attribute.getExtent()),
                                    getIndex(attribute.getStep()));
}

/// The coordinates of the block, or tile, with this number. The grid is one row
/// of blocks, the last axis fastest.
void KernelEmitter::emitAxes(Value block, ValueRange axisValues) {
  int64_t last = kernel.getAxes().size() - 1;
  auto raster = kernel->getAttrOfType<IntegerAttr>(tile::rasterName);
  if (raster && raster.getInt() > 0 && tile::hasPlaneOfBlocks(kernel)) {
    emitPlane(block, axisValues, raster.getInt());
    last -= 2;
  }
  for (int64_t i = last; i >= 0; --i) {
    tile::AxisAttr axis = kernel.getAxis(i);
    Value position = getIndex(0);
    if (axis.getBlocks() > 1 || sizes.isSymbolic(axis.getExtent())) {
      Value blocks = getBlocksAlong(i);
      position =
          i == 0 ? block
                 : arith::RemUIOp::create(builder, block, blocks).getResult();
      if (i != 0)
        block = arith::DivUIOp::create(builder, block, blocks);
    }
    mapping.map(axisValues[i], multiply(position, axis.getStep()));
  }
}

/// The last two axes, whose blocks are numbered down groups of rows; `block` is
/// left with those of the others.
void KernelEmitter::emitPlane(Value &block, ValueRange axisValues,
                              int64_t raster) {
  unsigned last = kernel.getAxes().size() - 1;
  tile::AxisAttr rowAxis = kernel.getAxis(last - 1),
                 columnAxis = kernel.getAxis(last);
  Value rows = getBlocksAlong(last - 1), columns = getBlocksAlong(last);
  int64_t mostRows = tile::getMostBlocks(kernel, last - 1);
  int64_t group = std::min(raster, mostRows);
  auto divide = [&](Value number, Value by) -> std::pair<Value, Value> {
    return {arith::DivUIOp::create(builder, number, by),
            arith::RemUIOp::create(builder, number, by)};
  };
  Value number = block;
  if (last > 1)
    std::tie(block, number) =
        divide(block, builder.createOrFold<arith::MulIOp>(
                          rows, columns, arith::IntegerOverflowFlags::nsw));
  auto [groupNumber, inGroup] = divide(number, multiply(columns, group));
  Value first = multiply(groupNumber, group);
  Value height = getIndex(group);
  // The last group may be lower.
  if (sizes.isSymbolic(rowAxis.getExtent()) || mostRows % group != 0)
    height = arith::MinSIOp::create(
        builder, height, arith::SubIOp::create(builder, rows, first));
  auto [column, row] = divide(inGroup, height);
  mapping.map(axisValues[last - 1],
              multiply(add(first, row), rowAxis.getStep()));
  mapping.map(axisValues[last], multiply(column, columnAxis.getStep()));
}

LogicalResult KernelEmitter::emitEachTile(tile::EachTileOp op) {
  int64_t blocks = op.getBlocks();
  Value block = getBlockNumber();
  Value tiles = getIndex(1);
  for (unsigned i = 0; i < kernel.getAxes().size(); ++i)
    tiles = builder.createOrFold<arith::MulIOp>(
        tiles, getBlocksAlong(i), arith::IntegerOverflowFlags::nsw);
  // Of the tiles from the block's first one on, one in so many.
  Value count = arith::DivUIOp::create(
      builder,
      arith::SubIOp::create(builder, add(tiles, getIndex(blocks - 1)), block),
      getIndex(blocks));
  auto loop = scf::ForOp::create(builder, getIndex(0), count, getIndex(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value number = loop.getInductionVar();
  mapping.map(op.getNumber(), number);
  emitAxes(add(block, multiply(number, blocks)), op.getAxisValues());
  return emitBlock(*op.getBody());
}

LogicalResult KernelEmitter::emitBlock(Block &block) {
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>() && failed(emitOp(&op)))
      return failure();
  return success();
}

LogicalResult KernelEmitter::emitOp(Operation *op) {
  builder.setLoc(op->getLoc());
  auto done = [](auto emit) {
    emit();
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](arith::ConstantOp constant) { return emitConstant(constant); })
      .Case([&](loop::SizeOp size) { return done([&] { emitSize(size); }); })
      .Case([&](scf::ForOp loop) { return emitLoop(loop); })
      .Case([&](loop::ReduceOp reduce) { return emitSerialReduce(reduce); })
      .Case([&](tile::ReduceOp reduce) { return emitReduce(reduce); })
      .Case([&](tile::DotOp dot) {
        return done([&] {
          if (!dot.getAtomAttr())
            emitDot(dot);
          else if (tile::isOfPieces(dot.getPrecision()))
            emitMmaOfPieces(dot);
          else
            emitMma(dot);
        });
      })
      .Case([&](tile::RecomputeOp recompute) {
        return done([&] { emitRecompute(recompute); });
      })
      .Case([&](tile::AsyncDotOp dot) {
        return done([&] {
          dot.isOfPieces() ? emitAsyncDotOfPieces(dot) : emitAsyncDot(dot);
        });
      })
      .Case([&](tile::MBarriersOp barriers) {
        return done([&] { emitMBarriers(barriers); });
      })
      .Case([&](tile::MBarrierWaitOp wait) {
        return done([&] { emitMBarrierWait(wait); });
      })
      .Case([&](tile::MBarrierArriveOp arrive) {
        return done([&] { emitMBarrierArrive(arrive); });
      })
      .Case([&](tile::TmaCopyOp copy) {
        return done([&] { emitTmaCopy(copy); });
      })
      .Case([&](tile::TmaStoreOp store) {
        return done([&] { emitTmaStore(store); });
      })
      .Case([&](tile::ProducerOp producer) { return emitProducer(producer); })
      .Case([&](tile::EachTileOp tiles) { return emitEachTile(tiles); })
      .Case([&](tile::ScanOp scan) { return emitScan(scan); })
      .Case([&](tile::ClusterReduceOp reduce) {
        return done([&] { emitClusterReduce(reduce); });
      })
      .Case([&](tile::ClusterReduceScatterOp reduce) {
        return done([&] { emitClusterReduceScatter(reduce); });
      })
      .Case([&](tile::ConvertLayoutOp convert) {
        return emitConvertLayout(convert);
      })
      .Case([&](tile::LoadOp load) { return done([&] { emitLoad(load); }); })
      .Case([&](tile::GatherOp gather) {
        return done([&] { emitGather(gather); });
      })
      .Case(
          [&](tile::StoreOp store) { return done([&] { emitStore(store); }); })
      .Case(
          [&](tile::AllocOp alloc) { return done([&] { emitAlloc(alloc); }); })
      .Case([&](tile::SlotOp slot) { return done([&] { emitSlot(slot); }); })
      .Case([&](tile::ReadOp read) { return done([&] { emitRead(read); }); })
      .Case(
          [&](tile::WriteOp write) { return done([&] { emitWrite(write); }); })
      .Case([&](tile::CopyOp copy) { return done([&] { emitCopy(copy); }); })
      .Case([&](tile::AsyncCopyOp copy) {
        return done([&] { emitAsyncCopy(copy); });
      })
      .Case(
          [&](tile::AwaitOp await) { return done([&] { emitAwait(await); }); })
      .Case([&](tile::BarrierOp) { return done([&] { emitBarrier(); }); })
      .Case([&](tile::LaunchDependentsOp) {
        return done([&] {
          NVVM::GriddepcontrolOp::create(
              builder, NVVM::GridDepActionKind::launch_dependents);
        });
      })
      .Case([&](tile::WaitDependenciesOp) {
        return done([&] {
          NVVM::GriddepcontrolOp::create(builder,
                                         NVVM::GridDepActionKind::wait);
        });
      })
      .Case(
          [&](tile::SplatOp splat) { return done([&] { emitSplat(splat); }); })
      .Case([&](tile::BroadcastOp broadcast) {
        return done([&] { emitBroadcast(broadcast); });
      })
      .Case([&](tile::IotaOp iota) { return done([&] { emitIota(iota); }); })
      .Case([&](tile::MisalignmentOp misalignment) {
        return done([&] { emitMisalignment(misalignment); });
      })
      .Case([&](tile::InBoundsOp inBounds) {
        return done([&] { emitInBounds(inBounds); });
      })
      .Default([&](Operation *other) { return emitElementwise(other); });
}

//===----------------------------------------------------------------------===//
// Scalars and elementwise operations
//===----------------------------------------------------------------------===//

LogicalResult KernelEmitter::emitConstant(Operation *op) {
  auto constant = cast<arith::ConstantOp>(op);
  TypedAttr value = constant.getValue();
  if (constant.getType().isIndex()) {
    mapping.map(constant.getResult(),
                getIndex(cast<IntegerAttr>(value).getInt()));
    return success();
  }
  if (isa<RankedTensorType>(constant.getType())) {
    auto splat = dyn_cast<SplatElementsAttr>(value);
    if (!splat)
      return constant.emitError(
          "constant tile has different elements, expected a splat");
    value = SplatElementsAttr::get(
        cast<VectorType>(convertType(constant.getType())),
        splat.getSplatValue<Attribute>());
  }
  mapping.map(constant.getResult(),
              arith::ConstantOp::create(builder, value).getResult());
  return success();
}

void KernelEmitter::emitSize(loop::SizeOp op) {
  Value number = getNumber(op.getNumber());
  if (!op.getType().isIndex() && number.getType() != op.getType())
    number = arith::ExtUIOp::create(builder, op.getType(), number);
  mapping.map(op.getResult(), number);
}

/// The same operation on the elements of this thread.
LogicalResult KernelEmitter::emitElementwise(Operation *op) {
  // Divisions have no result for some operands, but no effect either.
  if (op->getNumRegions() != 0 || !isMemoryEffectFree(op))
    return op->emitError() << "operation " << op->getName()
                           << " has no lowering to a thread's program";
  if (succeeded(emitApproximation(op)))
    return success();
  OperationState state(op->getLoc(), op->getName());
  state.addAttributes(op->getAttrs());
  state.addOperands(lookup(op->getOperands()));
  for (Type type : op->getResultTypes())
    state.addTypes(convertType(type));
  Operation *copy = builder.create(state);
  mapping.map(op->getResults(), copy->getResults());
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

LogicalResult KernelEmitter::emitLoop(scf::ForOp op) {
  // Tokens are no values of a thread.
  auto getValues = [](ValueRange values) {
    return llvm::filter_to_vector(values, [](Value value) {
      return !isa<tile::TokenType>(value.getType());
    });
  };
  auto loop = scf::ForOp::create(
      builder, lookup(op.getLowerBound()), lookup(op.getUpperBound()),
      lookup(op.getStep()), lookup(getValues(op.getInitArgs())));
  if (auto factor = op->getAttrOfType<IntegerAttr>("tile.unroll")) {
    auto unroll = LLVM::LoopUnrollAttr::get(
        builder.getContext(),
        /*disable=*/builder.getBoolAttr(factor.getInt() == 1),
        /*count=*/builder.getI32IntegerAttr(factor.getInt()), {}, {}, {}, {},
        {});
    loop->setAttr("llvm.loop_annotation",
                  LLVM::LoopAnnotationAttr::get(builder.getContext(), {}, {},
                                                {}, unroll, {}, {}, {}, {}, {},
                                                {}, {}, {}, {}, {}, {}));
  }
  mapping.map(getValues(op.getRegionIterArgs()), loop.getRegionIterArgs());
  if (failed(renameTokens(op, op.getInitArgs(), op.getRegionIterArgs())))
    return failure();
  OpBuilder::InsertionGuard guard(builder);
  // With carried values the builder leaves the block without a terminator.
  builder.setInsertionPointToStart(loop.getBody());
  Value index = loop.getInductionVar();
  if (op->hasAttr(tile::descendingName)) {
    Value last = arith::SubIOp::create(
        builder, add(loop.getLowerBound(), loop.getUpperBound()),
        loop.getStep());
    index = arith::SubIOp::create(builder, last, index);
  }
  mapping.map(op.getInductionVar(), index);
  if (failed(emitBlock(*op.getBody())))
    return failure();
  auto yield = cast<scf::YieldOp>(op.getBody()->getTerminator());
  if (SmallVector<Value> values = getValues(yield.getResults());
      !values.empty())
    scf::YieldOp::create(builder, lookup(values));
  mapping.map(getValues(op.getResults()), loop.getResults());
  return renameTokens(op, yield.getResults(), op.getResults());
}

/// A reduction that no threads share: each folds its own elements in turn.
LogicalResult KernelEmitter::emitSerialReduce(loop::ReduceOp op) {
  SmallVector<Value> identities;
  for (auto [kind, type] : llvm::zip(op.getMonoids(), op.getResultTypes())) {
    TypedAttr identity = getIdentity(kind, getElementTypeOrSelf(type));
    Type converted = convertType(type);
    if (auto vector = dyn_cast<VectorType>(converted))
      identity = SplatElementsAttr::get(vector, Attribute(identity));
    identities.push_back(arith::ConstantOp::create(builder, identity));
  }
  auto loop = scf::ForOp::create(builder, getIndex(0), getIndex(op.getExtent()),
                                 getIndex(1), identities);
  mapping.map(op.getInductionVar(), loop.getInductionVar());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  if (failed(emitBlock(*op.getBody())))
    return failure();
  SmallVector<Value> next;
  for (auto [kind, carried, value] :
       llvm::zip(op.getMonoids(), loop.getRegionIterArgs(),
                 op.getBody()->getTerminator()->getOperands()))
    next.push_back(
        combine(builder, builder.getLoc(), kind, carried, lookup(value)));
  scf::YieldOp::create(builder, next);
  mapping.map(op.getResults(), loop.getResults());
  return success();
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

void KernelEmitter::emitSplat(tile::SplatOp op) {
  auto type = cast<VectorType>(convertType(op.getType()));
  mapping.map(op.getResult(),
              vector::BroadcastOp::create(builder, type, lookup(op.getInput()))
                  .getResult());
}

/// The verifier has checked that each thread holds the elements it needs: only
/// registers are repeated.
void KernelEmitter::emitBroadcast(tile::BroadcastOp op) {
  LinearLayout from = tile::getLayout(op.getInput()).getLinearLayout();
  LinearLayout to = tile::getLayout(op.getResult()).getLinearLayout();
  auto registerAt = getRegisters(from);
  SmallVector<Value> elements = unpack(lookup(op.getInput()));
  SmallVector<Value> results;
  for (int32_t reg = 0; reg < to.getNumRegisters(); ++reg) {
    Coordinates coordinates = to.apply(reg, 0);
    std::vector<int32_t> kept;
    for (int64_t dim : op.getDims())
      kept.push_back(coordinates[dim]);
    results.push_back(elements[registerAt.at(kept)]);
  }
  mapping.map(op.getResult(), pack(results));
}

LogicalResult KernelEmitter::emitConvertLayout(tile::ConvertLayoutOp op) {
  tile::LayoutAttr fromAttr = tile::getLayout(op.getInput()),
                   toAttr = tile::getLayout(op.getResult());
  LinearLayout from = fromAttr.getLinearLayout(), to = toAttr.getLinearLayout();
  llvm::Expected<LayoutConversion> conversion = classifyConversion(from, to);
  if (!conversion)
    return op.emitError() << "cannot convert the layout: "
                          << llvm::toString(conversion.takeError());
  SmallVector<Value> elements = unpack(lookup(op.getInput())), results;
  if (conversion->getKind() <= ConversionKind::RegisterPermutation) {
    for (int32_t source : conversion->getRegisterMap())
      results.push_back(elements[source]);
    mapping.map(op.getResult(), pack(results));
    return success();
  }

  if (emitBitSwaps(op))
    return success();

  // Through shared memory, one element at a time in row-major order.
  Type element = op.getType().getElementType();
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  Value scratch = allocateShared(op.getType().getNumElements() * bytes);
  auto pointerTo = [&](tile::LayoutAttr layout, int32_t reg) {
    Value offset = getIndex(0);
    for (auto [coordinate, size] :
         llvm::zip(getCoordinates(layout, reg), layout.getShape()))
      offset = add(multiply(offset, size), coordinate);
    return LLVM::GEPOp::create(builder, scratch.getType(), element, scratch,
                               ValueRange(offset))
        .getResult();
  };
  // The scratch may still be read by threads behind in a previous iteration.
  emitBarrier();
  {
    // Of those that hold the same element, one writes it.
    OpBuilder::InsertionGuard guard(builder);
    if (Value isLeader = getIsLeader(from))
      builder.setInsertionPointToStart(
          scf::IfOp::create(builder, isLeader, /*withElseRegion=*/false)
              .thenBlock());
    int32_t duplicates = from.getReplicaMask().reg;
    for (auto [reg, value] : llvm::enumerate(elements))
      if ((reg & duplicates) == 0)
        LLVM::StoreOp::create(builder, value, pointerTo(fromAttr, reg));
  }
  emitBarrier();
  for (int32_t reg = 0; reg < to.getNumRegisters(); ++reg)
    results.push_back(
        LLVM::LoadOp::create(builder, element, pointerTo(toAttr, reg)));
  mapping.map(op.getResult(), pack(results));
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

SmallVector<Value> KernelEmitter::lookup(ValueRange values) {
  return llvm::map_to_vector(
      values, [&](Value value) { return mapping.lookup(value); });
}

Type KernelEmitter::convertType(Type type) {
  if (type.isIndex())
    return indexType;
  if (auto tileType = dyn_cast<RankedTensorType>(type))
    return VectorType::get(
        {tile::getLayout(tileType).getLinearLayout().getNumRegisters()},
        tileType.getElementType());
  return type;
}

Value KernelEmitter::getIndex(int64_t value) {
  return arith::ConstantIntOp::create(builder, indexType, value);
}

Value KernelEmitter::getNumber(int64_t value) {
  if (!sizes.isSymbolic(value))
    return getIndex(value);
  Value &number = numbers[value];
  if (number)
    return number;
  // For the whole kernel: behind the thread's number.
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(warp);
  SizeProduct product = sizes.getProduct(value);
  for (unsigned factor : product.factors) {
    Value size =
        entry->getArgument(maps.size() + kernel.getNumMemrefs() + factor);
    if (indexType.getWidth() < 64)
      size = arith::TruncIOp::create(builder, indexType, size);
    number = number ? arith::MulIOp::create(builder, number, size) : size;
  }
  if (product.coefficient != 1)
    number =
        arith::MulIOp::create(builder, number, getIndex(product.coefficient));
  return number;
}

Value KernelEmitter::add(Value lhs, Value rhs) {
  return builder.createOrFold<arith::AddIOp>(lhs, rhs,
                                             arith::IntegerOverflowFlags::nsw);
}

Value KernelEmitter::multiply(Value lhs, int64_t rhs) {
  return builder.createOrFold<arith::MulIOp>(lhs, getNumber(rhs),
                                             arith::IntegerOverflowFlags::nsw);
}

Value KernelEmitter::conjunction(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::AndIOp::create(builder, lhs, rhs);
}

SmallVector<Value> KernelEmitter::unpack(Value vector) {
  SmallVector<Value> elements;
  for (int64_t i = 0, e = cast<VectorType>(vector.getType()).getNumElements();
       i < e; ++i)
    elements.push_back(
        vector::ExtractOp::create(builder, vector, ArrayRef<int64_t>(i)));
  return elements;
}

Value KernelEmitter::pack(ArrayRef<Value> elements) {
  auto type = VectorType::get({static_cast<int64_t>(elements.size())},
                              elements.front().getType());
  return vector::FromElementsOp::create(builder, type, elements);
}

} // namespace deplo
