// Counts what the program takes from the heap: operator new is replaced in this test program.
#pragma once

#include <cstddef>

namespace quadrille::test {

/// Calls of operator new so far, by all threads.
std::size_t heap_allocations();

}  // namespace quadrille::test
