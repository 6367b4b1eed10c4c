// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Compiler/DiskCache.h"

#include "TemporaryFolder.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <csignal>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace deplo;
namespace fs = llvm::sys::fs;

namespace {

struct DiskCacheTest : ::testing::Test {
  TemporaryFolder folder;
  DiskCache cache{folder.path("cache"), llvm::CachePruningPolicy()};

  std::string file(llvm::StringRef key) {
    return folder.path("cache/llvmcache-" + key.str());
  }
  void write(llvm::StringRef path, llvm::StringRef bytes) {
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << bytes;
    ASSERT_FALSE(error);
  }
  std::string read(llvm::StringRef path) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
};

std::string message(llvm::Error error) {
  return llvm::toString(std::move(error));
}

TEST_F(DiskCacheTest, GivesBackWhatWasStored) {
  std::string value("a\0b", 3);
  EXPECT_EQ(cache.load("k"), std::nullopt);
  EXPECT_EQ(message(cache.store("k", value)), "");
  EXPECT_EQ(cache.load("k"), value);
  EXPECT_EQ(cache.load("other"), std::nullopt);
  EXPECT_EQ(message(cache.store("k", "")), "");
  EXPECT_EQ(cache.load("k"), "");
}

TEST_F(DiskCacheTest, ADamagedEntryIsAbsentAndReplaced) {
  ASSERT_EQ(message(cache.store("k", "value")), "");
  std::string sound = read(file("k"));
  for (size_t size = 0; size < sound.size(); ++size) {
    write(file("k"), llvm::StringRef(sound).take_front(size));
    EXPECT_EQ(cache.load("k"), std::nullopt) << size << " bytes";
  }
  for (size_t i = 0; i < sound.size(); ++i) {
    std::string changed = sound;
    changed[i] ^= 1;
    write(file("k"), changed);
    EXPECT_EQ(cache.load("k"), std::nullopt) << "byte " << i;
  }
  write(file("k"), sound + "x");
  EXPECT_EQ(cache.load("k"), std::nullopt);
  ASSERT_EQ(message(cache.store("k", "value")), "");
  EXPECT_EQ(cache.load("k"), "value");
}

TEST_F(DiskCacheTest, AnEntryUnderAnotherKeyIsAbsent) {
  ASSERT_EQ(message(cache.store("a", "value")), "");
  ASSERT_FALSE(fs::rename(file("a"), file("b")));
  EXPECT_EQ(cache.load("b"), std::nullopt);
}

TEST_F(DiskCacheTest, AFolderThatCannotBeIsAnErrorOfOneSentence) {
  write(folder.path("taken"), "a file");
  DiskCache blocked(folder.path("taken"), llvm::CachePruningPolicy());
  EXPECT_NE(message(blocked.store("k", "value")).find("taken"),
            std::string::npos);
  EXPECT_EQ(blocked.load("k"), std::nullopt);
}

TEST_F(DiskCacheTest, AFullDiskLeavesNothingBehind) {
  // Every write to /dev/full fails as on a full disk; a limit on the size of
  // files does the same for a real folder.
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{16, 16};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(message(cache.store("k", std::string(4096, 'x'))).empty() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(cache.load("k"), std::nullopt);
  std::error_code error;
  EXPECT_EQ(fs::directory_iterator(folder.path("cache"), error),
            fs::directory_iterator());
}

TEST_F(DiskCacheTest, CountsAndClears) {
  EXPECT_EQ(cache.getUsage().entries, 0u);
  EXPECT_EQ(message(cache.clear()), "");
  ASSERT_EQ(message(cache.store("a", "value")), "");
  ASSERT_EQ(message(cache.store("b", std::string(1000, 'x'))), "");
  EXPECT_EQ(cache.getUsage().entries, 2u);
  EXPECT_GT(cache.getUsage().bytes, 1005u);
  // What a killed process left, and what is no business of the cache.
  write(folder.path("cache/llvmcache-12345678.tmp"), "half");
  write(folder.path("cache/notes"), "mine");
  EXPECT_EQ(cache.getUsage().entries, 2u);
  EXPECT_EQ(message(cache.clear()), "");
  EXPECT_EQ(cache.getUsage().entries, 0u);
  EXPECT_FALSE(fs::exists(folder.path("cache/llvmcache-12345678.tmp")));
  EXPECT_TRUE(fs::exists(folder.path("cache/notes")));
}

TEST_F(DiskCacheTest, StaysWithinItsBounds) {
  llvm::CachePruningPolicy policy;
  policy.Interval = std::chrono::seconds(0);
  policy.MaxSizeBytes = 10000;
  DiskCache bounded(folder.path("cache"), policy);
  for (int i = 0; i < 50; ++i)
    ASSERT_EQ(
        message(bounded.store("k" + std::to_string(i), std::string(1000, 'x'))),
        "");
  EXPECT_GT(bounded.getUsage().entries, 0u);
  EXPECT_LE(bounded.getUsage().bytes, policy.MaxSizeBytes);
}

TEST_F(DiskCacheTest, ManyProcessesReadAndWriteAtOnce) {
  constexpr int processes = 6, rounds = 100, keys = 5;
  auto value = [](int key) {
    return std::string(20000 + key, char('a' + key));
  };
  std::vector<pid_t> children;
  for (int process = 0; process < processes; ++process) {
    pid_t child = fork();
    if (child == 0) {
      bool isSound = true;
      for (int round = 0; round < rounds; ++round) {
        int key = (round + process) % keys;
        std::string name = "k" + std::to_string(key);
        std::optional<std::string> found = cache.load(name);
        isSound &= !found || *found == value(key);
        if (llvm::Error error = cache.store(name, value(key))) {
          llvm::consumeError(std::move(error));
          isSound = false;
        }
        found = cache.load(name);
        isSound &= found == value(key);
      }
      _exit(isSound ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(cache.getUsage().entries, uint64_t(keys));
}

struct EnvironmentTest : DiskCacheTest {
  void SetUp() override {
    for (const char *name : {"DEPLO_CACHE", "DEPLO_CACHE_DIR",
                             "DEPLO_CACHE_POLICY", "XDG_CACHE_HOME"})
      unsetenv(name);
  }
};

TEST_F(EnvironmentTest, NamesTheFolder) {
  setenv("XDG_CACHE_HOME", folder.path("xdg").c_str(), 1);
  EXPECT_EQ((*DiskCache::fromEnvironment())->getDirectory(),
            folder.path("xdg/deplo"));
  setenv("DEPLO_CACHE_DIR", folder.path("own").c_str(), 1);
  EXPECT_EQ((*DiskCache::fromEnvironment())->getDirectory(),
            folder.path("own"));
  setenv("DEPLO_CACHE", "off", 1);
  EXPECT_FALSE(DiskCache::fromEnvironment()->has_value());
}

TEST_F(EnvironmentTest, APolicyThatCannotBeReadIsAnError) {
  setenv("DEPLO_CACHE_POLICY", "cache_size_bytes=much", 1);
  auto cache = DiskCache::fromEnvironment();
  ASSERT_FALSE(static_cast<bool>(cache));
  EXPECT_NE(message(cache.takeError()).find("DEPLO_CACHE_POLICY"),
            std::string::npos);
}

} // namespace
