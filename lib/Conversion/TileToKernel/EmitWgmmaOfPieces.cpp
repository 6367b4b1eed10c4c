// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.async_dot of pieces of f32 by wgmma.
//
// Pieces of bf16 in memory have the exponents of what they are pieces of, two
// to the 24th times as large. Products of high pieces have 16 bits, so that a
// sum of few of them is cut off little or not at all; it starts from zero for
// each chunk. The other products go to the rest, the smallest ones first.
//
//   high = high pieces' products        from zero
//   rest = rest + the other products
//   next = accumulator + 2^-48 high
//   rest = rest + 2^48 (accumulator - next + 2^-48 high)
//   accumulator = next
//
// Products of high pieces of f16 have 22 bits; the others are 2^11 times as
// large as they should be, and so is the rest.
//
// The rest takes up what the addition in f32 rounds: all of it where the
// accumulator is the larger of the two, as it is but for a few chunks (Dekker,
// "A floating-point technique for extending the available precision", 1971).
// The last bits of a chunk's sum are awaited while the tensor cores compute the
// rest.
//
// An operand that is in shared memory as it is has its pieces made in registers
// (PTX ISA, "Register Fragments" of wgmma.mma_async.m64nNk16): each thread
// reads its numbers by their coordinates, where the buffer's swizzle puts them.
// High pieces are made first; the others, while the tensor cores compute the
// products that take none of them.
//
// Pieces of infinity, of NaN and of what is infinite when scaled come to NaN or
// infinity in the sum, and so do sums of 2^80 and more: tile.recompute finds
// them there.

#include "WgmmaTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>

using namespace mlir;

namespace deplo {

/// `instruction`, which all that was computed of `sums` precedes, and all that
/// is computed of them follows: nothing else says so, as the registers are no
/// operands of it.
void KernelEmitter::tieSums(StringRef instruction,
                            MutableArrayRef<Value> sums) {
  Type type = LLVM::LLVMStructType::getLiteral(
      builder.getContext(),
      SmallVector<Type>(sums.size(), builder.getF32Type()));
  std::string constraints;
  llvm::raw_string_ostream os(constraints);
  for (size_t i = 0; i < sums.size(); ++i)
    os << "=f,";
  for (size_t i = 0; i < sums.size(); ++i)
    os << i << ",";
  os << "~{memory}";
  Value tied = LLVM::InlineAsmOp::create(
                   builder, type, ValueRange(sums), instruction, constraints,
                   /*has_side_effects=*/true, /*is_align_stack=*/false,
                   LLVM::TailCallKind::None,
                   LLVM::AsmDialectAttr::get(builder.getContext(),
                                             LLVM::AsmDialect::AD_ATT),
                   /*operand_attrs=*/ArrayAttr())
                   .getRes();
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(builder, tied, i);
}

/// What is computed in registers stays on its side of this. ptxas moves it
/// across instructions that don't read it, as those of tensor cores, but not
/// out of a basic block, and doesn't know that some lane is always active.
static void endBasicBlock(OpBuilder &builder, Location loc) {
  LLVM::InlineAsmOp::create(
      builder, loc, TypeRange(), ValueRange(),
      "{\n.reg .b32 lanes;\n.reg .pred none;\nAGAIN:\n"
      "activemask.b32 lanes;\nsetp.eq.b32 none, lanes, 0;\n"
      "@none bra AGAIN;\n}",
      "~{memory}",
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
}

/// The numbers of the fragments of a warpgroup's rows, of all that is summed
/// over, two for each of the four registers of an instruction.
SmallVector<std::pair<Value, Value>>
KernelEmitter::readFragments(const WgmmaTile &tile, int64_t depth) {
  constexpr int64_t warpsPerGroup = 4, warpRows = 16, threadsPerRow = 4,
                    eight = 8, pair = 2;
  const WgmmaOperand &operand = tile.lhs;
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, i32, value);
  };
  auto add = [&](Value a, Value b) -> Value {
    return builder.createOrFold<arith::AddIOp>(a, b);
  };
  auto multiply = [&](Value a, int64_t b) -> Value {
    return builder.createOrFold<arith::MulIOp>(a, number(b));
  };
  auto getRest = [&](Value a, int64_t b) -> Value {
    return arith::RemUIOp::create(builder, a, number(b));
  };
  // Rows and summed elements of the thread's first number, by lane.
  Value laneRow = arith::DivUIOp::create(builder, lane, number(threadsPerRow));
  Value laneDepth = multiply(getRest(lane, threadsPerRow), pair);
  Value warpRow = add(multiply(tile.groupOfRows, tile.rows),
                      multiply(getRest(warp, warpsPerGroup), warpRows));
  Value scale = arith::ConstantOp::create(
      builder,
      builder.getF32FloatAttr(std::ldexp(1.0f, tile::exponentOfPieces)));
  const int64_t bytes = operand.getElementBytes(),
                swizzle = operand.getSwizzle();
  /// What is so many times eight rows of the swizzle behind `offset`. The
  /// swizzle's exclusive or is with rows of 128 bytes (PTX ISA, "Swizzling
  /// Modes"), the same for all that are eight rows apart: few addresses in
  /// registers, and the rest is in instructions.
  auto load = [&](Value offset, int64_t eights,
                  unsigned count) -> SmallVector<Value> {
    constexpr int64_t atomBits = 7, unitBits = 4;
    Value rows = arith::ShRUIOp::create(builder, offset, number(atomBits));
    rows = arith::AndIOp::create(builder, rows, number(swizzle / 16 - 1));
    Value at = arith::XOrIOp::create(
        builder, offset,
        arith::ShLIOp::create(builder, rows, number(unitBits)));
    Value pointer = operand.buffer;
    for (LLVM::GEPArg part :
         {LLVM::GEPArg(at), LLVM::GEPArg(int32_t(eights * eight * swizzle))})
      pointer =
          LLVM::GEPOp::create(builder, pointer.getType(), builder.getI8Type(),
                              pointer, ArrayRef<LLVM::GEPArg>{part});
    Type type = count == 1 ? f32 : VectorType::get({int64_t(count)}, f32);
    Value loaded =
        LLVM::LoadOp::create(builder, type, pointer, unsigned(count * bytes));
    if (count == 1)
      return {loaded};
    SmallVector<Value> elements;
    for (int64_t i = 0; i < count; ++i)
      elements.push_back(vector::ExtractOp::create(builder, loaded, i));
    return elements;
  };
  SmallVector<std::pair<Value, Value>> fragments;
  for (int64_t first = 0; first < tile.rows;
       first += WgmmaTile::instructionRows)
    for (int64_t k = 0; k < depth; k += tile.depth)
      for (int64_t i = 0; i < 4; ++i) {
        // The second register is eight rows below, the third eight elements on.
        int64_t row = first + i % 2 * eight, element = k + i / 2 * eight;
        SmallVector<Value> numbers;
        if (!operand.areOuter) {
          Value offset = add(multiply(add(warpRow, laneRow), swizzle),
                             multiply(add(laneDepth, number(element)), bytes));
          numbers = load(offset, row / eight, pair);
        } else {
          Value along =
              multiply(add(add(warpRow, laneRow), number(row)), bytes);
          Value piece = arith::DivUIOp::create(builder, along, number(swizzle));
          Value start = add(multiply(piece, operand.getPieceBytes()),
                            getRest(along, swizzle));
          for (int64_t next = 0; next < pair; ++next)
            llvm::append_range(
                numbers, load(add(start, multiply(add(laneDepth, number(next)),
                                                  swizzle)),
                              element / eight, 1));
        }
        for (Value &value : numbers)
          value = arith::MulFOp::create(builder, value, scale);
        fragments.push_back({numbers[0], numbers[1]});
      }
  return fragments;
}

