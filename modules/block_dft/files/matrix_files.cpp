#include "modules/block_dft/files/matrix_files.h"

#include "core/comm/agreement.h"
#include "core/error.h"
#include "core/system/atomic_file.h"
#include "modules/shared/hdf5/hdf5_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <utility>

namespace quadrille::block_dft {
namespace {

using Matrix = BlockMatrix<double>;

[[noreturn]] void fail(const std::string& path, const std::string& message) {
  throw Error(ErrorCode::file, message, Location{.file = path});
}

/// Column by column, which are rows of a symmetric matrix.
void write_elsi(const std::string& path, const Matrix& a, double electrons, StreamBuffer& buffer) {
  const Communicator& ranks = a.grid() ? a.grid()->ranks() : *single_process();
  std::optional<AtomicFile> target;
  const auto write = [&](const auto* numbers, std::size_t count) { target->write(numbers, count * sizeof *numbers); };
  std::int64_t count = 0;
  for_each_row_counts(a, [&](std::int64_t, const std::vector<std::int64_t>& counts) {
    for (const std::int64_t elements : counts) count += elements;
  });
  std::array<std::int64_t, elsi::head_length> head{};
  head[elsi::version] = elsi::this_version;
  head[elsi::unset] = elsi::is_unset;
  head[elsi::kind] = elsi::real;
  head[elsi::size] = a.rows().total();
  head[elsi::electron_count] = std::llround(electrons);
  head[elsi::elements] = count;
  on_first_rank(ranks, [&] {
    target.emplace(path);
    write(head.data(), head.size());
  });
  std::int64_t start = 1;
  for_each_row_counts(a, [&](std::int64_t, std::vector<std::int64_t> counts) {
    for (std::int64_t& elements : counts) start += std::exchange(elements, start);
    on_first_rank(ranks, [&] { write(counts.data(), counts.size()); });
  });
  const auto to_first = [](std::int64_t) { return 0; };
  const auto write_all = [&](const auto& part) {
    for_each_rows(a, a.rows().total(), to_first, buffer, [&](const ElementRows& rows) {
      if (ranks.rank() != 0) return;
      std::vector<decltype(part(rows.elements[0]))> numbers(rows.elements.size());
      std::transform(rows.elements.begin(), rows.elements.end(), numbers.begin(), part);
      write(numbers.data(), numbers.size());
    });
  };
  write_all([](const Element& e) { return e.column + 1; });
  write_all([](const Element& e) { return e.value; });
  on_first_rank(ranks, [&] { target->commit(); });
}

/// A slab of rows after another.
void write_dense(const std::string& path, const std::string& dataset, const Matrix& a, StreamBuffer& buffer) {
  const Communicator& ranks = a.grid() ? a.grid()->ranks() : *single_process();
  const std::int64_t n = a.columns().total();
  std::optional<Hdf5Writer> target;
  on_first_rank(ranks, [&] {
    target.emplace(path);
    target->create(dataset, {a.rows().total(), n});
  });
  const std::int64_t most_rows =
      std::max<std::int64_t>(1, std::int64_t(buffer.bytes / 4 / sizeof(double)) / std::max<std::int64_t>(n, 1));
  for_each_rows(
      a, most_rows, [](std::int64_t) { return 0; }, buffer,
      [&](const ElementRows& rows) {
        if (ranks.rank() != 0) return;
        std::vector<double> slab(std::size_t((rows.end - rows.first) * n));
        for (const Element& e : rows.elements) slab[std::size_t((e.row - rows.first) * n + e.column)] = e.value;
        target->rows(rows.end - rows.first, slab.data());
      });
  on_first_rank(ranks, [&] { target->commit(); });
}

/// Numbers between white space and commas.
template <class T, class Good>
std::vector<T> read_text(const std::string& path, Good good, const std::string& complaint) {
  std::ifstream stream(path);
  if (!stream) fail(path, "cannot be opened");
  std::vector<T> out;
  std::string text;
  for (int line = 1; std::getline(stream, text); ++line) {
    for (std::size_t at = text.find_first_not_of(" \t\r,"); at != std::string::npos;) {
      const std::size_t end = std::min(text.find_first_of(" \t\r,", at), text.size());
      T number{};
      const auto [last, error] = std::from_chars(text.data() + at, text.data() + end, number);
      if (error != std::errc() || last != text.data() + end || !good(number)) {
        throw Error(ErrorCode::invalid_input, "'" + text.substr(at, end - at) + "' " + complaint,
                    Location{.file = path, .line = line, .column = int(at) + 1});
      }
      out.push_back(number);
      at = text.find_first_not_of(" \t\r,", end);
    }
  }
  return out;
}

}  // namespace

BlockSizes read_block_sizes(const std::string& path) {
  std::vector<std::int32_t> sizes = read_text<std::int32_t>(
      path, [](std::int32_t size) { return size > 0; },
      "is not the size of a block: it must be a whole number above 0");
  if (sizes.empty()) fail(path, "has no block sizes");
  return BlockSizes(std::move(sizes));
}

std::vector<double> read_numbers(const std::string& path, std::size_t count, const std::string& what) {
  std::vector<double> out = read_text<double>(
      path, [](double number) { return std::isfinite(number); }, "is not a finite number");
  if (out.size() == count) return out;
  fail(path, fmt::format("has {} numbers, but {} need {}", out.size(), what, count));
}

Matrix read_symmetric(const std::string& path, const std::string& dataset, const BlockSizes& sizes,
                      StreamBuffer& buffer) {
  std::unique_ptr<ElementSource> source;
  on_first_rank(sizes.grid() ? sizes.grid()->ranks() : *single_process(), [&] {
    source = elements_of_file(path, dataset);
    if (source->size() == sizes.total()) return;
    fail(path, fmt::format("has {} rows, but the sizes of the {} blocks add up to {}", source->size(), sizes.count(),
                           sizes.total()));
  });
  return symmetric_of_elements(source.get(), sizes, path, buffer);
}

void write_symmetric(const std::string& path, const std::string& dataset, const Matrix& a, double electrons,
                     StreamBuffer& buffer) {
  if (path.ends_with(".csc")) return write_elsi(path, a, electrons, buffer);
  write_dense(path, dataset, a, buffer);
}

}  // namespace quadrille::block_dft
