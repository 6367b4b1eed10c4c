// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Runtime/Package.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

using namespace deplo::runtime;

namespace {

constexpr size_t prefixBytes = 40;

TensorInfo makeTensor(std::string name, std::vector<int64_t> shape,
                      std::vector<int64_t> strides) {
  TensorInfo tensor;
  tensor.name = std::move(name);
  tensor.dtype = "f32";
  tensor.shape = std::move(shape);
  tensor.strides = std::move(strides);
  return tensor;
}

/// Two kernels from one PTX and one cubin, joined by a temporary.
Package makePackage() {
  Package package;
  Manifest &manifest = package.manifest;
  manifest.compiler = "deplo 0.1.0";
  manifest.target = "sm_90a";
  manifest.arenaBytes = 256;
  manifest.inputs = {makeTensor("x", {4, 8}, {8, 1})};
  manifest.outputs = {makeTensor("y", {4, 8}, {8, 1})};
  manifest.temps = {{64, 128}};
  for (const char *name : {"first", "second"}) {
    KernelInfo kernel;
    kernel.name = name;
    kernel.grid = {4, 1, 1};
    kernel.block = {256, 1, 1};
    kernel.sharedBytes = 1024;
    kernel.programmatic = kernel.name == "second";
    kernel.ptx = 0;
    kernel.cubin = 1;
    manifest.kernels.push_back(kernel);
  }
  using Kind = LaunchArgument::Kind;
  manifest.launches = {{0, {{Kind::Input, 0}, {Kind::Temp, 0}}},
                       {1, {{Kind::Temp, 0}, {Kind::Output, 0}}}};
  package.blobs = {".version 8.0 {}", std::string_view("\x7f"
                                                       "ELF\0\1",
                                                       6)};
  return package;
}

std::string writeOrDie(const Package &package) {
  Result<std::string> bytes = writePackage(package);
  EXPECT_TRUE(bytes.ok()) << bytes.message();
  return bytes.ok() ? *bytes : std::string();
}

/// Packs `header` as writePackage would, so that the schema is what fails.
std::string packHeader(std::string_view header, std::string_view blobs = "") {
  std::string body(header);
  if (!blobs.empty()) {
    body.resize((prefixBytes + body.size() + 63) / 64 * 64 - prefixBytes);
    body.append(blobs);
  }
  uint64_t hash = 0xcbf29ce484222325;
  for (char byte : body)
    hash = (hash ^ uint8_t(byte)) * 0x100000001b3;
  std::string bytes("DEPLOPKG\1\0\0\0\0\0\0\0", 16);
  for (uint64_t field :
       {uint64_t(header.size()), uint64_t(prefixBytes + body.size()), hash})
    bytes.append(reinterpret_cast<const char *>(&field), 8);
  return bytes + body;
}

/// The header of `package`, as text to be edited.
std::string headerOf(const Package &package) {
  std::string bytes = writeOrDie(package);
  uint64_t headerBytes;
  std::memcpy(&headerBytes, bytes.data() + 16, 8);
  return bytes.substr(prefixBytes, headerBytes);
}

std::string replaced(std::string text, std::string_view from,
                     std::string_view to) {
  size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << "no " << from << " in " << text;
  if (place != std::string::npos)
    text.replace(place, from.size(), to);
  return text;
}

/// One sentence: not empty, one line, no full stop at the end.
void expectSentence(const std::string &message) {
  EXPECT_FALSE(message.empty());
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_NE(message.back(), '.') << message;
}

std::string readError(std::string_view bytes) {
  Result<Package> package = readPackage(bytes);
  EXPECT_FALSE(package.ok());
  expectSentence(package.message());
  return package.message();
}

#define EXPECT_CONTAINS(text, part)                                            \
  EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(PackageTest, RoundTripKeepsEveryField) {
  Package original = makePackage();
  std::string bytes = writeOrDie(original);
  Result<Package> copy = readPackage(bytes);
  ASSERT_TRUE(copy.ok()) << copy.message();

  const Manifest &manifest = copy->manifest;
  EXPECT_EQ(manifest.compiler, "deplo 0.1.0");
  EXPECT_EQ(manifest.name, "main");
  EXPECT_EQ(manifest.device, "cuda");
  EXPECT_EQ(manifest.target, "sm_90a");
  EXPECT_EQ(manifest.arenaBytes, 256u);
  ASSERT_EQ(manifest.inputs.size(), 1u);
  EXPECT_EQ(manifest.inputs[0].name, "x");
  EXPECT_EQ(manifest.inputs[0].dtype, "f32");
  EXPECT_EQ(manifest.inputs[0].shape, (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(manifest.inputs[0].strides, (std::vector<int64_t>{8, 1}));
  EXPECT_EQ(manifest.inputs[0].alignment, 16);
  ASSERT_EQ(manifest.outputs.size(), 1u);
  EXPECT_EQ(manifest.outputs[0].name, "y");
  ASSERT_EQ(manifest.kernels.size(), 2u);
  EXPECT_EQ(manifest.kernels[1].name, "second");
  EXPECT_EQ(manifest.kernels[1].grid, (std::array<uint32_t, 3>{4, 1, 1}));
  EXPECT_EQ(manifest.kernels[1].block, (std::array<uint32_t, 3>{256, 1, 1}));
  EXPECT_EQ(manifest.kernels[1].sharedBytes, 1024u);
  EXPECT_FALSE(manifest.kernels[0].programmatic);
  EXPECT_TRUE(manifest.kernels[1].programmatic);
  EXPECT_EQ(manifest.kernels[1].ptx, 0u);
  EXPECT_EQ(manifest.kernels[1].cubin, 1u);
  EXPECT_FALSE(manifest.kernels[1].object);
  ASSERT_EQ(manifest.launches.size(), 2u);
  EXPECT_EQ(manifest.launches[1].kernel, 1u);
  EXPECT_EQ(manifest.launches[1].args, original.manifest.launches[1].args);
  ASSERT_EQ(manifest.temps.size(), 1u);
  EXPECT_EQ(manifest.temps[0].offset, 64u);
  EXPECT_EQ(manifest.temps[0].bytes, 128u);
  EXPECT_EQ(copy->blobs, original.blobs);
  EXPECT_EQ(writeOrDie(*copy), bytes);
}

TEST(PackageTest, RoundTripOfHostObject) {
  Package package;
  package.manifest.device = "host";
  package.manifest.inputs = {makeTensor("", {}, {})};
  KernelInfo kernel;
  kernel.name = "k";
  kernel.object = 0;
  package.manifest.kernels = {kernel};
  package.manifest.launches = {{0, {{LaunchArgument::Kind::Input, 0}}}};
  package.blobs = {"object"};
  std::string bytes = writeOrDie(package);
  Result<Package> copy = readPackage(bytes);
  ASSERT_TRUE(copy.ok()) << copy.message();
  EXPECT_EQ(copy->manifest.kernels[0].object, 0u);
  EXPECT_FALSE(copy->manifest.kernels[0].ptx);
  EXPECT_EQ(copy->blobs[0], "object");
}

TEST(PackageTest, RoundTripWithoutKernels) {
  std::string bytes = writeOrDie(Package());
  Result<Package> copy = readPackage(bytes);
  ASSERT_TRUE(copy.ok()) << copy.message();
  EXPECT_TRUE(copy->blobs.empty());
}

TEST(PackageTest, BlobsAreAligned) {
  std::string bytes = writeOrDie(makePackage());
  Result<Package> package = readPackage(bytes);
  ASSERT_TRUE(package.ok()) << package.message();
  for (std::string_view blob : package->blobs)
    EXPECT_EQ((blob.data() - bytes.data()) % blobAlignment, 0u);
}

TEST(PackageTest, WritingTwiceGivesTheSameBytes) {
  EXPECT_EQ(writeOrDie(makePackage()), writeOrDie(makePackage()));
}

TEST(PackageTest, EveryTruncationIsAnError) {
  std::string bytes = writeOrDie(makePackage());
  for (size_t size = 0; size < bytes.size(); ++size) {
    // A heap copy of exactly this size, so that a sanitizer sees overreads.
    std::vector<char> prefix(bytes.begin(), bytes.begin() + size);
    readError(std::string_view(prefix.data(), prefix.size()));
  }
}

TEST(PackageTest, TrailingBytesAreAnError) {
  std::string bytes = writeOrDie(makePackage());
  EXPECT_CONTAINS(readError(bytes + '\0'), "bytes, but there are");
}

TEST(PackageTest, EveryCorruptByteIsAnError) {
  std::string bytes = writeOrDie(makePackage());
  for (size_t place = 0; place < bytes.size(); ++place)
    for (int mask = 1; mask < 256; ++mask) {
      std::string corrupt = bytes;
      corrupt[place] = char(corrupt[place] ^ mask);
      Result<Package> package = readPackage(corrupt);
      ASSERT_FALSE(package.ok()) << "byte " << place << " xor " << mask;
      expectSentence(package.message());
    }
}

/// The checksum is right here: the schema alone has to hold. Cutting, doubling
/// or changing any byte of the header must never crash, whatever it yields.
TEST(PackageTest, EveryEditOfTheHeaderIsHandled) {
  std::string header = headerOf(makePackage());
  std::string blobs(64 + 6, 'b');
  EXPECT_TRUE(readPackage(packHeader(header, blobs)).ok());
  size_t accepted = 0, rejected = 0;
  auto check = [&](const std::string &edited) {
    std::string bytes = packHeader(edited, blobs);
    Result<Package> package = readPackage(bytes);
    ++(package.ok() ? accepted : rejected);
    if (!package.ok())
      expectSentence(package.message());
    else
      EXPECT_TRUE(writePackage(*package).ok());
  };
  for (size_t place = 0; place < header.size(); ++place) {
    check(header.substr(0, place));
    check(header.substr(0, place) + header.substr(place + 1));
    for (char byte : {'\0', '"', '9', '-', '.', '[', ']', '{', '}', ',', ' ',
                      'e', 'n', '\x80', '\xff', '\\'}) {
      std::string edited = header;
      edited[place] = byte;
      check(edited);
    }
  }
  EXPECT_GT(rejected, accepted);
  EXPECT_GT(accepted, 0u);
}

TEST(PackageTest, DeeplyNestedHeaderIsAnError) {
  std::string deep = "{\"a\":" + std::string(1000000, '[') + "}";
  readError(packHeader(deep));
}

TEST(PackageTest, NotAPackage) {
  EXPECT_CONTAINS(readError(std::string(64, 'x')), "DEPLOPKG");
  EXPECT_CONTAINS(readError(""), "0 bytes");
}

TEST(PackageTest, OtherFormatVersion) {
  std::string bytes = writeOrDie(makePackage());
  bytes[8] = 2;
  EXPECT_CONTAINS(readError(bytes), "format version 2");
}

/// Each row: an edit of a sound header, and what the sentence must name.
TEST(PackageTest, SchemaErrorsNameTheField) {
  struct {
    const char *from, *to, *named;
  } rows[] = {
      {"\"format\":1", "\"format\":7", "format must be 1"},
      {"\"format\":1", "\"format\":1.5", "format must be"},
      {"\"name\":\"main\"", "\"name\":3", "name must be a string"},
      {"\"name\":\"main\"", "\"name\":\"a\\u0000b\"", "zero byte"},
      {"\"device\":\"cuda\"", "\"device\":null", "device must be a string"},
      {"\"device\":\"cuda\"", "\"device\":\"\"", "device must be a name"},
      {"\"device\":\"cuda\"", "\"device\":\"host\"", "no object file"},
      {"\"target\":", "\"tarjet\":", "target must be a string"},
      {"\"arena_bytes\":256", "\"arena_bytes\":-1", "arena_bytes must be"},
      {"\"arena_bytes\":256", "\"arena_bytes\":18446744073709551615",
       "arena_bytes is too big"},
      {"\"arena_bytes\":256", "\"arena_bytes\":100", "beyond the arena"},
      {"\"name\":\"x\"", "\"name\":[]", "inputs[0].name"},
      {"\"dtype\":\"f32\"", "\"dtype\":\"f31\"", "'f31' is unknown"},
      {"\"shape\":[4,8]", "\"shape\":[4,8,1]", "3 dimensions and 2 strides"},
      {"\"shape\":[4,8]", "\"shape\":[-4,8]", "inputs[0].shape"},
      {"\"shape\":[4,8]", "\"shape\":[4611686018427387904,8]", "too big"},
      {"\"shape\":[4,8]", "\"shape\":{}", "must be an array"},
      {"\"alignment\":16", "\"alignment\":12", "power of two, got 12"},
      {"\"alignment\":16", "\"alignment\":0", "power of two, got 0"},
      {"\"name\":\"first\"", "\"name\":\"\"", "kernels[0].name"},
      {"\"name\":\"first\"", "\"name\":\"a b\"", "kernels[0].name"},
      {"\"grid\":[4,1,1]", "\"grid\":[4,1]", "three integers"},
      {"\"grid\":[4,1,1]", "\"grid\":[4,0,1]", "kernels[0].grid[1]"},
      {"\"grid\":[4,1,1]", "\"grid\":[4294967295,1,1]", "kernels[0].grid[0]"},
      {"\"grid\":[4,1,1]", "\"grid\":[4294967296,1,1]", "kernels[0].grid"},
      {"\"block\":[256,1,1]", "\"block\":[256,8,1]", "2048 threads"},
      {"\"block\":[256,1,1]", "\"block\":[1,1,65]", "kernels[0].block[2]"},
      {"\"shared_bytes\":1024", "\"shared_bytes\":\"1\"", "shared_bytes"},
      {"\"programmatic\":true", "\"programmatic\":1", "true or false"},
      {"\"ptx\":{\"blob\":0}", "\"ptx\":{\"blob\":2}", "blob that does not"},
      {"\"ptx\":{\"blob\":0}", "\"ptx\":{}", "kernels[0].ptx.blob"},
      {"\"ptx\":{\"blob\":0},\"cubin\":{\"blob\":1}", "\"ptx\":null",
       "neither PTX nor a cubin"},
      {"\"kernel\":0", "\"kernel\":2", "launches[0] names a kernel"},
      {"{\"input\":0}", "{\"input\":1}", "args[0] names a buffer"},
      {"{\"input\":0}", "{\"output\":1}", "args[0] names a buffer"},
      {"{\"input\":0}", "{\"temp\":1}", "args[0] names a buffer"},
      {"{\"input\":0}", "{\"inputs\":0}", "launches[0].args"},
      {"{\"input\":0}", "{\"input\":0,\"temp\":0}", "launches[0].args"},
      {"{\"input\":0}", "0", "launches[0].args"},
      {"\"offset\":64,\"bytes\":128", "\"offset\":8,\"bytes\":128",
       "multiple of 16"},
      {"\"offset\":64,\"bytes\":128",
       "\"offset\":64,\"bytes\":18446744073709551615", "beyond the arena"},
      {"\"blobs\":[{\"offset\":0", "\"blobs\":[{\"offset\":1", "blobs[0]"},
      {"\"blobs\":[{\"offset\":0", "\"blobs\":[{\"offset\":128", "blobs[0]"},
      {"\"bytes\":6}", "\"bytes\":18446744073709551615}", "blobs[1]"},
      {"\"blobs\":", "\"globs\":", "blobs must be an array"},
  };
  std::string header = headerOf(makePackage());
  std::string blobs(64 + 6, 'b');
  for (const auto &row : rows) {
    SCOPED_TRACE(row.to);
    EXPECT_CONTAINS(
        readError(packHeader(replaced(header, row.from, row.to), blobs)),
        row.named);
  }
}

TEST(PackageTest, HeaderThatIsNotAnObject) {
  for (const char *header : {"", "[]", "}", "{", "{}}", "nul", "{\"a\":1}{}"})
    EXPECT_CONTAINS(readError(packHeader(header)), "not a JSON object");
}

TEST(PackageTest, UnknownKeysAreIgnored) {
  std::string header = replaced(headerOf(makePackage()), "{\"format\":1",
                                "{\"later\":[1,{}],\"format\":1");
  EXPECT_TRUE(readPackage(packHeader(header, std::string(70, 'b'))).ok());
}

/// The writer refuses what the reader would refuse.
TEST(PackageTest, WriterChecks) {
  auto writeError = [](const std::function<void(Package &)> &edit) {
    Package package = makePackage();
    edit(package);
    Result<std::string> bytes = writePackage(package);
    EXPECT_FALSE(bytes.ok());
    return bytes.message();
  };
  EXPECT_CONTAINS(writeError([](Package &p) { p.blobs.pop_back(); }), "blob");
  EXPECT_CONTAINS(
      writeError([](Package &p) { p.manifest.inputs[0].strides = {-8, 1}; }),
      "inputs[0]");
  EXPECT_CONTAINS(writeError([](Package &p) {
                    p.manifest.launches[0].args.resize(maxKernelArguments + 1);
                  }),
                  "at most 512");
  EXPECT_CONTAINS(
      writeError([](Package &p) { p.manifest.temps[0].bytes = 257; }),
      "temps[0]");
}

TEST(PackageTest, TextThatIsNotUtf8IsReplaced) {
  Package package = makePackage();
  package.manifest.inputs[0].name = "caf\xe9";
  std::string bytes = writeOrDie(package);
  Result<Package> copy = readPackage(bytes);
  ASSERT_TRUE(copy.ok()) << copy.message();
  EXPECT_EQ(copy->manifest.inputs[0].name, "caf\xef\xbf\xbd");
}

TEST(PackageTest, TensorBytes) {
  EXPECT_EQ(tensorBytes(makeTensor("", {}, {})), 4);
  EXPECT_EQ(tensorBytes(makeTensor("", {4, 8}, {8, 1})), 128);
  EXPECT_EQ(tensorBytes(makeTensor("", {4, 8}, {1, 4})), 128);
  EXPECT_EQ(tensorBytes(makeTensor("", {4, 8}, {0, 1})), 32);
  EXPECT_EQ(tensorBytes(makeTensor("", {2, 3}, {10, 1})), 52);
  EXPECT_EQ(tensorBytes(makeTensor("", {4, 0}, {8, 1})), 0);
  EXPECT_EQ(tensorBytes(makeTensor("", {INT64_MAX, INT64_MAX}, {1, 1})),
            std::nullopt);
  TensorInfo unknown = makeTensor("", {}, {});
  unknown.dtype = "f33";
  EXPECT_EQ(tensorBytes(unknown), std::nullopt);
}

} // namespace
