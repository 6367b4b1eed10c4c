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

/// The fragments of one instruction's rows, of all that is summed over: the
/// four registers of each instruction, as pieces.
SmallVector<KernelEmitter::Pieces>
KernelEmitter::splitFragments(const WgmmaTile &tile, int64_t firstRow,
                              int64_t depth) {
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
  /// The swizzle's exclusive or with the rows of 128 bytes (PTX ISA, "Swizzling
  /// Modes").
  auto load = [&](Value offset, unsigned count) -> SmallVector<Value> {
    constexpr int64_t atomBits = 7, unitBits = 4;
    Value rows = arith::ShRUIOp::create(builder, offset, number(atomBits));
    rows = arith::AndIOp::create(builder, rows, number(swizzle / 16 - 1));
    Value at = arith::XOrIOp::create(
        builder, offset,
        arith::ShLIOp::create(builder, rows, number(unitBits)));
    Value pointer = LLVM::GEPOp::create(builder, operand.buffer.getType(),
                                        builder.getI8Type(), operand.buffer,
                                        ArrayRef<LLVM::GEPArg>{at});
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
  SmallVector<Pieces> fragments;
  for (int64_t k = 0; k < depth; k += tile.depth)
    for (int64_t i = 0; i < 4; ++i) {
      // The second register is eight rows below, the third eight elements on.
      int64_t row = firstRow + i % 2 * eight, element = k + i / 2 * eight;
      SmallVector<Value> numbers;
      if (!operand.areOuter) {
        Value offset =
            add(multiply(add(add(warpRow, laneRow), number(row)), swizzle),
                multiply(add(laneDepth, number(element)), bytes));
        numbers = load(offset, pair);
      } else {
        Value along = multiply(add(add(warpRow, laneRow), number(row)), bytes);
        Value piece = arith::DivUIOp::create(builder, along, number(swizzle));
        Value start = add(multiply(piece, operand.getPieceBytes()),
                          getRest(along, swizzle));
        for (int64_t next = 0; next < pair; ++next)
          llvm::append_range(
              numbers,
              load(add(start, multiply(add(laneDepth, number(element + next)),
                                       swizzle)),
                   1));
      }
      for (Value &value : numbers)
        value = arith::MulFOp::create(builder, value, scale);
      fragments.push_back(splitIntoPieces(numbers[0], numbers[1], /*scale=*/1));
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
  SmallVector<SmallVector<Pieces>> fragments;
  for (int64_t first = 0; inRegisters && first < tile.rows;
       first += WgmmaTile::instructionRows)
    fragments.push_back(splitFragments(tile, first, op.getContractedSize()));
  // One thread of a warp says that all have read.
  if (inRegisters)
    NVVM::SyncWarpOp::create(builder, arith::ConstantIntOp::create(
                                          builder, builder.getI32Type(), -1));
  auto getFragment = [&](int64_t first, int64_t k, int64_t scale) {
    SmallVector<Value> words;
    for (const Pieces &pieces :
         ArrayRef(fragments[first / WgmmaTile::instructionRows])
             .slice(k / tile.depth * registersOfFragment, registersOfFragment))
      words.push_back(pieces.ofScale[scale]);
    return words;
  };
  int64_t count = tile.getNumSums();
  Type sumsType = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(count, builder.getF32Type()));
  /// Adds the products of so many scales, the last one first, as a group.
  auto multiply = [&](MutableArrayRef<Value> sums, int64_t firstScale,
                      int64_t endScale, bool fromZero) {
    for (int64_t first = 0; first < tile.rows;
         first += WgmmaTile::instructionRows) {
      MutableArrayRef<Value> own =
          sums.slice(first / WgmmaTile::instructionRows * count, count);
      Value added = LLVM::UndefOp::create(builder, sumsType);
      for (int64_t i = 0; i < count && !fromZero; ++i)
        added = LLVM::InsertValueOp::create(builder, added, own[i], i);
      bool isFirst = fromZero;
      for (int64_t scale = endScale; scale-- > firstScale;)
        for (int64_t ofRows = 0; ofRows <= scale; ++ofRows)
          for (int64_t k = 0; k < op.getContractedSize(); k += tile.depth) {
            int64_t ofColumns = tile.rhs.getDepthUnits(k) +
                                (scale - ofRows) * tile.rhs.getScaleUnits();
            added =
                inRegisters
                    ? createWgmma(tile, added, getFragment(first, k, ofRows),
                                  ofColumns, isFirst)
                    : createWgmma(tile, added,
                                  tile.lhs.getOuterUnits(first) +
                                      tile.lhs.getDepthUnits(k) +
                                      ofRows * tile.lhs.getScaleUnits(),
                                  ofColumns, isFirst);
            isFirst = false;
          }
      for (int64_t i = 0; i < count; ++i)
        own[i] = LLVM::ExtractValueOp::create(builder, added, i);
    }
    NVVM::WgmmaGroupSyncAlignedOp::create(builder);
  };
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
  multiply(high, 0, 1, /*fromZero=*/true);
  multiply(rest, 1, form.count, /*fromZero=*/false);
  tieSums("wgmma.wait_group.sync.aligned 1;", high);
  for (auto [sum, added] : llvm::zip_equal(sums, high)) {
    Value next = LLVM::FMAOp::create(builder, added, down, sum);
    added = LLVM::FMAOp::create(builder, added, down,
                                arith::SubFOp::create(builder, sum, next));
    sum = next;
  }
  tieSums("wgmma.wait_group.sync.aligned 0;", rest);
  for (auto [sum, lost] : llvm::zip_equal(rest, high))
    sum = LLVM::FMAOp::create(builder, lost, up, sum);
  mapping.map(op.getResult(), pack(sums));
  mapping.map(op.getNextRest(), pack(rest));
}

} // namespace deplo
