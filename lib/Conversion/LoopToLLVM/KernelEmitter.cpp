// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelEmitter.h"

#include "deplo/Dialect/AffineArithmetic.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace deplo;
using namespace deplo::loop;
using namespace deplo::host;

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

/// A stride or a size, with a symbol for each size that the launch gives.
static AffineExpr getNumberExpr(int64_t number, MLIRContext *context,
                                const SymbolicSizes &sizes) {
  SizeProduct product = sizes.getProduct(number);
  AffineExpr expr = getAffineConstantExpr(product.coefficient, context);
  for (unsigned factor : product.factors)
    expr = expr * getAffineSymbolExpr(factor, context);
  return expr;
}

AffineExpr host::getLinearOffset(MemRefType type, AffineMap map,
                                 const SymbolicSizes &sizes) {
  SmallVector<int64_t> strides;
  int64_t base;
  LogicalResult strided = type.getStridesAndOffset(strides, base);
  assert(succeeded(strided) && "checked by emit");
  (void)strided;
  // The base is in the pointer that the launch passes.
  AffineExpr offset = getAffineConstantExpr(0, map.getContext());
  for (auto [size, stride, coordinate] :
       llvm::zip_equal(type.getShape(), strides, map.getResults())) {
    AffineExpr position = coordinate;
    if (std::optional<AffineExpr> fromEnd =
            getFromEnd(coordinate, map.getNumDims(), size, sizes))
      position = *fromEnd + getNumberExpr(size, map.getContext(), sizes);
    offset = offset + position * getNumberExpr(stride, map.getContext(), sizes);
  }
  return simplifyAffineExpr(offset, map.getNumDims(), sizes.getSizes().size());
}

/// `offset` with `variable` replaced by itself plus `steps`.
static AffineExpr advance(AffineExpr offset, ValueRange indices, Value variable,
                          int64_t steps) {
  for (auto [position, index] : llvm::enumerate(indices))
    if (index == variable) {
      AffineExpr dim = getAffineDimExpr(position, offset.getContext());
      offset = offset.replace(dim, dim + steps);
    }
  return offset;
}

std::optional<int64_t> host::getStep(AffineExpr offset, ValueRange indices,
                                     Value variable) {
  unsigned numSymbols = 0;
  offset.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
      numSymbols = std::max(numSymbols, symbol.getPosition() + 1);
  });
  AffineExpr growth =
      simplifyAffineExpr(advance(offset, indices, variable, 1) - offset,
                         indices.size(), numSymbols);
  if (auto constant = dyn_cast<AffineConstantExpr>(growth))
    return constant.getValue();
  return std::nullopt;
}

std::optional<int64_t> host::getStep(Operation *access, Value variable,
                                     const SymbolicSizes &sizes) {
  if (auto load = dyn_cast<LoadOp>(access))
    return getStep(getLinearOffset(load.getMemRefType(), load.getMap(), sizes),
                   load.getIndices(), variable);
  auto store = cast<StoreOp>(access);
  return getStep(getLinearOffset(store.getMemRefType(), store.getMap(), sizes),
                 store.getIndices(), variable);
}

bool host::canWiden(Block &block, bool allowReductions) {
  return llvm::all_of(block, [&](Operation &op) {
    if (auto reduce = dyn_cast<ReduceOp>(op))
      return allowReductions && canWiden(*reduce.getBody(), true);
    if (auto scan = dyn_cast<ScanOp>(op))
      return canWiden(*scan.getBody(), false);
    // Under a condition, elements are loaded one by one.
    auto load = dyn_cast<LoadOp>(op);
    return (load && !load.getCondition()) ||
           isa<StoreOp, YieldOp, RunningOp, SizeOp>(op) ||
           op.hasTrait<OpTrait::ConstantLike>() ||
           OpTrait::hasElementwiseMappableTraits(&op);
  });
}

