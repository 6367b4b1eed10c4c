// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations on whole tiles.

#include "InterpreterImpl.h"

#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace deplo::interpreter {

/// Folds `input`, a tile of `type`, along `axis`, in ascending order from the
/// identity.
/// Elements `first`, `first + step` and so on of each row, folded.
static Numbers fold(const Numbers &input, RankedTensorType type, int64_t axis,
                    Monoid kind, int64_t first, int64_t step) {
  ArrayRef<int64_t> shape = type.getShape();
  ScalarFunction combine = getScalarFunction(kind, type.getElementType());
  Number identity = getNumber(getIdentity(kind, type.getElementType()));
  int64_t inner = getSize(shape.drop_front(axis + 1)), length = shape[axis],
          outer = getSize(shape.take_front(axis));
  Numbers result;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      Number operands[2] = {identity, identity};
      for (int64_t k = first; k < length; k += step) {
        operands[1] = input[(o * length + k) * inner + i];
        operands[0] = combine(operands);
      }
      result.push_back(operands[0]);
    }
  return result;
}

/// Sums of products, in ascending order from the accumulator.
static Numbers multiply(tile::DotOp dot, const Numbers &lhs, const Numbers &rhs,
                        const Numbers &accumulator) {
  RankedTensorType type = dot.getType();
  ScalarFunction add = getScalarFunction(Monoid::Add, type.getElementType());
  ScalarFunction times = getScalarFunction(Monoid::Mul, type.getElementType());
  Numbers result;
  for (int64_t i = 0, size = getSize(type.getShape()); i < size; ++i) {
    SmallVector<int64_t> coordinates = getCoordinates(i, type.getShape());
    coordinates.push_back(0);
    auto getElement = [&](const Numbers &operand, RankedTensorType operandType,
                          ArrayRef<int64_t> dims) {
      SmallVector<int64_t> own;
      for (int64_t dim : dims)
        own.push_back(coordinates[dim]);
      return operand[linearize(own, operandType.getShape())];
    };
    Number operands[2] = {accumulator[i], {}};
    for (int64_t k = 0, depth = dot.getContractedSize(); k < depth; ++k) {
      coordinates.back() = k;
      Number factors[2] = {
          getElement(lhs, dot.getLhs().getType(), dot.getLhsDims()),
          getElement(rhs, dot.getRhs().getType(), dot.getRhsDims())};
      operands[1] = times(factors);
      operands[0] = add(operands);
    }
    result.push_back(operands[0]);
  }
  return result;
}

/// Scans `input`, a tile of `type`, along `axis`, in ascending order from
/// `carry`, or the identity; leaves there what all of it folds to.
static Numbers scan(const Numbers &input, RankedTensorType type, int64_t axis,
                    Monoid kind, Numbers &carry) {
  ArrayRef<int64_t> shape = type.getShape();
  ScalarFunction combine = getScalarFunction(kind, type.getElementType());
  int64_t inner = getSize(shape.drop_front(axis + 1)), length = shape[axis],
          outer = getSize(shape.take_front(axis));
  if (carry.empty())
    carry.assign(outer * inner,
                 getNumber(getIdentity(kind, type.getElementType())));
  Numbers result(input.size());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      Number &running = carry[o * inner + i];
      for (int64_t k = 0; k < length; ++k) {
        int64_t place = (o * length + k) * inner + i;
        Number operands[2] = {running, input[place]};
        result[place] = running = combine(operands);
      }
    }
  return result;
}

LogicalResult Interpreter::runRecompute(tile::RecomputeOp op) {
  Numbers result = numbers.find(op.getValue())->second;
  ScalarFunction add = getScalarFunction(Monoid::Add, op.getType());
  ScalarFunction times = getScalarFunction(Monoid::Mul, op.getType());
  auto load = [&](Value memref, ValueRange indices, AffineMap map,
                  ArrayRef<int64_t> coordinates) {
    SmallVector<Attribute> operands;
    Builder builder(op.getContext());
    for (int64_t coordinate : coordinates)
      operands.push_back(builder.getIndexAttr(coordinate));
    for (Value index : indices)
      operands.push_back(builder.getIndexAttr(getIndex(index)));
    SmallVector<Attribute> place;
    bool isInBounds = succeeded(map.constantFold(operands, place));
    const View &view = views.find(memref)->second;
    int64_t element = view.offset;
    for (auto [coordinate, size, stride] :
         llvm::zip_equal(place, cast<MemRefType>(memref.getType()).getShape(),
                         view.strides)) {
      int64_t number = cast<IntegerAttr>(coordinate).getInt();
      isInBounds &= number >= 0 && number < size;
      element += number * stride;
    }
    return isInBounds ? (*view.elements)[element]
                      : getZero(op.getType().getElementType());
  };
  for (auto [i, number] : llvm::enumerate(result)) {
    if (std::isfinite(number.real))
      continue;
    SmallVector<int64_t> coordinates =
        getCoordinates(i, op.getType().getShape());
    coordinates.push_back(0);
    Number sum[2] = {getZero(op.getType().getElementType()), {}};
    for (int64_t k = 0, depth = op.getDepth(); k < depth; ++k) {
      coordinates.back() = k;
      Number factors[2] = {
          load(op.getLhs(), op.getLhsIndices(), op.getLhsMap(), coordinates),
          load(op.getRhs(), op.getRhsIndices(), op.getRhsMap(), coordinates)};
      sum[1] = times(factors);
      sum[0] = add(sum);
    }
    number = sum[0];
  }
  numbers[op.getResult()] = std::move(result);
  return success();
}

