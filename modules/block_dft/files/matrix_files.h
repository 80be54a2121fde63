// Symmetric matrices in files: dense ones in HDF5, sparse ones in ELSI's CSC format, Matrix Market and CP2K's CSR
// dumps.
#pragma once

#include "modules/block_dft/files/element_stream.h"

#include <string>

namespace quadrille::block_dft {

/// Whole numbers in a text file, between white space: the sizes of blocks. Errors: ErrorCode::file,
/// ErrorCode::invalid_input naming line and column.
BlockSizes read_block_sizes(const std::string& path);

/// Finite numbers in a text file, between white space or commas: `count` of them, which are `what` ("the neutral
/// charges of 12 atoms"). Errors as above.
std::vector<double> read_numbers(const std::string& path, std::size_t count, const std::string& what);

/// A symmetric matrix in a file that elements_of_file() reads, as (A + A^T) / 2 where elements differ by rounding.
/// Blocks that hold no element, or zeros only, are left out. On a grid, that of `sizes`, rank 0 reads and sends the
/// others their elements, piece by piece: no rank takes more than its share of both halves, and the buffer. Collective.
/// Errors, the same on one rank: ErrorCode::file for files that are damaged or cut short, and for another size than
/// that of the blocks; ErrorCode::invalid_input for a matrix whose elements differ from those of its transpose by more
/// than 1e-8 of the largest; ErrorCode::numerical for elements that are not finite. All name the place.
BlockMatrix<double> read_symmetric(const std::string& path, const std::string& dataset, const BlockSizes& sizes,
                                   StreamBuffer& buffer);

/// ELSI CSC for a name that ends in ".csc", otherwise a dense matrix in HDF5. Whole or not at all. `electrons` is
/// written into the head of ELSI's files. On a grid rank 0 writes the matrix of all, in pieces as above: the same bytes
/// as of one rank. Collective.
void write_symmetric(const std::string& path, const std::string& dataset, const BlockMatrix<double>& a,
                     double electrons, StreamBuffer& buffer);

/// The same with a buffer of 64 MiB.
inline BlockMatrix<double> read_symmetric(const std::string& path, const std::string& dataset,
                                          const BlockSizes& sizes) {
  StreamBuffer buffer;
  return read_symmetric(path, dataset, sizes, buffer);
}
inline void write_symmetric(const std::string& path, const std::string& dataset, const BlockMatrix<double>& a,
                            double electrons) {
  StreamBuffer buffer;
  write_symmetric(path, dataset, a, electrons, buffer);
}

}  // namespace quadrille::block_dft
