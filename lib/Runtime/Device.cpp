// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Runtime/Device.h"
#include "deplo/Runtime/Cuda.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

using namespace deplo::runtime;

//===----------------------------------------------------------------------===//
// Defaults: a synchronous device in the process's own memory
//===----------------------------------------------------------------------===//

using Clock = std::chrono::steady_clock;

LoadedKernels::~LoadedKernels() = default;

KernelAttributes LoadedKernels::attributes(size_t) const { return {}; }

Status LoadedKernels::launchWithin(size_t kernel, void *const *args,
                                   const ArgumentExtent *, size_t count,
                                   Stream stream, const SizedLaunch &sized) {
  return launch(kernel, args, count, stream, sized);
}

std::string LoadedKernels::counters() const { return {}; }

Device::~Device() = default;

bool Device::runsPackagesFor(std::string_view kind) const {
  return kind == deviceKind(info().name);
}

Result<void *> Device::allocate(size_t bytes) {
  constexpr size_t alignment = 256;
  if (bytes == 0)
    return static_cast<void *>(nullptr);
  void *memory = nullptr;
  if (bytes <= SIZE_MAX - alignment)
    memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment *
                                               alignment);
  if (!memory)
    return Status::failure("device '" + info().name + "' has no " +
                           std::to_string(bytes) + " bytes of memory left");
  return memory;
}

Status Device::free(void *memory) {
  std::free(memory);
  return Status::success();
}

Status Device::copy(void *to, const void *from, size_t bytes, Stream) {
  if (bytes != 0)
    std::memmove(to, from, bytes);
  return Status::success();
}

Status Device::fill(void *memory, uint8_t byte, size_t bytes, Stream) {
  if (bytes != 0)
    std::memset(memory, byte, bytes);
  return Status::success();
}

// A stream of a synchronous device is no more than an address of its own.
Result<Stream> Device::createStream() { return Stream(new char()); }

Status Device::destroyStream(Stream stream) {
  delete static_cast<char *>(stream);
  return Status::success();
}

Status Device::synchronize(Stream) { return Status::success(); }

Result<Event> Device::createEvent() { return Event(new Clock::time_point()); }

Status Device::recordEvent(Event event, Stream) {
  *static_cast<Clock::time_point *>(event) = Clock::now();
  return Status::success();
}

Result<float> Device::elapsed(Event begin, Event end) {
  auto first = *static_cast<Clock::time_point *>(begin);
  auto last = *static_cast<Clock::time_point *>(end);
  if (first == Clock::time_point() || last == Clock::time_point())
    return Status::failure("an event must be recorded before it is read");
  return std::chrono::duration<float, std::milli>(last - first).count();
}

Status Device::destroyEvent(Event event) {
  delete static_cast<Clock::time_point *>(event);
  return Status::success();
}

static Status noGraphs(const Device &device) {
  return Status::failure("device '" + device.info().name +
                         "' cannot record graphs; run the executable instead");
}

Status Device::beginCapture(Stream) { return noGraphs(*this); }
Result<Graph> Device::endCapture(Stream) { return noGraphs(*this); }
Status Device::launchGraph(Graph, Stream) { return noGraphs(*this); }
Status Device::destroyGraph(Graph) { return noGraphs(*this); }
Result<Capture> Device::capture(Stream) { return Capture(); }

Status Device::whenGraphDestroyed(void *, std::function<void()>) {
  return noGraphs(*this);
}

uintptr_t Device::orderKey(Stream stream) const {
  return stream ? reinterpret_cast<uintptr_t>(stream) : threadKey();
}

uintptr_t Device::threadKey() {
  static thread_local char key;
  return reinterpret_cast<uintptr_t>(&key);
}

//===----------------------------------------------------------------------===//
// Registry
//===----------------------------------------------------------------------===//

namespace {

class Registry {
public:
  /// Never destroyed: executables may outlive every static object.
  static Registry &get() {
    static Registry *registry = new Registry();
    return *registry;
  }

  Status add(const std::string &kind, DeviceFactory factory) {
    std::lock_guard<std::mutex> lock(mutex);
    if (!factories.emplace(kind, std::move(factory)).second)
      return Status::failure("device '" + kind + "' is already registered");
    return Status::success();
  }

  Result<Device *> open(std::string_view name) {
    std::string kind(deviceKind(name));
    std::optional<int> ordinal = ordinalOf(name);
    std::lock_guard<std::mutex> lock(mutex);
    auto factory = factories.find(kind);
    if (factory == factories.end() || !ordinal)
      return Status::failure("there is no device '" + std::string(name) +
                             "'; expected one of " + kinds() +
                             ", optionally with a number as in 'cuda:0'");
    return open(factory->first, factory->second, *ordinal);
  }

  std::vector<Device *> list() {
    std::lock_guard<std::mutex> lock(mutex);
    std::vector<Device *> result;
    for (auto &[kind, factory] : factories) {
      Result<int> count = factory.count();
      for (int ordinal = 0; count.ok() && ordinal < *count; ++ordinal) {
        Result<Device *> device = open(kind, factory, ordinal);
        if (device.ok())
          result.push_back(*device);
      }
    }
    return result;
  }

private:
  Registry() { factories.emplace("cuda", cudaDeviceFactory()); }

  static std::optional<int> ordinalOf(std::string_view name) {
    size_t colon = name.find(':');
    if (colon == std::string_view::npos)
      return 0;
    std::string_view digits = name.substr(colon + 1);
    if (digits.empty() || digits.size() > 4 ||
        digits.find_first_not_of("0123456789") != std::string_view::npos)
      return std::nullopt;
    return std::atoi(std::string(digits).c_str());
  }

  std::string kinds() const {
    std::string text;
    for (const auto &entry : factories)
      text += (text.empty() ? "'" : ", '") + entry.first + "'";
    return text;
  }

  Result<Device *> open(const std::string &kind, const DeviceFactory &factory,
                        int ordinal) {
    std::unique_ptr<Device> &slot = devices[{kind, ordinal}];
    if (slot)
      return slot.get();
    Result<int> count = factory.count();
    if (!count.ok())
      return count.status();
    if (ordinal >= *count)
      return Status::failure("there is no device '" + kind + ":" +
                             std::to_string(ordinal) + "': this machine has " +
                             std::to_string(*count) + " of its kind");
    Result<std::unique_ptr<Device>> device = factory.open(ordinal);
    if (!device.ok())
      return device.status();
    slot = std::move(*device);
    return slot.get();
  }

  std::mutex mutex;
  std::map<std::string, DeviceFactory> factories;
  std::map<std::pair<std::string, int>, std::unique_ptr<Device>> devices;
};

} // namespace

Status deplo::runtime::registerDevice(const std::string &kind,
                                      DeviceFactory factory) {
  return Registry::get().add(kind, std::move(factory));
}

Result<Device *> deplo::runtime::openDevice(std::string_view name) {
  return Registry::get().open(name);
}

std::vector<Device *> deplo::runtime::listDevices() {
  return Registry::get().list();
}

std::string_view deplo::runtime::deviceKind(std::string_view name) {
  return name.substr(0, name.find(':'));
}
