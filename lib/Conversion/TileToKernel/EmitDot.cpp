// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.dot as multiply-adds of a thread's registers.

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;

namespace deplo {

namespace {

/// The elements of an operand that a thread holds, by their coordinates.
class OperandRegisters {
public:
  OperandRegisters(RankedTensorType type, ArrayRef<int64_t> dims,
                   SmallVector<Value> elements)
      : dims(dims), elements(std::move(elements)) {
    LinearLayout layout = tile::getLayout(type).getLinearLayout();
    for (int32_t reg = 0; reg < layout.getNumRegisters(); ++reg) {
      Coordinates coordinates = layout.apply(reg, 0);
      registerAt.emplace(
          std::vector<int32_t>(coordinates.begin(), coordinates.end()), reg);
    }
  }

  /// `coordinates` are those of the accumulator and the one summed over.
  Value get(ArrayRef<int32_t> coordinates) const {
    std::vector<int32_t> own;
    for (int64_t dim : dims)
      own.push_back(coordinates[dim]);
    return elements[registerAt.at(own)];
  }

private:
  ArrayRef<int64_t> dims;
  SmallVector<Value> elements;
  std::map<std::vector<int32_t>, int32_t> registerAt;
};

} // namespace

/// The accumulators in the order in which they are added to: along the rows,
/// and back along every other one. Neighbours then have a factor in common,
/// which the next instruction takes from where the last one has read it; a
/// multiply-add that reads three registers waits for one of their two banks.
/// `rows` rows go together, a run of `run` columns of each before the next run.
static SmallVector<int32_t> getSerpentine(const LinearLayout &accumulator,
                                          ArrayRef<int64_t> lhsDims,
                                          int64_t rows, int64_t run) {
  using Row = std::vector<int32_t>;
  llvm::MapVector<Row, SmallVector<int32_t>, std::map<Row, unsigned>> ofRow;
  for (int32_t reg = 0; reg < accumulator.getNumRegisters(); ++reg) {
    Coordinates coordinates = accumulator.apply(reg, 0);
    Row row;
    for (int64_t dim : lhsDims)
      if (dim != accumulator.getRank())
        row.push_back(coordinates[dim]);
    ofRow[row].push_back(reg);
  }
  auto all = llvm::to_vector(llvm::make_second_range(ofRow));
  SmallVector<int32_t> order;
  int64_t columns = all.front().size(), runs = 0;
  for (int64_t first = 0; first < int64_t(all.size()); first += rows)
    for (int64_t column = 0; column < columns; column += run)
      for (int64_t row = first; row < first + rows && row < int64_t(all.size());
           ++row, ++runs) {
        auto registers =
            ArrayRef(all[row]).slice(column, std::min(run, columns - column));
        if (runs % 2 == 0)
          llvm::append_range(order, registers);
        else
          llvm::append_range(order, llvm::reverse(registers));
      }
  return order;
}

/// One summed element after the other, so that neighbouring instructions add to
/// different accumulators.
void KernelEmitter::emitDot(tile::DotOp op) {
  Type type = op.getType().getElementType();
  auto getElements = [&](Value operand) {
    SmallVector<Value> elements = unpack(lookup(operand));
    for (Value &element : elements)
      if (element.getType() != type)
        element =
            type.isInteger()
                ? arith::ExtSIOp::create(builder, type, element).getResult()
                : arith::ExtFOp::create(builder, type, element);
    return elements;
  };
  OperandRegisters lhs(op.getLhs().getType(), op.getLhsDims(),
                       getElements(op.getLhs()));
  OperandRegisters rhs(op.getRhs().getType(), op.getRhsDims(),
                       getElements(op.getRhs()));
  LinearLayout layout = tile::getLayout(op.getResult()).getLinearLayout();
  SmallVector<Value> sums = unpack(lookup(op.getAccumulator()));
  // Short runs where a wide read gives several summed elements of a row: all of
  // these are in one of the two banks.
  bool isAlongDepth = op.getLhsDims().back() == op.getType().getRank();
  SmallVector<int32_t> order =
      isAlongDepth
          ? getSerpentine(layout, op.getLhsDims(), /*rows=*/2, /*run=*/4)
          : getSerpentine(layout, op.getLhsDims(), /*rows=*/1,
                          layout.getNumRegisters());
  for (int32_t k = 0; k < op.getContractedSize(); ++k)
    for (int32_t reg : order) {
      Coordinates coordinates = layout.apply(reg, 0);
      coordinates.push_back(k);
      Value a = lhs.get(coordinates), b = rhs.get(coordinates);
      sums[reg] =
          type.isInteger()
              ? arith::AddIOp::create(
                    builder, arith::MulIOp::create(builder, a, b), sums[reg])
                    .getResult()
              : LLVM::FMAOp::create(builder, a, b, sums[reg]);
    }
  mapping.map(op.getResult(), pack(sums));
}

} // namespace deplo
