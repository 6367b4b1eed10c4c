// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#define GET_ATTRDEF_CLASSES
#include "deplo/Dialect/Tile/IR/TileAttrs.cpp.inc"

using namespace mlir;

namespace deplo::tile {

void TileDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "deplo/Dialect/Tile/IR/TileAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

std::optional<Precision> findPrecision(StringRef option) {
  if (option.contains('_'))
    return std::nullopt;
  std::string name = option.str();
  llvm::replace(name, '-', '_');
  return symbolizePrecision(name);
}

PiecesForm PiecesForm::get(Type element) {
  constexpr int bitsOfHalf = 11;
  if (element.isF16())
    return {/*count=*/2, /*exponentOfProducts=*/0,
            /*exponentOfRest=*/bitsOfHalf, /*hasScales=*/true};
  return {/*count=*/3, /*exponentOfProducts=*/2 * exponentOfPieces,
          /*exponentOfRest=*/2 * exponentOfPieces, /*hasScales=*/false};
}

//===----------------------------------------------------------------------===//
// LayoutAttr
//===----------------------------------------------------------------------===//

/// Splits `flat` into moves of `rank` coordinates.
static std::vector<Coordinates> unflatten(ArrayRef<int64_t> flat, size_t rank) {
  std::vector<Coordinates> moves;
  for (size_t i = 0; i + rank <= flat.size() && rank != 0; i += rank)
    moves.emplace_back(flat.slice(i, rank));
  return moves;
}

/// Moves that the algebra's 32-bit coordinates cannot hold.
static bool isTooFar(int64_t move) {
  return move != static_cast<int32_t>(move);
}

static llvm::Expected<LinearLayout> createLayout(ArrayRef<int64_t> shape,
                                                 ArrayRef<int64_t> registers,
                                                 ArrayRef<int64_t> lanes,
                                                 ArrayRef<int64_t> warps) {
  if (llvm::any_of(registers, isTooFar) || llvm::any_of(lanes, isTooFar) ||
      llvm::any_of(warps, isTooFar))
    return llvm::createStringError("a move does not fit 32 bits");
  LayoutBases bases;
  bases[unsigned(InputDim::Register)] = unflatten(registers, shape.size());
  bases[unsigned(InputDim::Lane)] = unflatten(lanes, shape.size());
  bases[unsigned(InputDim::Warp)] = unflatten(warps, shape.size());
  return LinearLayout::create(bases, shape);
}

LayoutAttr LayoutAttr::get(MLIRContext *context, const LinearLayout &layout) {
  LayoutBases bases = layout.getBases();
  auto flatten = [&](InputDim dim) {
    SmallVector<int64_t> flat;
    for (const Coordinates &move : bases[unsigned(dim)])
      flat.append(move.begin(), move.end());
    return flat;
  };
  return get(context, layout.getShape(), flatten(InputDim::Register),
             flatten(InputDim::Lane), flatten(InputDim::Warp));
}

LinearLayout LayoutAttr::getLinearLayout() const {
  return llvm::cantFail(
      createLayout(getShape(), getRegisters(), getLanes(), getWarps()));
}

LogicalResult
LayoutAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   ArrayRef<int64_t> shape, ArrayRef<int64_t> registers,
                   ArrayRef<int64_t> lanes, ArrayRef<int64_t> warps) {
  constexpr unsigned laneBits = 5;
  // C1, C2: the algebra checks sizes and moves.
  llvm::Expected<LinearLayout> layout =
      createLayout(shape, registers, lanes, warps);
  if (!layout)
    return emitError() << "invalid layout: "
                       << llvm::toString(layout.takeError());
  // C3
  if (lanes.size() != laneBits * shape.size())
    return emitError() << "layout has "
                       << lanes.size() / std::max<size_t>(shape.size(), 1)
                       << " lane moves, expected " << laneBits;
  // C4
  if (!layout->isSurjective())
    return emitError() << "layout does not reach every element of the tile";
  return success();
}

