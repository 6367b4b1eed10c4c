// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asynchronous copies, memory barriers, clusters: good kernels, and what is
// found when one wait or fence is missing.

#include "Harness.h"

using namespace deplo::emulator;

static std::string without(std::string text, const std::string &what,
                           const std::string &by = "") {
  size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

static Setting numbers(uint32_t threads, size_t count = 64) {
  Setting setting;
  setting.block = {threads, 1, 1};
  setting.in.resize(count);
  for (uint32_t i = 0; i < count; ++i)
    setting.in[i] = i + 1;
  return setting;
}

static const std::string shared = ".shared .align 128 .b8 buffer[1024];\n"
                                  ".shared .align 8 .b64 barrier;\n";

static const std::string copyGroup = std::string(perThread) + R"(
  mov.u64 %rd5, buffer;
  add.s64 %rd6, %rd5, %rd4;
  cp.async.ca.shared.global [%rd6], [%rd2], 4;
  cp.async.commit_group;
  cp.async.wait_group 0;
  bar.sync 0;
  xor.b32 %r1, %r0, 1;
  mul.wide.u32 %rd7, %r1, 4;
  add.s64 %rd8, %rd5, %rd7;
  ld.shared.u32 %r2, [%rd8];
  st.global.u32 [%rd3], %r2;
)";

TEST(Async, CopyGroups) {
  Ran good = runBody(copyGroup, numbers(64), shared);
  EXPECT_EQ(good.findings(), "");
  EXPECT_EQ(good.out[0], 2u);
  // Without the wait the copy may not be there yet.
  Ran bad = runBody(without(copyGroup, "cp.async.wait_group 0;"), numbers(64),
                    shared);
  EXPECT_TRUE(bad.has(Fault::Race)) << bad.findings();
  EXPECT_NE(bad.findings().find("by cp.async of thread"), std::string::npos);
  // Nor with a wait that lets the last group go on.
  EXPECT_TRUE(runBody(without(copyGroup, "wait_group 0", "wait_group 1"),
                      numbers(64), shared)
                  .has(Fault::Race));
  EXPECT_TRUE(runBody(without(copyGroup, "bar.sync 0;"), numbers(64), shared)
                  .has(Fault::Race));
}

TEST(Async, CopiesMustBeWaitedFor) {
  Ran ran = runBody(std::string(perThread) + R"(
  mov.u64 %rd5, buffer;
  add.s64 %rd6, %rd5, %rd4;
  cp.async.ca.shared.global [%rd6], [%rd2], 4;
  cp.async.commit_group;
)",
                    numbers(32), shared);
  EXPECT_TRUE(ran.has(Fault::AsyncCopy)) << ran.findings();
}

TEST(Async, CopiesOfPartOfASourceFillWithZero) {
  Ran ran = runBody(R"(
  mov.u64 %rd5, buffer;
  cp.async.cg.shared.global [%rd5], [%rd0], 16, 8;
  cp.async.wait_all;
  ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%rd5];
  st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};
)",
                    numbers(1), shared);
  EXPECT_EQ(ran.findings(), "");
  EXPECT_EQ(ran.out[1], 2u);
  EXPECT_EQ(ran.out[2], 0u);
}

/// One thread has initialized a memory barrier.
static const std::string initialized = std::string(perThread) + R"(
  mov.u64 %rd5, buffer;
  mov.u64 %rd6, barrier;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra READY;
  mbarrier.init.shared.b64 [%rd6], 1;
  fence.mbarrier_init.release.cluster;
READY:
  bar.sync 0;
)";

static const std::string bulk = initialized + R"(  @%p1 bra WAIT;
  mbarrier.arrive.expect_tx.shared.b64 _, [%rd6], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%rd5], [%rd0], 256, [%rd6];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%rd6], 0;
  @!%p2 bra WAIT;
  add.s64 %rd8, %rd5, %rd4;
  ld.shared.u32 %r2, [%rd8];
  st.global.u32 [%rd3], %r2;
)";

