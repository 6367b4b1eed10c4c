// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why an arena is never shared where it could be used twice at once:
//  - runs with the same order key follow each other on the device;
//  - runs that a graph records get an arena that nothing else uses until the
//    graph and all its instances are gone, because the replay may happen on any
//    stream and beside any run.

#include "ArenaPool.h"

using namespace deplo::runtime;

ArenaPool::ArenaPool(Device &device, uint64_t bytes,
                     std::vector<TempInfo> temps)
    : device(device), bytes(bytes), temps(std::move(temps)) {}

ArenaPool::~ArenaPool() { close(); }

void ArenaPool::close() {
  std::vector<std::unique_ptr<Arena>> closing;
  {
    std::lock_guard<std::mutex> lock(mutex);
    closing.swap(all);
    spare.clear();
    byStream.clear();
    byCapture.clear();
  }
  for (const std::unique_ptr<Arena> &arena : closing)
    (void)device.free(arena->memory);
}

Result<Arena *> ArenaPool::arenaFor(Stream stream) {
  Result<Capture> capture = device.capture(stream);
  if (!capture.ok())
    return capture.status();
  uintptr_t key = device.orderKey(stream);
  return capture->id == 0 ? arenaForStream(key)
                          : arenaForCapture(*capture, key);
}

Result<Arena *> ArenaPool::arenaForStream(uintptr_t key) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = byStream.find(key);
    if (found != byStream.end())
      return found->second;
  }
  Result<Arena *> arena = takeSpare();
  if (!arena.ok())
    return arena;
  std::lock_guard<std::mutex> lock(mutex);
  auto [entry, isNew] = byStream.emplace(key, *arena);
  if (!isNew) // Another thread was faster.
    spare.push_back(*arena);
  return entry->second;
}

Result<Arena *> ArenaPool::arenaForCapture(const Capture &capture,
                                           uintptr_t key) {
  CaptureKey captureKey(capture.id, key);
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = byCapture.find(captureKey);
    if (found != byCapture.end())
      return found->second;
  }
  Result<Arena *> arena = takeSpare();
  if (!arena.ok())
    return arena;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto [entry, isNew] = byCapture.emplace(captureKey, *arena);
    if (!isNew) {
      spare.push_back(*arena);
      return entry->second;
    }
  }
  Status status = device.whenGraphDestroyed(
      capture.graph,
      [pool = shared_from_this(), captureKey] { pool->release(captureKey); });
  if (!status.ok()) {
    release(captureKey);
    return status;
  }
  return arena;
}

Result<Arena *> ArenaPool::takeSpare() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!spare.empty()) {
      Arena *arena = spare.back();
      spare.pop_back();
      return arena;
    }
  }
  Result<void *> memory = device.allocate(bytes);
  if (!memory.ok())
    return memory.status();
  auto arena = std::make_unique<Arena>();
  arena->memory = *memory;
  for (const TempInfo &temp : temps)
    arena->temps.push_back(static_cast<char *>(*memory) + temp.offset);
  std::lock_guard<std::mutex> lock(mutex);
  all.push_back(std::move(arena));
  return all.back().get();
}

void ArenaPool::release(CaptureKey key) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = byCapture.find(key);
  if (found == byCapture.end()) // Closed in the meantime.
    return;
  spare.push_back(found->second);
  byCapture.erase(found);
}
