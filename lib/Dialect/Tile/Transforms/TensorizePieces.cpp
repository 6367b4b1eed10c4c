// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tensorize, by wgmma of pieces: a contraction of f32 reads the pieces of its
// operands from shared memory.
//
//   %sa = tile.alloc : !tile.buffer<128x32xf32, #tile.shared<>>
//   ...
//     tile.copy %x[%i, %k] to %sa
//     tile.copy %w[%j, %k] to %sb
//     tile.barrier
//     %a = tile.read %sa[%c0, %c0] : ... -> tensor<128x32xf32>
//     %b = tile.read %sb[%c0, %c0] : ... -> tensor<128x32xf32>
//     %d = tile.dot %a dims [0, 2], %b dims [1, 2], %c precision f32 : ...
//     scf.yield %d
//   }
//
// becomes, where %p and %q hold the pieces of %x and %w,
//
//   %sa = tile.alloc : !tile.buffer<3x128x32xbf16, #tile.shared<>>
//   ...
//     tile.copy %p[%c0, %i, %k] to %sa
//     tile.copy %q[%c0, %j, %k] to %sb
//     tile.barrier
//     %d, %t, %e = tile.async_dot %sa dims [0, 2], %sb dims [1, 2], %c rest %r
//       atom<wgmma, warps = [8, 1]> : ...
//     tile.await %t
//     scf.yield %d, %e
//   }
//   %sum = %result + 2^-48 * %rest
//
// Where only one operand has pieces in memory, the other one stays as it is if
// it gives the instruction its rows: its pieces are made in registers.
//
// Pieces of f16 are of rows with scales, whose roots are in %s and %t:
//
//   %c = tile.load %s[%i] * tile.load %t[%j]
//   %scaled = (%sum * %c) * %c
//
// Legality: the dot's precision allows pieces, and the kernel says where they
// are (tile.pieces). Scales are powers of two, so that only the last product
// rounds, where it is subnormal. The rest is that of TensorizeAsync.cpp.

#include "TensorizeSupport.h"

#include "deplo/Analysis/ContractionLayouts.h"
#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace deplo;
using namespace deplo::tile;

/// The one copy that fills `buffer`, which is read besides; null if it isn't.
static CopyOp findCopy(Value buffer) {
  CopyOp copy;
  for (Operation *user : buffer.getUsers()) {
    auto next = dyn_cast<CopyOp>(user);
    if (isa<ReadOp>(user))
      continue;
    if (!next || copy)
      return {};
    copy = next;
  }
  return copy;
}

/// `values`, behind `first` and moved by `step`; null without values.
static DenseI64ArrayAttr prepend(int64_t first,
                                 std::optional<ArrayRef<int64_t>> values,
                                 int64_t step, MLIRContext *context) {
  if (!values)
    return {};
  SmallVector<int64_t> all = {first};
  for (int64_t value : *values)
    all.push_back(value + step);
  return DenseI64ArrayAttr::get(context, all);
}

/// A buffer that is filled with the pieces of what `copy` copies.
static Value copyPieces(CopyOp copy, Value pieces) {
  Type piece = cast<MemRefType>(pieces.getType()).getElementType();
  int64_t numPieces = PiecesForm::get(piece).count;
  MLIRContext *context = copy.getContext();
  auto alloc = copy.getBuffer().getDefiningOp<AllocOp>();
  BufferType type = alloc.getType();
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), numPieces);
  OpBuilder builder(alloc);
  Value buffer =
      AllocOp::create(builder, alloc.getLoc(),
                      BufferType::get(context, shape, piece, type.getLayout()));
  builder.setInsertionPointAfter(copy);
  SmallVector<Value> indices = {
      arith::ConstantIndexOp::create(builder, copy.getLoc(), 0)};
  llvm::append_range(indices, copy.getIndices());
  SmallVector<int64_t> dims = getSpannedDims(
      copy.getDims(), copy.getMemRefType().getRank(), type.getRank());
  // Rows of pieces are longer than those of the memref.
  SmallVector<int64_t> bounds;
  for (int64_t dim : dims)
    bounds.push_back(copy.getMemRefType().getDimSize(dim));
  if (copy.getBounds())
    bounds.assign(copy.getBounds()->begin(), copy.getBounds()->end());
  CopyOp::create(
      builder, copy.getLoc(), pieces, indices, buffer,
      prepend(0, ArrayRef<int64_t>(dims), /*step=*/1, context),
      prepend(1, copy.getSteps(), /*step=*/0, context),
      prepend(numPieces, ArrayRef<int64_t>(bounds), /*step=*/0, context),
      /*vector=*/IntegerAttr());
  return buffer;
}

/// The copy to the whole buffer that `operand` is read from, if the kernel has
/// the pieces of what it copies.
static CopyOp findCopyOfPieces(Value operand, Value &pieces) {
  Value whole = getWholeBuffer(operand);
  CopyOp copy = whole ? findCopy(whole) : CopyOp();
  if (copy)
    pieces = getPieces(copy->getParentOfType<KernelOp>(), copy.getMemref());
  return pieces ? copy : CopyOp();
}

