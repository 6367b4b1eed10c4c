// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What blocks of a cluster exchange tiles by. Included by TileOps.td; TileCluster.h
// declares these operations.

def Tile_ClusterReduceScatterOp : Tile_Op<"cluster_reduce_scatter", [Pure]> {
  let summary = "sums over the blocks of a cluster, of which each block gets a part";
  let description = [{
    Tiles of all blocks of the cluster are added, in the order of the blocks, and
    block `b` has the `b`-th part of the sum along `dim`. Blocks exchange parts
    through distributed shared memory; each thread gets of the others what it
    holds itself.

    ```mlir
    %t = tile.cluster_reduce_scatter %s dim 1 : tensor<64x128xf32> -> tensor<64x32xf32>
    ```

    Constraints:
    - C1: it is directly in a kernel that has a cluster axis.
    - C2: the elements are of f32; the result's shape is the operand's, with as
      many parts along `dim` as the cluster has blocks.
    - C3: with layouts, the upper bits along `dim` are registers of the operand's,
      and the result's layout is what is left.
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `dim` $dim attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}
