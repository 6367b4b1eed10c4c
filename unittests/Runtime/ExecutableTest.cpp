// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executables on a device of the test's own, which runs its kernels on the CPU.

#include "deplo/Runtime/Executable.h"
#include "TestPackages.h"
#include "deplo/Runtime/Cuda.h"

#include <atomic>
#include <set>
#include <thread>

using namespace deplo::runtime;
using namespace deplo::runtime::testing;

namespace {

class ToyKernels : public LoadedKernels {
public:
  explicit ToyKernels(std::vector<KernelInfo> kernels)
      : kernels(std::move(kernels)) {}

  Status launch(size_t kernel, void *const *args, size_t count, Stream,
                const SizedLaunch &sized) override {
    const std::string &name = kernels[kernel].name;
    if (name == "mapped") {
      const TensorMapInfo &map = sized.maps->front();
      auto *to = static_cast<float *>(args[1]);
      to[0] = float(map.extents[1]);
      to[1] = float(map.strides[1]);
      return Status::success();
    }
    if (name == "sized" && count == 3) {
      auto size = reinterpret_cast<intptr_t>(args[2]);
      std::fill_n(static_cast<float *>(args[1]), size, float(sized.blocks));
      return Status::success();
    }
    if (name == "broken" || count != 2)
      return Status::failure("kernel 'broken' cannot run");
    auto *from = static_cast<const float *>(args[0]);
    auto *to = static_cast<float *>(args[1]);
    for (int64_t i = 0; i < testLength; ++i)
      to[i] = name == "twice" ? 2 * from[i] : from[i] + 1;
    // Lets another thread in between the launches of one run.
    std::this_thread::yield();
    return Status::success();
  }

private:
  std::vector<KernelInfo> kernels;
};

class ToyDevice : public Device {
public:
  ToyDevice() { description.name = "toy"; }

  const DeviceInfo &info() const override { return description; }

  Result<std::unique_ptr<LoadedKernels>> load(const Package &package) override {
    if (package.blobs[0].find("kernel") == std::string_view::npos)
      return Status::failure("the object file holds no kernel");
    return std::unique_ptr<LoadedKernels>(
        new ToyKernels(package.manifest.kernels));
  }

  Result<void *> allocate(size_t bytes) override {
    ++allocations;
    return Device::allocate(bytes);
  }

  DeviceInfo description;
  std::atomic<int> allocations = 0;
};

ToyDevice &toy() {
  static ToyDevice *device = [] {
    EXPECT_TRUE(registerDevice("toy", {[] { return 1; },
                                       [](int) {
                                         return Result<std::unique_ptr<Device>>(
                                             std::make_unique<ToyDevice>());
                                       }})
                    .ok());
    Result<Device *> opened = openDevice("toy");
    EXPECT_TRUE(opened.ok()) << opened.message();
    return static_cast<ToyDevice *>(*opened);
  }();
  return *device;
}

std::unique_ptr<Executable> load(const Package &package) {
  Result<std::unique_ptr<Executable>> executable =
      Executable::load(packed(package), toy());
  EXPECT_TRUE(executable.ok()) << executable.message();
  return executable.ok() ? std::move(*executable) : nullptr;
}

struct Buffers {
  alignas(16) float x[testLength + 1];
  alignas(16) float y[testLength];