/// Whether iterations of `loop` should be lanes: it has reductions or scans,
/// and what they load lies together in memory from one iteration of it to the
/// next, not from one term to the next (a reduction over columns).
static bool shouldWiden(ForOp loop, const SymbolicSizes &sizes) {
  if (!canWiden(*loop.getBody(), /*allowReductions=*/true))
    return false;
  bool found = false, all = true;
  loop.walk([&](Operation *inner) {
    // Lanes would have parts of different lengths.
    if (auto reduce = dyn_cast<ReduceOp>(inner))
      all &= reduce.getPart() != loop.getInductionVar();
    if (isa<ReduceOp, ScanOp>(inner))
      inner->walk([&](LoadOp load) {
        std::optional<int64_t> step =
            getStep(load, loop.getInductionVar(), sizes);
        found |= step == 1;
        all &= step == 0 || step == 1;
      });
  });
  return found && all;
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

Value KernelEmitter::getIndex(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value KernelEmitter::getNumber(int64_t value) {
  SizeProduct product = sizes.getProduct(value);
  Value number = getIndex(product.coefficient);
  for (unsigned factor : product.factors)
    number = arith::MulIOp::create(builder, loc, number, sizeValues[factor]);
  return number;
}

VectorType KernelEmitter::getWideType(Type type) {
  return VectorType::get({laneCount}, type);
}

Value KernelEmitter::broadcast(Value scalar) {
  return vector::BroadcastOp::create(builder, loc,
                                     getWideType(scalar.getType()), scalar);
}

bool KernelEmitter::isVarying(Value value) {
  return value == laneVariable ||
         isa<VectorType>(values.lookup(value).getType());
}

Value KernelEmitter::getWide(Value value) {
  Value emitted = values.lookup(value);
  if (isa<VectorType>(emitted.getType()))
    return emitted;
  Value wide = broadcast(emitted);
  if (value != laneVariable)
    return wide;
  Value lanes =
      vector::StepOp::create(builder, loc, cast<VectorType>(wide.getType()));
  return arith::AddIOp::create(builder, loc, wide, lanes);
}

Value KernelEmitter::emitAddress(Operation *access, AffineExpr offset,
                                 ValueRange indices, int64_t lane) {
  auto load = dyn_cast<LoadOp>(access);
  Value memref = load ? load.getMemref() : cast<StoreOp>(access).getMemref();
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  if (lane != 0)
    offset = simplifyAffineExpr(advance(offset, indices, laneVariable, lane),
                                indices.size(), sizeValues.size());
  SmallVector<Value> emitted;
  for (Value index : indices)
    emitted.push_back(values.lookup(index));
  Value linear =
      affine::expandAffineExpr(builder, loc, offset, emitted, sizeValues);
  linear =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), linear);
  Type unit = element.isInteger(1) ? builder.getI8Type() : element;
  return LLVM::GEPOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), unit,
      values.lookup(memref), linear, LLVM::GEPNoWrapFlags::inbounds);
}

