// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes are counted from the accesses of a kernel.

#include "deplo/Dialect/Tile/Analysis/MemoryTraffic.h"
#include "TileTesting.h"

using namespace deplo;
using namespace deplo::testing;
using namespace mlir;

namespace {

/// (read, written) for each argument.
using Counts = std::vector<std::pair<int64_t, int64_t>>;

std::optional<Counts> count(llvm::StringRef text) {
  Session session;
  OwningOpRef<ModuleOp> module = session.parse(text);
  auto traffic =
      tile::getMemoryTraffic(cast<tile::KernelOp>(getKernel(*module)));
  if (!traffic)
    return std::nullopt;
  Counts counts;
  for (tile::BufferTraffic buffer : *traffic)
    counts.push_back({buffer.bytesRead, buffer.bytesWritten});
  return counts;
}

TEST(MemoryTraffic, MaskedElementsDoNotMove) {
  EXPECT_EQ(count(R"mlir(
    tile.kernel @k(%x: memref<1000xf32>, %y: memref<1000xf16>) axes(%i = 1000 step 256 grid) warps(4) {
      %a = tile.load %x[%i] bounds [1000] : memref<1000xf32> -> tensor<256xf32>
      %b = arith.truncf %a : tensor<256xf32> to tensor<256xf16>
      tile.store %b, %y[%i] bounds [1000] : tensor<256xf16>, memref<1000xf16>
    })mlir"),
            (Counts{{4000, 0}, {0, 2000}}));
}

TEST(MemoryTraffic, WhatEveryBlockReadsCountsOnce) {
  EXPECT_EQ(count(R"mlir(
    tile.kernel @k(%x: memref<64xf32>, %y: memref<8x64xf32>) axes(%i = 8 step 1 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %a = tile.load %x[%c0] : memref<64xf32> -> tensor<64xf32>
      %b = tile.broadcast %a dims [1] : tensor<64xf32> -> tensor<1x64xf32>
      tile.store %b, %y[%i, %c0] : tensor<1x64xf32>, memref<8x64xf32>
    })mlir"),
            (Counts{{256, 0}, {0, 2048}}));
}

TEST(MemoryTraffic, RowsReadTwiceCountTwice) {
  EXPECT_EQ(count(R"mlir(
    tile.kernel @k(%x: memref<3x700xf32>, %y: memref<3x700xf32>) axes(%i = 3 step 2 grid) warps(2) {
      %c0 = arith.constant 0 : index
      %c256 = arith.constant 256 : index
      %c768 = arith.constant 768 : index
      %zero = arith.constant dense<0.0> : tensor<2x256xf32>
      %p = scf.for %k = %c0 to %c768 step %c256 iter_args(%acc = %zero) -> (tensor<2x256xf32>) {
        %a = tile.load %x[%i, %k] bounds [3, 700] : memref<3x700xf32> -> tensor<2x256xf32>
        %n = arith.addf %acc, %a : tensor<2x256xf32>
        scf.yield %n : tensor<2x256xf32>
      }
      %m = tile.reduce [add] %p axis 1 : tensor<2x256xf32> -> tensor<2xf32>
      %mb = tile.broadcast %m dims [0] : tensor<2xf32> -> tensor<2x256xf32>
      scf.for %k = %c0 to %c768 step %c256 {
        %a = tile.load %x[%i, %k] bounds [3, 700] : memref<3x700xf32> -> tensor<2x256xf32>
        %d = arith.subf %a, %mb : tensor<2x256xf32>
        tile.store %d, %y[%i, %k] bounds [3, 700] : tensor<2x256xf32>, memref<3x700xf32>
      }
    })mlir"),
            (Counts{{2 * 3 * 700 * 4, 0}, {0, 3 * 700 * 4}}));
}

TEST(MemoryTraffic, LoopsThatDoNotMoveAnAccessRepeatIt) {
  EXPECT_EQ(count(R"mlir(
    tile.kernel @k(%x: memref<64xf32>, %y: memref<4x64xf32>) axes(%i = 1 step 1 tile) warps(1) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      scf.for %k = %c0 to %c4 step %c1 {
        %a = tile.load %x[%c0] : memref<64xf32> -> tensor<64xf32>
        tile.store %a, %y[%k, %c0] : tensor<64xf32>, memref<4x64xf32>
      }
    })mlir"),
            (Counts{{4 * 256, 0}, {0, 4 * 256}}));
}

TEST(MemoryTraffic, SumsOfVariablesReachTheTail) {
  // Blocks of 512 in chunks of 128, of 1100 elements, every second of them.
  EXPECT_EQ(count(R"mlir(
    tile.kernel @k(%x: memref<2200xf32>, %y: memref<1100xf32>) axes(%i = 1100 step 512 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %c128 = arith.constant 128 : index
      %c512 = arith.constant 512 : index
      scf.for %k = %c0 to %c512 step %c128 {
        %j = arith.addi %i, %k : index
        %d = arith.muli %j, %c2 : index
        %a = tile.load %x[%d] steps [2] bounds [2199] : memref<2200xf32> -> tensor<128xf32>
        tile.store %a, %y[%j] bounds [1100] : tensor<128xf32>, memref<1100xf32>
      }
    })mlir"),
            (Counts{{4400, 0}, {0, 4400}}));
}

TEST(MemoryTraffic, UnknownLoopsAreUnknown) {
  EXPECT_EQ(count(R"mlir(
    tile.kernel @k(%x: memref<64xf32>, %y: memref<64xf32>) axes(%i = 4 step 1 grid) warps(1) {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      scf.for %k = %c0 to %i step %c16 {
        %a = tile.load %x[%k] : memref<64xf32> -> tensor<16xf32>
        tile.store %a, %y[%k] : tensor<16xf32>, memref<64xf32>
      }
    })mlir"),
            std::nullopt);
}

} // namespace
