// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes that a scheduled kernel moves, counted on its accesses.

#ifndef DEPLO_DIALECT_TILE_ANALYSIS_MEMORYTRAFFIC_H
#define DEPLO_DIALECT_TILE_ANALYSIS_MEMORYTRAFFIC_H

#include "deplo/Dialect/Tile/IR/Tile.h"

#include <optional>

namespace deplo::tile {

/// What the accesses to one argument of a kernel move.
struct BufferTraffic {
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;
};

/// The traffic of each memref argument of `kernel`. Every access counts for all
/// iterations of the loops around it, less what is masked: a block that reads
/// its row twice counts twice. Blocks that read the same element count once:
/// all but the first find it in a cache. None where an index is not a sum of
/// multiples of axes and loop variables.
std::optional<llvm::SmallVector<BufferTraffic>>
getMemoryTraffic(KernelOp kernel);

} // namespace deplo::tile

#endif // DEPLO_DIALECT_TILE_ANALYSIS_MEMORYTRAFFIC_H
