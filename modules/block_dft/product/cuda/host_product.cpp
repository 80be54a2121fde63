// multiply() of matrices in pinned memory: panels of A and B come while others are multiplied, and rows of C go while
// the next are multiplied, as the Cannon layer has its device buffers (cannon.h).
#include "modules/block_dft/product/cuda/host_panels.h"
#include "modules/block_dft/product/cuda/part_product.h"
#include "modules/shared/study/take_turns.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace quadrille::block_dft {
namespace {

/// How A and B are cut: rows of C, and columns, of which each comes in a panel of its own where it is worth it.
struct Cuts {
  std::vector<BlockRange> rows, columns;
};

/// `shares` of `count` blocks, as far as there are so many.
std::vector<BlockRange> cut(std::int32_t count, const std::vector<int>& shares) {
  double all = 0, sum = 0;
  for (const int share : shares) all += share;
  std::vector<BlockRange> out;
  std::int32_t begin = 0;
  for (const int share : shares) {
    sum += share;
    const std::int32_t end = std::int32_t(std::llround(count * sum / all));
    if (end > begin) out.push_back({begin, end});
    begin = std::max(begin, end);
  }
  if (out.empty()) out.push_back({0, count});
  return out;
}

/// Whether lines of op(matrix) are lines of what is stored.
bool lies_so(Transpose op, const PinnedMatrix::Data& matrix) {
  return op == Transpose::no && matrix.symmetry == Symmetry::none;
}

double bytes_of(const PinnedMatrix::Data& matrix) { return sizeof(double) * double(matrix.at.back()); }

/// More parts overlap better, but each takes a while to be prepared.
Cuts cuts_for(const ProductForm& form, const PinnedMatrix::Data& a, const PinnedMatrix::Data& b) {
  constexpr double least_part = 64e6, most_copies = 512;  // that wait on a stream without stopping the host
  constexpr int most_rows = 13, most_columns = 4;
  const double c_bytes = sizeof(double) * double(form.rows.total()) * double(form.columns.total());
  const double all = bytes_of(a) + bytes_of(b) + std::min(c_bytes, 4 * (bytes_of(a) + bytes_of(b)));
  std::vector<int> rows(std::size_t(std::clamp(all / least_part, 1.0, double(most_rows))), 2);
  double columns = std::clamp(bytes_of(b) / least_part, 1.0, double(most_columns));
  const bool by_lines = b.symmetry == Symmetry::none;  // otherwise all of it has to be there
  const bool in_pieces = form.op_b == Transpose::no && columns * form.inner.count() > most_copies;
  if (!by_lines || in_pieces) columns = 1;
  if (columns < 2) rows.front() = 1;  // the first rows come before B, the last go when all is done
  rows.back() = 1;
  return {cut(form.rows.count(), rows), cut(form.columns.count(), std::vector<int>(std::size_t(columns), 1))};
}

/// A matrix without blocks; its memory stays.
void clear(PinnedMatrix::Data& c) {
  c.column.clear();
  c.at.assign(1, 0);
  c.first.assign(std::size_t(c.rows.count()) + 1, 0);
}

BlockRange all_of(const BlockSizes& sizes) { return {0, sizes.count()}; }

class StreamedProduct {
 public:
  StreamedProduct(const ProductForm& form, const PinnedMatrix::Data& a, const PinnedMatrix::Data& b)
      : form_(form),
        product_(form),
        a_(a),
        b_(b),
        cuts_(cuts_for(form, a, b)),
        a_by_rows_(lies_so(form.op_a, a)),
        queue_(panels(), link_) {}

  MultiplyReport run(PinnedMatrix::Data& c) {
    std::optional<SentPanel> old;
    if (form_.keeps()) {
      const HostFactor before(c);
      old = send_panel({&before, all_of(c.rows), all_of(c.columns)}, link_);
      cuda::wait(cuda::stream(), old->arrived);
    }
    RowParts parts(product_, 0);
    DeviceMatrix a;
    clear(c);
    for (std::size_t which = 0; which < cuts_.rows.size(); ++which) {
      if (which == 0 || a_by_rows_) a = queue_.take();
      std::vector<DeviceMatrix> row;
      for (std::size_t q = 0; q < cuts_.columns.size(); ++q) {
        if (which == 0) columns_.push_back(product_.columns_of(queue_.take().data(), cuts_.columns[q]));
        queue_.send_ahead();
        parts.run(a.data(), cuts_.rows[which], columns_[q], old ? &old->there.data() : nullptr, nullptr, report_,
                  [&](DeviceMatrix part) { row.push_back(std::move(part)); });
      }
      fetch(joined(std::move(row)), cuts_.rows[which], c);
    }
    c.find_places();
    link_.finish_receiving();
    report_.bytes_sent = queue_.bytes_sent() + (old ? old->bytes : 0);
    report_.seconds = now() - began_;
    return report_;
  }

