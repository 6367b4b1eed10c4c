// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations by which blocks of a cluster exchange tiles.

#ifndef DEPLO_DIALECT_TILE_IR_TILECLUSTER_H
#define DEPLO_DIALECT_TILE_IR_TILECLUSTER_H

#include "deplo/Dialect/Tile/IR/Tile.h"

#define GET_OP_CLASSES
#include "deplo/Dialect/Tile/IR/TileClusterOps.h.inc"

#endif // DEPLO_DIALECT_TILE_IR_TILECLUSTER_H
