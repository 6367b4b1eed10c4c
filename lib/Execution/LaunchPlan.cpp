// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Execution/LaunchPlan.h"

#include "deplo/Dialect/Loop/IR/Prepared.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace deplo;

using runtime::LaunchArgument;
using runtime::TensorInfo;

/// Temporaries start at multiples of this: what the widest copies want.
static constexpr uint64_t tempAlignment = 256;

//===----------------------------------------------------------------------===//
// The plan and its memory
//===----------------------------------------------------------------------===//

std::vector<std::string> LaunchPlan::getKernels() const {
  std::vector<std::string> kernels;
  for (const Launch &launch : launches)
    if (!llvm::is_contained(kernels, launch.kernel))
      kernels.push_back(launch.kernel);
  return kernels;
}

void LaunchPlan::writeBuffers(runtime::Manifest &manifest) const {
  manifest.inputs = inputs;
  manifest.outputs = outputs;
  manifest.sizes = sizes;
  manifest.scratch = scratch;
  manifest.temps = temps;
  manifest.arenaBytes = arenaBytes;
  manifest.preparedBytes = preparedBytes;
}

void LaunchPlan::write(runtime::Manifest &manifest,
                       ArrayRef<std::string> kernels) const {
  writeBuffers(manifest);
  manifest.launches.clear();
  for (const Launch &launch : launches)
    manifest.launches.push_back(
        {uint32_t(llvm::find(kernels, launch.kernel) - kernels.begin()),
         launch.args, launch.isPrepared});
}

uint64_t deplo::planArena(ArrayRef<Lifetime> lifetimes, uint64_t alignment,
                          std::vector<uint64_t> &offsets) {
  offsets.assign(lifetimes.size(), 0);
  SmallVector<size_t> order = llvm::to_vector(llvm::seq(lifetimes.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    return lifetimes[a].bytes != lifetimes[b].bytes
               ? lifetimes[a].bytes > lifetimes[b].bytes
               : a < b;
  });
  uint64_t total = 0;
  SmallVector<size_t> placed; // by offset
  for (size_t number : order) {
    const Lifetime &life = lifetimes[number];
    uint64_t offset = 0;
    for (size_t other : placed) {
      bool together = lifetimes[other].first <= life.last &&
                      life.first <= lifetimes[other].last;
      if (!together)
        continue;
      if (offset + life.bytes <= offsets[other])
        break;
      offset = std::max(
          offset,
          llvm::alignTo(offsets[other] + lifetimes[other].bytes, alignment));
    }
    offsets[number] = offset;
    total = std::max(total, llvm::alignTo(offset + life.bytes, alignment));
    auto *place = llvm::partition_point(
        placed, [&](size_t other) { return offsets[other] <= offset; });
    placed.insert(place, number);
  }
  return total;
}

//===----------------------------------------------------------------------===//
// Extraction
//===----------------------------------------------------------------------===//

static FailureOr<func::FuncOp> findPlan(ModuleOp module) {
  if (auto main = module.lookupSymbol<func::FuncOp>("main"))
    return main;
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  if (functions.size() == 1)
    return functions.front();
  return module.emitError() << "has " << functions.size()
                            << " functions, expected one called @main with the "
                               "launches";
}

/// The name of an element type in packages; empty if it has none.
static StringRef getDtype(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    switch (integer.getWidth()) {
    case 1:
      return "bool";
    case 8:
      return integer.isUnsigned() ? "u8" : "i8";
    case 16:
      return "i16";
    case 32:
      return "i32";
    case 64:
      return "i64";
    default:
      return "";
    }
  if (type.isF64())
    return "f64";
  if (type.isF32())
    return "f32";
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (isa<Float8E4M3FNType>(type))
    return "f8e4m3fn";
  if (isa<Float8E5M2Type>(type))
    return "f8e5m2";
  return "";
}

namespace {

class PlanExtractor {
public:
  PlanExtractor(func::FuncOp function, int64_t alignment)
      : function(function), alignment(alignment) {}

  FailureOr<LaunchPlan> extract();

private:
  LogicalResult addArguments();
  LogicalResult addLaunch(loop::LaunchOp launch);
  LogicalResult addTemps();
  void makeTempsOutputs();
  FailureOr<TensorInfo> describe(unsigned number, StringRef fallback);
  FailureOr<Value> getBuffer(loop::LaunchOp launch, Value operand);

  /// A temporary while its life is being found.
  struct Temp {
    memref::AllocOp alloc;
    Lifetime life;
    bool isPrepared;
  };

