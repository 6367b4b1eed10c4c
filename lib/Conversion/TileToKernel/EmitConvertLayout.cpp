// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions of layouts by butterfly shuffles.

#include "KernelEmitter.h"

#include "deplo/Analysis/BitSwaps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace deplo {

/// Of each two registers that differ in the register bit, lanes without the
/// lane bit keep the first and send the second; the others the other way round.
static void swapBits(ImplicitLocOpBuilder &builder,
                     MutableArrayRef<Value> words, unsigned registerBit,
                     Value hasLaneBit,
                     llvm::function_ref<Value(Value)> exchange) {
  for (size_t first = 0; first < words.size(); ++first) {
    size_t second = first | size_t(1) << registerBit;
    if (second == first)
      continue;
    auto choose = [&](Value with, Value without) -> Value {
      return arith::SelectOp::create(builder, hasLaneBit, with, without);
    };
    Value received = exchange(choose(words[first], words[second]));
    Value kept = words[first];
    words[first] = choose(received, kept);
    words[second] = choose(words[second], received);
  }
}

bool KernelEmitter::emitBitSwaps(tile::ConvertLayoutOp op) {
  std::optional<BitSwaps> plan =
      getBitSwaps(tile::getLayout(op.getInput()).getLinearLayout(),
                  tile::getLayout(op.getResult()).getLinearLayout());
  if (!plan)
    return false;
  // Neighbours that stay together travel in one 32-bit word.
  Value tile = lookup(op.getInput());
  auto type = cast<VectorType>(tile.getType());
  unsigned bits = type.getElementTypeBitWidth();
  constexpr unsigned widestShuffle = 32;
  unsigned wordBits =
      bits < widestShuffle ? llvm::Log2_32(widestShuffle / bits) : 0;
  auto isWhole = [&](unsigned count) {
    for (const BitSwaps::Swap &swap : plan->swaps)
      if (swap.registerBit < count)
        return false;
    for (auto [reg, source] : llvm::enumerate(plan->registers))
      if ((reg & ((1 << count) - 1)) != (source & ((1 << count) - 1)))
        return false;
    return type.getNumElements() >= 1 << count;
  };
  while (!isWhole(wordBits))
    --wordBits;
  int64_t perWord = 1 << wordBits;
  auto integer = builder.getIntegerType(bits * perWord);
  auto wordsType = VectorType::get({type.getNumElements() / perWord}, integer);
  SmallVector<Value> words =
      unpack(vector::BitCastOp::create(builder, wordsType, tile));
  for (const BitSwaps::Swap &swap : plan->swaps) {
    Value mask = arith::ConstantIntOp::create(builder, builder.getI32Type(),
                                              1 << swap.laneBit);
    Value hasLaneBit = arith::CmpIOp::create(
        builder, arith::CmpIPredicate::ne,
        arith::AndIOp::create(builder, lane, mask),
        arith::ConstantIntOp::create(builder, builder.getI32Type(), 0));
    swapBits(builder, words, swap.registerBit - wordBits, hasLaneBit,
             [&](Value word) { return shuffle(word, 1 << swap.laneBit); });
  }
  SmallVector<Value> results;
  for (size_t reg = 0; reg < plan->registers.size(); reg += perWord)
    results.push_back(words[plan->registers[reg] >> wordBits]);
  mapping.map(
      op.getResult(),
      vector::BitCastOp::create(builder, type, pack(results)).getResult());
  return true;
}

} // namespace deplo
