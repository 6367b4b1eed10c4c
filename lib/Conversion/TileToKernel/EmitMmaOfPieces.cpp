// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.dot of f32 by tensor cores that multiply bf16.
//
// A number of f32 is the sum of three of bf16, of 8 bits each:
//
//   x = high + middle * 2^-8 + low * 2^-16
//
// The scales are in the pieces, which so have f32's range, down to its least
// subnormal number. Of nine products six count, the smallest first:
//
//   a * b = high * high + 2^-8 * (high * middle + middle * high
//         + 2^-8 * (high * low + low * high + middle * middle)) + ...
//
// What is left out is below 2^-25 of the product. Tensor cores cut off what
// they add up. So their sums start from zero in each step, and are added to the
// accumulator in f32, which rounds to the nearest. Products of high pieces have
// 16 bits, so that a sum of them alone is cut off little or not at all: what
// the others come to is added to it in f32, too.
//
// Pieces of infinity, of NaN and of what rounds to infinity in bf16 come to NaN
// or infinity in the sum: tile.recompute finds it there.

#include "KernelEmitter.h"
#include "MmaOperands.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace deplo {

/// The largest pieces of two numbers, as a 32-bit register takes them. The
/// numbers become what is left of them, which is exact.
Value KernelEmitter::takePieces(Value &first, Value &second) {
  constexpr int64_t bitsOfPiece = 16;
  constexpr uint32_t upperHalf = 0xffff0000;
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
  auto pair = VectorType::get({2}, builder.getBF16Type());
  auto getBits = [&](uint32_t bits) -> Value {
    return arith::ConstantOp::create(
        builder, builder.getI32IntegerAttr(static_cast<int32_t>(bits)));
  };
  auto subtract = [&](Value number, Value piece) -> Value {
    return arith::SubFOp::create(builder, number,
                                 LLVM::BitcastOp::create(builder, f32, piece));
  };
  Value both = vector::FromElementsOp::create(
      builder, VectorType::get({2}, f32), ValueRange{first, second});
  Value word = LLVM::BitcastOp::create(
      builder, i32, arith::TruncFOp::create(builder, pair, both));
  first = subtract(first,
                   arith::ShLIOp::create(builder, word, getBits(bitsOfPiece)));
  second = subtract(second,
                    arith::AndIOp::create(builder, word, getBits(upperHalf)));
  return word;
}

/// `first` in the lower half; each piece is `scale` times what is left.
KernelEmitter::Pieces KernelEmitter::splitIntoPieces(Value first, Value second,
                                                     float scale) {
  Value scaled =
      arith::ConstantOp::create(builder, builder.getF32FloatAttr(scale));
  Pieces pieces;
  for (Value &word : pieces.ofScale) {
    word = takePieces(first, second);
    first = arith::MulFOp::create(builder, first, scaled);
    second = arith::MulFOp::create(builder, second, scaled);
  }
  return pieces;
}

/// Where the accumulators of each instruction start, those of one fragment of
/// the longer operand one after the other: the pieces of the shorter one stay
/// in registers, of the longer one those of a fragment.
static SmallVector<int32_t> getOrder(tile::DotOp op,
                                     const LinearLayout &accumulator) {
  auto [row, column] =
      std::minmax(op.getRowAndColumn().first, op.getRowAndColumn().second);
  std::map<int32_t, SmallVector<int32_t>> ofRow, ofColumn;
  for (int32_t first = 0; first < accumulator.getNumRegisters();
       first += MmaOperands::accumulatorElements) {
    Coordinates coordinates = accumulator.apply(first, 0);
    ofRow[coordinates[row]].push_back(first);
    ofColumn[coordinates[column]].push_back(first);
  }
  // A fragment of A has twice the words of one of B.
  const auto &lines = 2 * ofRow.size() >= ofColumn.size() ? ofRow : ofColumn;
  SmallVector<int32_t> order;
  for (const auto &[coordinate, line] : lines)
    llvm::append_range(order, line);
  return order;
}

/// An instruction takes 16 elements along K where a fragment of f32 has 8: two
/// fragments, of which words along K pair up. That is another order of K, the
/// same in both operands.
void KernelEmitter::emitMmaOfPieces(tile::DotOp op) {
  const int64_t depth = op.getAtomDepth(), fragmentDepth = depth / 2;
  constexpr unsigned numScales = 3;
  constexpr float scale = 256;
  tile::DotLayouts layouts = llvm::cantFail(tile::getAtomLayouts(op));
  MmaOperands operands(op, layouts);
  using Words = std::array<SmallVector<Value>, numScales>;
  std::map<std::pair<bool, int32_t>, Words> known;
  auto getFragment = [&](bool isA, Coordinates coordinates) -> const Words & {
    const MmaOperand &operand = operands.get(isA);
    Words &words =
        known[{isA, operand.fragments.getFirst(coordinates, operand.dims)}];
    if (!words.front().empty())
      return words;
    for (int64_t part = 0; part < 2; ++part) {
      int32_t first = operand.fragments.getFirst(coordinates, operand.dims);
      // The second half of a fragment's words is behind the first along K.
      int64_t half = operand.words / 2;
      for (int64_t i = first; i < first + half; ++i) {
        Pieces pieces =
            splitIntoPieces(getWord(lookup(operand.tile), i),
                            getWord(lookup(operand.tile), i + half), scale);
        for (auto [list, word] : llvm::zip_equal(words, pieces.ofScale))
          list.push_back(word);
      }
      coordinates.back() += fragmentDepth;
    }
    return words;
  };

  auto getF32 = [&](float value) -> Value {
    return arith::ConstantOp::create(builder, builder.getF32FloatAttr(value));
  };
  Value perScale = getF32(0x1p-8f), zero = getF32(0);
  SmallVector<Value> elements = unpack(lookup(op.getAccumulator()));
  SmallVector<int32_t> order = getOrder(op, layouts.accumulator);
  for (int32_t k = 0; k < op.getContractedSize(); k += depth)
    for (int32_t first : order) {
      Coordinates coordinates = layouts.accumulator.apply(first, 0);
      coordinates.push_back(k);
      const Words &a = getFragment(true, coordinates);
      const Words &b = getFragment(false, coordinates);
      SmallVector<Value> zeros(MmaOperands::accumulatorElements, zero);
      SmallVector<Value> rest = zeros;
      for (unsigned scale = numScales; scale-- > 1;) {
        for (unsigned ofA = 0; ofA <= scale; ++ofA)
          rest = createMma(builder, NVVM::MMATypes::bf16, depth, a[ofA],
                           b[scale - ofA], rest);
        if (scale != 1)
          for (Value &sum : rest)
            sum = arith::MulFOp::create(builder, sum, perScale);
      }
      SmallVector<Value> sums = createMma(builder, NVVM::MMATypes::bf16, depth,
                                          a.front(), b.front(), zeros);
      for (auto [i, sum, more] : llvm::enumerate(sums, rest))
        elements[first + i] = arith::AddFOp::create(
            builder, elements[first + i],
            LLVM::FMAOp::create(builder, more, perScale, sum));
    }
  mapping.map(op.getResult(), pack(elements));
}

} // namespace deplo
