// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runtime needs from a device, and the registry of devices by name.
//
// A device that runs kernels on the CPU implements one function, `load`: the
// defaults of everything else are those of a synchronous device in the
// process's own memory. Registering it takes one call:
//
//   registerDevice("host", {[] { return 1; },
//                           [](int) { return std::make_unique<Host>(); }});

#ifndef DEPLO_RUNTIME_DEVICE_H
#define DEPLO_RUNTIME_DEVICE_H

#include "deplo/Runtime/Package.h"
#include "deplo/Runtime/Status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deplo::runtime {

/// A queue of work: a CUstream on "cuda". Null is the default stream.
using Stream = void *;
/// A point in a stream, with its time.
using Event = void *;
/// A recorded sequence of launches, ready to be replayed.
using Graph = void *;

struct DeviceInfo {
  /// As openDevice takes it: "cuda:0", "host".
  std::string name;
  /// The product's name, for people.
  std::string description;
  /// The architecture, as "sm_90"; empty where there is nothing to choose.
  std::string target;
  uint64_t memoryBytes = 0;
  uint32_t multiprocessors = 0;
  /// The most shared memory that one block can have.
  uint32_t sharedBytesPerBlock = 0;
};

/// What the device made of one kernel; absent where it cannot tell.
struct KernelAttributes {
  std::optional<uint32_t> registers;
  /// Bytes of local memory of a thread: not zero when registers spill.
  std::optional<uint32_t> localBytes;
  std::optional<uint32_t> staticSharedBytes;
  /// Blocks of the package's size that one multiprocessor holds.
  std::optional<uint32_t> blocksPerMultiprocessor;
};

/// The memory behind one argument of a launch.
struct ArgumentExtent {
  /// False for a size.
  bool isMemory = true;
  std::string_view name;
  uint64_t bytes = 0;
  bool isWritable = true;
  /// Its bytes have values.
  bool isInitialized = true;
};

/// What a launch has for the sizes of a call.
struct SizedLaunch {
  /// Of the grid; 0 for as many as the manifest says.
  uint32_t blocks = 0;
  /// The kernel's tensor maps; null for those of the manifest.
  const std::vector<TensorMapInfo> *maps = nullptr;
};

/// The kernels of one package, ready to be launched. Thread-safe.
class LoadedKernels {
public:
  virtual ~LoadedKernels();

  /// Enqueues kernel number `kernel` of the manifest on `stream`, or runs it
  /// at once on a synchronous device. `args` holds the `count` pointers that
  /// are the kernel's arguments; it is read before the call returns. What
  /// depends on sizes is as `sized` says, in place of the manifest.
  virtual Status launch(size_t kernel, void *const *args, size_t count,
                        Stream stream, const SizedLaunch &sized = {}) = 0;

  /// The same, knowing what each argument points to: for devices that check
  /// what kernels do. By default `extents` is not looked at.
  virtual Status launchWithin(size_t kernel, void *const *args,
                              const ArgumentExtent *extents, size_t count,
                              Stream stream, const SizedLaunch &sized = {});
  virtual bool looksAtExtents() const { return false; }

  virtual KernelAttributes attributes(size_t kernel) const;

  /// What the last launches of each kernel did, as a JSON array by kernel;
  /// empty where the device does not count.
  virtual std::string counters() const;
};

/// The recording that a stream is in.
struct Capture {
  /// Unique in the process, 0 if the stream is not recording.
  uint64_t id = 0;
  /// The graph being recorded, for whenGraphDestroyed.
  void *graph = nullptr;
};

/// A device. Thread-safe; lives until the process ends.
class Device {
public:
  virtual ~Device();

  virtual const DeviceInfo &info() const = 0;

  /// Whether packages made for device `kind` can be loaded. By default, those
  /// of its own kind.
  virtual bool runsPackagesFor(std::string_view kind) const;

  /// Makes the kernels of `package` ready. The package is sound and made for
  /// this kind of device; its blobs may go away after the call.
  virtual Result<std::unique_ptr<LoadedKernels>>
  load(const Package &package) = 0;

  /// Memory of the device, aligned to 256 bytes; null for 0 bytes.
  virtual Result<void *> allocate(size_t bytes);
  virtual Status free(void *memory);
  /// Between any of host and device memory, in the order of the stream.
  virtual Status copy(void *to, const void *from, size_t bytes, Stream stream);
  virtual Status fill(void *memory, uint8_t byte, size_t bytes, Stream stream);

  virtual Result<Stream> createStream();
  virtual Status destroyStream(Stream stream);
  virtual Status synchronize(Stream stream);

  virtual Result<Event> createEvent();
  virtual Status recordEvent(Event event, Stream stream);
  /// Milliseconds between two recorded events; waits for the later one.
  virtual Result<float> elapsed(Event begin, Event end);
  virtual Status destroyEvent(Event event);

  virtual Status beginCapture(Stream stream);
  virtual Result<Graph> endCapture(Stream stream);
  virtual Status launchGraph(Graph graph, Stream stream);
  virtual Status destroyGraph(Graph graph);

  virtual Result<Capture> capture(Stream stream);
  /// Calls `action` once when `graph`, which is being recorded, and everything
  /// made from it are gone. `action` must not use the device.
  virtual Status whenGraphDestroyed(void *graph, std::function<void()> action);

  /// Two runs whose keys are equal are in order with each other, or are
  /// serialized by the caller; runs with other keys may overlap. By default
  /// each thread has its own default stream.
  virtual uintptr_t orderKey(Stream stream) const;

protected:
  /// A number that no other living thread has.
  static uintptr_t threadKey();
};

/// How to find the devices of one kind.
struct DeviceFactory {
  /// How many there are, or one sentence saying why there are none.
  std::function<Result<int>()> count;
  /// Opens device `ordinal`, counted from 0; called once for each.
  std::function<Result<std::unique_ptr<Device>>(int ordinal)> open;
};

/// Adds a kind of device. "cuda" is always there. Fails if the name is taken.
/// The factory must not use the registry.
Status registerDevice(const std::string &kind, DeviceFactory factory);

/// The device called "kind" or "kind:ordinal"; opened on first use, and the
/// same one each time.
Result<Device *> openDevice(std::string_view name);

/// Every device that can be opened.
std::vector<Device *> listDevices();

/// "cuda" of "cuda:1".
std::string_view deviceKind(std::string_view name);

} // namespace deplo::runtime

#endif // DEPLO_RUNTIME_DEVICE_H