/// One instruction whose rows are in registers, which NVVM has none for.
Value KernelEmitter::createWgmma(const WgmmaTile &tile, Value sums,
                                 ArrayRef<Value> fragment, int64_t ofColumns,
                                 bool fromZero) {
  const int64_t count = tile.getNumSums();
  SmallVector<Value> operands;
  for (int64_t i = 0; i < count && !fromZero; ++i)
    operands.push_back(LLVM::ExtractValueOp::create(builder, sums, i));
  int64_t first = count + operands.size();
  llvm::append_range(operands, fragment);
  operands.push_back(packDescriptor(tile.b, ofColumns));
  std::string text, constraints;
  llvm::raw_string_ostream os(text), cs(constraints);
  os << "{\n.reg .pred p;\nsetp.ne.b32 p, " << (fromZero ? 0 : 1)
     << ", 0;\nwgmma.mma_async.sync.aligned.m64n" << tile.columns << "k"
     << tile.depth << ".f32.bf16.bf16 {";
  for (int64_t i = 0; i < count; ++i)
    os << (i ? ", $" : "$") << i;
  os << "}, {";
  for (size_t i = 0; i < fragment.size(); ++i)
    os << (i ? ", $" : "$") << first + i;
  os << "}, $" << first + fragment.size() << ", p, 1, 1, "
     << (tile.rhs.areOuter ? 1 : 0) << ";\n}";
  for (int64_t i = 0; i < count; ++i)
    cs << "=f,";
  for (int64_t i = 0; i < count && !fromZero; ++i)
    cs << i << ",";
  for (size_t i = 0; i < fragment.size(); ++i)
    cs << "r,";
  cs << "l";
  return LLVM::InlineAsmOp::create(
             builder, sums.getType(), operands, text, constraints,
             /*has_side_effects=*/true, /*is_align_stack=*/false,
             LLVM::TailCallKind::None,
             LLVM::AsmDialectAttr::get(builder.getContext(),
                                       LLVM::AsmDialect::AD_ATT),
             /*operand_attrs=*/ArrayAttr())
      .getRes();
}

