// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Interpreter/Interpreter.h"

#include "InterpreterImpl.h"

#include "deplo/Dialect/Tile/IR/TileCluster.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace deplo {
namespace interpreter {

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

static Numbers getConstant(Attribute value) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return {getNumber(value)};
  Numbers result;
  for (Attribute element : dense.getValues<Attribute>())
    result.push_back(getNumber(element));
  return result;
}

LogicalResult Interpreter::runElementwise(Operation *op) {
  ScalarFunction function = getScalarFunction(op);
  if (!function || op->getNumOperands() > 3)
    return op->emitOpError("is unknown to the interpreter");
  Numbers result(getSize(getShape(op->getResult(0).getType())));
  SmallVector<const Numbers *> operands;
  for (Value operand : op->getOperands())
    operands.push_back(&numbers.find(operand)->second);
  for (size_t i = 0; i < result.size(); ++i) {
    Number elements[3];
    // A condition may be one for the whole tile.
    for (auto [k, operand] : llvm::enumerate(operands))
      elements[k] = (*operand)[operand->size() == 1 ? 0 : i];
    result[i] = function(elements);
  }
  numbers[op->getResult(0)] = std::move(result);
  return success();
}

LogicalResult Interpreter::runLoop(scf::ForOp loop) {
  int64_t upper = getIndex(loop.getUpperBound()),
          step = getIndex(loop.getStep());
  if (step < 1)
    return loop.emitError()
           << "has step " << step << ", expected a positive one";
  auto assign = [&](ValueRange from, ValueRange to) {
    std::vector<Numbers> values;
    SmallVector<std::shared_ptr<Shared>> tokens;
    for (Value value : from) {
      bool isToken = isa<tile::TokenType>(value.getType());
      values.push_back(isToken ? Numbers() : numbers.find(value)->second);
      tokens.push_back(isToken ? buffers.lookup(value) : nullptr);
    }
    for (auto [value, token, target] : llvm::zip(values, tokens, to))
      if (token)
        buffers[target] = token;
      else
        numbers[target] = value;
  };
  assign(loop.getInitArgs(), loop.getRegionIterArgs());
  for (int64_t i = getIndex(loop.getLowerBound()); i < upper; i += step) {
    setIndex(loop.getInductionVar(), i);
    if (failed(run(*loop.getBody())))
      return failure();
    assign(loop.getYieldedValues(), loop.getRegionIterArgs());
  }
  assign(loop.getRegionIterArgs(), loop.getResults());
  return success();
}

LogicalResult Interpreter::runReduce(loop::ReduceOp reduce) {
  SmallVector<Monoid> kinds = reduce.getMonoids();
  SmallVector<Numbers> results;
  for (auto [kind, result] : llvm::zip(kinds, reduce.getResults())) {
    Number identity =
        getNumber(getIdentity(kind, getElementTypeOrSelf(result.getType())));
    results.emplace_back(getSize(getShape(result.getType())), identity);
  }
  int64_t first = reduce.getPart() ? getIndex(reduce.getPart()) : 0;
  int64_t extent = reduce.getExtent(), step = reduce.getParts().value_or(1);
  for (int64_t k = first; k < extent; k += step) {
    setIndex(reduce.getInductionVar(), k);
    if (failed(run(*reduce.getBody())))
      return failure();
    for (auto [kind, value, result] :
         llvm::zip(kinds, reduce.getBody()->getTerminator()->getOperands(),
                   results)) {
      ScalarFunction combine =
          getScalarFunction(kind, getElementTypeOrSelf(value.getType()));
      const Numbers &numbersOfValue = numbers.find(value)->second;
      for (auto [i, element] : llvm::enumerate(result)) {
        Number operands[2] = {element, numbersOfValue[i]};
        element = combine(operands);
      }
    }
  }
  for (auto [value, result] : llvm::zip(reduce.getResults(), results))
    numbers[value] = std::move(result);
  return success();
}

LogicalResult Interpreter::runScan(loop::ScanOp scan) {
  for (auto op : scan.getBody()->getOps<loop::RunningOp>())
    running[op] = getNumber(getIdentity(op.getKind(), op.getType()));
  for (int64_t k = 0, extent = scan.getExtent(); k < extent; ++k) {
    setIndex(scan.getInductionVar(), k);
    if (failed(run(*scan.getBody())))
      return failure();
  }
  return success();
}

void Interpreter::runRunning(loop::RunningOp op) {
  Number operands[2] = {running[op],
                        numbers.find(op.getValue())->second.front()};
  running[op] = getScalarFunction(op.getKind(), op.getType())(operands);
  numbers[op.getResult()] = {running[op]};
}

