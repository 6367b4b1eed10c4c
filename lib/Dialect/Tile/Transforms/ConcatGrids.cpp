// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// concat_grids: launches that share an operand become one, of the blocks of
// all.
//
//   loop.launch @query(%x, %v, %q)
//   loop.launch @key(%x, %w, %k)
//
// becomes
//
//   loop.launch @query_and_key(%x, %v, %q, %w, %k)
//   ...
//   tile.concat @query_and_key(%x, %v, %q, %w, %k) {
//     tile.part @query(%x, %v, %q)
//     tile.part @key(%x, %w, %k)
//   }
//
// Legality: no part writes what another reads or writes. All start where the
// first of them started: no launch in between reads or writes what a part that
// moves over it writes, or writes what that reads. All run once for all calls,
// or none of them does.

#include "PassSupport.h"
#include "deplo/Dialect/Loop/IR/Prepared.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Transforms/Passes.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#define DEBUG_TYPE "deplo-concat-grids"

namespace deplo::tile {
#define GEN_PASS_DEF_CONCATGRIDSPASS
#include "deplo/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace deplo::tile

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

namespace {

/// A launch, and the memory that it reads and writes.
struct Launch {
  loop::LaunchOp op;
  loop::KernelOp kernel;
  llvm::SmallSetVector<Value, 4> reads, writes;

  bool isPrepared() const { return loop::isPrepared(op); }
  /// Whether the order of the two matters.
  bool conflictsWith(const Launch &other) const {
    auto meets = [](const auto &a, const auto &b) {
      return llvm::any_of(a, [&](Value value) { return b.contains(value); });
    };
    return meets(writes, other.writes) || meets(writes, other.reads) ||
           meets(reads, other.writes);
  }
  bool sharesInput(const Launch &other) const {
    return llvm::any_of(
        reads, [&](Value value) { return other.reads.contains(value); });
  }
};

} // namespace

static std::optional<Launch> getLaunch(loop::LaunchOp op,
                                       SymbolTable &symbols) {
  Launch launch{op, symbols.lookup<loop::KernelOp>(op.getKernel()), {}, {}};
  if (!launch.kernel)
    return std::nullopt;
  for (auto [argument, buffer] :
       llvm::zip_equal(launch.kernel.getArguments(), op.getBuffers())) {
    bool isWritten = loop::KernelOp::isWritten(argument);
    (isWritten ? launch.writes : launch.reads).insert(loop::getMemory(buffer));
  }
  return launch;
}

/// Whether the kernel has a sum, of blocks whose number is known. Tensor maps
/// copy pieces, which are arguments of a launch of their own.
static bool canBePart(loop::KernelOp kernel) {
  return SymbolicSizes::get(kernel).empty() &&
         !kernel->hasAttr(piecesAttrName) &&
         kernel.walk([](loop::ReduceOp) { return WalkResult::interrupt(); })
             .wasInterrupted();
}

/// Whether `value` is, or can be made, available at `point`.
static bool canMove(Value value, Operation *point) {
  Operation *op = value.getDefiningOp();
  if (!op || op->isBeforeInBlock(point))
    return true;
  return isa<memref::AllocOp, ViewLikeOpInterface>(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return canMove(operand, point); });
}

static bool canMove(loop::LaunchOp launch, loop::LaunchOp point) {
  return llvm::all_of(launch.getBuffers(),
                      [&](Value buffer) { return canMove(buffer, point); });
}

static void move(Value value, Operation *point) {
  Operation *op = value.getDefiningOp();
  if (!op || op->isBeforeInBlock(point))
    return;
  for (Value operand : op->getOperands())
    move(operand, point);
  op->moveBefore(point);
}