LogicalResult Interpreter::runTile(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tile::LoadOp load) {
        Numbers result(load.getType().getNumElements(),
                       getZero(load.getType().getElementType()));
        LogicalResult done = runBox(op, [&](int64_t i, Number *element) {
          if (element)
            result[i] = *element;
          return success();
        });
        numbers[load.getResult()] = std::move(result);
        return done;
      })
      .Case([&](tile::GatherOp gather) {
        const Numbers &offsets = numbers.find(gather.getOffsets())->second;
        const Numbers *mask = nullptr, *otherwise = nullptr;
        if (gather.getMask())
          mask = &numbers.find(gather.getMask())->second;
        if (gather.getOtherwise())
          otherwise = &numbers.find(gather.getOtherwise())->second;
        View view = views.lookup(gather.getMemref());
        Numbers result(offsets.size(),
                       getZero(gather.getType().getElementType()));
        for (auto [i, offset] : llvm::enumerate(offsets)) {
          if (mask && (*mask)[i].integer == 0) {
            if (otherwise)
              result[i] = (*otherwise)[i];
            continue;
          }
          if (offset.integer < 0 ||
              offset.integer >= static_cast<int64_t>(view.elements->size()))
            return LogicalResult(
                op->emitError() << "accesses element " << offset.integer
                                << " of an array of " << view.elements->size());
          result[i] = (*view.elements)[offset.integer];
        }
        numbers[gather.getResult()] = std::move(result);
        return success();
      })
      .Case([&](tile::StoreOp store) {
        const Numbers &value = numbers.find(store.getValue())->second;
        return runBox(op, [&](int64_t i, Number *element) {
          if (element)
            *element = value[i];
          return success();
        });
      })
      .Case([&](tile::ReduceOp reduce) {
        int64_t first = reduce.getPart() ? getIndex(reduce.getPart()) : 0;
        for (auto [kind, input, result] : llvm::zip(
                 reduce.getMonoids(), reduce.getInputs(), reduce.getResults()))
          numbers[result] =
              fold(numbers.find(input)->second,
                   cast<RankedTensorType>(input.getType()), reduce.getAxis(),
                   kind, first, reduce.getParts().value_or(1));
        return success();
      })
      .Case([&](tile::DotOp dot) {
        numbers[dot.getResult()] =
            multiply(dot, numbers.find(dot.getLhs())->second,
                     numbers.find(dot.getRhs())->second,
                     numbers.find(dot.getAccumulator())->second);
        return success();
      })
      .Case(
          [&](tile::RecomputeOp recompute) { return runRecompute(recompute); })
      .Case([&](tile::ScanOp op) {
        Numbers carry;
        if (op.getCarry())
          carry = numbers.find(op.getCarry())->second;
        Numbers result =
            scan(numbers.find(op.getInput())->second, op.getInput().getType(),
                 op.getAxis(), op.getKind(), carry);
        numbers[op.getResult()] = std::move(result);
        numbers[op.getTotal()] = std::move(carry);
        return success();
      })
      .Case([&](tile::BroadcastOp broadcast) {
        const Numbers &input = numbers.find(broadcast.getInput())->second;
        ArrayRef<int64_t> shape = broadcast.getType().getShape();
        Numbers result;
        for (int64_t i = 0, size = getSize(shape); i < size; ++i) {
          SmallVector<int64_t> coordinates = getCoordinates(i, shape), kept;
          for (int64_t dim : broadcast.getDims())
            kept.push_back(coordinates[dim]);
          result.push_back(input[linearize(
              kept, broadcast.getInput().getType().getShape())]);
        }
        numbers[broadcast.getResult()] = std::move(result);
        return success();
      })
      .Case([&](tile::SplatOp splat) {
        Number scalar = numbers.find(splat.getInput())->second.front();
        numbers[splat.getResult()] =
            Numbers(splat.getType().getNumElements(), scalar);
        return success();
      })
      .Case([&](tile::IotaOp iota) {
        Type element = getElementTypeOrSelf(iota.getType());
        Numbers result(getSize(getShape(iota.getType())));
        for (auto [i, number] : llvm::enumerate(result)) {
          number.integer = getIndex(iota.getStart()) + int64_t(i);
          number = roundTo(number, element);
        }
        numbers[iota.getResult()] = std::move(result);
        return success();
      })
      .Case([&](tile::MisalignmentOp misalignment) {
        auto [strides, element] =
            misalignment.getMemref().getType().getStridesAndOffset();
        for (auto [index, stride] :
             llvm::zip(misalignment.getIndices(), strides))
          element += getIndex(index) * stride;
        setIndex(misalignment, element % int64_t(misalignment.getModulo()));
        return success();
      })
      .Case([&](tile::InBoundsOp inBounds) {
        ArrayRef<int64_t> shape = inBounds.getType().getShape();
        Numbers result(getSize(shape));
        for (auto [i, element] : llvm::enumerate(result)) {
          element.integer = 1;
          for (auto [c, corner, bound] :
               llvm::zip(getCoordinates(i, shape), inBounds.getCorner(),
                         inBounds.getBounds()))
            element.integer &=
                getIndex(corner) + c >= 0 && getIndex(corner) + c < bound;
        }
        numbers[inBounds.getResult()] = std::move(result);
        return success();
      })
      .Case([&](tile::ConvertLayoutOp convert) {
        Numbers input = numbers.find(convert.getInput())->second;
        numbers[convert.getResult()] = std::move(input);
        return success();
      })
      .Default([&](Operation *op) { return runShared(op); });
}

} // namespace deplo::interpreter
