// How much of the heap this process has, and has had: the C library's allocation is replaced in this test program.
#pragma once

namespace quadrille::testing {

/// Bytes that are in use; heap_peak() is that from now on.
double heap_now();
/// The most bytes that have been in use since the last heap_now().
double heap_peak();

}  // namespace quadrille::testing