LogicalResult LayoutAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type elementType,
    llvm::function_ref<InFlightDiagnostic()> emitError) const {
  // C5
  if (shape != getShape())
    return emitError() << "layout of shape [" << getShape()
                       << "] on a tile of shape [" << shape << "]";
  return success();
}

/// `[[0, 1], [0, 2]]`
static ParseResult parseMoves(AsmParser &parser, StringRef keyword, size_t rank,
                              SmallVectorImpl<int64_t> &flat) {
  if (parser.parseComma() || parser.parseKeyword(keyword) ||
      parser.parseEqual())
    return failure();
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        SMLoc loc = parser.getCurrentLocation();
        size_t before = flat.size();
        if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
              return parser.parseInteger(flat.emplace_back());
            }))
          return failure();
        if (flat.size() - before != rank)
          return parser.emitError(loc)
                 << "move has " << flat.size() - before
                 << " coordinates, the tile has rank " << rank;
        return success();
      });
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> shape, registers, lanes, warps;
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square,
          [&] { return parser.parseInteger(shape.emplace_back()); }) ||
      parseMoves(parser, "register", shape.size(), registers) ||
      parseMoves(parser, "lane", shape.size(), lanes) ||
      parseMoves(parser, "warp", shape.size(), warps) || parser.parseGreater())
    return {};
  return parser.getChecked<LayoutAttr>(loc, parser.getContext(), shape,
                                       registers, lanes, warps);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  size_t rank = getShape().size();
  auto printMoves = [&](StringRef keyword, ArrayRef<int64_t> flat) {
    printer << ", " << keyword << " = [";
    for (size_t i = 0; i < flat.size() && rank != 0; i += rank) {
      printer << (i ? ", [" : "[");
      llvm::interleaveComma(flat.slice(i, rank), printer);
      printer << "]";
    }
    printer << "]";
  };
  printer << "<[";
  llvm::interleaveComma(getShape(), printer);
  printer << "]";
  printMoves("register", getRegisters());
  printMoves("lane", getLanes());
  printMoves("warp", getWarps());
  printer << ">";
}

//===----------------------------------------------------------------------===//
// SharedAttr, AxisAttr
//===----------------------------------------------------------------------===//

LogicalResult
SharedAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   int64_t pad, int64_t swizzle, bool split) {
  if (pad < 0) // C1
    return emitError() << "pad of " << pad << " elements is negative";
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128) // C2
    return emitError() << "swizzle of " << swizzle
                       << " bytes, expected 0, 32, 64 or 128";
  if (swizzle != 0 && pad != 0) // C3
    return emitError() << "a swizzled buffer has no pad";
  if (split && swizzle == 0) // C4
    return emitError() << "rows are split at a swizzle, there is none";
  return success();
}

LogicalResult
AxisAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                 int64_t extent, int64_t step, AxisKind kind) {
  if (extent < 1 || step < 1) // C1
    return emitError() << "axis of extent " << extent << " in steps of " << step
                       << ", both must be positive";
  if (kind == AxisKind::Tile && extent != step) // C2
    return emitError() << "a tile axis of extent " << extent << " has step "
                       << step << ", expected its extent";
  return success();
}

//===----------------------------------------------------------------------===//
// AtomAttr
//===----------------------------------------------------------------------===//

LogicalResult
AtomAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                 AtomKind kind, ArrayRef<int64_t> warps) {
  constexpr int64_t mostWarps = 32;
  int64_t product = 1;
  for (int64_t number : warps) {
    bool isPower = number > 0 && llvm::isPowerOf2_64(number);
    product *= isPower ? std::min(number, 2 * mostWarps) : 2 * mostWarps;
    if (!isPower || product > mostWarps) // C1
      return emitError() << "atom has warps [" << warps
                         << "], expected powers of two, " << mostWarps
                         << " at most in all";
  }
  if (kind == AtomKind::FMA) // C2
    return emitError() << "a tile.dot without an atom is of multiply-adds, "
                          "expected mma_sync or wgmma";
  return success();
}