  explicit Buffers(float value) {
    std::fill(std::begin(x), std::end(x), value);
    std::fill(std::begin(y), std::end(y), -1.0f);
  }
};

Status run(Executable &executable, Buffers &buffers, Stream stream = nullptr) {
  void *pointers[] = {buffers.x, buffers.y};
  return executable.run(pointers, 2, stream);
}

bool allEqual(const Buffers &buffers, float value) {
  return std::all_of(std::begin(buffers.y), std::end(buffers.y),
                     [=](float y) { return y == value; });
}

/// A kernel that fills as many elements as a run says, 0 to 64 of them, with
/// the number of its blocks.
Package makeSized() {
  Package package = makeChain("toy", {"sized"});
  Manifest &manifest = package.manifest;
  manifest.sizes = {{"n", 1048583, 0, testLength}};
  for (TensorInfo *tensor : {&manifest.inputs[0], &manifest.outputs[0]})
    tensor->shape = {1048583};
  manifest.launches[0].args.push_back({LaunchArgument::Kind::Size, 0});
  manifest.kernels[0].object.reset();
  manifest.kernels[0].axes = {{3, 2}, {1048583, 16}};
  return package;
}

TEST(SizesTest, AMultipleIsThatMultipleOfTheSize) {
  std::vector<SizeInfo> sizes = {{"n", 1048583, 0, 100}, {"m", 1048589, 0, 9}};
  const int64_t values[] = {7, 5};
  EXPECT_EQ(evaluateNumber(0, sizes, values), 0);
  EXPECT_EQ(evaluateNumber(4096, sizes, values), 4096);
  EXPECT_EQ(evaluateNumber(3 * int64_t(1048583), sizes, values), 21);
  EXPECT_EQ(evaluateNumber(int64_t(1048583) * 1048583, sizes, values), 49);
  EXPECT_EQ(evaluateNumber(2 * int64_t(1048583) * 1048589, sizes, values), 70);
}

TEST(SizesTest, RunsGiveSizesAndGridsFollow) {
  std::unique_ptr<Executable> executable = load(makeSized());
  ASSERT_TRUE(executable);
  for (int64_t size : {0, 1, 16, 17, 64}) {
    Buffers buffers(1);
    void *pointers[] = {buffers.x, buffers.y};
    ASSERT_TRUE(executable->run(pointers, 2, &size, 1, nullptr).ok());
    float blocks = 2 * ((size + 15) / 16);
    for (int64_t i = 0; i < testLength; ++i)
      EXPECT_EQ(buffers.y[i], i < size ? blocks : -1) << size << " " << i;
  }
}

TEST(SizesTest, GridsHaveNoMoreBlocksThanTheKernelTakes) {
  Package package = makeSized();
  package.manifest.kernels[0].mostBlocks = 5;
  std::unique_ptr<Executable> executable = load(package);
  ASSERT_TRUE(executable);
  for (int64_t size : {0, 1, 17, 33, 64}) {
    Buffers buffers(1);
    void *pointers[] = {buffers.x, buffers.y};
    ASSERT_TRUE(executable->run(pointers, 2, &size, 1, nullptr).ok());
    float blocks = std::min<int64_t>(2 * ((size + 15) / 16), 5);
    for (int64_t i = 0; i < testLength; ++i)
      EXPECT_EQ(buffers.y[i], i < size ? blocks : -1) << size << " " << i;
  }
}

TEST(SizesTest, BlocksThatNoLaunchTakesAreRefused) {
  Package package = makeSized();
  package.manifest.kernels[0].axes[0] = {int64_t(1) << 31, 1};
  std::unique_ptr<Executable> executable = load(package);
  ASSERT_TRUE(executable);
  Buffers buffers(1);
  void *pointers[] = {buffers.x, buffers.y};
  int64_t size = 1;
  expectSentence(executable->run(pointers, 2, &size, 1, nullptr).message(),
                 "would need more than 2147483647 blocks");
  size = 0;
  EXPECT_TRUE(executable->run(pointers, 2, &size, 1, nullptr).ok());
}

TEST(SizesTest, TensorMapsFollow) {
  Package package = makeSized();
  package.manifest.kernels[0].name = "mapped";
  TensorMapInfo map;
  map.extents = {8, 1048583, 3};
  map.strides = {16, 16 * int64_t(1048583)};
  map.box = {8, 4, 1};
  package.manifest.kernels[0].maps = {map};
  std::unique_ptr<Executable> executable = load(package);
  ASSERT_TRUE(executable);
  Buffers buffers(1);
  void *pointers[] = {buffers.x, buffers.y};
  const int64_t size = 5;
  ASSERT_TRUE(executable->run(pointers, 2, &size, 1, nullptr).ok());
  EXPECT_EQ(buffers.y[0], 5);
  EXPECT_EQ(buffers.y[1], 80);
}

TEST(SizesTest, EmptyTensorsMayBeNull) {
  std::unique_ptr<Executable> executable = load(makeSized());
  ASSERT_TRUE(executable);
  void *pointers[] = {nullptr, nullptr};
  const int64_t none = 0;
  EXPECT_TRUE(executable->run(pointers, 2, &none, 1, nullptr).ok());
}

TEST(SizesTest, SizesOutOfRangeAreNamed) {
  std::unique_ptr<Executable> executable = load(makeSized());
  ASSERT_TRUE(executable);
  Buffers buffers(1);
  void *pointers[] = {buffers.x, buffers.y};
  for (int64_t size : {int64_t(-1), testLength + 1}) {
    Status status = executable->run(pointers, 2, &size, 1, nullptr);
    ASSERT_FALSE(status.ok());
    expectSentence(status.message(),
                   "size 'n' is " + std::to_string(size) +
                       ", but 'chain' is compiled for 0 to 64");
  }
  expectSentence(executable->run(pointers, 2).message(),
                 "takes 1 sizes, got 0");
}

TEST(SizesTest, PackagesKeepSizes) {
  Package sized = makeSized();
  sized.manifest.kernels[0].mostBlocks = 132;
  std::string bytes = packed(sized);
  Result<Package> package = readPackage(bytes);
  ASSERT_TRUE(package.ok()) << package.message();
  const Manifest &manifest = package->manifest;
  ASSERT_EQ(manifest.sizes.size(), 1u);
  EXPECT_EQ(manifest.sizes[0].name, "n");
  EXPECT_EQ(manifest.sizes[0].generic, 1048583);
  EXPECT_EQ(manifest.sizes[0].min, 0);
  EXPECT_EQ(manifest.sizes[0].max, testLength);
  ASSERT_EQ(manifest.kernels[0].axes.size(), 2u);
  EXPECT_EQ(manifest.kernels[0].axes[1].extent, 1048583);
  EXPECT_EQ(manifest.kernels[0].axes[1].step, 16);
  EXPECT_EQ(manifest.kernels[0].mostBlocks, 132u);
  EXPECT_EQ(manifest.launches[0].args[2],
            (LaunchArgument{LaunchArgument::Kind::Size, 0}));
}

TEST(SizesTest, UnsoundSizesAreRefused) {
  auto refuse = [](auto change, const char *part) {
    Package package = makeSized();
    change(package.manifest);
    Result<std::string> bytes = writePackage(package);
    ASSERT_FALSE(bytes.ok()) << part;
    expectSentence(bytes.message(), part);
  };
  refuse([](Manifest &m) { m.sizes[0].generic = 64; }, "sizes[0]");
  refuse([](Manifest &m) { m.sizes[0].min = -1; }, "sizes[0]");
  refuse([](Manifest &m) { m.sizes[0].name.clear(); }, "sizes[0].name");
  refuse([](Manifest &m) { m.sizes.clear(); }, "launches[0].args[2]");
  refuse([](Manifest &m) { m.kernels[0].axes[0].step = 0; }, "kernels[0].axes");
  refuse([](Manifest &m) { m.kernels[0].mostBlocks = 0; },
         "kernels[0].most_blocks");
  refuse([](Manifest &m) { m.scratch = 2; }, "scratch");
}

//===----------------------------------------------------------------------===//
// Registry
//===----------------------------------------------------------------------===//

TEST(DeviceTest, OpeningTwiceGivesTheSameDevice) {
  Result<Device *> first = openDevice("toy"), second = openDevice("toy:0");
  toy();
  first = openDevice("toy");
  second = openDevice("toy:0");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
  std::vector<Device *> devices = listDevices();
  EXPECT_NE(std::find(devices.begin(), devices.end(), *first), devices.end());
}

TEST(DeviceTest, UnknownNames) {
  toy();
  for (const char *name : {"", "tpu", ":", "toy:", "toy:x", "toy:-1", "toy:0:0",
                           "toy:99999999999", "cuda:x"}) {
    Result<Device *> device = openDevice(name);
    ASSERT_FALSE(device.ok()) << name;
    expectSentence(device.message(), "expected one of 'cuda', ");
    expectSentence(device.message(), "'toy'");
  }
  expectSentence(openDevice("toy:1").message(), "this machine has 1");
}

TEST(DeviceTest, NamesAreTakenOnce) {
  toy();
  expectSentence(registerDevice("toy", {}).message(), "already registered");
  expectSentence(registerDevice("cuda", {}).message(), "already registered");
}

TEST(DeviceTest, WithoutDriver) {
  DeviceFactory factory = cudaDeviceFactory("libdeplo-no-such-driver.so");
  expectSentence(factory.count().message(), "there is no NVIDIA driver");
  expectSentence(factory.open(0).message(), "use device 'host'");
}

TEST(DeviceTest, LibraryThatIsNoDriver) {
  DeviceFactory factory = cudaDeviceFactory("libm.so.6");
  expectSentence(factory.count().message(), "has no cuInit");
}

TEST(DeviceTest, DefaultMemoryStreamsAndEvents) {
  Device &device = toy();
  Result<void *> memory = device.allocate(100);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(*memory) % 256, 0u);
  EXPECT_TRUE(device.fill(*memory, 7, 100, nullptr).ok());
  char copy[100] = {};
  EXPECT_TRUE(device.copy(copy, *memory, 100, nullptr).ok());
  EXPECT_EQ(copy[99], 7);
  EXPECT_TRUE(device.free(*memory).ok());
  Result<void *> nothing = device.allocate(0);
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(*nothing, nullptr);
  expectSentence(device.allocate(SIZE_MAX).message(), "bytes of memory left");

