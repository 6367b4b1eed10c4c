// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_LIB_RUNTIME_ARENAPOOL_H
#define DEPLO_LIB_RUNTIME_ARENAPOOL_H

#include "deplo/Runtime/Device.h"

#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace deplo::runtime {

/// The memory that holds the temporaries of one run at a time.
struct Arena {
  void *memory = nullptr;
  /// Where each temporary of the manifest is.
  std::vector<void *> temps;
  /// Held while a run is enqueued: two threads that use one stream must not
  /// interleave the launches of their runs, which share the temporaries.
  std::mutex enqueuing;
};

/// The arenas of one executable, each in use by one stream or one graph.
class ArenaPool : public std::enable_shared_from_this<ArenaPool> {
public:
  ArenaPool(Device &device, uint64_t bytes, std::vector<TempInfo> temps);
  ~ArenaPool();

  /// The arena for a run on `stream`, or for the graph it is recorded into.
  Result<Arena *> arenaFor(Stream stream);

  /// Frees the memory. Graphs that still hold an arena must not run any more.
  void close();

private:
  /// A graph may record from several streams, which run beside each other.
  using CaptureKey = std::pair<uint64_t, uintptr_t>;

  Result<Arena *> arenaForStream(uintptr_t key);
  Result<Arena *> arenaForCapture(const Capture &capture, uintptr_t key);
  Result<Arena *> takeSpare();
  void release(CaptureKey key);

  Device &device;
  const uint64_t bytes;
  const std::vector<TempInfo> temps;

  // Never held while calling the device: release runs inside the driver.
  std::mutex mutex;
  std::vector<std::unique_ptr<Arena>> all;
  std::vector<Arena *> spare;
  std::unordered_map<uintptr_t, Arena *> byStream;
  std::map<CaptureKey, Arena *> byCapture;
};

} // namespace deplo::runtime

#endif // DEPLO_LIB_RUNTIME_ARENAPOOL_H