void KernelEmitter::emitAsyncDotOfPieces(tile::AsyncDotOp op) {
  constexpr int64_t registersOfFragment = 4;
  tile::PiecesForm form = tile::PiecesForm::get(op.getAtomElement());
  WgmmaTile tile = getWgmmaTile(op);
  bool inRegisters = tile.lhs.type.getElementType().isF32();
  // Beside the sums of several products there are no registers for what is left
  // of the numbers.
  bool splitsLater =
      inRegisters &&
      llvm::hasSingleElement(op->getBlock()->getOps<tile::AsyncDotOp>());
  // By scale, the registers of all instructions.
  SmallVector<SmallVector<Value>, 3> fragments;
  SmallVector<std::pair<Value, Value>> numbers;
  auto split = [&] {
    SmallVector<Value> &words = fragments.emplace_back();
    for (auto &[first, second] : numbers)
      words.push_back(takePieces(first, second));
  };
  if (inRegisters) {
    numbers = readFragments(tile, op.getContractedSize());
    split();
    while (!splitsLater && int64_t(fragments.size()) < form.count)
      split();
    // One thread of a warp says that all have read.
    NVVM::SyncWarpOp::create(builder, arith::ConstantIntOp::create(
                                          builder, builder.getI32Type(), -1));
  }
  auto getFragment = [&](int64_t first, int64_t k, int64_t scale) {
    int64_t instruction =
        (first / WgmmaTile::instructionRows * op.getContractedSize() + k) /
        tile.depth;
    return ArrayRef(fragments[scale])
        .slice(instruction * registersOfFragment, registersOfFragment);
  };
  int64_t count = tile.getNumSums();
  Type sumsType = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(count, builder.getF32Type()));
  /// Of the scales of rows and of columns.
  using Products = SmallVector<std::pair<int64_t, int64_t>>;
  auto multiply = [&](MutableArrayRef<Value> sums, const Products &products,
                      bool fromZero) {
    for (int64_t first = 0; first < tile.rows;
         first += WgmmaTile::instructionRows) {
      MutableArrayRef<Value> own =
          sums.slice(first / WgmmaTile::instructionRows * count, count);
      Value added = LLVM::UndefOp::create(builder, sumsType);
      for (int64_t i = 0; i < count && !fromZero; ++i)
        added = LLVM::InsertValueOp::create(builder, added, own[i], i);
      bool isFirst = fromZero;
      for (auto [ofRows, ofColumns] : products)
        for (int64_t k = 0; k < op.getContractedSize(); k += tile.depth) {
          int64_t columns =
              tile.rhs.getDepthUnits(k) + ofColumns * tile.rhs.getScaleUnits();
          added = inRegisters
                      ? createWgmma(tile, added, getFragment(first, k, ofRows),
                                    columns, isFirst)
                      : createWgmma(tile, added,
                                    tile.lhs.getOuterUnits(first) +
                                        tile.lhs.getDepthUnits(k) +
                                        ofRows * tile.lhs.getScaleUnits(),
                                    columns, isFirst);
          isFirst = false;
        }
      for (int64_t i = 0; i < count; ++i)
        own[i] = LLVM::ExtractValueOp::create(builder, added, i);
    }
  };
  // The smallest ones first. The first of them take high pieces of the rows.
  Products small;
  for (int64_t scale = form.count; --scale > 0;)
    for (int64_t ofRows = 0; ofRows <= scale; ++ofRows)
      small.push_back({ofRows, scale - ofRows});
  auto getPower = [&](int exponent) -> Value {
    return arith::ConstantOp::create(
        builder, builder.getF32FloatAttr(std::ldexp(1.0f, exponent)));
  };
  Value down = getPower(-form.exponentOfProducts),
        up = getPower(form.exponentOfRest);
  SmallVector<Value> sums = unpack(lookup(op.getAccumulator()));
  SmallVector<Value> rest = unpack(lookup(op.getRest()));
  SmallVector<Value> high(sums.size());
  tieSums("wgmma.fence.sync.aligned;", rest);
  multiply(high, {{0, 0}}, /*fromZero=*/true);
  NVVM::WgmmaGroupSyncAlignedOp::create(builder);
  if (splitsLater) {
    // Other pieces are made while the tensor cores multiply high ones.
    multiply(rest, {small.front()}, /*fromZero=*/false);
    small.erase(small.begin());
    endBasicBlock(builder, op.getLoc());
    while (int64_t(fragments.size()) < form.count)
      split();
    NVVM::WgmmaFenceAlignedOp::create(builder);
  }
  multiply(rest, small, /*fromZero=*/false);
  NVVM::WgmmaGroupSyncAlignedOp::create(builder);
  tieSums("wgmma.wait_group.sync.aligned 1;", high);
  for (auto [sum, added] : llvm::zip_equal(sums, high)) {
    Value next = LLVM::FMAOp::create(builder, added, down, sum);
    added = LLVM::FMAOp::create(builder, added, down,
                                arith::SubFOp::create(builder, sum, next));
    sum = next;
  }
  if (splitsLater)
    endBasicBlock(builder, op.getLoc());
  tieSums("wgmma.wait_group.sync.aligned 0;", rest);
  for (auto [sum, lost] : llvm::zip_equal(rest, high))
    sum = LLVM::FMAOp::create(builder, lost, up, sum);
  mapping.map(op.getResult(), pack(sums));
  mapping.map(op.getNextRest(), pack(rest));
}

} // namespace deplo