/// Appends to `parts`, of which the first is `launches[start]`, those behind it
/// that can start with it.
static void findParts(ArrayRef<Launch> launches, size_t start,
                      const llvm::SmallDenseSet<size_t> &taken,
                      SmallVectorImpl<size_t> &parts) {
  // Projections of one activation follow each other closely.
  constexpr size_t furthest = 8;
  parts.assign(1, start);
  for (size_t next = start + 1;
       next < std::min(launches.size(), start + furthest); ++next) {
    const Launch &launch = launches[next];
    bool isSibling = !taken.contains(next) && canBePart(launch.kernel) &&
                     launches[start].isPrepared() == launch.isPrepared() &&
                     llvm::all_of(parts, [&](size_t part) {
                       return launches[part].sharesInput(launch) &&
                              !launches[part].conflictsWith(launch);
                     });
    // It moves up to the first one.
    auto isInTheWay = [&](size_t between) {
      return launches[between].conflictsWith(launch);
    };
    if (!isSibling || llvm::any_of(llvm::seq(start, next), isInTheWay) ||
        !canMove(launch.op, launches[start].op))
      continue;
    parts.push_back(next);
  }
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// A concat of `parts` that takes `buffers`, each once.
static ConcatOp createConcat(ArrayRef<Launch> parts, ArrayRef<Value> buffers,
                             SymbolTable &symbols) {
  loop::KernelOp first = parts.front().kernel;
  OpBuilder builder(first);
  std::string name = llvm::join(
      llvm::map_range(
          parts, [](Launch part) { return part.kernel.getSymName().str(); }),
      "_and_");
  SmallVector<Location> locations;
  for (const Launch &part : parts)
    locations.push_back(loop::LaunchOp(part.op).getLoc());
  auto concat = ConcatOp::create(builder, builder.getFusedLoc(locations), name,
                                 ValueRange(buffers).getTypes());
  builder.setInsertionPointToStart(concat.getBody());
  for (Launch part : parts) {
    SmallVector<Value> operands;
    for (auto [buffer, argument] :
         llvm::zip_equal(part.op.getBuffers(), part.kernel.getArguments())) {
      BlockArgument ours = concat.getBody()->getArgument(
          llvm::find(buffers, buffer) - buffers.begin());
      ours.setLoc(argument.getLoc());
      operands.push_back(ours);
    }
    PartOp::create(builder, part.op.getLoc(), TypeRange(),
                   part.kernel.getSymName(), operands);
  }
  symbols.insert(concat);
  return concat;
}

void tile::separateParts(ConcatOp concat) {
  auto module = concat->getParentOfType<ModuleOp>();
  SmallVector<loop::LaunchOp> launches;
  module.walk([&](loop::LaunchOp launch) {
    if (launch.getKernel() == concat.getSymName())
      launches.push_back(launch);
  });
  for (loop::LaunchOp launch : launches) {
    OpBuilder builder(launch);
    for (PartOp part : concat.getParts()) {
      SmallVector<Value> operands;
      for (Value buffer : part.getBuffers())
        operands.push_back(
            launch.getBuffers()[cast<BlockArgument>(buffer).getArgNumber()]);
      auto alone = loop::LaunchOp::create(builder, part.getLoc(), TypeRange(),
                                          part.getKernel(), operands);
      alone->setDiscardableAttrs(launch->getDiscardableAttrDictionary());
    }
    launch.erase();
  }
  concat.erase();
}

namespace {

/// Launches become one; the same kernels, called alike, one kernel.
class Concatenator {
public:
  explicit Concatenator(ModuleOp module) : symbols(module) {}

  unsigned run(func::FuncOp function);

private:
  void concat(ArrayRef<Launch> parts);

  SymbolTable symbols;
  /// Concats by their parts: kernels, and the buffers that these take.
  llvm::StringMap<ConcatOp> known;
};

} // namespace

void Concatenator::concat(ArrayRef<Launch> parts) {
  llvm::SetVector<Value> buffers;
  std::string key;
  llvm::raw_string_ostream os(key);
  for (Launch part : parts) {
    os << part.kernel.getSymName();
    for (Value buffer : part.op.getBuffers()) {
      buffers.insert(buffer);
      os << " " << llvm::find(buffers, buffer) - buffers.begin();
    }
    os << ";";
  }
  ConcatOp &concat = known[key];
  if (!concat)
    concat = createConcat(parts, buffers.getArrayRef(), symbols);
  loop::LaunchOp first = parts.front().op;
  for (Value buffer : buffers)
    move(buffer, first);
  OpBuilder builder(first);
  auto together =
      loop::LaunchOp::create(builder, concat.getLoc(), TypeRange(),
                             concat.getSymName(), buffers.getArrayRef());
  together->setDiscardableAttrs(first->getDiscardableAttrDictionary());
  for (Launch part : parts)
    part.op.erase();
}

unsigned Concatenator::run(func::FuncOp function) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return 0;
  SmallVector<Launch> launches;
  for (auto op : function.getBody().front().getOps<loop::LaunchOp>()) {
    std::optional<Launch> launch = getLaunch(op, symbols);
    if (!launch)
      return 0;
    launches.push_back(*launch);
  }
  llvm::SmallDenseSet<size_t> taken;
  unsigned count = 0;
  for (size_t start = 0; start < launches.size(); ++start) {
    if (taken.contains(start) || !canBePart(launches[start].kernel))
      continue;
    SmallVector<size_t> numbers;
    findParts(launches, start, taken, numbers);
    if (numbers.size() < 2)
      continue;
    taken.insert(numbers.begin(), numbers.end());
    SmallVector<Launch> parts;
    for (size_t number : numbers)
      parts.push_back(launches[number]);
    concat(parts);
    ++count;
  }
  return count;
}

namespace {

struct ConcatGridsPass : tile::impl::ConcatGridsPassBase<ConcatGridsPass> {
  using ConcatGridsPassBase::ConcatGridsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<TileDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto options = remark::RemarkOpts::name("ConcatGrids").category(DEBUG_TYPE);
    Concatenator concatenator(module);
    unsigned count = 0;
    for (auto function : module.getOps<func::FuncOp>())
      count += concatenator.run(function);
    for (auto concat : module.getOps<ConcatOp>()) {
      std::string names =
          llvm::join(llvm::map_range(concat.getParts(),
                                     [](PartOp part) {
                                       return "@" + part.getKernel().str();
                                     }),
                     " and ");
      remark::passed(concat.getLoc(), options.function(concat.getSymName()))
          << remark::add("blocks of {0} start together", names);
    }
    if (count != 0)
      return;
    remark::missed(module.getLoc(), options)
        << "no two sums share an input and can start together";
    markAllAnalysesPreserved();
  }
};

} // namespace