/// Erases a read that nothing uses and, with the last one of a buffer, that.
static void eraseRead(ReadOp read, BuffersOfPieces &buffers) {
  if (!read.getResult().use_empty())
    return;
  Value buffer = read.getBuffer();
  read.erase();
  if (!buffer.hasOneUse())
    return;
  buffers.erase(buffer);
  (*buffer.user_begin())->erase();
  buffer.getDefiningOp()->erase();
}

namespace {

/// Where the roots of the scales of an operand's rows are, for the dimensions
/// of the result.
struct RowScales {
  /// Nothing, if they move with what is summed over.
  static std::optional<RowScales> get(Value scales, CopyOp copy,
                                      ArrayRef<int64_t> dimsOfDot, DotOp dot);

  /// Those of a tile.
  Value load(OpBuilder &builder, RankedTensorType type) const;

  Location loc;
  Value scales;
  /// Null for the dimension that is summed over.
  SmallVector<Value> indices;
  struct Dim {
    /// Of the result, and of the operand.
    int64_t tileDim, dim;
    int64_t step, bound;
  };
  SmallVector<Dim> dims;
  bool hasBounds;
};

/// The rest of a sum of pieces, carried by the loop that carries the sum.
class RestOfSum {
public:
  RestOfSum(DotOp dot, PiecesForm form, ArrayRef<RowScales> scales);

  Value get() const { return rest; }
  /// Puts the results of `async`, which is before `dot`, in its place.
  void addTo(DotOp dot, AsyncDotOp async) const;

private:
  /// The sum and its rest in one.
  Value add(OpBuilder &builder, Value sum, Value last) const;

  PiecesForm form;
  SmallVector<RowScales> scales;
  mutable scf::ForOp loop; // null if none carries the sum
  unsigned position = 0;
  Value rest;
};

} // namespace

std::optional<RowScales> RowScales::get(Value scales, CopyOp copy,
                                        ArrayRef<int64_t> dimsOfDot,
                                        DotOp dot) {
  BoxAccess box = *BoxAccess::get(copy);
  unsigned ofSum = DotOp::getContractedDim(dimsOfDot, dot.getType().getRank());
  int64_t summed = box.dims[ofSum];
  RowScales rows{dot.getLoc(), scales, {}, {}, !box.bounds.empty()};
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  for (auto [dim, index] : llvm::enumerate(box.indices)) {
    bool isSummed = int64_t(dim) == summed;
    if (!isSummed && loop && !loop.isDefinedOutsideOfLoop(index))
      return std::nullopt;
    rows.indices.push_back(isSummed ? Value() : index);
  }
  for (auto [number, tileDim] : llvm::enumerate(dimsOfDot)) {
    int64_t dim = box.dims[number];
    if (number != ofSum)
      rows.dims.push_back({tileDim, dim, box.steps[number],
                           rows.hasBounds ? box.bounds[number] : 0});
  }
  llvm::sort(rows.dims,
             [](const Dim &a, const Dim &b) { return a.tileDim < b.tileDim; });
  return rows;
}

Value RowScales::load(OpBuilder &builder, RankedTensorType type) const {
  SmallVector<int64_t> shape, positions, memrefDims, steps, bounds;
  for (const Dim &dim : dims) {
    shape.push_back(type.getDimSize(dim.tileDim));
    positions.push_back(dim.tileDim);
    memrefDims.push_back(dim.dim);
    steps.push_back(dim.step);
    bounds.push_back(dim.bound);
  }
  SmallVector<Value> corner = indices;
  for (Value &index : corner)
    if (!index)
      index = arith::ConstantIndexOp::create(builder, loc, 0);
  Value roots = LoadOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), scales,
      corner, builder.getDenseI64ArrayAttr(memrefDims),
      builder.getDenseI64ArrayAttr(steps),
      hasBounds ? builder.getDenseI64ArrayAttr(bounds) : DenseI64ArrayAttr(),
      /*vector=*/IntegerAttr());
  return BroadcastOp::create(builder, loc, type, roots, positions);
}

RestOfSum::RestOfSum(DotOp dot, PiecesForm form, ArrayRef<RowScales> scales)
    : form(form), scales(scales) {
  OpBuilder builder(dot);
  auto carried = dyn_cast<BlockArgument>(dot.getAccumulator());
  auto around = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (carried && around && carried.getOwner() == around.getBody() &&
      carried.hasOneUse() && dot.getResult().hasOneUse()) {
    position = carried.getArgNumber() - 1;
    if (around.getYieldedValues()[position] == dot.getResult())
      loop = around;
  }
  if (loop)
    builder.setInsertionPoint(loop);
  rest = arith::ConstantOp::create(
      builder, dot.getLoc(),
      cast<TypedAttr>(builder.getZeroAttr(dot.getType())));
  if (!loop)
    return;
  IRRewriter rewriter(builder);
  DictionaryAttr attributes = loop->getDiscardableAttrDictionary();
  loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, rest, /*replaceInitOperandUsesInLoop=*/false,
      [](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
        return SmallVector<Value>(arguments.begin(), arguments.end());
      }));
  loop->setDiscardableAttrs(attributes);
  rest = loop.getRegionIterArgs().back();
}

