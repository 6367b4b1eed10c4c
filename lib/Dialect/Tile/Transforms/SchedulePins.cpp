// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses the tunables that `--schedule` pins by name.

#include "SchedulePins.h"

#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo::tile {

static constexpr llvm::StringLiteral knobs =
    "block, warps, vector, cluster, chunk, unroll, thread, stages, split_k, "
    "atom, warp_tile, stage_inputs, transpose_smem, async_copy, swizzle_smem, "
    "pad_smem, programmatic_launch, tma_copy, warp_specialize, tma_store, "
    "persist_blocks, pieces, fuse_pieces, windows";

static FailureOr<int64_t> parsePower(StringRef text, bool allowsZero) {
  int64_t number;
  if (text.getAsInteger(10, number) || number < 0 ||
      (number == 0 ? !allowsZero : !llvm::isPowerOf2_64(number)))
    return failure();
  return number;
}

/// A power of two or a multiple of 16, which tiles of wgmma can be made of.
static FailureOr<int64_t> parseBlockSize(StringRef text) {
  constexpr int64_t unit = 16;
  int64_t number;
  if (!text.getAsInteger(10, number) && number > 0 && number % unit == 0)
    return number;
  return parsePower(text, /*allowsZero=*/false);
}

static LogicalResult parsePin(StringRef text, Pins &pins, ModuleOp module) {
  StringRef name = text.split('=').first.trim();
  StringRef value = text.split('=').second.trim();
  auto bad = [&](StringRef expected) {
    return module.emitError() << "schedule: " << name << " is '" << value
                              << "', expected " << expected;
  };
  if (name == "block" || name == "thread" || name == "warp_tile") {
    SmallVector<StringRef> texts;
    value.split(texts, 'x');
    std::vector<int64_t> sizes;
    for (StringRef size : texts)
      if (auto number = name == "block"
                            ? parseBlockSize(size)
                            : parsePower(size, /*allowsZero=*/false);
          succeeded(number))
        sizes.push_back(*number);
    if (name == "block" && sizes.size() != texts.size())
      return bad("powers of two such as 1x64, one for each parallel axis; "
                 "columns of wgmma may be other multiples of 16");
    if (name != "block" && (sizes.size() != 2 || texts.size() != 2))
      return bad("two powers of two such as 8x4, rows and columns");
    if (name == "block")
      pins.numbers.block = sizes;
    else
      (name == "thread" ? pins.thread : pins.warpTile)
          .assign(sizes.begin(), sizes.end());
    return success();
  }
  auto setNumber = [&](std::optional<int64_t> &field, bool allowsZero) {
    FailureOr<int64_t> number = parsePower(value, allowsZero);
    if (failed(number))
      return LogicalResult(
          bad(allowsZero ? "0 or a power of two" : "a power of two"));
    field = *number;
    return success();
  };
  auto setChoice = [&](Choice &field) {
    std::optional<Choice> choice = symbolizeChoice(value);
    if (!choice)
      return LogicalResult(bad("auto, always or never"));
    field = *choice;
    return success();
  };
  if (name == "warps")
    return setNumber(pins.numbers.warps, /*allowsZero=*/false);
  if (name == "vector")
    return setNumber(pins.numbers.vector, /*allowsZero=*/false);
  if (name == "cluster") {
    int64_t blocks = 1;
    if (value == "auto")
      return success();
    if (value != "never" && (value.getAsInteger(10, blocks) || blocks < 1))
      return bad("auto, never or the most blocks that share a row");
    pins.numbers.cluster = blocks;
    return success();
  }
  if (name == "chunk")
    return setNumber(pins.numbers.chunk, /*allowsZero=*/true);
  if (name == "unroll")
    return setNumber(pins.numbers.unroll, /*allowsZero=*/false);
  if (name == "stages" || name == "split_k") {
    int64_t number;
    if (value.getAsInteger(10, number) || number < 1)
      return bad("a positive number");
    (name == "stages" ? pins.stages : pins.splitK) = number;
    return success();
  }
  if (name == "atom") {
    pins.atom = symbolizeAtomKind(value);
    return pins.atom ? success() : LogicalResult(bad("fma, mma_sync or wgmma"));
  }
  if (name == "pieces") {
    if (value != "memory" && value != "registers")
      return bad("memory or registers");
    pins.piecesInRegisters = value == "registers";
    return success();
  }
  if (name == "stage_inputs") {
    if (failed(setChoice(pins.stageInputs)))
      return failure();
    if (pins.stageInputs == Choice::Never)
      pins.numbers.stages = false;
    return success();
  }
  if (name == "transpose_smem")
    return setChoice(pins.transposeSmem);
  if (name == "async_copy")
    return setChoice(pins.asyncCopy);
  if (name == "swizzle_smem")
    return setChoice(pins.swizzleSmem);
  if (name == "pad_smem")
    return setChoice(pins.padSmem);
  if (name == "programmatic_launch")
    return setChoice(pins.programmaticLaunch);
  if (name == "tma_copy")
    return setChoice(pins.tmaCopy);
  if (name == "warp_specialize")
    return setChoice(pins.warpSpecialize);
  if (name == "tma_store")
    return setChoice(pins.tmaStore);
  if (name == "persist_blocks")
    return setChoice(pins.persistBlocks);
  if (name == "fuse_pieces")
    return setChoice(pins.fusePieces);
  // Of fuse_vertical, which comes before kernels have schedules.
  Choice ofFusion;
  if (name == "windows")
    return setChoice(ofFusion);
  return module.emitError() << "schedule: there is no knob '" << name
                            << "', expected one of " << knobs;
}

FailureOr<Pins> parsePins(StringRef text, ModuleOp module) {
  Pins pins;
  SmallVector<StringRef> parts;
  text.split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  pins.isEmpty = parts.empty();
  for (StringRef part : parts)
    if (failed(parsePin(part, pins, module)))
      return failure();
  return pins;
}

FailureOr<int64_t> parsePinnedParts(StringRef text, ModuleOp module) {
  FailureOr<Pins> pins = parsePins(text, module);
  if (failed(pins))
    return failure();
  return pins->splitK.value_or(0);
}

bool areOfTensorCores(const Pins &pins, const loop::Contraction &contraction) {
  // A thread's tile is of multiply-adds.
  return pins.thread.empty() &&
         (!pins.numbers.block ||
          pins.numbers.block->size() == contraction.axes.size());
}

MmaPins getMmaPins(const Pins &pins, loop::Contraction &contraction) {
  MmaPins numbers;
  if (pins.numbers.block) {
    numbers.blockRows = (*pins.numbers.block)[contraction.rowAxis];
    numbers.blockColumns = (*pins.numbers.block)[contraction.columnAxis];
  }
  if (!pins.warpTile.empty()) {
    numbers.warpRows = pins.warpTile[0];
    numbers.warpColumns = pins.warpTile[1];
  }
  numbers.warps = pins.numbers.warps.value_or(0);
  numbers.chunk = pins.numbers.chunk.value_or(0);
  numbers.stages = pins.stages.value_or(0);
  numbers.cluster = pins.numbers.cluster.value_or(0);
  numbers.whole = getWholeOperand(contraction);
  numbers.inRegisters = pins.piecesInRegisters;
  return numbers;
}

} // namespace deplo::tile