LogicalResult Interpreter::run(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<scf::YieldOp, loop::YieldOp, func::ReturnOp>(
          [](auto) { return success(); })
      .Case([&](arith::ConstantOp constant) {
        numbers[constant.getResult()] = getConstant(constant.getValue());
        return success();
      })
      .Case([&](scf::ForOp loop) { return runLoop(loop); })
      .Case([&](loop::ReduceOp reduce) { return runReduce(reduce); })
      .Case([&](loop::ScanOp scan) { return runScan(scan); })
      .Case([&](loop::RunningOp op) {
        runRunning(op);
        return success();
      })
      .Case([&](loop::ForOp loop) {
        for (int64_t i = 0, extent = loop.getExtent(); i < extent; ++i) {
          setIndex(loop.getInductionVar(), i);
          if (failed(run(*loop.getBody())))
            return failure();
        }
        return success();
      })
      .Case([&](loop::LoadOp load) {
        if (Value condition = load.getCondition())
          if (numbers.find(condition)->second.front().integer == 0) {
            Numbers otherwise = numbers.find(load.getOtherwise())->second;
            numbers[load.getResult()] = std::move(otherwise);
            return success();
          }
        Number element;
        LogicalResult done = runAccess(op, load.getMemref(), load.getIndices(),
                                       load.getMap(), element, false);
        numbers[load.getResult()] = {element};
        return done;
      })
      .Case([&](loop::StoreOp store) {
        Number element = numbers.find(store.getValue())->second.front();
        return runAccess(op, store.getMemref(), store.getIndices(),
                         store.getMap(), element, true);
      })
      .Default([&](Operation *op) {
        if (isa<tile::TileDialect>(op->getDialect()))
          return runTile(op);
        if (isa<memref::MemRefDialect, loop::LoopDialect>(op->getDialect()))
          return runPlan(op);
        return runElementwise(op);
      });
}