TEST(Async, BulkCopiesCompleteOnAMemoryBarrier) {
  Ran good = runBody(bulk, numbers(64), shared);
  EXPECT_EQ(good.findings(), "");
  EXPECT_EQ(good.out[63], 64u);
  EXPECT_TRUE(runBody(without(bulk, "@!%p2 bra WAIT;"), numbers(64), shared)
                  .has(Fault::Race));
  // Another number of bytes: nobody comes.
  Ran ran = runBody(without(bulk, "[%rd6], 256;\n  cp", "[%rd6], 512;\n  cp"),
                    numbers(64), shared);
  EXPECT_TRUE(ran.has(Fault::Deadlock)) << ran.findings();
  EXPECT_NE(ran.findings().find("mbarrier.try_wait"), std::string::npos);
  // No barrier there.
  EXPECT_TRUE(runBody(without(bulk, "mbarrier.init.shared.b64 [%rd6], 1;"),
                      numbers(64), shared)
                  .has(Fault::AsyncCopy));
  EXPECT_TRUE(
      runBody(without(bulk, "[%rd0], 256", "[%rd0], 250"), numbers(64), shared)
          .has(Fault::Misaligned));
}

/// Threads write shared memory, one sends it away.
static const std::string bulkStore = std::string(perThread) + R"(
  mov.u64 %rd5, buffer;
  add.s64 %rd8, %rd5, %rd4;
  add.u32 %r1, %r0, 5;
  st.shared.u32 [%rd8], %r1;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra OUT;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%rd5], 256;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
OUT:
  bar.sync 0;
  st.shared.u32 [%rd8], 1;
)";

TEST(Async, TheAsyncProxyNeedsAFence) {
  Ran good = runBody(bulkStore, numbers(64), shared);
  EXPECT_EQ(good.findings(), "");
  EXPECT_EQ(good.out[63], 68u);
  Ran bad = runBody(without(bulkStore, "fence.proxy.async.shared::cta;"),
                    numbers(64), shared);
  EXPECT_TRUE(bad.has(Fault::Race)) << bad.findings();
  EXPECT_NE(bad.findings().find("no fence.proxy.async"), std::string::npos)
      << bad.findings();
}

/// cp.async writes through the generic proxy: what it brought needs a fence of
/// the thread that waited for it, or of one that learnt of it.
TEST(Async, TheAsyncProxyNeedsAFenceOfCopies) {
  std::string body = std::string(perThread) + R"(
  mov.u64 %rd5, buffer;
  add.s64 %rd8, %rd5, %rd4;
  cp.async.ca.shared.global [%rd8], [%rd2], 4;
  cp.async.commit_group;
  cp.async.wait_group 0;
  fence.proxy.async.shared::cta; // own
  bar.sync 0;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra OUT;
  fence.proxy.async.shared::cta; // all
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%rd5], 256;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
OUT:
)";
  std::string ofAll =
      without(body, "  fence.proxy.async.shared::cta; // own\n");
  std::string own = without(body, "  fence.proxy.async.shared::cta; // all\n");
  for (const std::string &fenced : {own, ofAll}) {
    Ran good = runBody(fenced, numbers(64), shared);
    EXPECT_EQ(good.findings(), "");
    EXPECT_EQ(good.out[63], 64u);
  }
  Ran bad = runBody(without(own, "  fence.proxy.async.shared::cta; // own\n"),
                    numbers(64), shared);
  EXPECT_TRUE(bad.has(Fault::Race)) << bad.findings();
  EXPECT_NE(bad.findings().find("no fence.proxy.async"), std::string::npos)
      << bad.findings();
  EXPECT_NE(bad.findings().find("by cp.async of thread"), std::string::npos);
}

TEST(Async, MemoryMayNotBeReusedBeforeItWasRead) {
  Ran bad = runBody(without(bulkStore, "cp.async.bulk.wait_group.read 0;"),
                    numbers(64), shared);
  EXPECT_TRUE(bad.has(Fault::Race)) << bad.findings();
  EXPECT_NE(bad.findings().find("by a bulk copy of thread (0, 0, 0)"),
            std::string::npos);
}

