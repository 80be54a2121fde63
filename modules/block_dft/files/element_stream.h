// Elements of symmetric matrices on their way between files, or a host's arrays, and the ranks that have the blocks: in
// pieces, such that no rank needs memory for more than its share and a buffer. All calls are collective.
#pragma once

#include "modules/block_dft/matrix/block_matrix.h"
#include "modules/shared/elements/matrix_elements.h"

#include <functional>
#include <string>

namespace quadrille::block_dft {

/// What a stream may take besides a rank's share of the matrix, and what it has taken. At least one element, or where
/// whole rows are needed, one row, fits in.
struct StreamBuffer {
  std::size_t bytes = std::size_t(64) << 20;
  std::size_t largest = 0;
  std::int64_t pieces = 0;
};

/// The matrix (A + A^T) / 2 of the elements of A that the ranks have: any of them, or rank 0 alone, or null. Blocks
/// without an element other than 0 are left out. Goes through the elements twice; until the end the share has both
/// halves of A. `name`: of the file, for errors. Errors: those of the sources, on all ranks; ErrorCode::invalid_input,
/// naming the first place as the sources count, where elements differ from those of the transpose by more than 1e-8 of
/// the largest one.
BlockMatrix<double> symmetric_of_elements(ElementSource* source, const BlockSizes& sizes, const std::string& name,
                                          StreamBuffer& buffer);

/// Elements that are not 0 in each of the rows [first, first + counts.size()), which successive calls of body(first,
/// counts) have, with the counts of all ranks.
void for_each_row_counts(const BlockMatrix<double>& a,
                         const std::function<void(std::int64_t, const std::vector<std::int64_t>&)>& body);

/// The elements that are not 0 of the rows [first, end), by rows and columns.
struct ElementRows {
  std::int64_t first, end;
  const std::vector<Element>& elements;
};
/// Calls body on all ranks for successive rows of a symmetric matrix, at most `most_rows` at a time, with those of its
/// elements that go to this rank: rank to(row), none where that is below 0. Where body throws on a rank, all fail.
void for_each_rows(const BlockMatrix<double>& a, std::int64_t most_rows, const std::function<int(std::int64_t)>& to,
                   StreamBuffer& buffer, const std::function<void(const ElementRows&)>& body);

}  // namespace quadrille::block_dft