LogicalResult Interpreter::run(Block &block) {
  for (Operation &op : block)
    if (failed(run(&op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels and plans
//===----------------------------------------------------------------------===//

/// Runs the blocks of a cluster one operation at a time: what combines them is
/// among the kernel's own operations.
LogicalResult Interpreter::runCluster(tile::KernelOp kernel, unsigned axis) {
  struct State {
    DenseMap<Value, Numbers> numbers;
    DenseMap<Value, std::shared_ptr<Shared>> buffers;
  };
  SmallVector<State> states;
  for (int64_t i = 0; i < kernel.getClusterBlocks(); ++i) {
    setIndex(kernel.getAxisValues()[axis], i * kernel.getAxis(axis).getStep());
    states.emplace_back().numbers = numbers;
  }
  for (Operation &op : *kernel.getBody()) {
    if (auto reduce = dyn_cast<tile::ClusterReduceOp>(op)) {
      for (auto [kind, input, result] : llvm::zip(
               reduce.getMonoids(), reduce.getInputs(), reduce.getResults())) {
        ScalarFunction combine =
            getScalarFunction(kind, getElementTypeOrSelf(input.getType()));
        Numbers total = states.front().numbers.find(input)->second;
        for (State &state : llvm::drop_begin(states))
          for (auto [element, part] :
               llvm::zip_equal(total, state.numbers.find(input)->second)) {
            Number operands[2] = {element, part};
            element = combine(operands);
          }
        for (State &state : states)
          state.numbers[result] = total;
      }
      continue;
    }
    if (auto scatter = dyn_cast<tile::ClusterReduceScatterOp>(op)) {
      Numbers total = states.front().numbers.find(scatter.getInput())->second;
      ScalarFunction add = getScalarFunction(
          Monoid::Add, getElementTypeOrSelf(scatter.getInput().getType()));
      for (State &state : llvm::drop_begin(states))
        for (auto [element, part] : llvm::zip_equal(
                 total, state.numbers.find(scatter.getInput())->second)) {
          Number operands[2] = {element, part};
          element = add(operands);
        }
      // Runs of a part's elements, one after the other in each whole.
      auto part = scatter.getResult().getType();
      size_t run = 1;
      for (int64_t size : part.getShape().drop_front(scatter.getDim()))
        run *= size;
      for (auto [block, state] : llvm::enumerate(states)) {
        Numbers &own = state.numbers[scatter.getResult()];
        own.clear();
        for (size_t at = block * run; at < total.size();
             at += run * states.size())
          own.insert(own.end(), total.begin() + at, total.begin() + at + run);
      }
      continue;
    }
    for (State &state : states) {
      std::swap(numbers, state.numbers);
      std::swap(buffers, state.buffers);
      if (failed(run(&op)))
        return failure();
      std::swap(numbers, state.numbers);
      std::swap(buffers, state.buffers);
    }
  }
  return success();
}

LogicalResult Interpreter::runBlocks(tile::KernelOp kernel, unsigned axis) {
  if (axis == kernel.getClusterAxis())
    return runCluster(kernel, axis);
  if (axis == kernel.getAxes().size()) {
    buffers.clear();
    slots.clear();
    return run(*kernel.getBody());
  }
  for (int64_t i = 0; i < kernel.getAxis(axis).getBlocks(); ++i) {
    setIndex(kernel.getAxisValues()[axis], i * kernel.getAxis(axis).getStep());
    if (failed(runBlocks(kernel, axis + 1)))
      return failure();
  }
  return success();
}

LogicalResult Interpreter::run(Operation *kernel, ArrayRef<View> arguments) {
  if (!isa<loop::KernelOp, tile::KernelOp>(kernel))
    return kernel->emitError("is not a loop.kernel or tile.kernel");
  Block &body = kernel->getRegion(0).front();
  for (auto [value, view] : llvm::zip(body.getArguments(), arguments)) {
    View asDeclared(*view.elements, cast<MemRefType>(value.getType()));
    views[value] = asDeclared;
  }
  if (auto tileKernel = dyn_cast<tile::KernelOp>(kernel))
    return runBlocks(tileKernel, 0);
  return run(body);
}

LogicalResult Interpreter::runPlan(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](memref::AllocOp alloc) {
        allocations.push_back(std::make_unique<HostArray>(alloc.getType()));
        views[alloc.getResult()] =
            View(allocations.back()->elements, alloc.getType());
        return success();
      })
      .Case<memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp,
            memref::ReinterpretCastOp, memref::SubViewOp>([&](auto view) {
        // Strides and offset of a static view are in its type.
        View source = views.lookup(view->getOperand(0));
        views[view->getResult(0)] = View(
            *source.elements, cast<MemRefType>(view->getResult(0).getType()));
        return success();
      })
      .Case([&](loop::LaunchOp launch) -> LogicalResult {
        Operation *kernel = SymbolTable::lookupNearestSymbolFrom(
            launch, launch.getKernelAttr());
        if (!kernel)
          return launch.emitError() << "launches " << launch.getKernelAttr()
                                    << ", which is not there";
        SmallVector<View> arguments =
            llvm::map_to_vector(launch.getBuffers(), [&](Value buffer) {
              return views.lookup(buffer);
            });
        return Interpreter().run(kernel, arguments);
      })
      .Default([](Operation *op) {
        return op->emitOpError("is unknown to the interpreter");
      });
}

LogicalResult Interpreter::run(func::FuncOp plan, ArrayRef<View> arguments) {
  for (auto [value, view] : llvm::zip(plan.getArguments(), arguments))
    views[value] = view;
  return run(plan.getBody().front());
}

/// Views of `arguments`, if they suit `types`.
static FailureOr<SmallVector<View>>
getViews(Operation *op, TypeRange types,
         MutableArrayRef<HostArray *> arguments) {
  if (types.size() != arguments.size())
    return op->emitError() << "takes " << types.size() << " memrefs, got "
                           << arguments.size();
  SmallVector<View> views;
  for (auto [type, argument] : llvm::zip(types, arguments)) {
    auto memref = cast<MemRefType>(type);
    if (memref.getElementType() != argument->type.getElementType())
      return op->emitError()
             << "takes " << memref << ", got " << argument->type;
    views.emplace_back(argument->elements, memref);
  }
  return views;
}

} // namespace interpreter

using namespace interpreter;

LogicalResult interpretKernel(Operation *kernel,
                              MutableArrayRef<HostArray *> arguments) {
  // The axes of a tile.kernel follow its memrefs.
  SmallVector<Type> types;
  for (Type type : kernel->getRegion(0).front().getArgumentTypes())
    if (isa<MemRefType>(type))
      types.push_back(type);
  FailureOr<SmallVector<View>> views = getViews(kernel, types, arguments);
  return failed(views) ? failure() : Interpreter().run(kernel, *views);
}

LogicalResult interpretPlan(func::FuncOp plan,
                            MutableArrayRef<HostArray *> arguments) {
  FailureOr<SmallVector<View>> views =
      getViews(plan, plan.getArgumentTypes(), arguments);
  return failed(views) ? failure() : Interpreter().run(plan, *views);
}

} // namespace deplo