TEST(Async, AStageIsFreeWhenItsReadersHaveArrived) {
  // The second copy into the buffer waits for the readers of the first.
  std::string ring = std::string(perThread) + R"(
  mov.u64 %rd5, buffer;
  mov.u64 %rd6, full;
  mov.u64 %rd7, empty;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra READY;
  mbarrier.init.shared.b64 [%rd6], 1;
  mbarrier.init.shared.b64 [%rd7], 32;
READY:
  bar.sync 0;
  setp.lt.u32 %p3, %r0, 32;
  @%p3 bra CONSUMER;
  setp.ne.u32 %p1, %r0, 32;
  @%p1 ret;
  mbarrier.arrive.expect_tx.shared.b64 _, [%rd6], 128;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%rd5], [%rd0], 128, [%rd6];
EMPTY:
  mbarrier.try_wait.parity.shared.b64 %p2, [%rd7], 0;
  @!%p2 bra EMPTY;
  mbarrier.arrive.expect_tx.shared.b64 _, [%rd6], 128;
  add.s64 %rd9, %rd0, 128;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%rd5], [%rd9], 128, [%rd6];
  ret;
CONSUMER:
  add.s64 %rd8, %rd5, %rd4;
F0: mbarrier.try_wait.parity.shared.b64 %p2, [%rd6], 0;
  @!%p2 bra F0;
  ld.shared.u32 %r1, [%rd8];
  mbarrier.arrive.shared.b64 %rd10, [%rd7];
F1: mbarrier.try_wait.parity.shared.b64 %p2, [%rd6], 1;
  @!%p2 bra F1;
  ld.shared.u32 %r2, [%rd8];
  add.u32 %r1, %r1, %r2;
  st.global.u32 [%rd3], %r1;
)";
  std::string barriers = ".shared .align 128 .b8 buffer[128];\n"
                         ".shared .align 8 .b64 full;\n"
                         ".shared .align 8 .b64 empty;\n";
  Ran good = runBody(ring, numbers(64), barriers);
  EXPECT_EQ(good.findings(), "");
  EXPECT_EQ(good.out[3], 4u + 36u);
  // Arriving before the stage was read.
  std::string early = without(
      without(ring, "  mbarrier.arrive.shared.b64 %rd10, [%rd7];\n"),
      "  ld.shared.u32 %r1, [%rd8];\n",
      "  mbarrier.arrive.shared.b64 %rd10, [%rd7];\n  bar.warp.sync -1;\n"
      "  ld.shared.u32 %r1, [%rd8];\n");
  EXPECT_TRUE(runBody(early, numbers(64), barriers).has(Fault::Race));
  EXPECT_TRUE(runBody(without(ring, "@!%p2 bra EMPTY;"), numbers(64), barriers)
                  .has(Fault::Race));
}

TEST(Async, ClustersShareMemory) {
  // Each block writes into the other one.
  std::string body = std::string(perThread) + R"(
  mov.u64 %rd5, buffer;
  mov.u32 %r1, %cluster_ctarank;
  xor.b32 %r2, %r1, 1;
  mapa.shared::cluster.u64 %rd6, %rd5, %r2;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  add.s64 %rd7, %rd6, %rd4;
  mul.lo.u32 %r3, %r1, 100;
  add.u32 %r3, %r3, %r0;
  st.shared::cluster.u32 [%rd7], %r3;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  add.s64 %rd8, %rd5, %rd4;
  ld.shared.u32 %r4, [%rd8];
  mul.wide.u32 %rd9, %r1, 128;
  add.s64 %rd3, %rd3, %rd9;
  st.global.u32 [%rd3], %r4;
)";
  Setting setting = numbers(32);
  setting.grid = {2, 1, 1};
  Ran good = runBody(body, setting, shared, ".reqnctapercluster 2, 1, 1");
  EXPECT_EQ(good.findings(), "");
  EXPECT_EQ(good.out[3], 103u);
  EXPECT_EQ(good.out[35], 3u);
  size_t second = body.rfind("barrier.cluster.arrive.aligned;");
  std::string bad = body;
  bad.erase(second, std::string("barrier.cluster.arrive.aligned;\n  "
                                "barrier.cluster.wait.aligned;")
                        .size());
  Ran ran = runBody(bad, setting, shared, ".reqnctapercluster 2, 1, 1");
  EXPECT_FALSE(ran.outcome.ok());
}

