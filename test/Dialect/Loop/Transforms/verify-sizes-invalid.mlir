// RUN: deplo-opt %s --split-input-file --verify-diagnostics --deplo-verify-sizes

// expected-error @+1 {{'graph.sizes' must be a dictionary of the sizes of a module}}
module attributes {graph.sizes = 3 : i64} {
}

// -----

// expected-error @+1 {{'graph.sizes' of n must be an array of its generic number, minimum and maximum}}
module attributes {graph.sizes = {n = array<i64: 1048583>}} {
}

// -----

// expected-error @+1 {{'graph.sizes' of n must have 0 <= minimum <= maximum < generic number, got 0, 7, 7}}
module attributes {graph.sizes = {n = array<i64: 7, 0, 7>}} {
}

// -----

// expected-error @+1 {{'graph.sizes' of n must not be a multiple of that of m}}
module attributes {graph.sizes = {m = array<i64: 11, 0, 7>, n = array<i64: 22, 0, 7>}} {
}