  func::FuncOp function;
  int64_t alignment;
  LaunchPlan plan;
  llvm::DenseMap<Value, LaunchArgument> buffers;
  SmallVector<Temp> temps;
};

} // namespace

FailureOr<TensorInfo> PlanExtractor::describe(unsigned number,
                                              StringRef fallback) {
  auto type = dyn_cast<MemRefType>(function.getArgumentTypes()[number]);
  auto fail = [&](const Twine &what) {
    return function.emitOpError()
           << "argument " << number << " of type "
           << function.getArgumentTypes()[number] << " " << what;
  };
  if (!type || !type.hasStaticShape())
    return fail("is not a memref of static shape, which a launch plan needs");
  auto named = function.getArgAttrOfType<StringAttr>(number, "loop.dtype");
  StringRef dtype = named && type.getElementType().isInteger(8)
                        ? named.getValue()
                        : getDtype(type.getElementType());
  if (dtype.empty())
    return fail("has elements that packages have no name for");
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  bool isStrided = true;
  // MLIR gives no strides for an identity layout with an empty dimension.
  if (type.getLayout().isIdentity())
    strides = computeSuffixProduct(type.getShape());
  else
    isStrided = succeeded(type.getStridesAndOffset(strides, offset));
  if (!isStrided || offset != 0 || llvm::any_of(strides, [](int64_t s) {
        return ShapedType::isDynamic(s) || s < 0;
      }))
    return fail(
        "is not laid out by static, non-negative strides from offset 0");
  TensorInfo tensor;
  auto name = function.getArgAttrOfType<StringAttr>(number, "graph.name");
  tensor.name = name ? name.str() : (fallback + Twine(number)).str();
  tensor.dtype = dtype.str();
  tensor.shape.assign(type.getShape().begin(), type.getShape().end());
  tensor.strides.assign(strides.begin(), strides.end());
  tensor.alignment = std::max(alignment, *runtime::dtypeBytes(tensor.dtype));
  return tensor;
}

LogicalResult PlanExtractor::addArguments() {
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    bool isResult = bool(function.getArgAttr(number, "loop.result"));
    if (!isResult && !plan.outputs.empty())
      return function.emitOpError()
             << "argument " << number
             << " is an input behind a result; results come last";
    FailureOr<TensorInfo> tensor =
        describe(number, isResult ? "result" : "arg");
    if (failed(tensor))
      return failure();
    std::vector<TensorInfo> &list = isResult ? plan.outputs : plan.inputs;
    buffers[argument] = {isResult ? LaunchArgument::Kind::Output
                                  : LaunchArgument::Kind::Input,
                         uint32_t(list.size())};
    list.push_back(std::move(*tensor));
  }
  return success();
}

/// Follows views from `operand` to an argument or an allocation.
FailureOr<Value> PlanExtractor::getBuffer(loop::LaunchOp launch,
                                          Value operand) {
  Value buffer = operand;
  while (Operation *definition = buffer.getDefiningOp()) {
    if (isa<memref::AllocOp>(definition))
      break;
    auto view = dyn_cast<ViewLikeOpInterface>(definition);
    if (!view || isa<memref::ViewOp>(definition)) {
      InFlightDiagnostic diagnostic = launch.emitOpError(
          "passes a buffer that is no argument, memref.alloc "
          "or view of one");
      diagnostic.attachNote(definition->getLoc()) << "it is made here";
      return diagnostic;
    }
    buffer = view.getViewSource();
  }
  // Offsets of views are counted from the start of the buffer.
  auto type = cast<MemRefType>(operand.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || offset != 0)
    return launch.emitOpError()
           << "passes a view of type " << type
           << ", which does not start where its buffer starts; copy it first";
  return buffer;
}

LogicalResult PlanExtractor::addLaunch(loop::LaunchOp launch) {
  size_t number = plan.launches.size();
  LaunchPlan::Launch planned{
      launch.getKernel().str(), {}, loop::isPrepared(launch)};
  if (planned.isPrepared && !plan.sizes.empty())
    return launch.emitOpError("is prepared, which no launch can be where calls "
                              "give sizes");
  for (Value operand : launch.getBuffers()) {
    FailureOr<Value> buffer = getBuffer(launch, operand);
    if (failed(buffer))
      return failure();
    auto [entry, isNew] =
        buffers.try_emplace(*buffer, LaunchArgument{LaunchArgument::Kind::Temp,
                                                    uint32_t(temps.size())});
    if (isNew)
      temps.push_back({buffer->getDefiningOp<memref::AllocOp>(),
                       {number, number, 0},
                       planned.isPrepared});
    LaunchArgument argument = entry->second;
    if (argument.kind == LaunchArgument::Kind::Temp) {
      if (planned.isPrepared && !temps[argument.index].isPrepared)
        return launch.emitOpError("is prepared, but passes a temporary of a "
                                  "launch that is not");
      temps[argument.index].life.last = number;
    }
    planned.args.push_back(argument);
  }
  for (uint32_t size = 0; size < plan.sizes.size(); ++size)
    planned.args.push_back({LaunchArgument::Kind::Size, size});
  plan.launches.push_back(std::move(planned));
  return success();
}