TEST(Async, ClusterBarriersOrderWhatIsReleasedAndAcquired) {
  // Each block sends four bytes to the other one, which waits for them.
  std::string body = std::string(perThread) + R"(
  .reg .pred %p9;
  mov.u64 %rd5, buffer;
  mov.u32 %r1, %cluster_ctarank;
  xor.b32 %r2, %r1, 1;
  setp.eq.u32 %p9, %r0, 0;
  @!%p9 bra MADE;
  mbarrier.init.shared.b64 [%rd5], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 %rd9, [%rd5], 4;
MADE:
  barrier.cluster.arrive.relaxed.aligned;
  barrier.cluster.wait.aligned;
  @!%p9 bra SENT;
  add.s64 %rd6, %rd5, 16;
  mapa.shared::cluster.u64 %rd7, %rd6, %r2;
  mapa.shared::cluster.u64 %rd8, %rd5, %r2;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%rd7], %r1, [%rd8];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%rd5], 0;
  @!%p2 bra WAIT;
  ld.shared.u32 %r3, [%rd6];
  mul.wide.u32 %rd9, %r1, 128;
  add.s64 %rd3, %rd3, %rd9;
  st.global.u32 [%rd3], %r3;
SENT:
)";
  Setting setting = numbers(32);
  setting.grid = {2, 1, 1};
  const char *pair = ".reqnctapercluster 2, 1, 1";
  Ran good = runBody(body, setting, shared, pair);
  EXPECT_EQ(good.findings(), "");
  EXPECT_EQ(good.out[0], 1u);
  // Without the fence the arrival releases nothing.
  Ran unreleased =
      runBody(without(body, "  fence.mbarrier_init.release.cluster;\n", ""),
              setting, shared, pair);
  EXPECT_NE(unreleased.findings().find("read after the write"),
            std::string::npos)
      << unreleased.findings();
  Ran early = runBody(without(body, "  barrier.cluster.wait.aligned;\n", ""),
                      setting, shared, pair);
  EXPECT_NE(early.findings().find("there is no memory barrier here"),
            std::string::npos)
      << early.findings();
}

TEST(Async, BlocksOfAClusterMustNotLeaveTheirReaders) {
  std::string body = std::string(perThread) + R"(
  mov.u64 %rd5, buffer;
  add.s64 %rd7, %rd5, %rd4;
  st.shared.u32 [%rd7], %r0;
  mov.u32 %r1, %cluster_ctarank;
  xor.b32 %r2, %r1, 1;
  mapa.shared::cluster.u64 %rd6, %rd7, %r2;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ld.shared::cluster.u32 %r3, [%rd6];
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned; // The last.
  mul.wide.u32 %rd9, %r1, 128;
  add.s64 %rd3, %rd3, %rd9;
  st.global.u32 [%rd3], %r3;
)";
  Setting setting = numbers(32);
  setting.grid = {2, 1, 1};
  const char *pair = ".reqnctapercluster 2, 1, 1";
  EXPECT_EQ(runBody(body, setting, shared, pair).findings(), "");
  std::string last = "  barrier.cluster.arrive.aligned;\n"
                     "  barrier.cluster.wait.aligned; // The last.\n";
  std::string slow = R"(
  mov.u32 %r4, 0;