//===----------------------------------------------------------------------===//
// ScheduleAttr
//===----------------------------------------------------------------------===//

LogicalResult ScheduleAttr::verify(
    llvm::function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> block,
    int64_t warps, int64_t vector, int64_t cluster, int64_t chunk,
    int64_t unroll, ArrayRef<int64_t> thread, int64_t stages, AtomKind atom,
    ArrayRef<int64_t> warpTile, Precision, Choice, Choice, Choice, Choice,
    Choice, Choice, Choice, Choice, Choice, Choice) {
  auto isPowerOfTwo = [](int64_t value) {
    return value > 0 && llvm::isPowerOf2_64(value);
  };
  auto check = [&](StringRef name, int64_t value) -> LogicalResult {
    if (isPowerOfTwo(value))
      return success();
    return emitError() << "schedule has " << name << " = " << value
                       << ", expected a power of two";
  };
  for (int64_t size : block) // C1
    if (size < 1 || (atom != AtomKind::Wgmma && !isPowerOfTwo(size)))
      return emitError() << "schedule has block = " << size << ", expected "
                         << (atom == AtomKind::Wgmma ? "a positive number"
                                                     : "a power of two");
  if (failed(check("warps", warps)) || failed(check("vector", vector)) ||
      failed(check("unroll", unroll)))
    return failure();
  if (chunk != 0 && failed(check("chunk", chunk))) // C2
    return failure();
  if (!thread.empty() && thread.size() != 2) // C3
    return emitError() << "schedule has " << thread.size()
                       << " sizes of a thread, expected rows and columns";
  for (int64_t size : thread) // C3
    if (failed(check("thread", size)))
      return failure();
  if (!warpTile.empty() && warpTile.size() != 2) // C3
    return emitError() << "schedule has " << warpTile.size()
                       << " sizes of a warp tile, expected rows and columns";
  for (int64_t size : warpTile) // C3
    if (failed(check("warp_tile", size)))
      return failure();
  if (stages < 1) // C4
    return emitError() << "schedule has " << stages
                       << " stages, expected at least one";
  if (cluster < 1) // C5
    return emitError() << "schedule has cluster = " << cluster
                       << ", expected a positive number";
  if (atom != AtomKind::FMA && warpTile.empty()) // C6
    return emitError() << "schedule has the atom " << stringifyAtomKind(atom)
                       << " and no warp_tile, expected rows and columns";
  return success();
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> block, thread, warpTile;
  int64_t warps = 1, vector = 1, cluster = 1, chunk = 0, unroll = 1, stages = 1;
  Choice stageInputs = Choice::Auto, transposeSmem = Choice::Auto,
         asyncCopy = Choice::Auto, swizzleSmem = Choice::Auto,
         padSmem = Choice::Auto, programmaticLaunch = Choice::Auto,
         tmaCopy = Choice::Auto, warpSpecialize = Choice::Auto,
         tmaStore = Choice::Auto, persistBlocks = Choice::Auto;
  AtomKind atom = AtomKind::FMA;
  Precision precision = Precision::IEEE;
  auto parseField = [&]() -> ParseResult {
    SMLoc fieldLoc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    if (name == "block" || name == "thread" || name == "warp_tile") {
      SmallVector<int64_t> &sizes = name == "block"    ? block
                                    : name == "thread" ? thread
                                                       : warpTile;
      return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(sizes.emplace_back());
      });
    }
    int64_t *number = llvm::StringSwitch<int64_t *>(name)
                          .Case("warps", &warps)
                          .Case("vector", &vector)
                          .Case("cluster", &cluster)
                          .Case("chunk", &chunk)
                          .Case("unroll", &unroll)
                          .Case("stages", &stages)
                          .Default(nullptr);
    if (number)
      return parser.parseInteger(*number);
    Choice *choice = llvm::StringSwitch<Choice *>(name)
                         .Case("stage_inputs", &stageInputs)
                         .Case("transpose_smem", &transposeSmem)
                         .Case("async_copy", &asyncCopy)
                         .Case("swizzle_smem", &swizzleSmem)
                         .Case("pad_smem", &padSmem)
                         .Case("programmatic_launch", &programmaticLaunch)
                         .Case("tma_copy", &tmaCopy)
                         .Case("warp_specialize", &warpSpecialize)
                         .Case("tma_store", &tmaStore)
                         .Case("persist_blocks", &persistBlocks)
                         .Default(nullptr);
    bool isWord = choice || name == "atom" || name == "precision";
    if (!isWord)
      return parser.emitError(fieldLoc)
             << "unknown field " << name
             << ", expected block, warps, vector, cluster, chunk, unroll, "
                "thread, stages, atom, warp_tile, precision, stage_inputs, "
                "transpose_smem, async_copy, swizzle_smem, pad_smem, "
                "programmatic_launch, tma_copy, warp_specialize, tma_store or "
                "persist_blocks";
    SMLoc valueLoc = parser.getCurrentLocation();
    StringRef word;
    if (parser.parseKeyword(&word))
      return failure();
    if (name == "atom") {
      std::optional<AtomKind> kind = symbolizeAtomKind(word);
      if (!kind)
        return parser.emitError(valueLoc)
               << "atom is fma, mma_sync or wgmma, got " << word;
      atom = *kind;
      return success();
    }
    if (name == "precision") {
      std::optional<Precision> mode = symbolizePrecision(word);
      if (!mode)
        return parser.emitError(valueLoc)
               << "precision is ieee, f32, f32_fast or tf32, got " << word;
      precision = *mode;
      return success();
    }
    std::optional<Choice> parsed = symbolizeChoice(word);
    if (!parsed)
      return parser.emitError(valueLoc)
             << name << " is auto, always or never, got " << word;
    *choice = *parsed;
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseField))
    return {};
  return parser.getChecked<ScheduleAttr>(
      loc, parser.getContext(), block, warps, vector, cluster, chunk, unroll,
      thread, stages, atom, warpTile, precision, stageInputs, transposeSmem,
      asyncCopy, swizzleSmem, padSmem, programmaticLaunch, tmaCopy,
      warpSpecialize, tmaStore, persistBlocks);
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << "<block = [";
  llvm::interleaveComma(getBlock(), printer);
  printer << "], warps = " << getWarps() << ", vector = " << getVector();
  if (getCluster() != 1)
    printer << ", cluster = " << getCluster();
  if (getChunk() != 0)
    printer << ", chunk = " << getChunk();
  if (getUnroll() != 1)
    printer << ", unroll = " << getUnroll();
  if (!getThread().empty()) {
    printer << ", thread = [";
    llvm::interleaveComma(getThread(), printer);
    printer << "]";
  }
  if (getStages() != 1)
    printer << ", stages = " << getStages();
  if (getAtom() != AtomKind::FMA)
    printer << ", atom = " << stringifyAtomKind(getAtom());
  if (!getWarpTile().empty()) {
    printer << ", warp_tile = [";
    llvm::interleaveComma(getWarpTile(), printer);
    printer << "]";
  }
  if (getPrecision() != Precision::IEEE)
    printer << ", precision = " << stringifyPrecision(getPrecision());
  auto printChoice = [&](StringRef name, Choice choice) {
    if (choice != Choice::Auto)
      printer << ", " << name << " = " << stringifyChoice(choice);
  };
  printChoice("stage_inputs", getStageInputs());
  printChoice("transpose_smem", getTransposeSmem());
  printChoice("async_copy", getAsyncCopy());
  printChoice("swizzle_smem", getSwizzleSmem());
  printChoice("pad_smem", getPadSmem());
  printChoice("programmatic_launch", getProgrammaticLaunch());
  printChoice("tma_copy", getTmaCopy());
  printChoice("warp_specialize", getWarpSpecialize());
  printChoice("tma_store", getTmaStore());
  printChoice("persist_blocks", getPersistBlocks());
  printer << ">";
}

