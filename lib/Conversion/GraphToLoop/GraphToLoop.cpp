// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function of graph.fused becomes a launch plan and one loop.kernel for each.
//
//   func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
//     %y = graph.fused @double (%a = %x) -> (tensor<8xf32>) {...}
//     return %y
//   }
//
// becomes
//
//   func.func @main(%x: memref<8xf32>, %y: memref<8xf32> {loop.result}) {
//     loop.launch @double(%x, %y)
//     return
//   }
//   loop.kernel @double(%x: memref<8xf32>, %y: memref<8xf32>) {...}
//
// It is legal because graph values are immutable: each is stored once, by the
// kernel that computes it, before any kernel that loads it is launched.

#include "KernelEmitter.h"
#include "KernelLoops.h"
#include "deplo/Analysis/AffineRanges.h"
#include "deplo/Conversion/Passes.h"
#include "deplo/Dialect/Graph/IR/Shape.h"
#include "deplo/Dialect/Loop/IR/Loop.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"

#define DEBUG_TYPE "deplo-graph-to-loop"

using namespace mlir;

namespace deplo {

#define GEN_PASS_DEF_GRAPHTOLOOPPASS
#include "deplo/Conversion/Passes.h.inc"

using graph::FusedOp;
using graph::KernelLoops;

namespace {

/// Builds the launch plan of one function.
class PlanBuilder {
public:
  PlanBuilder(func::FuncOp function, SymbolTable &symbols)
      : function(function), symbols(symbols), builder(function.getContext()) {}

  LogicalResult run();

private:
  LogicalResult checkOperations();
  void createPlan();
  LogicalResult launch(FusedOp fused);
  SmallVector<Value> getOutputBuffers(FusedOp fused);
  Value getView(Value buffer, const BufferView &view, Location loc);