/// How much memory temporaries take depends on sizes: the caller, who knows
/// them, provides it.
void PlanExtractor::makeTempsOutputs() {
  uint32_t first = plan.outputs.size();
  for (Temp &temp : temps) {
    MemRefType type = temp.alloc.getType();
    TensorInfo tensor;
    tensor.dtype = getDtype(type.getElementType()).str();
    tensor.shape.assign(type.getShape().begin(), type.getShape().end());
    SmallVector<int64_t> strides = computeSuffixProduct(type.getShape());
    tensor.strides.assign(strides.begin(), strides.end());
    tensor.alignment = std::max(alignment, *runtime::dtypeBytes(tensor.dtype));
    plan.outputs.push_back(std::move(tensor));
  }
  for (LaunchPlan::Launch &launch : plan.launches)
    for (LaunchArgument &argument : launch.args)
      if (argument.kind == LaunchArgument::Kind::Temp)
        argument = {LaunchArgument::Kind::Output, first + argument.index};
  plan.scratch = temps.size();
  plan.temps.clear();
  plan.arenaBytes = 0;
}

LogicalResult PlanExtractor::addTemps() {
  // Of a call, and of all calls, which live at the same time.
  SmallVector<Lifetime> lifetimes, prepared;
  for (Temp &temp : temps) {
    MemRefType type = temp.alloc.getType();
    StringRef dtype = getDtype(type.getElementType());
    if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
        dtype.empty())
      return temp.alloc.emitOpError()
             << "of type " << type
             << " is no row-major memref of static shape and known elements";
    temp.life.bytes = type.getNumElements() * *runtime::dtypeBytes(dtype.str());
    if (temp.isPrepared)
      prepared.push_back({0, 0, temp.life.bytes});
    else
      lifetimes.push_back(temp.life);
  }
  std::vector<uint64_t> offsets, preparedOffsets;
  uint64_t bytesOfCall = planArena(lifetimes, tempAlignment, offsets);
  plan.preparedBytes = planArena(prepared, tempAlignment, preparedOffsets);
  plan.arenaBytes = bytesOfCall + plan.preparedBytes;
  const uint64_t *next = offsets.data(), *nextPrepared = preparedOffsets.data();
  for (Temp &temp : temps)
    plan.temps.push_back(
        {temp.isPrepared ? bytesOfCall + *nextPrepared++ : *next++,
         temp.life.bytes});
  return success();
}

FailureOr<LaunchPlan> PlanExtractor::extract() {
  if (function.isExternal() || !function.getBody().hasOneBlock() ||
      function.getNumResults() != 0)
    return function.emitOpError(
        "is no launch plan: expected one block and results as arguments marked "
        "loop.result");
  SymbolicSizes sizes = SymbolicSizes::get(function);
  for (const SymbolicSize &size : sizes.getSizes())
    plan.sizes.push_back({size.name, size.generic, size.min, size.max});
  if (failed(addArguments()))
    return failure();
  for (Operation &op : function.getBody().front()) {
    if (auto launch = dyn_cast<loop::LaunchOp>(op)) {
      if (failed(addLaunch(launch)))
        return failure();
    } else if (!isa<memref::AllocOp, memref::DeallocOp, func::ReturnOp,
                    ViewLikeOpInterface>(op) &&
               !op.hasTrait<OpTrait::ConstantLike>()) {
      return op.emitOpError("has no place in a launch plan, which holds "
                            "allocations, views and launches");
    }
  }
  if (failed(addTemps()))
    return failure();
  if (!sizes.empty())
    makeTempsOutputs();
  return std::move(plan);
}

FailureOr<LaunchPlan> deplo::extractLaunchPlan(ModuleOp module,
                                               int64_t alignment) {
  FailureOr<func::FuncOp> function = findPlan(module);
  if (failed(function))
    return failure();
  return PlanExtractor(*function, alignment).extract();
}