//===----------------------------------------------------------------------===//
// LaunchAttr
//===----------------------------------------------------------------------===//

LogicalResult
LaunchAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   int64_t blocks, int64_t threads, int64_t sharedBytes,
                   int64_t cluster, bool) {
  if (blocks < 1 || threads < 1 || sharedBytes < 0) // C1
    return emitError() << "launch of " << blocks << " blocks of " << threads
                       << " threads with " << sharedBytes
                       << " bytes of shared memory";
  if (cluster < 1 || blocks % cluster != 0) // C2
    return emitError() << "launch of " << blocks << " blocks in clusters of "
                       << cluster << ", expected a divisor";
  return success();
}

//===----------------------------------------------------------------------===//
// TensorMapAttr
//===----------------------------------------------------------------------===//

LogicalResult
TensorMapAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      int64_t argument, int64_t offset, int64_t elementBytes,
                      DenseI64ArrayAttr extents, DenseI64ArrayAttr strides,
                      DenseI64ArrayAttr box, int64_t swizzle) {
  std::string problem = findTensorMapProblem(offset, elementBytes, extents,
                                             strides, box, swizzle);
  if (!problem.empty())
    return emitError() << "tensor map has " << problem;
  if (argument < 0) // C1
    return emitError() << "tensor map is of argument " << argument;
  return success();
}

