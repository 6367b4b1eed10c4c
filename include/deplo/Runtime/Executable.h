// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_RUNTIME_EXECUTABLE_H
#define DEPLO_RUNTIME_EXECUTABLE_H

#include "deplo/Runtime/Device.h"
#include "deplo/Runtime/Package.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace deplo::runtime {

class ArenaPool;

/// What the prepared launches of an executable have made of some weights, in
/// memory of its own, for any number of runs on any streams.
class PreparedWeights {
public:
  /// Runs with it, and all graphs that contain one, must have come to their end
  /// or, where freeing memory waits for the device (cuda), been enqueued.
  ~PreparedWeights();
  PreparedWeights(const PreparedWeights &) = delete;
  PreparedWeights &operator=(const PreparedWeights &) = delete;

private:
  friend class Executable;
  explicit PreparedWeights(Device &device) : device(device) {}

  Device &device;
  void *memory = nullptr;
  /// Where each temporary of the manifest is; null for those of a call.
  std::vector<void *> temps;
};

/// A package loaded on a device. Thread-safe.
///
/// Launches that depend on weights alone (LaunchInfo::isPrepared) run in each
/// run, unless that is given what they have made: prepare runs them once.
///
/// Temporaries live in an arena that the executable owns. Each stream has its
/// own, so runs on different streams may overlap; each recorded graph has its
/// own too, so a graph may be replayed while the stream it was recorded on runs
/// the same executable. An arena is made by the first run that needs it and
/// used again when the graph it belonged to is gone.
class Executable {
public:
  /// `bytes` may go away after the call.
  static Result<std::unique_ptr<Executable>> load(std::string_view bytes,
                                                  Device &device);

  /// All runs, and all graphs that contain one, must have come to their end.
  ~Executable();
  Executable(const Executable &) = delete;
  Executable &operator=(const Executable &) = delete;

  /// Enqueues one execution on `stream`. `buffers` holds the device pointers of
  /// all inputs, then of all outputs, `count` in total. May be recorded into a
  /// graph. Checks number, null and alignment; sizes are the caller's duty.
  Status run(void *const *buffers, size_t count, Stream stream = nullptr) {
    return run(buffers, count, nullptr, 0, stream);
  }
  /// The same with a value for each size of the manifest, which is checked
  /// against the range that the package is compiled for.
  Status run(void *const *buffers, size_t count, const int64_t *sizes,
             size_t sizeCount, Stream stream);

  /// Runs the prepared launches on `stream` and waits for them, so that what
  /// they make is complete for all streams. `buffers` are those of a run, of
  /// which only the inputs that prepared launches read need to be there.
  Result<std::unique_ptr<PreparedWeights>>
  prepare(void *const *buffers, size_t count, Stream stream = nullptr);
  /// The same anew, in the same memory: recorded graphs use the new values. All
  /// runs with the old values must be before `stream` has come here.
  Status prepareAgain(PreparedWeights &weights, void *const *buffers,
                      size_t count, Stream stream = nullptr);
  /// A run without the prepared launches. `weights` are those of this
  /// executable, made of the same inputs.
  Status run(void *const *buffers, size_t count, const PreparedWeights &weights,
             Stream stream = nullptr);

  Device &device() const { return target; }
  const Manifest &manifest() const { return header; }

  size_t bufferCount() const { return bufferChecks.size(); }
  /// Buffer `index` of run: the inputs, then the outputs.
  const TensorInfo &buffer(size_t index) const;

  /// JSON text: {"device", "manifest", "kernels": [KernelAttributes]}, the
  /// kernels in the manifest's order, null for what the device cannot tell.
  std::string info() const;

  /// LoadedKernels::counters.
  std::string counters() const;

private:
  /// One launch; its arguments are a range of `slots`.
  struct Launch {
    size_t kernel;
    size_t firstSlot;
    size_t slotCount;
    bool isPrepared;
  };

  /// What run verifies of one pointer.
  struct BufferCheck {
    uintptr_t alignmentMask;
    bool mayBeNull;
  };

  Executable(Device &device, Manifest manifest,
             std::unique_ptr<LoadedKernels> kernels);

  bool mayBeEmpty(const TensorInfo &tensor) const;
  ArgumentExtent extentOf(const LaunchArgument &arg, bool isWritten) const;
  /// Bytes of a tensor of sizes that a run gives.
  uint64_t bytesOf(const TensorInfo &tensor, const int64_t *sizes) const;
  std::vector<ArgumentExtent> extentsOf(const Launch &launch,
                                        const int64_t *sizes) const;
  Status checkBuffers(void *const *buffers, size_t count) const;
  Status checkSizes(const int64_t *sizes, size_t count) const;
  /// The tensor maps of tensors of sizes that a run gives.
  std::vector<TensorMapInfo> mapsOf(const KernelInfo &kernel,
                                    const int64_t *sizes) const;
  /// The blocks of a grid whose extents depend on sizes.
  Result<uint32_t> getBlocks(const KernelInfo &kernel,
                             const int64_t *sizes) const;
  /// The pointers that launches take from.
  struct Arguments {
    void *const *buffers;
    void *const *temps;
    const int64_t *sizes;
    const PreparedWeights *prepared;
  };
  enum class Which { All, Prepared, Others };
  Status launch(Which which, const Arguments &arguments, Stream stream);
  /// The same in an arena of `pool`, if there is one.
  Status launchIn(ArenaPool *pool, Which which, Arguments arguments,
                  Stream stream);
  Status checkNumber(size_t count) const;

  Device &target;
  Manifest header;
  std::unique_ptr<LoadedKernels> kernels;
  std::vector<Launch> launches;
  /// Buffer numbers; from bufferCount() on, numbers of temporaries, then of
  /// sizes.
  std::vector<uint32_t> slots;
  /// Of the memory in each slot.
  std::vector<ArgumentExtent> extents;
  std::vector<BufferCheck> bufferChecks;
  /// Of whole runs, and of runs without prepared launches, which need less.
  /// Null without temporaries. Shared with the graphs that use an arena.
  std::shared_ptr<ArenaPool> arenas, arenasOfPrepared;
};

} // namespace deplo::runtime

#endif // DEPLO_RUNTIME_EXECUTABLE_H