DELAY:
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p2, %r4, 5000;
  @%p2 bra DELAY;
)";
  EXPECT_EQ(runBody(without(body, last, slow + last), setting, shared, pair)
                .findings(),
            "");
  Ran bad = runBody(without(body, last, slow), setting, shared, pair);
  EXPECT_NE(bad.findings().find("the block ends"), std::string::npos)
      << bad.findings();
  // The other one has gone already.
  std::string late = without(body, "  ld.shared::cluster", R"(
  mov.u32 %r4, 0;
DELAY:
  setp.eq.u32 %p1, %r1, 1;
  @%p1 bra READ;
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p2, %r4, 5000;
  @%p2 bra DELAY;
READ:
  ld.shared::cluster)");
  EXPECT_EQ(runBody(late, setting, shared, pair).findings(), "");
  bad = runBody(without(late, last), setting, shared, pair);
  EXPECT_TRUE(bad.has(Fault::OutOfBounds)) << bad.findings();
}

TEST(Async, ADescriptorMustMakeSense) {
  // 64 rows of 128 bytes, swizzled.
  std::string body = std::string(perThread) + R"(
  mov.u64 %rd5, buffer;
  mul.wide.u32 %rd6, %r0, 64;
  add.s64 %rd7, %rd5, %rd6;
  st.shared.v4.u32 [%rd7], {0, 0, 0, 0};
  st.shared.v4.u32 [%rd7+16], {0, 0, 0, 0};
  st.shared.v4.u32 [%rd7+32], {0, 0, 0, 0};
  st.shared.v4.u32 [%rd7+48], {0, 0, 0, 0};
  fence.proxy.async.shared::cta;
  bar.sync 0;
  cvt.u32.u64 %r1, %rd5;
  add.u32 %r1, %r1, 32;
  shr.u32 %r1, %r1, 4;
  cvt.u64.u32 %rd8, %r1;
  or.b64 %rd8, %rd8, 0x4000004000010000;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd8, %rd8, 0, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
)";
  std::string memory = ".shared .align 1024 .b8 buffer[8192];\n";
  EXPECT_EQ(runBody(body, numbers(128), memory).findings(), "");
  auto finds = [&](const std::string &what, const std::string &by,
                   const char *text) {
    Ran ran = runBody(without(body, what, by), numbers(128), memory);
    EXPECT_TRUE(ran.has(Fault::Matrix)) << ran.findings();
    EXPECT_NE(ran.findings().find(text), std::string::npos) << ran.findings();
  };
  finds("%r1, 32", "%r1, 128", "must begin at a multiple of 1024");
  // An address that was not shifted runs into the next field.
  finds("  shr.u32 %r1, %r1, 4;\n", "  shl.b32 %r1, %r1, 4;\n",
        "bits that have no meaning");
  finds("0x4000004000010000", "0x4002004000010000", "base offset");
}

TEST(Async, WgmmaOperandsInSharedMemoryAreInFlight) {
  std::string body = std::string(perThread) + R"(
  mov.u64 %rd5, buffer;
  mul.wide.u32 %rd6, %r0, 16;
  add.s64 %rd7, %rd5, %rd6;
  st.shared.v4.u32 [%rd7], {0, 0, 0, 0};
  fence.proxy.async.shared::cta;
  bar.sync 0;
  cvt.u32.u64 %r1, %rd5;
  shr.u32 %r1, %r1, 4;
  cvt.u64.u32 %rd8, %r1;
  or.b64 %rd8, %rd8, 0x0000000800400000;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd8, %rd8, 0, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  bar.sync 0;
  st.shared.v4.u32 [%rd7], {1, 1, 1, 1};
)";
  std::string memory = ".shared .align 1024 .b8 buffer[2048];\n";
  EXPECT_EQ(runBody(body, numbers(128), memory).findings(), "");
  std::string early = without(body, "  wgmma.wait_group.sync.aligned 0;\n");
  early += "  wgmma.wait_group.sync.aligned 0;\n";
  Ran ran = runBody(early, numbers(128), memory);
  EXPECT_TRUE(ran.has(Fault::Race)) << ran.findings();
  EXPECT_NE(ran.findings().find("by wgmma of"), std::string::npos)
      << ran.findings();
}

