// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Tile/IR/TileCluster.h"

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include "deplo/Dialect/Tile/IR/TileDialect.cpp.inc"
#include "deplo/Dialect/Tile/IR/TileEnums.cpp.inc"

using namespace mlir;

namespace deplo::tile {

namespace {

/// Layouts are long and shared by many values: print them once, by name.
struct TileAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (isa<LayoutAttr>(attr)) {
      os << "layout";
      return AliasResult::OverridableAlias;
    }
    if (isa<TargetAttr>(attr)) {
      os << "target";
      return AliasResult::OverridableAlias;
    }
    return AliasResult::NoAlias;
  }
};

/// The version that bytecode carries; raise `current` when the meaning or form
/// of an operation changes, and upgrade older versions when reading.
struct TileVersion : DialectVersion {
  static constexpr uint64_t current = 1;
};

struct TileBytecodeInterface : BytecodeDialectInterface {
  TileBytecodeInterface(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  void writeVersion(DialectBytecodeWriter &writer) const override {
    writer.writeVarInt(TileVersion::current);
  }

  std::unique_ptr<DialectVersion>
  readVersion(DialectBytecodeReader &reader) const override {
    uint64_t version;
    if (failed(reader.readVarInt(version)))
      return nullptr;
    if (version > TileVersion::current) {
      reader.emitError() << "tile dialect version " << version
                         << " is newer than the supported version "
                         << TileVersion::current;
      return nullptr;
    }
    return std::make_unique<TileVersion>();
  }
};

} // namespace

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "deplo/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "deplo/Dialect/Tile/IR/TileClusterOps.cpp.inc"
      >();
  registerAttributes();
  registerTypes();
  addInterfaces<TileAsmInterface, TileBytecodeInterface>();
}

