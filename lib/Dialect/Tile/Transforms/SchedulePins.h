// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tunables that `--schedule` pins by name.

#ifndef DEPLO_LIB_DIALECT_TILE_TRANSFORMS_SCHEDULEPINS_H
#define DEPLO_LIB_DIALECT_TILE_TRANSFORMS_SCHEDULEPINS_H

#include "deplo/Analysis/MmaModel.h"
#include "deplo/Analysis/ScheduleModel.h"
#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/Tile/IR/Tile.h"

namespace deplo::tile {

struct Pins {
  bool isEmpty = true;
  SchedulePins numbers;
  /// Rows and columns of a contraction in a thread; empty if not pinned.
  llvm::SmallVector<int64_t> thread;
  std::optional<int64_t> stages, splitK;
  std::optional<AtomKind> atom;
  /// Rows and columns of a contraction in a warp; empty if not pinned.
  llvm::SmallVector<int64_t> warpTile;
  /// Where the pieces of one operand of f32 are made.
  std::optional<bool> piecesInRegisters;
  /// Whether the kernel that computes an operand writes its pieces.
  Choice fusePieces = Choice::Auto;
  Choice stageInputs = Choice::Auto, transposeSmem = Choice::Auto,
         asyncCopy = Choice::Auto, swizzleSmem = Choice::Auto,
         padSmem = Choice::Auto, programmaticLaunch = Choice::Auto,
         tmaCopy = Choice::Auto, warpSpecialize = Choice::Auto,
         tmaStore = Choice::Auto, persistBlocks = Choice::Auto;
};

/// The pins in `text`, `name=value` with commas between them, or an error at
/// `module`.
mlir::FailureOr<Pins> parsePins(llvm::StringRef text, mlir::ModuleOp module);

/// Whether pins may be of a contraction by tensor cores.
bool areOfTensorCores(const Pins &pins, const loop::Contraction &contraction);

/// Those of a contraction by tensor cores.
MmaPins getMmaPins(const Pins &pins, loop::Contraction &contraction);

} // namespace deplo::tile

#endif // DEPLO_LIB_DIALECT_TILE_TRANSFORMS_SCHEDULEPINS_H