  Result<Stream> stream = device.createStream();
  Result<Event> begin = device.createEvent(), end = device.createEvent();
  ASSERT_TRUE(stream.ok() && begin.ok() && end.ok());
  expectSentence(device.elapsed(*begin, *end).message(), "must be recorded");
  EXPECT_TRUE(device.recordEvent(*begin, *stream).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_TRUE(device.recordEvent(*end, *stream).ok());
  Result<float> elapsed = device.elapsed(*begin, *end);
  ASSERT_TRUE(elapsed.ok());
  EXPECT_GE(*elapsed, 2.0f);
  EXPECT_TRUE(device.synchronize(*stream).ok());
  expectSentence(device.beginCapture(*stream).message(), "cannot record");
  EXPECT_TRUE(device.destroyEvent(*begin).ok());
  EXPECT_TRUE(device.destroyEvent(*end).ok());
  EXPECT_TRUE(device.destroyStream(*stream).ok());
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

TEST(ExecutableTest, RunsKernelsInOrder) {
  auto executable = load(makeChain("toy", {"increment", "twice", "increment"}));
  ASSERT_TRUE(executable);
  Buffers buffers(3);
  Status status = run(*executable, buffers);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(allEqual(buffers, 9));
}

TEST(ExecutableTest, BytesMayGoAwayAfterLoading) {
  std::string bytes = packed(makeChain("toy", {"increment", "twice"}));
  Result<std::unique_ptr<Executable>> executable =
      Executable::load(bytes, toy());
  ASSERT_TRUE(executable.ok());
  std::fill(bytes.begin(), bytes.end(), '?');
  Buffers buffers(1);
  EXPECT_TRUE(run(**executable, buffers).ok());
  EXPECT_TRUE(allEqual(buffers, 4));
}

TEST(ExecutableTest, ArenaIsMadeOncePerStream) {
  int before = toy().allocations;
  auto simple = load(makeChain("toy", {"increment"}));
  auto chain = load(makeChain("toy", {"increment", "twice"}));
  Buffers buffers(1);
  EXPECT_TRUE(run(*simple, buffers).ok());
  EXPECT_EQ(toy().allocations, before) << "no temporaries, no arena";
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(run(*chain, buffers).ok());
  EXPECT_EQ(toy().allocations, before + 1);
  Result<Stream> stream = toy().createStream();
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(run(*chain, buffers, *stream).ok());
  EXPECT_EQ(toy().allocations, before + 2);
  EXPECT_TRUE(toy().destroyStream(*stream).ok());
}

/// Threads on the default stream, on one shared stream and on their own.
TEST(ExecutableTest, ConcurrentRunsDoNotMix) {
  auto chain = load(makeChain("toy", {"twice", "increment", "twice"}));
  ASSERT_TRUE(chain);
  Result<Stream> shared = toy().createStream();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 6; ++thread)
    threads.emplace_back([&, thread] {
      Result<Stream> own = toy().createStream();
      Stream streams[] = {nullptr, *shared, *own};
      for (int i = 0; i < 300; ++i) {
        float value = float(thread * 1000 + i);
        Buffers buffers(value);
        if (!run(*chain, buffers, streams[thread % 3]).ok() ||
            !allEqual(buffers, (2 * value + 1) * 2))
          ++wrong;
      }
      (void)toy().destroyStream(*own);
    });
  for (std::thread &thread : threads)
    thread.join();
  (void)toy().destroyStream(*shared);
  EXPECT_EQ(wrong, 0);
}

//===----------------------------------------------------------------------===//
// Prepared weights
//===----------------------------------------------------------------------===//

/// y = ((2 * x) + 1) * 2, of which the first two are prepared.
Package makePrepared(const char *device) {
  Package package = makeChain(device, {"twice", "increment", "twice"});
  Manifest &manifest = package.manifest;
  manifest.launches[0].isPrepared = manifest.launches[1].isPrepared = true;
  manifest.preparedBytes = manifest.arenaBytes;
  return package;
}

TEST(PreparedTest, RunsOnceForAllCalls) {
  auto executable = load(makePrepared("toy"));
  ASSERT_TRUE(executable);
  Buffers buffers(3);
  void *pointers[] = {buffers.x, buffers.y};
  auto prepared = executable->prepare(pointers, 2);
  ASSERT_TRUE(prepared.ok()) << prepared.message();
  EXPECT_TRUE(allEqual(buffers, -1)) << "no result is written";
  EXPECT_TRUE(executable->run(pointers, 2, **prepared).ok());
  EXPECT_TRUE(allEqual(buffers, 14));
  // What was prepared stays, until it is prepared again; a whole run is right.
  std::fill_n(buffers.x, testLength, 5.0f);
  EXPECT_TRUE(executable->run(pointers, 2, **prepared).ok());
  EXPECT_TRUE(allEqual(buffers, 14));
  EXPECT_TRUE(run(*executable, buffers).ok());
  EXPECT_TRUE(allEqual(buffers, 22));
  EXPECT_TRUE(executable->prepareAgain(**prepared, pointers, 2).ok());
  EXPECT_TRUE(executable->run(pointers, 2, **prepared).ok());
  EXPECT_TRUE(allEqual(buffers, 22));
}

TEST(PreparedTest, TemporariesOfACallAreItsOwn) {
  Package package = makeChain("toy", {"twice", "increment", "twice"});
  Manifest &manifest = package.manifest;
  manifest.launches[0].isPrepared = true;
  manifest.preparedBytes = testLength * 4;
  std::swap(manifest.temps[0], manifest.temps[1]);
  auto executable = load(package);
  ASSERT_TRUE(executable);
  Buffers buffers(3);
  void *pointers[] = {buffers.x, buffers.y};
  int before = toy().allocations;
  auto prepared = executable->prepare(pointers, 2);
  ASSERT_TRUE(prepared.ok()) << prepared.message();
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(executable->run(pointers, 2, **prepared).ok());
  EXPECT_TRUE(allEqual(buffers, 14));
  EXPECT_EQ(toy().allocations, before + 2);
}

TEST(PreparedTest, PackagesKeepIt) {
  Result<Package> package = readPackage(packed(makePrepared("toy")));
  ASSERT_TRUE(package.ok()) << package.message();
  EXPECT_EQ(package->manifest.preparedBytes, package->manifest.arenaBytes);
  EXPECT_TRUE(package->manifest.launches[1].isPrepared);
  EXPECT_FALSE(package->manifest.launches[2].isPrepared);
}

TEST(PreparedTest, UnsoundPackagesAreRefused) {
  auto refuse = [](auto change, const char *part) {
    Package package = makePrepared("toy");
    change(package.manifest);
    Result<std::string> bytes = writePackage(package);
    ASSERT_FALSE(bytes.ok()) << part;
    expectSentence(bytes.message(), part);
  };
  refuse([](Manifest &m) { m.launches[2].isPrepared = true; },
         "launches[2] is prepared, but .args[1] belongs to a call");
  refuse([](Manifest &m) { m.preparedBytes = testLength * 4; },
         "launches[0] is prepared, but .args[1] belongs to a call");
  refuse([](Manifest &m) { m.preparedBytes += 16; }, "prepared_bytes");
  refuse([](Manifest &m) { m.preparedBytes -= 8; }, "prepared_bytes");
  refuse([](Manifest &m) { m.preparedBytes -= 16; },
         "temps[0] reaches into what is prepared");
}

TEST(ExecutableTest, ErrorsOfACall) {
  auto executable = load(makeChain("toy", {"increment"}));
  Buffers buffers(1);
  void *pointers[] = {buffers.x, buffers.y, buffers.y};
  expectSentence(executable->run(pointers, 1).message(),
                 "'chain' takes 1 inputs and 1 outputs, got 1 buffers");
  expectSentence(executable->run(pointers, 3).message(), "got 3 buffers");
  pointers[0] = buffers.x + 1;
  expectSentence(executable->run(pointers, 2).message(),
                 "input 0 'x' must be aligned to 16 bytes");
  pointers[0] = buffers.x;
  pointers[1] = nullptr;
  expectSentence(executable->run(pointers, 2).message(),
                 "output 0 'y' is a null pointer");
  EXPECT_TRUE(allEqual(buffers, -1)) << "nothing ran";
}

TEST(ExecutableTest, EmptyTensorsMayBeNull) {
  Package package = makeChain("toy", {"increment"});
  package.manifest.inputs.push_back(makeVector("none", 0));
  auto executable = load(package);
  Buffers buffers(1);
  void *pointers[] = {buffers.x, nullptr, buffers.y};
  Status status = executable->run(pointers, 3);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(allEqual(buffers, 2));
}

TEST(ExecutableTest, FailingLaunchStopsTheRun) {
  auto executable = load(makeChain("toy", {"increment", "broken", "twice"}));
  Buffers buffers(1);
  expectSentence(run(*executable, buffers).message(), "'broken' cannot run");
  EXPECT_TRUE(allEqual(buffers, -1));
}

TEST(ExecutableTest, ErrorsOfLoading) {
  auto loadError = [](std::string_view bytes) {
    Result<std::unique_ptr<Executable>> loaded = Executable::load(bytes, toy());
    EXPECT_FALSE(loaded.ok());
    return loaded.message();
  };
  expectSentence(loadError("nonsense"), "malformed package");
  expectSentence(loadError(packed(makeChain("cuda", {"twice"}))),
                 "made for device 'cuda' and cannot be loaded on 'toy'");
  Package package = makeChain("toy", {"twice"});
  package.blobs[0] = "nothing";
  expectSentence(loadError(packed(package)), "holds no kernel");
}

TEST(ExecutableTest, Info) {
  auto executable = load(makeChain("toy", {"increment", "twice"}));
  EXPECT_EQ(executable->bufferCount(), 2u);
  EXPECT_EQ(executable->buffer(0).name, "x");
  EXPECT_EQ(executable->buffer(1).name, "y");
  std::string kernel = "{\"registers\":null,\"local_bytes\":null,"
                       "\"static_shared_bytes\":null,\"blocks_per_sm\":null}";
  EXPECT_EQ(executable->info(), "{\"device\":\"toy\",\"manifest\":" +
                                    manifestJson(executable->manifest()) +
                                    ",\"kernels\":[" + kernel + "," + kernel +
                                    "]}");
}

} // namespace