/// 16x16 numbers of 4 bytes, in boxes of 2x4.
TensorMap squareOfWords() {
  TensorMap map;
  map.element = TensorElement::I32;
  map.rank = 2;
  map.extents = {16, 16};
  map.strides = {64};
  map.box = {4, 2};
  return map;
}

/// The inner coordinate of a box comes to a multiple of 16 bytes.
TEST(Async, BoxesBeginAtSixteenBytes) {
  Setting setting = numbers(1, 256);
  const TensorMap map = squareOfWords();
  std::string body = R"(
  mov.u64 %rd5, buffer;
  mov.u64 %rd6, barrier;
  mov.b64 %rd7, map;
  cvta.param.u64 %rd7, %rd7;
  mbarrier.init.shared.b64 [%rd6], 1;
  fence.proxy.async;
  mbarrier.arrive.expect_tx.shared.b64 _, [%rd6], 32;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%rd5], [%rd7, {4, 1}], [%rd6];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%rd6], 0;
  @!%p2 bra WAIT;
  ld.shared.u32 %r2, [%rd5+16];
  st.global.u32 [%rd1], %r2;
)";
  auto run = [&](const std::string &text) {
    return runWithMap(text, setting, shared, map);
  };
  Ran good = run(body);
  EXPECT_EQ(good.findings(), "");
  EXPECT_EQ(good.out[0], 37u);
  Ran bad = run(without(body, "{4, 1}", "{3, 1}"));
  EXPECT_TRUE(bad.has(Fault::Misaligned)) << bad.findings();
  // As many dimensions as the map has.
  bad = run(without(without(body, "{4, 1}", "{4}"), ".2d.", ".1d."));
  EXPECT_TRUE(bad.has(Fault::AsyncCopy)) << bad.findings();
}

/// What a store brings beyond the end is dropped; it must not begin before the
/// tensor.
TEST(Async, StoredBoxesBeginInsideTheTensor) {
  Setting setting = numbers(1, 256);
  const TensorMap map = squareOfWords();
  std::string body = R"(
  mov.u64 %rd5, buffer;
  mov.b64 %rd7, map;
  cvta.param.u64 %rd7, %rd7;
  mov.u32 %r2, 7;
  st.shared.v4.u32 [%rd5], {%r2, %r2, %r2, %r2};
  st.shared.v4.u32 [%rd5+16], {%r2, %r2, %r2, %r2};
  fence.proxy.async;
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd7, {12, 16}], [%rd5];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
)";
  Ran good = runWithMap(body, setting, shared, map);
  EXPECT_EQ(good.findings(), "");
  for (const char *origin : {"{-4, 15}", "{12, -1}"}) {
    Ran bad =
        runWithMap(without(body, "{12, 16}", origin), setting, shared, map);
    EXPECT_TRUE(bad.has(Fault::OutOfBounds)) << bad.findings();
  }
}

TEST(Async, TensorMapFields) {
  TensorMap map;
  map.element = TensorElement::BF16;
  map.rank = 2;
  map.extents = {64, 64};
  map.strides = {128};
  map.box = {64, 8};
  map.swizzle = TensorSwizzle::Bytes128;
  uint8_t bytes[tensorMapBytes];
  auto finds = [&](auto &&change, const char *text) {
    TensorMap wrong = map;
    change(wrong);
    deplo::runtime::Status status = encodeTensorMap(wrong, bytes);
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_NE(status.message().find(text), std::string::npos)
        << status.message();
  };
  EXPECT_TRUE(encodeTensorMap(map, bytes).ok());
  EXPECT_TRUE(decodeTensorMap(bytes).ok());
  finds([](TensorMap &m) { m.rank = 6; }, "the rank must be");
  finds([](TensorMap &m) { m.address = 8; }, "multiple of 16");
  finds([](TensorMap &m) { m.extents[1] = 0; }, "the extent");
  finds([](TensorMap &m) { m.strides[0] = 120; }, "the stride");
  finds([](TensorMap &m) { m.box[1] = 257; }, "the box");
  finds([](TensorMap &m) { m.box[0] = 4; }, "multiple of 16 bytes");
  finds([](TensorMap &m) { m.elementStrides[1] = 9; }, "the element stride");
  finds([](TensorMap &m) { m.swizzle = TensorSwizzle::Bytes64; },
        "more than the swizzle's 64");
  // Bytes that encodeTensorMap did not write.
  bytes[0] ^= 1;
  EXPECT_FALSE(decodeTensorMap(bytes).ok());
}