//===----------------------------------------------------------------------===//
// TargetAttr
//===----------------------------------------------------------------------===//

LogicalResult TargetAttr::verify(
    llvm::function_ref<InFlightDiagnostic()> emitError, StringRef chip,
    int64_t multiprocessors, int64_t warpsPerMultiprocessor,
    int64_t blocksPerMultiprocessor, int64_t registersPerMultiprocessor,
    int64_t registersPerThread, int64_t threadsPerBlock,
    int64_t sharedPerMultiprocessor, int64_t sharedPerBlock, int64_t l2Bytes,
    int64_t dramBytesPerSecond, int64_t f32FlopsPerSecond,
    int64_t launchNanoseconds, int64_t blocksPerCluster,
    int64_t multiprocessorsPerGroup, int64_t mmaFlopsPerSecond,
    int64_t wgmmaFlopsPerSecond) {
  for (int64_t value :
       {multiprocessors, warpsPerMultiprocessor, blocksPerMultiprocessor,
        registersPerMultiprocessor, registersPerThread, threadsPerBlock,
        sharedPerMultiprocessor, sharedPerBlock, l2Bytes, dramBytesPerSecond,
        f32FlopsPerSecond, launchNanoseconds, blocksPerCluster,
        multiprocessorsPerGroup})
    if (value <= 0) // C1
      return emitError() << "target " << chip << " has the number " << value
                         << ", expected positive numbers";
  for (int64_t value : {mmaFlopsPerSecond, wgmmaFlopsPerSecond})
    if (value < 0) // C1
      return emitError() << "target " << chip << " has the number " << value
                         << ", expected 0 or more";
  return success();
}

TargetAttr TargetAttr::lookup(Operation *op) {
  for (Operation *at = op; at; at = at->getParentOp())
    if (auto target = at->getAttrOfType<TargetAttr>("tile.target"))
      return target;
  op->emitError("no target: the module has no tile.target attribute; run "
                "deplo-attach-target first");
  return {};
}

unsigned TargetAttr::getComputeCapability() const {
  unsigned capability = 0;
  getChip()
      .drop_until(llvm::isDigit)
      .take_while(llvm::isDigit)
      .getAsInteger(10, capability);
  return capability;
}

} // namespace deplo::tile
