// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA device on a stand-in for the driver; see FakeCudaDriver.h.

#include "deplo/Runtime/Cuda.h"
#include "FakeCudaDriver.h"
#include "TestPackages.h"
#include "deplo/Runtime/Executable.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <thread>

using namespace deplo::runtime;
using namespace deplo::runtime::testing;

namespace {

template <typename Function> Function *fake(const char *symbol) {
  static void *library = dlopen(DEPLO_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << DEPLO_FAKE_CUDA;
  return reinterpret_cast<Function *>(dlsym(library, symbol));
}

int calls(const char *symbol) {
  return fake<FakeCudaCalls>("fakeCudaCalls")(symbol);
}

void failNext(const char *symbol, int code) {
  fake<FakeCudaFailNext>("fakeCudaFailNext")(symbol, code);
}

constexpr int outOfMemory = 2, notFound = 500, illegalAddress = 700;

/// Every test must give back what it takes.
class CudaTest : public ::testing::Test {
protected:
  void SetUp() override {
    Result<std::unique_ptr<Device>> opened =
        cudaDeviceFactory(DEPLO_FAKE_CUDA).open(0);
    ASSERT_TRUE(opened.ok()) << opened.message();
    device = std::move(*opened);
    liveBefore = liveObjects();
    for (void **memory : {&x, &y})
      *memory = *device->allocate(testLength * sizeof(float));
    stream = *device->createStream();
  }

  void TearDown() override {
    ASSERT_TRUE(device);
    EXPECT_TRUE(device->destroyStream(stream).ok());
    for (void *memory : {x, y})
      EXPECT_TRUE(device->free(memory).ok());
    EXPECT_EQ(liveObjects(), liveBefore);
    void *current = &device;
    fake<int(void **)>("cuCtxGetCurrent")(&current);
    EXPECT_EQ(current, nullptr) << "this thread had no context before";
  }

  static int liveObjects() {
    return fake<FakeCudaLiveObjects>("fakeCudaLiveObjects")();
  }

  std::unique_ptr<Executable> load(const Package &package) {
    Result<std::unique_ptr<Executable>> executable =
        Executable::load(packed(package), *device);
    EXPECT_TRUE(executable.ok()) << executable.message();
    return executable.ok() ? std::move(*executable) : nullptr;
  }

  std::string loadError(const Package &package) {
    Result<std::unique_ptr<Executable>> executable =
        Executable::load(packed(package), *device);
    EXPECT_FALSE(executable.ok());
    return executable.message();
  }

  Status run(Executable &executable, Stream on) {
    void *buffers[] = {x, y};
    return executable.run(buffers, 2, on);
  }

  void setX(float value) {
    std::vector<float> values(testLength, value);
    EXPECT_TRUE(
        device->copy(x, values.data(), testLength * sizeof(float), nullptr)
            .ok());
  }

  /// The value that all elements of y have, or -1.
  float getY() {
    std::vector<float> values(testLength);
    EXPECT_TRUE(
        device->copy(values.data(), y, testLength * sizeof(float), nullptr)
            .ok());
    EXPECT_TRUE(device->synchronize(nullptr).ok());
    bool same = std::all_of(values.begin(), values.end(),
                            [&](float value) { return value == values[0]; });
    return same ? values[0] : -1;
  }

  std::unique_ptr<Device> device;
  void *x = nullptr, *y = nullptr;
  Stream stream = nullptr;
  int liveBefore = 0;
};

TEST_F(CudaTest, DescribesTheDevice) {
  const DeviceInfo &info = device->info();
  EXPECT_EQ(info.name, "cuda:0");
  EXPECT_EQ(info.description, "Fake GPU");
  EXPECT_EQ(info.target, "sm_90");
  EXPECT_EQ(info.memoryBytes, uint64_t(1) << 30);
  EXPECT_EQ(info.multiprocessors, 132u);
  EXPECT_EQ(info.sharedBytesPerBlock, 227u * 1024);
}

TEST_F(CudaTest, RunsOnAStream) {
  auto executable = load(makeChain("cuda", {"increment", "twice"}));
  ASSERT_TRUE(executable);
  setX(4);
  Status status = run(*executable, stream);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(getY(), 10);
}

TEST_F(CudaTest, OneModuleForAllKernelsOfABlob) {
  int before = calls("cuModuleLoadDataEx");
  auto executable = load(makeChain("cuda", {"increment", "twice"}));
  EXPECT_EQ(calls("cuModuleLoadDataEx"), before + 1);
}

TEST_F(CudaTest, OneLaunchCostsTwoCallsInACurrentContext) {
  auto executable = load(makeChain("cuda", {"increment"}));
  // As in a PyTorch process: the primary context is current.
  void *context = nullptr;
  fake<int(void **, int)>("cuDevicePrimaryCtxRetain")(&context, 7);
  fake<int(void *)>("cuCtxPushCurrent_v2")(context);
  int before = calls("cuCtxPushCurrent_v2");
  int launches = calls("cuLaunchKernel"), queries = calls("cuCtxGetCurrent");
  EXPECT_TRUE(run(*executable, stream).ok());
  EXPECT_EQ(calls("cuLaunchKernel"), launches + 1);
  EXPECT_EQ(calls("cuCtxGetCurrent"), queries + 1);
  EXPECT_EQ(calls("cuCtxPushCurrent_v2"), before);
  fake<int(void **)>("cuCtxPopCurrent_v2")(&context);
}

TEST_F(CudaTest, ProgrammaticKernelsAreLaunchedSo) {
  Package package = makeChain("cuda", {"increment", "twice"});
  package.manifest.kernels[1].programmatic = true;
  auto executable = load(package);
  ASSERT_TRUE(executable);
  setX(4);
  int plain = calls("cuLaunchKernel"), programmatic = calls("cuLaunchKernelEx");
  Status status = run(*executable, stream);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(getY(), 10);
  EXPECT_EQ(calls("cuLaunchKernel"), plain + 1);
  EXPECT_EQ(calls("cuLaunchKernelEx"), programmatic + 1);
  failNext("cuLaunchKernelEx", illegalAddress);
  expectSentence(run(*executable, stream).message(),
                 "cuLaunchKernelEx of kernel 'twice' failed: an illegal memory "
                 "access was encountered");
}

TEST_F(CudaTest, InfoHasKernelAttributes) {
  auto executable = load(makeChain("cuda", {"increment"}));
  EXPECT_NE(executable->info().find(
                "\"kernels\":[{\"registers\":32,\"local_bytes\":0,"
                "\"static_shared_bytes\":64,\"blocks_per_sm\":64}]"),
            std::string::npos)
      << executable->info();
}

TEST_F(CudaTest, MuchSharedMemoryIsAskedFor) {
  Package package = makeChain("cuda", {"increment"});
  package.manifest.kernels[0].sharedBytes = 200 * 1024;
  auto executable = load(package);
  Status status = run(*executable, stream);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(fake<FakeCudaMostShared>("fakeCudaMostShared")(), 200u * 1024);

  package.manifest.kernels[0].sharedBytes = 227 * 1024;
  expectSentence(loadError(package),
                 "needs 232512 bytes of shared memory, but cuda:0 (Fake GPU) "
                 "has 232448");
}

TEST_F(CudaTest, TooManyThreadsForTheRegisters) {
  Package package = makeChain("cuda", {"hungry"});
  package.manifest.kernels[0].block = {512, 1, 1};
  expectSentence(loadError(package),
                 "blocks of 512 threads, but with its 255 registers cuda:0 "
                 "runs at most 256");
}

//===----------------------------------------------------------------------===//
// Cubin or PTX
//===----------------------------------------------------------------------===//

TEST_F(CudaTest, TakesTheCubinIfItFits) {
  Package package = makeChain("cuda", {"twice"});
  package.blobs[0] = "garbage";
  EXPECT_TRUE(load(package));
  package.manifest.kernels[0].ptx.reset();
  EXPECT_TRUE(load(package));
}

TEST_F(CudaTest, TakesPtxIfTheCubinIsForAnotherChip) {
  // The fake device is an sm_90: each row is a target and whether its cubin,
  // and its PTX, run there.
  struct {
    const char *target;
    bool cubin, ptx;
  } rows[] = {{"sm_90a", true, true},    {"sm_90", true, true},
              {"sm_80", false, true},    {"sm_89", false, true},
              {"sm_100", false, false},  {"sm_100a", false, false},
              {"sm_86", false, true},    {"sm_120a", false, false},
              {"sm_100f", false, false}, {"sm_91", false, false}};
  for (const auto &row : rows) {
    SCOPED_TRACE(row.target);
    Package cubinOnly = makeChain("cuda", {"twice"});
    cubinOnly.manifest.target = row.target;
    Package ptxOnly = cubinOnly;
    cubinOnly.manifest.kernels[0].ptx.reset();
    ptxOnly.manifest.kernels[0].cubin.reset();
    std::string refusal = std::string("the package is made for ") + row.target +
                          " and cannot run on cuda:0 (Fake GPU, sm_90)";
    if (row.cubin)
      EXPECT_TRUE(load(cubinOnly));
    else
      expectSentence(loadError(cubinOnly), refusal);
    if (row.ptx)
      EXPECT_TRUE(load(ptxOnly));
    else
      expectSentence(loadError(ptxOnly), refusal);
  }
}

TEST_F(CudaTest, TakesPtxIfTheDriverRefusesTheCubin) {
  Package package = makeChain("cuda", {"twice"});
  package.blobs[1] = "cubin for another chip";
  auto executable = load(package);
  ASSERT_TRUE(executable);
  setX(4);
  EXPECT_TRUE(run(*executable, stream).ok());
  EXPECT_EQ(getY(), 8);

  package.manifest.kernels[0].ptx.reset();
  expectSentence(loadError(package),
                 "cuModuleLoadDataEx of the sm_90a cubin on cuda:0");
}

TEST_F(CudaTest, BadPtxShowsTheLog) {
  Package package = makeChain("cuda", {"twice"});
  package.manifest.kernels[0].cubin.reset();
  package.blobs[0] = ".version 8.0 garbage";
  expectSentence(loadError(package),
                 "a PTX JIT compilation failed (CUDA_ERROR_INVALID_PTX, 218)");
  expectSentence(loadError(package), "line 3; fatal : Parsing error");
}

TEST_F(CudaTest, BadTarget) {
  for (const char *target :
       {"", "sm_", "sm_9", "sm_90x", "gfx942", "sm_90000", "compute_90"}) {
    Package package = makeChain("cuda", {"twice"});
    package.manifest.target = target;
    expectSentence(loadError(package), "is not an NVIDIA architecture");
  }
}

TEST_F(CudaTest, MissingKernel) {
  Package package = makeChain("cuda", {"absent"});
  expectSentence(loadError(package),
                 "cuModuleGetFunction of kernel 'absent' failed: named symbol "
                 "not found (CUDA_ERROR_NOT_FOUND, 500)");
}

//===----------------------------------------------------------------------===//
// Failing calls
//===----------------------------------------------------------------------===//

TEST_F(CudaTest, FailingCallsOfLoadingAreNamed) {
  for (const char *symbol :
       {"cuModuleLoadDataEx", "cuModuleGetFunction", "cuFuncGetAttribute",
        "cuFuncSetAttribute", "cuOccupancyMaxActiveBlocksPerMultiprocessor",
        "cuCtxPushCurrent_v2"}) {
    SCOPED_TRACE(symbol);
    Package package = makeChain("cuda", {"twice"});
    package.manifest.kernels[0].sharedBytes = 100 * 1024;
    failNext(symbol, notFound);
    std::string call(symbol);
    expectSentence(loadError(package), call.substr(0, call.find("_v2")));
  }
}

TEST_F(CudaTest, FailingCallsOfARunAreNamed) {
  auto executable = load(makeChain("cuda", {"twice", "increment"}));
  failNext("cuLaunchKernel", illegalAddress);
  expectSentence(run(*executable, stream).message(),
                 "cuLaunchKernel of kernel 'twice' failed: an illegal memory "
                 "access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS, 700)");
  Stream other = *device->createStream();
  failNext("cuMemAlloc_v2", outOfMemory);
  expectSentence(run(*executable, other).message(),
                 "cuMemAlloc of 256 bytes failed: out of memory");
  failNext("cuStreamGetCaptureInfo_v2", 12345);
  expectSentence(run(*executable, other).message(),
                 "cuStreamGetCaptureInfo failed: no explanation (unknown, "
                 "12345)");
  EXPECT_TRUE(run(*executable, other).ok());
  EXPECT_TRUE(device->destroyStream(other).ok());
}

TEST_F(CudaTest, OutOfMemory) {
  expectSentence(device->allocate(size_t(1) << 40).message(),
                 "cuMemAlloc of 1099511627776 bytes failed: out of memory "
                 "(CUDA_ERROR_OUT_OF_MEMORY, 2)");
}

TEST_F(CudaTest, NoDevice) {
  failNext("cuInit", 100);
  DeviceFactory factory = cudaDeviceFactory(DEPLO_FAKE_CUDA);
  expectSentence(factory.count().message(),
                 "no NVIDIA GPU can be used: cuInit failed: no CUDA-capable "
                 "device is detected (CUDA_ERROR_NO_DEVICE, 100)");
}

TEST_F(CudaTest, FailingCallsOfOpeningAreNamed) {
  for (const char *symbol :
       {"cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem_v2",
        "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain"}) {
    failNext(symbol, outOfMemory);
    std::string call(symbol);
    expectSentence(cudaDeviceFactory(DEPLO_FAKE_CUDA).open(0).message(),
                   call.substr(0, call.find("_v2")) + " of cuda:0 failed");
  }
}

//===----------------------------------------------------------------------===//
// Streams, events, graphs
//===----------------------------------------------------------------------===//

TEST_F(CudaTest, EventsMeasureTime) {
  Event begin = *device->createEvent(), end = *device->createEvent();
  EXPECT_TRUE(device->recordEvent(begin, stream).ok());
  EXPECT_TRUE(device->recordEvent(end, stream).ok());
  Result<float> elapsed = device->elapsed(begin, end);
  ASSERT_TRUE(elapsed.ok()) << elapsed.message();
  EXPECT_GT(*elapsed, 0);
  EXPECT_TRUE(device->destroyEvent(begin).ok());
  EXPECT_TRUE(device->destroyEvent(end).ok());
}

TEST_F(CudaTest, ReplaysAGraph) {
  auto executable = load(makeChain("cuda", {"increment", "twice"}));
  setX(1);
  EXPECT_TRUE(device->fill(y, 0, testLength * sizeof(float), stream).ok());
  ASSERT_TRUE(device->beginCapture(stream).ok());
  Status status = run(*executable, stream);
  EXPECT_TRUE(status.ok()) << status.message();
  Result<Graph> graph = device->endCapture(stream);
  ASSERT_TRUE(graph.ok()) << graph.message();
  EXPECT_EQ(getY(), 0) << "recording must not run anything";
  for (float value : {1.0f, 5.0f}) {
    setX(value);
    EXPECT_TRUE(device->launchGraph(*graph, stream).ok());
    EXPECT_EQ(getY(), (value + 1) * 2);
  }
  EXPECT_TRUE(device->destroyGraph(*graph).ok());
}

/// The recorded run and later runs on the same stream use different arenas,
/// and the arena comes back when the graph is gone.
TEST_F(CudaTest, AGraphHasItsOwnArena) {
  auto executable = load(makeChain("cuda", {"increment", "twice"}));
  EXPECT_TRUE(run(*executable, stream).ok());
  int allocations = calls("cuMemAlloc_v2");
  auto record = [&] {
    EXPECT_TRUE(device->beginCapture(stream).ok());
    EXPECT_TRUE(run(*executable, stream).ok());
    EXPECT_TRUE(run(*executable, stream).ok());
    return *device->endCapture(stream);
  };
  Graph first = record();
  EXPECT_EQ(calls("cuMemAlloc_v2"), allocations + 1);
  Graph second = record();
  EXPECT_EQ(calls("cuMemAlloc_v2"), allocations + 2);
  EXPECT_TRUE(run(*executable, stream).ok());
  EXPECT_EQ(calls("cuMemAlloc_v2"), allocations + 2);
  EXPECT_TRUE(device->destroyGraph(first).ok());
  Graph third = record();
  EXPECT_EQ(calls("cuMemAlloc_v2"), allocations + 2) << "arena used again";
  setX(3);
  EXPECT_TRUE(device->launchGraph(third, stream).ok());
  EXPECT_EQ(getY(), 8);
  EXPECT_TRUE(device->destroyGraph(second).ok());
  EXPECT_TRUE(device->destroyGraph(third).ok());
}

/// A graph uses what was prepared before, and what is prepared again later; a
/// whole run records the preparation as well.
TEST_F(CudaTest, AGraphUsesPreparedWeights) {
  Package package = makeChain("cuda", {"increment", "twice"});
  package.manifest.launches[0].isPrepared = true;
  package.manifest.preparedBytes = package.manifest.arenaBytes;
  auto executable = load(package);
  ASSERT_TRUE(executable);
  void *buffers[] = {x, y};
  setX(1);
  auto prepared = executable->prepare(buffers, 2, stream);
  ASSERT_TRUE(prepared.ok()) << prepared.message();
  int allocations = calls("cuMemAlloc_v2");
  auto record = [&](auto &&run) {
    EXPECT_TRUE(device->beginCapture(stream).ok());
    Status status = run();
    EXPECT_TRUE(status.ok()) << status.message();
    expectSentence(
        executable->prepareAgain(**prepared, buffers, 2, stream).message(),
        "can't be prepared on a stream that records a graph");
    return *device->endCapture(stream);
  };
  Graph graph =
      record([&] { return executable->run(buffers, 2, **prepared, stream); });
  EXPECT_EQ(calls("cuMemAlloc_v2"), allocations) << "there is no arena";
  Graph whole = record([&] { return run(*executable, stream); });
  setX(4);
  EXPECT_TRUE(device->launchGraph(graph, stream).ok());
  EXPECT_EQ(getY(), 4);
  EXPECT_TRUE(device->launchGraph(whole, stream).ok());
  EXPECT_EQ(getY(), 10);
  EXPECT_TRUE(executable->prepareAgain(**prepared, buffers, 2, stream).ok());
  EXPECT_TRUE(device->launchGraph(graph, stream).ok());
  EXPECT_EQ(getY(), 10);
  EXPECT_TRUE(device->destroyGraph(graph).ok());
  EXPECT_TRUE(device->destroyGraph(whole).ok());
}

TEST_F(CudaTest, FailingCallsOfPreparingAreNamed) {
  Package package = makeChain("cuda", {"increment", "twice"});
  package.manifest.launches[0].isPrepared = true;
  package.manifest.preparedBytes = package.manifest.arenaBytes;
  auto executable = load(package);
  ASSERT_TRUE(executable);
  void *buffers[] = {x, y};
  for (const char *symbol :
       {"cuMemAlloc_v2", "cuLaunchKernel", "cuStreamSynchronize"}) {
    failNext(symbol, illegalAddress);
    std::string call = symbol;
    expectSentence(executable->prepare(buffers, 2, stream).message(),
                   call.substr(0, call.find('_')));
  }
}

TEST_F(CudaTest, AGraphMayOutliveItsExecutable) {
  auto executable = load(makeChain("cuda", {"increment", "twice"}));
  EXPECT_TRUE(device->beginCapture(stream).ok());
  EXPECT_TRUE(run(*executable, stream).ok());
  Graph graph = *device->endCapture(stream);
  executable.reset();
  EXPECT_TRUE(device->destroyGraph(graph).ok());
}

/// Loading, first runs and destroying are allowed while another stream records.
TEST_F(CudaTest, RecordingElsewhereDoesNotDisturb) {
  Stream other = *device->createStream();
  EXPECT_TRUE(device->beginCapture(other).ok());
  auto executable = load(makeChain("cuda", {"increment", "twice"}));
  ASSERT_TRUE(executable);
  setX(2);
  EXPECT_TRUE(run(*executable, stream).ok());
  EXPECT_EQ(getY(), 6);
  executable.reset();
  Graph graph = *device->endCapture(other);
  EXPECT_TRUE(device->destroyGraph(graph).ok());
  EXPECT_TRUE(device->destroyStream(other).ok());
}

TEST_F(CudaTest, FailingCallsOfRecordingAreNamed) {
  auto executable = load(makeChain("cuda", {"increment", "twice"}));
  expectSentence(device->beginCapture(nullptr).message(),
                 "cuStreamBeginCapture failed");
  expectSentence(device->endCapture(stream).message(),
                 "cuStreamEndCapture failed");
  for (const char *symbol : {"cuUserObjectCreate", "cuGraphRetainUserObject"}) {
    SCOPED_TRACE(symbol);
    EXPECT_TRUE(device->beginCapture(stream).ok());
    failNext(symbol, outOfMemory);
    expectSentence(run(*executable, stream).message(), symbol);
    EXPECT_TRUE(run(*executable, stream).ok()) << "the next try works";
    EXPECT_TRUE(device->destroyGraph(*device->endCapture(stream)).ok());
  }
  EXPECT_TRUE(device->beginCapture(stream).ok());
  failNext("cuGraphInstantiateWithFlags", outOfMemory);
  expectSentence(device->endCapture(stream).message(), "cuGraphInstantiate");
}

TEST_F(CudaTest, DefaultStreamsOfThreadsAreDistinct) {
  Stream perThread = reinterpret_cast<Stream>(2);
  uintptr_t mine = device->orderKey(perThread), other = 0;
  std::thread([&] { other = device->orderKey(perThread); }).join();
  EXPECT_NE(mine, other);
  EXPECT_EQ(device->orderKey(perThread), mine);
  EXPECT_EQ(device->orderKey(nullptr),
            device->orderKey(reinterpret_cast<Stream>(1)));
  EXPECT_NE(device->orderKey(nullptr), device->orderKey(stream));
}

TEST_F(CudaTest, ThreadsMayShareAnExecutable) {
  auto executable = load(makeChain("cuda", {"increment", "twice"}));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      Stream own = *device->createStream();
      std::vector<float> from(testLength), to(testLength);
      void *memory[2];
      for (void *&buffer : memory)
        buffer = *device->allocate(testLength * sizeof(float));
      for (int i = 0; i < 100; ++i) {
        std::fill(from.begin(), from.end(), float(thread * 100 + i));
        size_t bytes = testLength * sizeof(float);
        bool ok = device->copy(memory[0], from.data(), bytes, own).ok() &&
                  executable->run(memory, 2, own).ok() &&
                  device->copy(to.data(), memory[1], bytes, own).ok() &&
                  device->synchronize(own).ok();
        if (!ok || to[0] != (from[0] + 1) * 2 || to.back() != to[0])
          ++wrong;
      }
      for (void *buffer : memory)
        (void)device->free(buffer);
      (void)device->destroyStream(own);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

} // namespace