/// A second stage is waited for by the first one's phase: its data is not
/// there.
TEST(Async, APhaseThatIsWaitedForTwice) {
  std::string twice = initialized + R"(  @%p1 bra FIRST;
  mbarrier.arrive.expect_tx.shared.b64 _, [%rd6], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%rd5], [%rd0], 256, [%rd6];
FIRST:
  mbarrier.try_wait.parity.shared.b64 %p2, [%rd6], 0;
  @!%p2 bra FIRST;
  bar.sync 0;
  @%p1 bra SECOND;
  mbarrier.arrive.expect_tx.shared.b64 _, [%rd6], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%rd5+256], [%rd0], 256, [%rd6];
SECOND:
  mbarrier.try_wait.parity.shared.b64 %p2, [%rd6], 1;
  @!%p2 bra SECOND;
  add.s64 %rd8, %rd5, %rd4;
  ld.shared.u32 %r2, [%rd8+256];
  st.global.u32 [%rd3], %r2;
)";
  EXPECT_EQ(runBody(twice, numbers(64), shared).findings(), "");
  Ran ran = runBody(without(twice, "[%rd6], 1;\n  @!%p2 bra SECOND",
                            "[%rd6], 0;\n  @!%p2 bra SECOND"),
                    numbers(64), shared);
  EXPECT_FALSE(ran.outcome.ok());
  // To wait for a phase again that is over is no fault.
  EXPECT_EQ(runBody(without(twice, "SECOND:\n",
                            "AGAIN:\n  mbarrier.try_wait.parity.shared.b64 "
                            "%p2, [%rd6], 0;\nSECOND:\n"),
                    numbers(64), shared)
                .findings(),
            "");
}

TEST(Async, WgmmaRegistersAreInFlight) {
  std::string body = R"(
  mov.u64 %rd5, buffer;
  setp.ne.u32 %p1, %r0, 0;
  mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;
  mul.wide.u32 %rd6, %r0, 16;
  add.s64 %rd7, %rd5, %rd6;
  st.shared.v4.u32 [%rd7], {%r0, %r0, %r0, %r0};
  st.shared.v4.u32 [%rd7+2048], {%r0, %r0, %r0, %r0};
  fence.proxy.async.shared::cta;
  bar.sync 0;
  cvt.u32.u64 %r1, %rd5;
  shr.u32 %r1, %r1, 4;
  cvt.u64.u32 %rd8, %r1;
  or.b64 %rd8, %rd8, 0x0000001000080000;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd8, %rd8, 0, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  add.f32 %f5, %f1, %f2;
)";
  std::string memory = ".shared .align 1024 .b8 buffer[4096];\n";
  EXPECT_EQ(runBody(body, numbers(128), memory).findings(), "");
  Ran ran = runBody(without(body, "wgmma.wait_group.sync.aligned 0;"),
                    numbers(128), memory);
  EXPECT_TRUE(ran.has(Fault::Matrix)) << ran.findings();
  EXPECT_TRUE(
      runBody(without(body, "wgmma.fence.sync.aligned;"), numbers(128), memory)
          .has(Fault::Matrix));
  EXPECT_TRUE(runBody(without(body, "fence.proxy.async.shared::cta;"),
                      numbers(128), memory)
                  .has(Fault::Race));
}
