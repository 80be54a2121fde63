#include "solvers/multigrid/transfer.h"

#include "core/backend/of_backend.h"
#include "core/blas/blas.h"
#include "core/error.h"
#include "core/system/aligned_memory.h"
#include "core/system/team.h"
#include "solvers/multigrid/chiral_sites.h"
#include "solvers/multigrid/cuda/device_multigrid.h"
#include "solvers/multigrid/dense_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

namespace quadrille::multigrid {
namespace {

template <class T>
class TransferOf final : public Transfer {
 public:
  TransferOf(std::shared_ptr<const Aggregates> aggregates, const FieldDesc& fine, int vectors)
      : aggregates_(std::move(aggregates)),
        fine_(fine),
        coarse_(multigrid::coarse_desc(aggregates_->coarse(), vectors, fine.precision)),
        vectors_(vectors),
        fine_sites_(fine_),
        coarse_sites_(coarse_),
        kernels_(dense_kernels<T>()),
        numbers_(fine_sites_.numbers()),
        columns_(std::size_t(2 * aggregates_->count() * aggregates_->sites() * numbers_) * std::size_t(2 * vectors_)),
        all_(std::size_t(aggregates_->sites())),
        scratch_(std::size_t(team::threads())) {
    std::iota(all_.begin(), all_.end(), 0);
  }

  const FieldDesc& fine_desc() const override { return fine_; }
  const FieldDesc& coarse_desc() const override { return coarse_; }
  const Aggregates& aggregates() const override { return *aggregates_; }
  int vectors() const override { return vectors_; }
  double bytes() const override { return double(columns_.size() * sizeof(T)); }

  void take(int k, const Field& vector) override;
  double orthonormalise() override;
  void column(Field& v, int k, int chirality, int colour) const override;
  void restrict_each(OperandList list) const override;
  void prolong_each(OperandList list) const override;
  void project(std::span<const Field* const> images, int colour, StencilMatrices<float> into,
               int first) const override {
    if constexpr (std::is_same_v<T, float>) project_each(images, colour, into, first);
  }
  void project(std::span<const Field* const> images, int colour, StencilMatrices<double> into,
               int first) const override {
    if constexpr (std::is_same_v<T, double>) project_each(images, colour, into, first);
  }

 private:
  using Numbers = std::vector<T, AlignedAllocator<T>>;
  using Chosen = std::span<const std::int32_t>;

  void project_each(std::span<const Field* const> images, int colour, StencilMatrices<T> into, int first) const;

  /// Row `number` of one site: [aggregate][chirality][site][number][vector].
  const T* rows(std::int64_t a, int chirality, std::int64_t site) const {
    return columns_.data() + ((a * 2 + chirality) * aggregates_->sites() + site) * numbers_ * 2 * vectors_;
  }
  T* rows(std::int64_t a, int chirality, std::int64_t site) {
    return const_cast<T*>(std::as_const(*this).rows(a, chirality, site));
  }
  /// The sites of an aggregate that a field holds.
  Chosen held(std::int64_t a, Subset subset) const {
    const Chosen all(all_);
    const std::size_t evens = std::size_t(aggregates_->evens(a));
    if (subset == Subset::Full) return all;
    return subset == Subset::Even ? all.first(evens) : all.subspan(evens);
  }
  /// Numbers of one right-hand side and chirality in the scratch of an aggregate.
  std::int64_t portion() const { return std::int64_t(2) * aggregates_->sites() * numbers_; }
  T* scratch(int thread) const {
    Numbers& mine = scratch_[std::size_t(thread)];
    mine.resize(std::size_t(2 * most_at_once * portion()));
    return mine.data();
  }
  /// The chosen sites of aggregate a, by right-hand side and chirality.
  void gather(T* to, std::int64_t a, Chosen chosen, std::span<const Field* const> from) const {
    const auto sites = aggregates_->sites_of(a);
    for (std::size_t r = 0; r < from.size(); ++r) {
      T* first = to + std::int64_t(2 * r) * portion();
      for (const std::int32_t s : chosen) {
        const Aggregates::Site& site = sites[std::size_t(s)];
        fine_sites_.load(fine_sites_.site(*from[r], site.parity, site.index), first, first + portion());
        first += 2 * numbers_;
      }
    }
  }
  /// to[r], for one chirality, = P^+ of the gathered sites.
  void sum(std::int64_t a, int chirality, Chosen chosen, const T* gathered, std::span<T* const> to) const {
    ColumnSum<T> call{.matrices = rows(a, chirality, 0),
                      .chosen = chosen.data(),
                      .count = int(chosen.size()),
                      .columns = numbers_,
                      .rows = vectors_,
                      .conjugate = true,
                      .rhs = int(to.size())};
    for (std::size_t r = 0; r < to.size(); ++r) {
      call.x[r] = gathered + std::int64_t(2 * r + std::size_t(chirality)) * portion();
      call.y[r] = to[r];
    }
    kernels_.column_sum(call);
  }
  T* coarse_site(Field& field, std::int64_t a) const {
    const std::int64_t half = aggregates_->coarse().half_volume();
    return coarse_sites_.site(field, Parity(int(a / half)), a % half);
  }
  const T* coarse_site(const Field& field, std::int64_t a) const { return coarse_site(const_cast<Field&>(field), a); }
  /// body(thread, a) for all aggregates.
  template <class Body>
  void for_aggregates(Body&& body) const {
    if (int(scratch_.size()) < team::threads()) scratch_.resize(std::size_t(team::threads()));
    team::share(aggregates_->count(), team::few_pieces, [&](int thread, std::int64_t begin, std::int64_t end) {
      for (std::int64_t a = begin; a < end; ++a) body(thread, a);
    });
  }