static unsigned getBytes(Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

/// Memory holds the bits of a bf16: see HalfFloats.cpp.
static Type getMemoryType(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (!element.isBF16())
    return type;
  Type bits = IntegerType::get(type.getContext(), 16);
  if (auto vector = dyn_cast<VectorType>(type))
    return VectorType::get(vector.getShape(), bits);
  return bits;
}

Value KernelEmitter::loadFrom(Value address, Type type) {
  Type memoryType = getMemoryType(type);
  Value loaded = LLVM::LoadOp::create(builder, loc, memoryType, address,
                                      getBytes(getElementTypeOrSelf(type)));
  if (memoryType == type)
    return loaded;
  return arith::BitcastOp::create(builder, loc, type, loaded);
}

void KernelEmitter::storeTo(Value address, Value value) {
  Type type = value.getType(), memoryType = getMemoryType(type);
  if (memoryType != type)
    value = arith::BitcastOp::create(builder, loc, memoryType, value);
  LLVM::StoreOp::create(builder, loc, value, address,
                        getBytes(getElementTypeOrSelf(type)));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// What the host can load and compute with.
static bool isSupported(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return integer.isSignless() &&
           llvm::is_contained({8, 16, 32, 64}, integer.getWidth());
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(element);
}

static LogicalResult checkArguments(KernelOp kernel) {
  for (BlockArgument argument : kernel.getArguments()) {
    auto type = cast<MemRefType>(argument.getType());
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(type.getStridesAndOffset(strides, offset)) ||
        llvm::any_of(strides, ShapedType::isDynamic))
      return kernel.emitOpError()
             << "argument " << argument.getArgNumber() << " of type " << type
             << " has no static strides, which the host needs";
    if (!isSupported(type.getElementType()))
      return kernel.emitOpError()
             << "argument " << argument.getArgNumber()
             << " has elements of type " << type.getElementType()
             << ", expected f16, bf16, f32, f64 or an integer of 8, 16, 32 or "
                "64 bits on the host";
  }
  return success();
}

LogicalResult KernelEmitter::emit(KernelOp kernel) {
  if (failed(checkArguments(kernel)))
    return failure();
  loc = kernel.getLoc();
  MLIRContext *context = builder.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto voidType = LLVM::LLVMVoidType::get(context);
  size_t count = kernel.getArguments().size();
  sizes = SymbolicSizes::get(kernel);
  Type sizeType = builder.getI64Type();
  SmallVector<Type> types(count, pointer);
  types.append(sizes.getSizes().size(), sizeType);

  OpBuilder::InsertionGuard guard(builder);
  auto body = LLVM::LLVMFuncOp::create(
      builder, loc, (kernel.getSymName() + ".body").str(),
      LLVM::LLVMFunctionType::get(voidType, types), LLVM::Linkage::Private);
  auto entry = LLVM::LLVMFuncOp::create(
      builder, loc, kernel.getSymName(),
      LLVM::LLVMFunctionType::get(voidType, {pointer}));

  Block *entryBlock = entry.addEntryBlock(builder);
  builder.setInsertionPointToStart(entryBlock);
  SmallVector<Value> arguments;
  for (auto [number, type] : llvm::enumerate(types)) {
    Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer,
                                     entryBlock->getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{int32_t(number)});
    arguments.push_back(LLVM::LoadOp::create(builder, loc, type, slot));
  }
  LLVM::CallOp::create(builder, loc, body, arguments);
  LLVM::ReturnOp::create(builder, loc, ValueRange());

  Block *bodyBlock = body.addEntryBlock(builder);
  for (BlockArgument argument : kernel.getArguments()) {
    unsigned number = argument.getArgNumber();
    values.map(argument, bodyBlock->getArgument(number));
    // The launch sees to it that what is written overlaps nothing else.
    body.setArgAttr(number, LLVM::LLVMDialect::getNoAliasAttrName(),
                    builder.getUnitAttr());
    if (!KernelOp::isWritten(argument))
      body.setArgAttr(number, LLVM::LLVMDialect::getReadonlyAttrName(),
                      builder.getUnitAttr());
  }
  builder.setInsertionPointToStart(bodyBlock);
  for (Value size : bodyBlock->getArguments().drop_front(count))
    sizeValues.push_back(
        arith::IndexCastOp::create(builder, loc, builder.getIndexType(), size));
  emitOps(*kernel.getBody());
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return success();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void KernelEmitter::emitOps(Block &block) {
  for (Operation &op : block)
    emitOp(op);
}

void KernelEmitter::emitOp(Operation &op) {
  Location outer = std::exchange(loc, op.getLoc());
  if (auto load = dyn_cast<LoadOp>(op))
    emitLoad(load);
  else if (auto store = dyn_cast<StoreOp>(op))
    emitStore(store);
  else if (auto loop = dyn_cast<ForOp>(op))
    emitFor(loop);
  else if (auto reduce = dyn_cast<ReduceOp>(op))
    emitReduce(reduce);
  else if (auto size = dyn_cast<SizeOp>(op))
    emitSize(size);
  else if (auto scan = dyn_cast<ScanOp>(op))
    emitScan(scan);
  else if (auto running = dyn_cast<RunningOp>(op))
    emitRunning(running);
  else if (llvm::any_of(op.getOperands(),
                        [&](Value v) { return isVarying(v); }))
    emitElementwise(op);
  else if (op.getNumRegions() != 0)
    emitWithRegions(op);
  else if (!isa<YieldOp>(op))
    builder.clone(op, values);
  loc = outer;
}

void KernelEmitter::emitSize(SizeOp size) {
  Value number = getNumber(size.getNumber());
  if (!size.getType().isIndex())
    number = arith::IndexCastOp::create(builder, loc, size.getType(), number);
  values.map(size.getResult(), number);
}

/// The operation on all lanes.
void KernelEmitter::emitElementwise(Operation &op) {
  if (isa<YieldOp>(op))
    return;
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(getWide(operand));
  SmallVector<Type> types;
  for (Type type : op.getResultTypes())
    types.push_back(getWideType(type));
  Operation *wide = builder.create(loc, op.getName().getIdentifier(), operands,
                                   types, op.getAttrs());
  values.map(op.getResults(), wide->getResults());
}

/// A condition or the like, with loads in it.
void KernelEmitter::emitWithRegions(Operation &op) {
  Operation *clone = builder.cloneWithoutRegions(op, values);
  for (auto [from, to] : llvm::zip_equal(op.getRegions(), clone->getRegions()))
    for (Block &block : from) {
      OpBuilder::InsertionGuard guard(builder);
      Block *copy = builder.createBlock(
          &to, to.end(), block.getArgumentTypes(),
          SmallVector<Location>(block.getNumArguments(), loc));
      values.map(block.getArguments(), copy->getArguments());
      emitOps(block);
    }
}

void KernelEmitter::emitLoad(LoadOp load) {
  AffineExpr offset =
      getLinearOffset(load.getMemRefType(), load.getMap(), sizes);
  ValueRange indices = load.getIndices();
  Type type = load.getType();
  auto address = [&](int64_t lane) {
    return emitAddress(load, offset, indices, lane);
  };
  if (load.getCondition()) {
    emitConditionalLoad(load, address(0));
    return;
  }
  std::optional<int64_t> step =
      laneVariable ? getStep(offset, indices, laneVariable) : 0;
  if (step == 0) {
    values.map(load.getResult(), loadFrom(address(0), type));
    return;
  }
  if (step == 1) {
    values.map(load.getResult(), loadFrom(address(0), getWideType(type)));
    return;
  }
  SmallVector<Value> elements;
  for (int64_t lane = 0; lane < laneCount; ++lane)
    elements.push_back(loadFrom(address(lane), type));
  values.map(load.getResult(), vector::FromElementsOp::create(
                                   builder, loc, getWideType(type), elements));
}

/// Where the condition is false the address may be anywhere.
void KernelEmitter::emitConditionalLoad(LoadOp load, Value address) {
  auto guarded = scf::IfOp::create(builder, loc, load.getType(),
                                   values.lookup(load.getCondition()),
                                   /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(guarded.thenBlock());
  scf::YieldOp::create(builder, loc, loadFrom(address, load.getType()));
  builder.setInsertionPointToStart(guarded.elseBlock());
  scf::YieldOp::create(builder, loc, values.lookup(load.getOtherwise()));
  values.map(load.getResult(), guarded.getResult(0));
}

void KernelEmitter::emitStore(StoreOp store) {
  AffineExpr offset =
      getLinearOffset(store.getMemRefType(), store.getMap(), sizes);
  ValueRange indices = store.getIndices();
  auto address = [&](int64_t lane) {
    return emitAddress(store, offset, indices, lane);
  };
  if (!laneVariable) {
    storeTo(address(0), values.lookup(store.getValue()));
    return;
  }
  Value wide = getWide(store.getValue());
  if (getStep(offset, indices, laneVariable) == 1) {
    storeTo(address(0), wide);
    return;
  }
  for (int64_t lane = 0; lane < laneCount; ++lane)
    storeTo(address(lane), vector::ExtractOp::create(builder, loc, wide, lane));
}

void KernelEmitter::emitFor(ForOp loop) {
  int64_t extent = loop.getExtent();
  Value from = getIndex(0), to = getNumber(extent);
  if (extent >= laneCount && !laneVariable && shouldWiden(loop, sizes)) {
    Value rest = arith::RemUIOp::create(builder, loc, to, getIndex(laneCount));
    Value wideEnd = arith::SubIOp::create(builder, loc, to, rest);
    laneVariable = loop.getInductionVar();
    emitForRange(loop, from, wideEnd, laneCount);
    laneVariable = nullptr;
    if (extent % laneCount == 0)
      return;
    from = wideEnd;
  }
  emitForRange(loop, from, to, 1);
}

void KernelEmitter::emitForRange(ForOp loop, Value from, Value to,
                                 int64_t step) {
  auto serial = scf::ForOp::create(builder, loc, from, to, getIndex(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(serial.getBody());
  values.map(loop.getInductionVar(), serial.getInductionVar());
  emitOps(*loop.getBody());
}