  func::FuncOp function;
  func::FuncOp plan;
  SymbolTable &symbols;
  OpBuilder builder;
  /// Where the tensors of `function` are in `plan`.
  llvm::DenseMap<Value, Value> buffers;
  llvm::DenseMap<Value, unsigned> resultOf;
  Operation *lastKernel = nullptr;
};

} // namespace

/// A result must be stored by a kernel: an empty one is stored by none.
static bool isEmpty(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements() == 0;
}

LogicalResult PlanBuilder::checkOperations() {
  if (failed(graph::verifyOneBlock(function, DEBUG_TYPE)))
    return failure();
  for (Type type : llvm::concat<const Type>(function.getArgumentTypes(),
                                            function.getResultTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return function.emitOpError()
             << "takes or returns " << type
             << ", deplo-graph-to-loop needs tensors of fixed sizes";
  }
  Operation *terminator = function.getBody().front().getTerminator();
  for (Operation &op : function.getBody().front().without_terminator()) {
    bool isLowered = isa<FusedOp>(op) ||
                     (isa<graph::ConstantOp>(op) && isEmpty(op.getResult(0)));
    if (!isLowered)
      return op.emitOpError("is not in a graph.fused, run deplo-fuse-vertical "
                            "before deplo-graph-to-loop");
  }
  for (auto [index, result] : llvm::enumerate(terminator->getOperands())) {
    if (isEmpty(result))
      continue;
    bool isComputed = result.getDefiningOp<FusedOp>() != nullptr;
    if (!isComputed || !resultOf.try_emplace(result, index).second)
      return terminator->emitOpError()
             << "operand " << index << " is not computed by a kernel of its "
             << "own, run deplo-fuse-vertical before deplo-graph-to-loop";
  }
  return success();
}

static MemRefType getBufferType(Type tensor, DenseI64ArrayAttr strides = {}) {
  auto type = cast<RankedTensorType>(tensor);
  MemRefLayoutAttrInterface layout;
  if (strides &&
      strides.asArrayRef() != ArrayRef(getRowMajorStrides(type.getShape())))
    layout = StridedLayoutAttr::get(type.getContext(), /*offset=*/0,
                                    strides.asArrayRef());
  // A bool is a byte in memory.
  Type element = type.getElementType();
  if (element.isInteger(1))
    element = IntegerType::get(type.getContext(), 8);
  return MemRefType::get(type.getShape(), element, layout);
}

/// What callers call elements whose type in memory does not say it.
static void addDtype(Type tensor, DictionaryAttr attributes,
                     NamedAttrList &kept) {
  bool isUnsigned = attributes && attributes.get("graph.unsigned");
  bool isBool = getElementTypeOrSelf(tensor).isInteger(1);
  kept.erase("graph.unsigned");
  if (isBool || isUnsigned)
    kept.set("loop.dtype",
             StringAttr::get(tensor.getContext(), isBool ? "bool" : "u8"));
}

/// The plan: arguments become memrefs, results become more of them.
void PlanBuilder::createPlan() {
  Block &body = function.getBody().front();
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<Location> locs;
  for (BlockArgument argument : body.getArguments()) {
    unsigned index = argument.getArgNumber();
    types.push_back(getBufferType(
        argument.getType(),
        function.getArgAttrOfType<DenseI64ArrayAttr>(index, "graph.strides")));
    NamedAttrList kept(function.getArgAttrDict(index));
    kept.erase("graph.strides");
    addDtype(argument.getType(), function.getArgAttrDict(index), kept);
    attributes.push_back(kept.getDictionary(builder.getContext()));
    locs.push_back(argument.getLoc());
  }
  for (auto [index, result] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    types.push_back(getBufferType(result.getType()));
    NamedAttrList kept;
    kept.set("loop.result", builder.getUnitAttr());
    addDtype(result.getType(), function.getResultAttrDict(index), kept);
    attributes.push_back(kept.getDictionary(builder.getContext()));
    locs.push_back(result.getLoc());
  }
  builder.setInsertionPoint(function);
  plan = func::FuncOp::create(builder, function.getLoc(), function.getName(),
                              builder.getFunctionType(types, {}));
  plan.setVisibility(function.getVisibility());
  plan->setDiscardableAttrs(function->getDiscardableAttrDictionary());
  plan.setAllArgAttrs(attributes);
  builder.createBlock(&plan.getBody(), {}, types, locs);
  for (BlockArgument argument : body.getArguments())
    buffers[argument] = plan.getArgument(argument.getArgNumber());
}

/// Where `fused` stores its results: in arguments of the plan, or in
/// temporaries.
SmallVector<Value> PlanBuilder::getOutputBuffers(FusedOp fused) {
  SmallVector<Value> outputs;
  for (Value output : fused.getOutputs()) {
    auto result = resultOf.find(output);
    Value buffer;
    if (result != resultOf.end())
      buffer = plan.getArgument(function.getNumArguments() + result->second);
    else
      buffer = memref::AllocOp::create(builder, output.getLoc(),
                                       getBufferType(output.getType()));
    buffers[output] = buffer;
    outputs.push_back(buffer);
  }
  return outputs;
}

/// What `buffer` is called: the name in the source program, y for results, t
/// for temporaries.
static Location getNamedLoc(Value buffer) {
  while (Operation *op = buffer.getDefiningOp()) {
    if (isa<memref::AllocOp>(op))
      break;
    buffer = op->getOperand(0); // a view
  }
  auto getLoc = [&](StringRef name) {
    return NameLoc::get(StringAttr::get(buffer.getContext(), name),
                        buffer.getLoc());
  };
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (!argument)
    return getLoc("t");
  auto plan = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  unsigned index = argument.getArgNumber();
  if (plan.getArgAttr(index, "loop.result"))
    return getLoc("y");
  if (auto name = plan.getArgAttrOfType<StringAttr>(index, "graph.name");
      name && !name.empty())
    return getLoc(name.getValue());
  return getLoc("x");
}

static SmallVector<ReassociationIndices>
getReassociation(const BufferView::Runs &runs) {
  SmallVector<ReassociationIndices> reassociation;
  for (ArrayRef<int64_t> run : runs)
    reassociation.emplace_back(run);
  return reassociation;
}

/// `buffer` in the shape of `view`.
Value PlanBuilder::getView(Value buffer, const BufferView &view, Location loc) {
  if (view.merges())
    buffer = memref::CollapseShapeOp::create(builder, loc, buffer,
                                             getReassociation(view.merged));
  if (view.divides())
    buffer = memref::ExpandShapeOp::create(builder, loc, view.shape, buffer,
                                           getReassociation(view.divided));
  return buffer;
}

static void emitRemark(Location loc, loop::KernelOp kernel,
                       const KernelLoops &loops) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "@" << kernel.getSymName() << ": parallel loops [";
  llvm::interleaveComma(loops.parallel, os,
                        [&](unsigned loop) { os << loops.getExtent(loop); });
  auto reductions =
      llvm::count_if(loops.items, [](const KernelLoops::Item &item) {
        return item.primitive.isReduction();
      });
  auto views =
      llvm::count_if(loops.accesses, [](const graph::BufferAccess &access) {
        return access.view.merges() || access.view.divides();
      });
  os << "], " << reductions << " reductions, " << kernel.getArguments().size()
     << " buffers, " << views << " accesses through a view";
  remark::analysis(loc, remark::RemarkOpts::name("Kernel")
                            .category(DEBUG_TYPE)
                            .function(kernel.getSymName()))
      << text;
}

LogicalResult PlanBuilder::launch(FusedOp fused) {
  SmallVector<Value> inputs;
  for (Value input : fused.getInputs())
    inputs.push_back(buffers.lookup(input));
  FailureOr<KernelLoops> loops =
      KernelLoops::get(fused, inputs, getOutputBuffers(fused));
  if (failed(loops))
    return failure();
  // One argument for each buffer and shape it is seen in.
  SmallVector<Value> arguments;
  SmallVector<std::pair<Value, SmallVector<int64_t>>> seen;
  SmallVector<unsigned> argumentOf;
  for (const graph::BufferAccess &access : loops->accesses) {
    std::pair<Value, SmallVector<int64_t>> key{access.buffer,
                                               access.view.shape};
    auto *at = llvm::find(seen, key);
    argumentOf.push_back(at - seen.begin());
    if (at != seen.end())
      continue;
    seen.push_back(key);
    arguments.push_back(getView(access.buffer, access.view, fused.getLoc()));
  }
  OpBuilder kernelBuilder(builder.getContext());
  kernelBuilder.setInsertionPointAfter(lastKernel);
  graph::KernelEmitter emitter(kernelBuilder, fused.getLoc(), *loops);
  loop::KernelOp kernel = emitter.emit(
      fused.getKernel(), llvm::to_vector(ValueRange(arguments).getTypes()),
      argumentOf);
  for (auto [argument, buffer] :
       llvm::zip_equal(kernel.getArguments(), arguments))
    argument.setLoc(getNamedLoc(buffer));
  symbols.insert(kernel, Block::iterator(std::next(lastKernel->getIterator())));
  lastKernel = kernel;
  emitRemark(fused.getLoc(), kernel, *loops);
  loop::LaunchOp::create(builder, fused.getLoc(), TypeRange(),
                         FlatSymbolRefAttr::get(kernel.getSymNameAttr()),
                         arguments);
  return success();
}

LogicalResult PlanBuilder::run() {
  if (failed(checkOperations()))
    return failure();
  symbols.remove(function);
  createPlan();
  symbols.insert(plan, Block::iterator(function));
  lastKernel = function;
  for (FusedOp fused : function.getOps<FusedOp>())
    if (failed(launch(fused)))
      return failure();
  func::ReturnOp::create(builder, function.getLoc());
  function.erase();
  return success();
}

namespace {
struct GraphToLoopPass : impl::GraphToLoopPassBase<GraphToLoopPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    auto isOnTensors = [](func::FuncOp function) {
      return !function.isExternal() &&
             (llvm::any_of(function.getArgumentTypes(),
                           llvm::IsaPred<TensorType>) ||
              llvm::any_of(function.getResultTypes(),
                           llvm::IsaPred<TensorType>));
    };
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (isOnTensors(function) && failed(PlanBuilder(function, symbols).run()))
        return signalPassFailure();
  }
};
} // namespace

} // namespace deplo