  std::shared_ptr<const Aggregates> aggregates_;
  FieldDesc fine_, coarse_;
  int vectors_;
  ChiralSites<T> fine_sites_, coarse_sites_;
  DenseKernels<T> kernels_;
  int numbers_;  ///< complex ones of a site and chirality
  Numbers columns_;
  std::vector<std::int32_t> all_;
  mutable std::vector<Numbers> scratch_;  ///< of each thread
};

template <class T>
void TransferOf<T>::take(int k, const Field& vector) {
  for_aggregates([&](int thread, std::int64_t a) {
    T* gathered = scratch(thread);
    const Field* const from[] = {&vector};
    gather(gathered, a, all_, from);
    for (int chirality = 0; chirality < 2; ++chirality) {
      T* to = rows(a, chirality, 0) + 2 * k;
      const T* x = gathered + chirality * portion();
      for (std::int64_t i = 0; i < portion(); i += 2, to += 2 * vectors_) {
        to[0] = x[i];
        to[1] = x[i + 1];
      }
    }
  });
}

template <class T>
double TransferOf<T>::orthonormalise() {
  std::vector<double> kept(std::size_t(2 * aggregates_->count()));
  const std::int64_t length = std::int64_t(aggregates_->sites()) * numbers_;
  std::vector<std::vector<double>> turned(std::size_t(team::threads()));
  for_aggregates([&](int thread, std::int64_t a) {
    std::vector<double>& vectors = turned[std::size_t(thread)];
    vectors.resize(std::size_t(2 * length * vectors_));
    const auto exchange = [&](T* matrix, auto&& with) {
      for (std::int64_t i = 0; i < length; ++i) {
        for (std::int64_t k = 0; k < vectors_; ++k) {
          for (std::int64_t c = 0; c < 2; ++c) {
            with(matrix[2 * (i * vectors_ + k) + c], vectors[std::size_t(2 * (k * length + i) + c)]);
          }
        }
      }
    };
    for (int chirality = 0; chirality < 2; ++chirality) {
      T* matrix = rows(a, chirality, 0);
      exchange(matrix, [](T& from, double& to) { to = from; });
      kept[std::size_t(2 * a + chirality)] = multigrid::orthonormalise({vectors.data(), length, vectors_});
      exchange(matrix, [](T& to, double& from) { to = T(from); });
    }
  });
  return smallest_part(kept);
}

template <class T>
void TransferOf<T>::column(Field& v, int k, int chirality, int colour) const {
  for_aggregates([&](int, std::int64_t a) {
    T part[2][most_site_numbers / 2] = {};
    const bool filled = aggregates_->colour(a) == colour;
    const auto sites = aggregates_->sites_of(a);
    for (std::size_t s = 0; s < sites.size(); ++s) {
      const T* from = rows(a, chirality, std::int64_t(s)) + 2 * k;
      for (int c = 0; c < numbers_ && filled; ++c, from += 2 * vectors_) {
        part[chirality][2 * c] = from[0];
        part[chirality][2 * c + 1] = from[1];
      }
      fine_sites_.store(fine_sites_.site(v, sites[s].parity, sites[s].index), part[0], part[1]);
    }
  });
}

template <class T>
void TransferOf<T>::restrict_each(OperandList list) const {
  for (std::size_t begin = 0; begin < list.size(); begin += most_at_once) {
    const OperandList some = list.subspan(begin, std::min<std::size_t>(most_at_once, list.size() - begin));
    const Subset subset = some.front().x->desc().subset;
    for_aggregates([&](int thread, std::int64_t a) {
      T* gathered = scratch(thread);
      const Field* from[most_at_once] = {};
      T* to[most_at_once] = {};
      for (std::size_t r = 0; r < some.size(); ++r) {
        from[r] = some[r].x;
        to[r] = coarse_site(*some[r].y, a);
      }
      const Chosen chosen = held(a, subset);
      gather(gathered, a, chosen, std::span(from).first(some.size()));
      for (int chirality = 0; chirality < 2; ++chirality) {
        sum(a, chirality, chosen, gathered, std::span(to).first(some.size()));
        for (std::size_t r = 0; r < some.size(); ++r) to[r] += 2 * vectors_;
      }
    });
  }
}

template <class T>
void TransferOf<T>::prolong_each(OperandList list) const {
  for (std::size_t begin = 0; begin < list.size(); begin += most_at_once) {
    const OperandList some = list.subspan(begin, std::min<std::size_t>(most_at_once, list.size() - begin));
    const Subset subset = some.front().y->desc().subset;
    for_aggregates([&](int thread, std::int64_t a) {
      T* made = scratch(thread);
      const Chosen chosen = held(a, subset);
      for (int chirality = 0; chirality < 2; ++chirality) {
        RowSum<T> call{.matrix = rows(a, chirality, chosen.front()),
                       .count = std::int64_t(chosen.size()) * numbers_,
                       .length = vectors_,
                       .rhs = int(some.size())};
        for (std::size_t r = 0; r < some.size(); ++r) {
          call.x[r] = coarse_site(*some[r].x, a) + 2 * vectors_ * chirality;
          call.y[r] = made + std::int64_t(2 * r + std::size_t(chirality)) * portion();
        }
        kernels_.row_sum(call);
      }
      const auto sites = aggregates_->sites_of(a);
      for (std::size_t r = 0; r < some.size(); ++r) {
        const T* first = made + std::int64_t(2 * r) * portion();
        for (const std::int32_t s : chosen) {
          const Aggregates::Site& site = sites[std::size_t(s)];
          fine_sites_.store(fine_sites_.site(*some[r].y, site.parity, site.index), first, first + portion());
          first += 2 * numbers_;
        }
      }
    });
  }
}

template <class T>
void TransferOf<T>::project_each(std::span<const Field* const> images, int colour, StencilMatrices<T> into,
                                 int first) const {
  const auto block = [&](int thread, std::int64_t a, Chosen chosen, int number) {
    if (chosen.empty()) return;
    T* gathered = scratch(thread);
    gather(gathered, a, chosen, images);
    T* to[most_at_once] = {};
    for (int chirality = 0; chirality < 2; ++chirality) {
      for (std::size_t r = 0; r < images.size(); ++r) {
        to[r] = into.column(a, number, first + int(r)) + 2 * vectors_ * chirality;
      }
      sum(a, chirality, chosen, gathered, std::span(to).first(images.size()));
    }
  };
  for_aggregates([&](int thread, std::int64_t a) {
    const int origin = aggregates_->origin(a, colour);
    if (origin == -1) block(thread, a, all_, 0);
    if (origin < 0) return;
    for (const int direction : {origin, origin + 4}) block(thread, a, aggregates_->face(a, direction), 1 + direction);
  });
}

}  // namespace

double smallest_part(std::span<const double> parts) {
  double smallest = 1;
  for (const double part : parts) smallest = std::min(smallest, part > 0 ? part : 0);
  return smallest;
}

std::unique_ptr<Transfer> make_transfer(std::shared_ptr<const Aggregates> aggregates, const FieldDesc& fine,
                                        int vectors) {
  if (vectors < row_unit || vectors % row_unit != 0 || vectors > most_site_numbers / 4) {
    throw Error(ErrorCode::invalid_input, fmt::format("{} test vectors: there must be a multiple of {}, up to {}",
                                                      vectors, row_unit, most_site_numbers / 4));
  }
  if (fine.precision == Precision::Half || fine.subset != Subset::Full) {
    throw Error(ErrorCode::internal, "test vectors are full fields in double or single");
  }
  if (!fine.backend->host_memory()) {
    return with_cuda<std::unique_ptr<Transfer>>([&](auto) { return make_device_transfer(aggregates, fine, vectors); });
  }
  if (fine.precision == Precision::Double) return std::make_unique<TransferOf<double>>(aggregates, fine, vectors);
  return std::make_unique<TransferOf<float>>(aggregates, fine, vectors);
}

}  // namespace quadrille::multigrid