Value RestOfSum::add(OpBuilder &builder, Value sum, Value last) const {
  Location loc = sum.getLoc();
  auto type = cast<RankedTensorType>(sum.getType());
  Value unit = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, std::ldexp(1.0f, -form.exponentOfRest)));
  Value whole = arith::AddFOp::create(
      builder, loc, sum, arith::MulFOp::create(builder, loc, last, unit));
  if (scales.empty())
    return whole;
  Value root =
      arith::MulFOp::create(builder, loc, scales[0].load(builder, type),
                            scales[1].load(builder, type));
  // Its square may be no number of f32 where the product is one.
  whole = arith::MulFOp::create(builder, loc, whole, root);
  return arith::MulFOp::create(builder, loc, whole, root);
}

void RestOfSum::addTo(DotOp dot, AsyncDotOp async) const {
  OpBuilder builder(dot);
  if (!loop) {
    dot.replaceAllUsesWith(
        add(builder, async.getResult(), async.getNextRest()));
    return;
  }
  dot.replaceAllUsesWith(async.getResult());
  loop.getBody()->getTerminator()->setOperand(loop.getNumResults() - 1,
                                              async.getNextRest());
  builder.setInsertionPointAfter(loop);
  Value sum = loop.getResult(position);
  SmallVector<OpOperand *> uses =
      llvm::map_to_vector(sum.getUses(), [](OpOperand &use) { return &use; });
  Value whole = add(builder, sum, loop.getResults().back());
  for (OpOperand *use : uses)
    use->set(whole);
}

FailureOr<AsyncDotOp>
tile::tensorizePieces(DotOp dot, ArrayRef<int64_t> warpTile, int64_t warps,
                      BuffersOfPieces &buffers, std::string &reason) {
  constexpr int64_t pieceBytes = 2;
  FailureOr<AtomAttr> atom =
      getWgmmaAtom(dot, warpTile, warps, pieceBytes, reason);
  if (failed(atom))
    return failure();
  auto [ofLhs, ofRhs] = dot.getRowAndColumn();
  unsigned row = getWgmmaDims(atom->getWarps(), ofLhs, ofRhs).first;
  struct Operand {
    Value whole;
    ArrayRef<int64_t> dims;
    unsigned own;
    Value pieces;
    CopyOp copy;
  };
  Operand operands[] = {{dot.getLhs(), dot.getLhsDims(), ofLhs, {}, {}},
                        {dot.getRhs(), dot.getRhsDims(), ofRhs, {}, {}}};
  for (Operand &operand : operands)
    operand.copy = findCopyOfPieces(operand.whole, operand.pieces);
  Value pieces;
  bool canRead = true;
  for (const Operand &operand : operands) {
    if (operand.copy)
      pieces = operand.pieces;
    else
      canRead &= operand.own == row && getWholeBuffer(operand.whole);
  }
  if (!pieces || !canRead) {
    reason = "wgmma reads pieces of f32 from shared memory, and no argument "
             "holds those of an operand";
    return failure();
  }
  PiecesForm form =
      PiecesForm::get(cast<MemRefType>(pieces.getType()).getElementType());
  SmallVector<RowScales> scales;
  for (Operand &operand : operands) {
    if (!form.hasScales)
      break;
    auto kernel = dot->getParentOfType<KernelOp>();
    std::optional<RowScales> rows =
        operand.copy
            ? RowScales::get(getScales(kernel, operand.copy.getMemref()),
                             operand.copy, operand.dims, dot)
            : std::nullopt;
    if (!rows) {
      reason = "rows of an operand move with what is summed over";
      return failure();
    }
    scales.push_back(*rows);
  }
  auto getBuffer = [&](Operand &operand) {
    if (!operand.copy)
      return getWholeBuffer(operand.whole);
    Value &buffer = buffers[operand.copy.getBuffer()];
    if (!buffer)
      buffer = copyPieces(operand.copy, operand.pieces);
    return buffer;
  };
  Value lhs = getBuffer(operands[0]), rhs = getBuffer(operands[1]);
  RestOfSum rest(dot, form, scales);
  OpBuilder builder(dot);
  auto async = AsyncDotOp::create(
      builder, dot.getLoc(), dot.getType(), TokenType::get(dot.getContext()),
      /*nextRest=*/dot.getType(), lhs, dot.getLhsDims(), rhs, dot.getRhsDims(),
      dot.getAccumulator(), rest.get(), *atom);
  AwaitOp::create(builder, dot.getLoc(), async.getToken());
  rest.addTo(dot, async);
  dot.erase();
  auto first = operands[0].whole.getDefiningOp<ReadOp>(),
       second = operands[1].whole.getDefiningOp<ReadOp>();
  eraseRead(first, buffers);
  if (second != first)
    eraseRead(second, buffers);
  return async;
}