 private:
  std::vector<HostPanel> panels() const {
    const auto rows_of_a = [&](BlockRange rows) { return HostPanel{&a_, rows, all_of(a_.matrix.columns)}; };
    std::vector<HostPanel> out{a_by_rows_ ? rows_of_a(cuts_.rows.front()) : rows_of_a(all_of(a_.matrix.rows))};
    for (const BlockRange& columns : cuts_.columns) {
      if (cuts_.columns.size() == 1) {
        out.push_back({&b_, all_of(b_.matrix.rows), all_of(b_.matrix.columns)});
      } else if (form_.op_b == Transpose::yes) {
        out.push_back({&b_, columns, all_of(b_.matrix.columns)});
      } else {
        out.push_back({&b_, all_of(b_.matrix.rows), columns});
      }
    }
    for (std::size_t which = 1; a_by_rows_ && which < cuts_.rows.size(); ++which) {
      out.push_back(rows_of_a(cuts_.rows[which]));
    }
    return out;
  }

  /// Waits for the rows before, which have had the time of these rows' products.
  void fetch(DeviceMatrix row, BlockRange rows, PinnedMatrix::Data& c) {
    link_.finish_receiving();
    going_ = std::move(row);
    const DeviceMatrix::Data& there = going_.data();
    fetch_index(there, rows, c);  // it would wait for the numbers if these went first
    const std::int64_t end = numbers_ + there.numbers;
    if (end > c.room) {  // as if the rest were like what is there
      const double all = double(end) * form_.rows.count() / std::max(1, rows.end);
      c.make_room(std::max(end, std::int64_t(rows.end < form_.rows.count() ? 1.05 * all : all)), numbers_);
    }
    cuda::pass(received_, cuda::stream(), link_.down());
    constexpr std::int64_t most = 1 << 27;  // what one copy of a line takes
    for (std::int64_t begin = 0; begin < there.numbers; begin += most) {
      const std::int64_t many = std::min(most, there.numbers - begin);
      link_.receive(there.numbers_there.get() + begin,
                    DenseView<double>{c.numbers() + numbers_ + begin, many, 1, many, false});
    }
    numbers_ = end;
    report_.bytes_received += double(going_.bytes());
  }

  static void fetch_index(const DeviceMatrix::Data& there, BlockRange rows, PinnedMatrix::Data& c) {
    const std::vector<std::int32_t> column = cuda::fetched(there.column.get(), there.blocks);
    const std::vector<std::int64_t> first = cuda::fetched(there.first.get(), there.first.count());
    const std::int64_t before = std::int64_t(c.column.size());
    for (std::size_t i = std::size_t(rows.begin); i < std::size_t(rows.end); ++i)
      c.first[i + 1] = before + first[i + 1];
    c.column.insert(c.column.end(), column.begin(), column.end());
  }

  double began_ = now();
  ProductForm form_;
  PartedProduct product_;
  HostFactor a_, b_;
  Cuts cuts_;
  bool a_by_rows_;
  std::vector<ColumnPart> columns_;
  DeviceMatrix going_;  ///< rows of C on their way
  std::int64_t numbers_ = 0;
  MultiplyReport report_;
  cuda::OwnedEvent received_ = cuda::make_event();
  PanelQueue queue_;
  cuda::HostLink link_;  // last: it waits for what travels before memory goes
};

}  // namespace

MultiplyReport multiply(double alpha, Transpose op_a, const PinnedMatrix& a, Transpose op_b, const PinnedMatrix& b,
                        double beta, PinnedMatrix& c, const MultiplyOptions& options) {
  const ProductForm form = product_form(alpha, op_a, a, op_b, b, beta, c, options);
  PinnedMatrix other;  // C may be A or B
  if (&c == &a || &c == &b)
    other = form.keeps() ? PinnedMatrix(c.copy()) : PinnedMatrix(c.rows(), c.columns(), c.symmetry());
  PinnedMatrix& to = &c == &a || &c == &b ? other : c;
  MultiplyReport report;
  try {
    report = StreamedProduct(form, a.data(), b.data()).run(to.data());
  } catch (...) {
    clear(to.data());
    throw;
  }
  if (&to != &c) c = std::move(other);
  return report;
}

}  // namespace quadrille::block_dft
