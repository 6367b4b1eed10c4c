// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fuse_pieces: the kernel that computes an operand writes its pieces as well.
//
//   loop.launch @norm(%x, %t)
//   loop.launch @pieces(%t, %s, %p)
//   loop.launch @mm(%t, %w, %y, %p, %q, %s, %u)
//
// becomes
//
//   loop.launch @norm(%x, %t, %s, %p)
//   loop.launch @mm(%t, %w, %y, %p, %q, %s, %u)
//
// with
//
//   loop.kernel @norm(%x, %t, %s, %p) {
//     loop.for %i = 0 to 2048 {
//       ...
//       %m = loop.reduce max %k = 0 to 1024 : f32 { |what %t[%i, %k] becomes| }
//       loop.store %root, %s[%i, 0]
//       loop.for %j = 0 to 1024 {
//         loop.store %v, %t[%i, %j]
//         loop.store %high, %p[0, %i, %j]
//         loop.store %low, %p[1, %i, %j]
//
// The value is computed again where the row is folded: where rows are on chip,
// both become one.
//
// Legality: the first kernel stores each element of a row once, in a loop along
// it, and what it stores needs no loop for each element. The second one goes
// over the same rows and loads elements of its own row only. So what it would
// load is a value of the same iteration of the rows. Pieces and scales are
// temporaries that nobody has read or written before, and no launch in between
// writes to the operand. A kernel without loops over rows, whose memrefs lie in
// memory as one row of all elements, gets those of the operand first.

#include "SchedulePins.h"
#include "deplo/Analysis/ScheduleModel.h"
#include "deplo/Dialect/Loop/IR/Prepared.h"
#include "deplo/Dialect/Loop/Transforms/Transforms.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "deplo-fuse-pieces"