/// The last arguments of a kernel are planes of pieces of arguments of f32, and
/// behind them their scales, if they have any.
static LogicalResult verifyPieces(Operation *op, Attribute value) {
  auto numbers = dyn_cast<DenseI64ArrayAttr>(value);
  Block::BlockArgListType arguments;
  if (auto kernel = dyn_cast<KernelOp>(op))
    arguments = kernel.getMemrefs();
  else if (op->getName().getStringRef() == "loop.kernel")
    arguments = op->getRegion(0).getArguments();
  if (!numbers || arguments.size() < 2 * static_cast<size_t>(numbers.size()))
    return op->emitOpError(
        "attribute tile.pieces is an array with a number for "
        "each of the last arguments of a kernel");
  auto getType = [&](int64_t number) {
    return number >= 0 && number < static_cast<int64_t>(arguments.size())
               ? dyn_cast<MemRefType>(arguments[number].getType())
               : MemRefType();
  };
  auto isF32 = [](MemRefType type) {
    return type && type.getElementType().isF32();
  };
  size_t scales = 0;
  if (!numbers.empty() && isF32(getType(arguments.size() - 1)))
    scales = numbers.size();
  if (arguments.size() < 2 * numbers.size() + scales)
    return op->emitOpError("attribute tile.pieces is of a kernel without "
                           "arguments for pieces and scales");
  auto ofScales = arguments.take_back(scales);
  auto ofPieces = arguments.drop_back(scales).take_back(numbers.size());
  for (auto [position, number] : llvm::enumerate(numbers.asArrayRef())) {
    MemRefType whole = getType(number);
    BlockArgument argument = ofPieces[position];
    auto pieces = dyn_cast<MemRefType>(argument.getType());
    Type element = pieces ? pieces.getElementType() : Type();
    bool suits = isF32(whole) && element &&
                 (scales ? element.isF16() : element.isBF16()) &&
                 pieces.getRank() == whole.getRank() + 1 &&
                 pieces.getDimSize(0) == PiecesForm::get(element).count;
    if (!suits)
      return op->emitOpError()
             << "attribute tile.pieces says that argument "
             << argument.getArgNumber() << " of " << argument.getType()
             << " holds the pieces of argument " << number;
    auto scale =
        scales ? dyn_cast<MemRefType>(ofScales[position].getType()) : whole;
    if (!isF32(scale) || scale.getRank() != whole.getRank())
      return op->emitOpError()
             << "attribute tile.pieces says that argument "
             << ofScales[position].getArgNumber()
             << " holds the scales of the rows of argument " << number;
  }
  return success();
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  if (name == "tile.target") {
    if (!isa<ModuleOp>(op) || !isa<TargetAttr>(attribute.getValue()))
      return op->emitOpError(
          "attribute tile.target is a #tile.target on a module");
    return success();
  }
  if (name == "tile.pieces")
    return verifyPieces(op, attribute.getValue());
  if (name == "tile.part_of") {
    auto whole = dyn_cast<IntegerAttr>(attribute.getValue());
    if (op->getName().getStringRef() != "loop.reduce" || !whole ||
        whole.getInt() < 1)
      return op->emitOpError(
          "attribute tile.part_of is a positive integer on loop.reduce");
    return success();
  }
  if (name == "tile.launch") {
    if (!isa<FunctionOpInterface>(op) || !isa<LaunchAttr>(attribute.getValue()))
      return op->emitOpError(
          "attribute tile.launch is a #tile.launch on a function");
    return success();
  }
  if (name == "tile.grid") {
    if (!isa<FunctionOpInterface>(op) ||
        !isa<DenseI64ArrayAttr>(attribute.getValue()) ||
        cast<DenseI64ArrayAttr>(attribute.getValue()).size() % 2 != 0)
      return op->emitOpError(
          "attribute tile.grid is an array of the extent and "
          "step of each axis on a function");
    return success();
  }
  if (name == "tile.most_blocks") {
    auto blocks = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!isa<FunctionOpInterface>(op) || !op->hasAttr("tile.grid") || !blocks ||
        blocks.getInt() < 1)
      return op->emitOpError("attribute tile.most_blocks is a positive integer "
                             "on a function with tile.grid");
    return success();
  }
  if (name == "tile.maps") {
    auto maps = dyn_cast<ArrayAttr>(attribute.getValue());
    if (!isa<FunctionOpInterface>(op) || !maps ||
        !llvm::all_of(maps, llvm::IsaPred<TensorMapAttr>))
      return op->emitOpError("attribute tile.maps is an array of "
                             "#tile.tensor_map on a function");
    return success();
  }
  if (name == "tile.unroll") {
    auto factor = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!isa<scf::ForOp>(op) || !factor || factor.getInt() < 1)
      return op->emitOpError(
          "attribute tile.unroll is a positive integer on scf.for");
    return success();
  }
  if (name == "tile.descending") {
    if (!isa<scf::ForOp>(op) || !isa<UnitAttr>(attribute.getValue()))
      return op->emitOpError("attribute tile.descending is a unit on scf.for");
    return success();
  }
  if (name == "tile.raster") {
    auto rows = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!isa<KernelOp>(op) || !rows || rows.getInt() < 1)
      return op->emitOpError(
          "attribute tile.raster is a positive integer on tile.kernel");
    return success();
  }
  return op->emitOpError() << "has the unknown attribute " << name
                           << " of the tile dialect";
}

LayoutAttr getLayout(Type tile) {
  auto type = dyn_cast<RankedTensorType>(tile);
  return type ? dyn_cast_or_null<LayoutAttr>(type.getEncoding()) : LayoutAttr();
}

SmallVector<int64_t> getSpannedDims(std::optional<ArrayRef<int64_t>> dims,
                                    int64_t memrefRank, int64_t tileRank) {
  if (dims)
    return llvm::to_vector(*dims);
  return llvm::to_vector(llvm::seq<int64_t>(memrefRank - tileRank, memrefRank));
}

} // namespace deplo::tile
