// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The launch plan of a module, as packages carry it: from the function with the
// launches to inputs, outputs, temporaries with their place in one arena, and
// launches with references to those.

#ifndef DEPLO_EXECUTION_LAUNCHPLAN_H
#define DEPLO_EXECUTION_LAUNCHPLAN_H

#include "deplo/Runtime/Package.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/LogicalResult.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace deplo {

struct LaunchPlan {
  struct Launch {
    /// The kernel's symbol.
    std::string kernel;
    std::vector<runtime::LaunchArgument> args;
    /// Whether it depends on weights alone and runs once for all calls.
    bool isPrepared = false;
  };

  std::vector<runtime::TensorInfo> inputs, outputs;
  /// Sizes that a run gives. If there are any, temporaries are the last
  /// outputs, so many of them: the caller knows how large they are.
  std::vector<runtime::SizeInfo> sizes;
  uint32_t scratch = 0;
  std::vector<runtime::TempInfo> temps;
  uint64_t arenaBytes = 0;
  /// The end of the arena: what prepared launches write.
  uint64_t preparedBytes = 0;
  /// In the order of execution.
  std::vector<Launch> launches;

  /// Names of the kernels that are launched, each once, in order of first use.
  std::vector<std::string> getKernels() const;

  /// Fills in all of `manifest` that the plan knows but the launches.
  void writeBuffers(runtime::Manifest &manifest) const;

  /// The same with launches, which refer to kernels by their place in
  /// `kernels`.
  void write(runtime::Manifest &manifest,
             llvm::ArrayRef<std::string> kernels) const;
};

/// The plan of the function @main of `module`, or of the only function. The
/// module may be at any level from `loop` on. `alignment` is what the kernels
/// expect of every input and output, at least its element's size is asked for.
///
/// Temporaries whose lives (from the first launch that uses them to the last)
/// don't overlap may share memory. Those that prepared launches write share it
/// with none, and come last. Views are the buffers that they view.
llvm::FailureOr<LaunchPlan> extractLaunchPlan(mlir::ModuleOp module,
                                              int64_t alignment = 16);

/// The life of a temporary: from its first launch to its last.
struct Lifetime {
  size_t first, last;
  uint64_t bytes;
};

/// An offset for each, so that no two that live at the same time overlap: the
/// largest first, each at the lowest place that is free for all its life.
/// Returns the bytes that all need together.
uint64_t planArena(llvm::ArrayRef<Lifetime> lifetimes, uint64_t alignment,
                   std::vector<uint64_t> &offsets);

} // namespace deplo

#endif // DEPLO_EXECUTION_LAUNCHPLAN_H