namespace deplo::tile {
#define GEN_PASS_DEF_FUSEPIECESPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

//===----------------------------------------------------------------------===//
// Kernels of rows
//===----------------------------------------------------------------------===//

namespace {

/// Where a kernel stores the rows of an argument: `rows` are all loops around
/// `along`, in the order of the dimensions.
struct StoredRows {
  SmallVector<loop::ForOp> rows;
  loop::ForOp along;
  loop::StoreOp store;
};

} // namespace

static loop::ForOp getLoop(Value variable) {
  auto argument = dyn_cast<BlockArgument>(variable);
  return argument ? dyn_cast<loop::ForOp>(argument.getOwner()->getParentOp())
                  : loop::ForOp();
}

static std::optional<StoredRows> findStoredRows(BlockArgument memref,
                                                std::string &reason) {
  reason = "its kernel doesn't store whole rows in one loop";
  auto shape = cast<MemRefType>(memref.getType()).getShape();
  if (!memref.hasOneUse() || shape.empty())
    return std::nullopt;
  StoredRows stored;
  stored.store = dyn_cast<loop::StoreOp>(*memref.user_begin());
  if (!stored.store || !stored.store.getMap().isIdentity())
    return std::nullopt;
  for (auto [variable, extent] :
       llvm::zip_equal(stored.store.getIndices(), shape)) {
    loop::ForOp loop = getLoop(variable);
    if (!loop || int64_t(loop.getExtent()) != extent)
      return std::nullopt;
    stored.rows.push_back(loop);
  }
  Operation *inner = stored.store;
  for (loop::ForOp loop : llvm::reverse(stored.rows)) {
    if (inner->getParentOp() != loop.getOperation())
      return std::nullopt;
    inner = loop;
  }
  if (!isa<loop::KernelOp>(inner->getParentOp()))
    return std::nullopt;
  stored.along = stored.rows.pop_back_val();
  for (Operation &op : *stored.along.getBody())
    if (op.getNumRegions() > 0) {
      reason = "each of its elements is a sum of its own, and its rows are "
               "computed by several blocks";
      return std::nullopt;
    }
  return stored;
}

/// The loop along the row that `load` is of, if it is an element of the row
/// that the variables of `rows` say.
static Operation *findLoopAlong(loop::LoadOp load, ValueRange rows) {
  if (load.getCondition() || !load.getMap().isIdentity() ||
      load.getIndices().drop_back() != rows)
    return nullptr;
  auto variable = dyn_cast<BlockArgument>(load.getIndices().back());
  Operation *loop = variable ? variable.getOwner()->getParentOp() : nullptr;
  return isa_and_nonnull<loop::ForOp, loop::ReduceOp>(loop) &&
                 loop::getLoopExtent(loop) ==
                     load.getMemRefType().getShape().back()
             ? loop
             : nullptr;
}

/// The loops over the rows of the first argument of `kernel`, from the
/// outermost on, if it loads elements of its own row only.
static std::optional<SmallVector<loop::ForOp>>
findReadRows(loop::KernelOp kernel) {
  BlockArgument memref = kernel.getArguments()[0];
  auto shape = cast<MemRefType>(memref.getType()).getShape();
  SmallVector<loop::ForOp> rows;
  Block *block = kernel.getBody();
  for (int64_t extent : shape.drop_back()) {
    auto loops = block->getOps<loop::ForOp>();
    if (!llvm::hasSingleElement(loops) ||
        int64_t((*loops.begin()).getExtent()) != extent)
      return std::nullopt;
    rows.push_back(*loops.begin());
    for (Operation &op : *block)
      if (&op != rows.back().getOperation() && !isPure(&op))
        return std::nullopt;
    block = rows.back().getBody();
  }
  auto variables = llvm::map_to_vector(
      rows, [](loop::ForOp loop) -> Value { return loop.getInductionVar(); });
  for (Operation *user : memref.getUsers())
    if (auto load = dyn_cast<loop::LoadOp>(user);
        !load || !findLoopAlong(load, variables))
      return std::nullopt;
  return rows;
}

/// Clones what `value`, of the body of `loop`, is computed from in it, for the
/// iteration `variable`.
static Value cloneValue(OpBuilder &builder, loop::ForOp loop, Value value,
                        Value variable) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), variable);
  llvm::SmallPtrSet<Operation *, 16> needed;
  SmallVector<Value> worklist = {value};
  while (!worklist.empty())
    if (Operation *op = worklist.pop_back_val().getDefiningOp();
        op && op->getBlock() == loop.getBody() && needed.insert(op).second)
      llvm::append_range(worklist, op->getOperands());
  for (Operation &op : *loop.getBody())
    if (needed.contains(&op))
      builder.clone(op, mapping);
  return mapping.lookupOrDefault(value);
}

