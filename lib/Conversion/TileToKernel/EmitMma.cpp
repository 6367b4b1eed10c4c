// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.dot by tensor cores, and reads of shared memory into their fragments.

#include "KernelEmitter.h"
#include "MmaOperands.h"

#include "deplo/Analysis/MatrixAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <map>

using namespace mlir;

namespace deplo {

static constexpr unsigned wordBits = 32;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// Elements `first` on of a thread's tile, as one 32-bit register.
Value KernelEmitter::getWord(Value tile, int64_t first) {
  Type element = cast<VectorType>(tile.getType()).getElementType();
  int64_t count = wordBits / element.getIntOrFloatBitWidth();
  if (count == 1)
    return vector::ExtractOp::create(builder, tile, ArrayRef<int64_t>(first));
  return vector::ExtractStridedSliceOp::create(
      builder, tile, ArrayRef<int64_t>(first), ArrayRef<int64_t>(count),
      ArrayRef<int64_t>(1));
}

/// `tile` with the 32-bit register `word` for elements `first` on.
Value KernelEmitter::withWord(Value tile, int64_t first, Value word) {
  Type element = cast<VectorType>(tile.getType()).getElementType();
  int64_t count = wordBits / element.getIntOrFloatBitWidth();
  if (count == 1)
    return vector::InsertOp::create(
        builder, LLVM::BitcastOp::create(builder, element, word), tile,
        ArrayRef<int64_t>(first));
  word =
      LLVM::BitcastOp::create(builder, VectorType::get({count}, element), word);
  return vector::InsertStridedSliceOp::create(
      builder, word, tile, ArrayRef<int64_t>(first), ArrayRef<int64_t>(1));
}

//===----------------------------------------------------------------------===//
// ldmatrix
//===----------------------------------------------------------------------===//

void KernelEmitter::emitMatrixRead(tile::ReadOp op,
                                   const MatrixAccess &access) {
  auto layout = tile::LayoutAttr::get(op.getContext(), access.rows);
  auto type = cast<VectorType>(convertType(op.getType()));
  SmallVector<Value> indices = lookup(op.getIndices());
  Type i32 = builder.getI32Type();
  Type result =
      access.matrices == 1
          ? i32
          : LLVM::LLVMStructType::getLiteral(
                builder.getContext(), SmallVector<Type>(access.matrices, i32));
  auto shape = NVVM::LdStMatrixShapeAttr::get(builder.getContext(), 8, 8);
  Value tile = arith::ConstantOp::create(
      builder, cast<TypedAttr>(builder.getZeroAttr(type)));
  for (int32_t i = 0; i < access.getNumInstructions(); ++i) {
    SmallVector<Value> coordinates =
        getCoordinates(layout, i * access.rowElements);
    for (auto [coordinate, index] : llvm::zip(coordinates, indices))
      coordinate = add(index, coordinate);
    Value pointer = getSharedPointer(lookup(op.getBuffer()),
                                     op.getBuffer().getType(), coordinates);
    Value words = NVVM::LdMatrixOp::create(
        builder, result, pointer, access.matrices,
        access.isTransposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
        shape, NVVM::LdStMatrixEltType::B16);
    for (unsigned matrix = 0; matrix < access.matrices; ++matrix) {
      Value word = access.matrices == 1
                       ? words
                       : LLVM::ExtractValueOp::create(builder, words, matrix)
                             .getResult();
      int64_t first = (i * access.matrices + matrix) * access.elementsPerWord;
      tile = withWord(tile, first, word);
    }
  }
  mapping.map(op.getResult(), tile);
}

//===----------------------------------------------------------------------===//
// stmatrix
//===----------------------------------------------------------------------===//

/// Writes a thread's `elements` where `getPointer` says that coordinates are.
void KernelEmitter::emitMatrixWrite(
    const MatrixAccess &access, ArrayRef<Value> elements,
    llvm::function_ref<Value(ValueRange)> getPointer) {
  auto layout = tile::LayoutAttr::get(builder.getContext(), access.rows);
  auto shape = NVVM::LdStMatrixShapeAttr::get(builder.getContext(), 8, 8);
  Value tile = pack(elements);
  for (int32_t i = 0; i < access.getNumInstructions(); ++i) {
    SmallVector<Value> words;
    for (unsigned matrix = 0; matrix < access.matrices; ++matrix)
      words.push_back(LLVM::BitcastOp::create(
          builder, builder.getI32Type(),
          getWord(tile, (i * access.matrices + matrix) *
                            int64_t(access.elementsPerWord))));
    NVVM::StMatrixOp::create(
        builder, getPointer(getCoordinates(layout, i * access.rowElements)),
        words,
        access.isTransposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
        shape, NVVM::LdStMatrixEltType::B16);
  }
}

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

/// The types of the instruction, for elements of a tile.
static NVVM::MMATypes getMmaType(Type element) {
  return element.isF16()        ? NVVM::MMATypes::f16
         : element.isBF16()     ? NVVM::MMATypes::bf16
         : element.isInteger(8) ? NVVM::MMATypes::s8
                                : NVVM::MMATypes::tf32;
}

/// `word` as the instruction takes it: f16 as it is, all else as integers; f32
/// is rounded to tf32.
Value KernelEmitter::getMmaOperandWord(Value word) {
  Type i32 = builder.getI32Type(), type = word.getType();
  if (getElementTypeOrSelf(type).isF16())
    return word;
  if (type.isF32())
    return NVVM::ConvertFloatToTF32Op::create(builder, i32, word,
                                              NVVM::FPRoundingMode::RNA);
  return LLVM::BitcastOp::create(builder, i32, word);
}

/// Fragments of one operand are used by all of the other's, so each is made
/// once. Instructions that follow one another add to different accumulators.
void KernelEmitter::emitMma(tile::DotOp op) {
  Type element = op.getLhs().getType().getElementType();
  int64_t depth = op.getAtomDepth();
  tile::DotLayouts layouts = llvm::cantFail(tile::getAtomLayouts(op));
  MmaOperands operands(op, layouts);
  std::map<std::pair<bool, int32_t>, SmallVector<Value>> known;
  auto getFragment = [&](bool isA, ArrayRef<int32_t> coordinates) {
    const MmaOperand &operand = operands.get(isA);
    int32_t first = operand.fragments.getFirst(coordinates, operand.dims);
    SmallVector<Value> &words = known[{isA, first}];
    if (words.empty())
      for (int64_t i = 0; i < operand.words; ++i)
        words.push_back(getMmaOperandWord(getWord(
            lookup(operand.tile), first + i * operands.elementsPerWord)));
    return words;
  };

  SmallVector<Value> elements = unpack(lookup(op.getAccumulator()));
  NVVM::MMATypes type = getMmaType(element);
  for (int32_t k = 0; k < op.getContractedSize(); k += depth)
    for (size_t first = 0; first < elements.size();
         first += MmaOperands::accumulatorElements) {
      Coordinates coordinates = layouts.accumulator.apply(first, 0);
      coordinates.push_back(k);
      MutableArrayRef<Value> added = MutableArrayRef(elements).slice(
          first, MmaOperands::accumulatorElements);
      llvm::copy(createMma(builder, type, depth, getFragment(true, coordinates),
                           getFragment(false, coordinates), added),
                 added.begin());
    }
  mapping.map(op.getResult(), pack(elements));
}

} // namespace deplo