/// Has `writer`, which stores rows to argument `number`, do for each row what
/// `reader` does with rows of its first argument, whose other arguments come
/// behind those of `writer`.
static LogicalResult addReader(loop::KernelOp writer, unsigned number,
                               loop::KernelOp reader, std::string &reason) {
  auto stored = findStoredRows(writer.getArguments()[number], reason);
  if (!stored)
    return failure();
  auto rows = findReadRows(reader);
  if (!rows || rows->size() != stored->rows.size()) {
    reason = "pieces are not of rows that lie along its rows";
    return failure();
  }
  IRRewriter rewriter(writer.getContext());
  IRMapping mapping;
  for (BlockArgument argument : reader.getArguments().drop_front())
    mapping.map(argument, writer.getBody()->addArgument(argument.getType(),
                                                        argument.getLoc()));
  // Loads of it are of the kernel's own values, below.
  BlockArgument whole = writer.getArguments()[number];
  mapping.map(reader.getArguments()[0], whole);
  for (auto [own, other] : llvm::zip_equal(stored->rows, *rows))
    mapping.map(other.getInductionVar(), own.getInductionVar());
  rewriter.setInsertionPointAfter(stored->along);
  SmallVector<Operation *> cloned;
  Block *block = reader.getBody();
  for (size_t depth = 0;; ++depth) {
    Operation *inner = depth < rows->size() ? (*rows)[depth] : nullptr;
    for (Operation &op : *block)
      if (&op != inner)
        cloned.push_back(rewriter.clone(op, mapping));
    if (!inner)
      break;
    block = (*rows)[depth].getBody();
  }
  SmallVector<loop::ForOp> loops;
  for (Operation *op : cloned) {
    bool readsRow = false;
    op->walk([&](loop::LoadOp load) {
      if (load.getMemref() != whole)
        return;
      rewriter.setInsertionPoint(load);
      rewriter.replaceOp(load, cloneValue(rewriter, stored->along,
                                          stored->store.getValue(),
                                          load.getIndices().back()));
      readsRow = true;
    });
    if (auto loop = dyn_cast<loop::ForOp>(op); loop && readsRow)
      loops.push_back(loop);
  }
  for (loop::ForOp loop : loops) {
    StringRef why;
    (void)loop::fuseLoops(stored->along, loop, rewriter, why);
  }
  DominanceInfo dominance(writer);
  eliminateCommonSubExpressions(rewriter, dominance, writer);
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels of one loop over all elements
//===----------------------------------------------------------------------===//

/// Whether `memref` lies in memory as one row of `size` elements last.
static bool endsInRow(MemRefType type, int64_t size) {
  return type.getRank() > 0 && type.getLayout().isIdentity() &&
         type.getShape().back() == size;
}

/// The loop over all elements that `kernel` is, if its variable is a last
/// coordinate wherever it is used.
static loop::ForOp findFlatLoop(loop::KernelOp kernel) {
  auto loops = kernel.getBody()->getOps<loop::ForOp>();
  if (!llvm::hasSingleElement(loops))
    return {};
  loop::ForOp loop = *loops.begin();
  for (BlockArgument argument : kernel.getArguments()) {
    bool isRow =
        endsInRow(cast<MemRefType>(argument.getType()), loop.getExtent());
    for (Operation *user : argument.getUsers()) {
      auto load = dyn_cast<loop::LoadOp>(user);
      auto store = dyn_cast<loop::StoreOp>(user);
      AffineMap map = load ? load.getMap() : store.getMap();
      ValueRange indices =
          load ? ValueRange(load.getIndices()) : ValueRange(store.getIndices());
      for (auto [dim, coordinate] : llvm::enumerate(map.getResults())) {
        bool isLast = isRow && dim + 1 == map.getNumResults();
        auto variable = dyn_cast<AffineDimExpr>(coordinate);
        bool isOfLoop = variable && indices[variable.getPosition()] ==
                                        loop.getInductionVar();
        if (isLast ? !isOfLoop : !isa<AffineConstantExpr>(coordinate))
          return {};
      }
    }
  }
  for (Operation *user : loop.getInductionVar().getUsers())
    if (auto store = dyn_cast<loop::StoreOp>(user);
        !isa<loop::LoadOp, loop::StoreOp>(user) ||
        (store && store.getValue() == loop.getInductionVar()))
      return {};
  return loop;
}

/// Gives `kernel`, which is one loop over all elements of memory, loops over
/// `shape` in its place.
static LogicalResult expand(loop::KernelOp kernel, ArrayRef<int64_t> shape) {
  loop::ForOp flat = findFlatLoop(kernel);
  if (!flat || int64_t(flat.getExtent()) != llvm::product_of(shape))
    return failure();
  IRRewriter rewriter(kernel.getContext());
  for (BlockArgument argument : kernel.getArguments()) {
    auto type = cast<MemRefType>(argument.getType());
    if (!endsInRow(type, flat.getExtent()))
      continue;
    SmallVector<int64_t> sizes(type.getShape().drop_back());
    llvm::append_range(sizes, shape);
    argument.setType(MemRefType::get(sizes, type.getElementType()));
  }
  rewriter.setInsertionPoint(flat);
  SmallVector<Value> variables;
  loop::ForOp inner;
  for (int64_t extent : shape) {
    inner = loop::ForOp::create(rewriter, flat.getLoc(), extent);
    variables.push_back(inner.getInductionVar());
    rewriter.setInsertionPointToStart(inner.getBody());
  }
  SmallVector<Operation *> users(flat.getInductionVar().getUsers());
  auto getMap = [&](AffineMap map) {
    SmallVector<AffineExpr> results;
    for (AffineExpr result : map.getResults().drop_back())
      results.push_back(result);
    for (size_t dim = 0; dim < shape.size(); ++dim)
      results.push_back(rewriter.getAffineDimExpr(dim));
    return AffineMap::get(shape.size(), 0, results, kernel.getContext());
  };
  for (Operation *user : users) {
    if (auto load = dyn_cast<loop::LoadOp>(user)) {
      load.setMap(getMap(load.getMap()));
      load.getIndicesMutable().assign(variables);
      continue;
    }
    auto store = cast<loop::StoreOp>(user);
    store.setMap(getMap(store.getMap()));
    store.getIndicesMutable().assign(variables);
  }
  inner.getBody()->getOperations().splice(inner.getBody()->end(),
                                          flat.getBody()->getOperations());
  rewriter.eraseOp(flat);
  return success();
}

/// `buffer` as a memref of `type`, which both say lies in memory without gaps.
static Value view(OpBuilder &builder, Location loc, Value buffer,
                  MemRefType type) {
  while (buffer.getType() != type) {
    auto collapse = buffer.getDefiningOp<memref::CollapseShapeOp>();
    if (!collapse)
      break;
    buffer = collapse.getSrc();
  }
  if (buffer.getType() == type)
    return buffer;
  auto [strides, offset] = type.getStridesAndOffset();
  return memref::ReinterpretCastOp::create(builder, loc, type, buffer, offset,
                                           type.getShape(), strides);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

namespace {

/// A launch that writes pieces, and the one that computes what they are of.
struct Candidate {
  loop::LaunchOp writer, reader;
  /// The operand of `writer` that `reader` reads.
  unsigned number;
};

struct FusePiecesPass : tile::impl::FusePiecesPassBase<FusePiecesPass> {
  using FusePiecesPassBase::FusePiecesPassBase;

  void runOnOperation() override;

private:
  bool writesPieces(loop::LaunchOp launch, SymbolTable &symbols);
  std::optional<Candidate> findWriter(loop::LaunchOp reader,
                                      SymbolTable &symbols);
  void fuse(Candidate candidate, SymbolTable &symbols,
            const TargetDescription &target);

  /// Whether `both` takes the place of two kernels: what the models say of it,
  /// or nothing, and why, in `reason`.
  std::optional<std::string> choose(loop::KernelOp both, loop::KernelOp first,
                                    loop::KernelOp second,
                                    const TargetDescription &target,
                                    std::string &reason);
  void eraseReplaced(SymbolTable &symbols);

  Choice choice = Choice::Auto;
  /// By the kernels that they take the place of.
  llvm::StringMap<loop::KernelOp> fused;
  /// Kernels and those that take their places, in order; a null one for those
  /// that read what the others write.
  SmallVector<std::pair<StringAttr, StringAttr>> replaced;
};

} // namespace

static bool isWritten(SymbolTable &symbols, loop::LaunchOp launch,
                      unsigned number) {
  auto kernel = symbols.lookup<loop::KernelOp>(launch.getKernel());
  return !kernel || loop::KernelOp::isWritten(kernel.getArguments()[number]);
}

static bool uses(loop::LaunchOp launch, Value memory) {
  return llvm::any_of(launch.getBuffers(), [&](Value buffer) {
    return loop::getMemory(buffer) == memory;
  });
}

/// Whether `launch` reads one operand and writes temporaries that it is the
/// first to use, for contractions of pieces.
bool FusePiecesPass::writesPieces(loop::LaunchOp launch, SymbolTable &symbols) {
  if (launch.getBuffers().size() < 2 || isWritten(symbols, launch, 0))
    return false;
  bool areOfContraction = true;
  for (auto [number, buffer] : llvm::enumerate(launch.getBuffers())) {
    if (number == 0)
      continue;
    Value memory = loop::getMemory(buffer);
    auto allocation = memory.getDefiningOp<memref::AllocOp>();
    if (!isWritten(symbols, launch, number) || !allocation ||
        allocation->getBlock() != launch->getBlock())
      return false;
    bool hasTaker = false;
    for (auto other : launch->getBlock()->getOps<loop::LaunchOp>()) {
      if (other == launch || !uses(other, memory))
        continue;
      if (other->isBeforeInBlock(launch))
        return false;
      auto kernel = symbols.lookup<loop::KernelOp>(other.getKernel());
      hasTaker |= kernel && kernel->hasAttr(piecesAttrName);
    }
    areOfContraction &= hasTaker;
  }
  return areOfContraction;
}

/// The launch before `reader` that writes what it reads, if no other one does.
std::optional<Candidate> FusePiecesPass::findWriter(loop::LaunchOp reader,
                                                    SymbolTable &symbols) {
  Value memory = loop::getMemory(reader.getBuffers()[0]);
  for (Operation *op = reader->getPrevNode(); op; op = op->getPrevNode()) {
    auto launch = dyn_cast<loop::LaunchOp>(op);
    if (!launch)
      continue;
    for (auto [number, buffer] : llvm::enumerate(launch.getBuffers()))
      if (loop::getMemory(buffer) == memory &&
          isWritten(symbols, launch, number)) {
        if (!symbols.lookup<loop::KernelOp>(launch.getKernel()))
          return std::nullopt;
        return Candidate{launch, reader, unsigned(number)};
      }
  }
  return std::nullopt;
}

/// With rows on chip, one kernel moves what both do but for one read of the
/// operand. So it pays, though models may see it otherwise: they take each
/// kernel to find in L2 what fits there, and less fits beside what the other
/// one writes.
std::optional<std::string>
FusePiecesPass::choose(loop::KernelOp both, loop::KernelOp first,
                       loop::KernelOp second, const TargetDescription &target,
                       std::string &reason) {
  SymbolicSizes sizes = SymbolicSizes::get(first);
  auto estimate = [&](loop::KernelOp kernel) {
    std::string error;
    return chooseSchedule(getScheduleFacts(kernel, alignment, sizes), target,
                          {}, error);
  };
  auto together = estimate(both), own = estimate(first),
       others = estimate(second);
  if (!together || !own || !others) {
    reason = "one kernel for both has no schedule";
    return std::nullopt;
  }
  double apart = own->nanoseconds + others->nanoseconds;
  std::string times = llvm::formatv("{0:f2} us instead of {1:f2} us",
                                    together->nanoseconds * 1e-3, apart * 1e-3);
  if (choice == Choice::Always)
    return times;
  if (together->chunk == 0)
    return std::string("rows are on chip");
  if (together->nanoseconds < apart)
    return times;
  reason = "it doesn't pay: " + times;
  return std::nullopt;
}

void FusePiecesPass::fuse(Candidate candidate, SymbolTable &symbols,
                          const TargetDescription &target) {
  auto [writer, reader, number] = candidate;
  auto first = symbols.lookup<loop::KernelOp>(writer.getKernel());
  auto second = symbols.lookup<loop::KernelOp>(reader.getKernel());
  auto options = remark::RemarkOpts::name("FusePieces")
                     .category(DEBUG_TYPE)
                     .function(first.getSymName());
  auto miss = [&](const std::string &reason) {
    remark::missed(first.getLoc(), options) << remark::add(
        "pieces of its result are written by a kernel of their own: {0}",
        reason);
  };
  std::string name = (first.getSymName() + "_" + second.getSymName()).str();
  std::string key = name + "/" + std::to_string(number);
  auto operand = cast<MemRefType>(reader.getBuffers()[0].getType());
  auto result = cast<MemRefType>(writer.getBuffers()[number].getType());
  if (!operand.getLayout().isIdentity() || !result.getLayout().isIdentity() ||
      operand.getNumElements() != result.getNumElements())
    return miss("pieces are not of rows that lie along its rows");
  loop::KernelOp &kernel = fused[key];
  if (!kernel) {
    OwningOpRef<loop::KernelOp> both(first.clone());
    std::string reason = "pieces are not of rows that lie along its rows";
    if ((operand != result && failed(expand(*both, operand.getShape()))) ||
        failed(addReader(*both, number, second, reason)))
      return miss(reason);
    std::optional<std::string> times =
        choose(*both, first, second, target, reason);
    if (!times)
      return miss(reason);
    kernel = both.release();
    kernel.setSymName(name);
    symbols.insert(kernel, first->getIterator());
    remark::passed(kernel.getLoc(), options)
        << remark::add("it writes the pieces of its result: {0}", *times);
  }
  // What is written comes before the launch that writes it.
  OpBuilder builder(writer);
  SmallVector<Value> buffers;
  for (auto [argument, buffer] :
       llvm::zip(kernel.getArguments(), writer.getBuffers()))
    buffers.push_back(view(builder, writer.getLoc(), buffer,
                           cast<MemRefType>(argument.getType())));
  for (Value buffer : reader.getBuffers().drop_front()) {
    SmallVector<Operation *> chain;
    for (Operation *op = buffer.getDefiningOp(); op;
         op = isa<memref::AllocOp>(op) ? nullptr
                                       : op->getOperand(0).getDefiningOp())
      chain.push_back(op);
    for (Operation *op : llvm::reverse(chain))
      if (writer->isBeforeInBlock(op))
        op->moveBefore(writer);
    buffers.push_back(buffer);
  }
  builder.setInsertionPoint(writer);
  loop::LaunchOp::create(builder, writer.getLoc(), TypeRange(),
                         kernel.getSymName(), buffers);
  replaced.push_back({second.getSymNameAttr(), {}});
  replaced.push_back({first.getSymNameAttr(), kernel.getSymNameAttr()});
  writer.erase();
  reader.erase();
}

void FusePiecesPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto miss = [&](StringRef reason) {
    remark::missed(module.getLoc(),
                   remark::RemarkOpts::name("FusePieces").category(DEBUG_TYPE))
        << remark::add("{0}", reason);
  };
  FailureOr<Precision> mode = parsePrecision(precision, module);
  FailureOr<Pins> pins = parsePins(pin, module);
  if (failed(mode) || failed(pins))
    return signalPassFailure();
  if (pins->fusePieces == Choice::Never)
    return miss("the schedule says never");
  if (*mode != Precision::F32Fast && pins->fusePieces != Choice::Always)
    return miss("the precision is not f32-fast");
  if (llvm::none_of(module.getOps<loop::KernelOp>(), [](loop::KernelOp kernel) {
        return kernel->hasAttr(piecesAttrName);
      }))
    return miss("no contraction reads pieces");
  TargetAttr target = TargetAttr::lookup(module);
  if (!target)
    return signalPassFailure();
  choice = pins->fusePieces;
  fused.clear();
  replaced.clear();
  SymbolTable symbols(module);
  for (auto function : module.getOps<func::FuncOp>())
    for (Block &block : function.getBody())
      for (auto launch :
           llvm::make_early_inc_range(block.getOps<loop::LaunchOp>()))
        if (writesPieces(launch, symbols))
          if (auto candidate = findWriter(launch, symbols))
            fuse(*candidate, symbols, describe(target));
  eraseReplaced(symbols);
}

/// Kernels that nobody launches any more go, and leave their names.
void FusePiecesPass::eraseReplaced(SymbolTable &symbols) {
  llvm::StringSet<> launched;
  symbols.getOp()->walk(
      [&](loop::LaunchOp launch) { launched.insert(launch.getKernel()); });
  for (auto [from, to] : replaced)
    if (Operation *kernel = symbols.lookup(from);
        kernel && !launched.contains(from))
      symbols.erase(kernel);
  for (auto [from, to] : llvm::reverse(replaced))
    if (to && !symbols.lookup(from))
      if (Operation *kernel = symbols.lookup(to))
        (void)symbols.rename(kernel, from);
}
