#include "core/field/propagator.h"

#include "core/error.h"
#include "core/field/host_image.h"
#include "core/field/propagator_sites.h"
#include "core/field/site_access.h"
#include "core/field/site_transfer.h"
#include "core/field/spin_basis.h"
#include "core/field/spinor_work.h"
#include "core/layout/piece_slots.h"

#include <algorithm>
#include <array>

namespace quadrille {
namespace {

constexpr Parity parities[] = {Parity::Even, Parity::Odd};

void require(bool holds, const char* what) {
  if (!holds) throw Error(ErrorCode::internal, std::string("propagator: ") + what);
}

void require_complete(const Propagator& propagator) {
  require(propagator.columns.size() == std::size_t(Propagator::size), "a propagator needs twelve columns");
  const FieldDesc& desc = propagator.desc();
  require(desc.site == site_formats::spinor && desc.subset == Subset::Full && desc.precision == Precision::Double,
          "columns of a propagator must be spinors on the full lattice in double");
  for (const Field& column : propagator.columns) require_same(column.desc(), desc, "columns of a propagator");
}

void require_piece(const PropagatorPiece& piece) {
  require_complete(*piece.propagator);
  const std::int64_t sites = piece.propagator->desc().lattice->volume();
  require(piece.first >= 0 && piece.count >= 0 && piece.first <= sites - piece.count, "sites outside of the lattice");
  require(piece.precision == 32 || piece.precision == 64, "numbers in files must have 32 or 64 bits");
}

constexpr std::size_t most_lanes = 16;

/// The columns as host loops see them.
class HostColumns {
 public:
  explicit HostColumns(const Propagator& propagator) {
    for (const Field& column : propagator.columns)
      for (const Parity p : parities) accesses_.emplace_back(column, p);
  }
  struct View {
    const SiteAccess<double>* accesses;
    const SiteAccess<double>& access(int parity, int column) const { return accesses[2 * column + parity]; }
  };
  View view() const { return {accesses_.data()}; }

 private:
  std::vector<SiteAccess<double>> accesses_;
};

/// Calls body(place, number in the piece, column) in the order of the file.
template <class Body>
void walk_sites(const PropagatorPiece& piece, const PieceOfSites& sites, const Body& body) {
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < piece.count; ++k) {
    const CheckerboardSite at(sites.extents, piece.first + k);
    for (int column = 0; column < propagator_columns; ++column) body(at, k, column);
  }
}

/// The same in the order of memory, block after block of those that the piece can lie in, so that lanes which share a
/// cache line are met one after the other: sites that follow each other in the file lie in different blocks.
template <class Body>
void walk_blocks(const PropagatorPiece& piece, const VectorLayout& layout, const Body& body) {
  const Lattice& lattice = *piece.propagator->desc().lattice;
  const Dims& dims = lattice.dims();
  const Extents extents{dims[0], dims[1], dims[2], dims[3], int(lattice.half_volume())};
  const PieceSlots slots(extents, layout.block_dims()[3], piece.first, piece.count);
  const int lanes = layout.lanes();
  require(std::size_t(lanes) <= most_lanes, "more lanes than any register has");
#pragma omp parallel for schedule(static) collapse(2)
  for (int parity = 0; parity < 2; ++parity) {
    for (int block = slots.first / lanes; block < (slots.first + slots.count) / lanes; ++block) {
      std::array<int, most_lanes> met;
      std::array<std::int64_t, most_lanes> numbers;
      std::size_t count = 0;
      for (int lane = 0; lane < lanes; ++lane) {
        const int site = layout.sites(parities[parity])[std::size_t(block * lanes + lane)];
        const std::int64_t k = SitePlace(extents, parity, site).lexicographic(extents) - piece.first;
        if (k < 0 || k >= piece.count) continue;
        met[count] = site;
        numbers[count++] = k;
      }
      for (int column = 0; column < propagator_columns; ++column)
        for (std::size_t n = 0; n < count; ++n) body(CheckerboardSite(parity, met[n]), numbers[n], column);
    }
  }
}

template <template <class, class> class Body>
void for_each_site(void* bytes, const PropagatorPiece& piece) {
  if (piece.count == 0) return;
  const HostColumns columns(*piece.propagator);
  const FieldDesc& desc = piece.propagator->desc();
  const Dims& dims = desc.lattice->dims();
  const PieceOfSites sites{
      bytes, piece.first, {dims[0], dims[1], dims[2], dims[3]}, piece.propagator->sink == Propagator::Sink::ukqcd};
  const auto walk = [&](const auto& body) {
    if (desc.layout.grouped())
      walk_sites(piece, sites, body);
    else
      walk_blocks(piece, desc.lattice->vector_layout(desc.layout.lanes), body);
  };
  if (piece.precision == 64)
    walk(Body<HostColumns::View, double>{columns.view(), sites});
  else
    walk(Body<HostColumns::View, float>{columns.view(), sites});
}

constexpr std::int64_t chunk_blocks = 64;  ///< of one partial sum
constexpr std::int64_t chunk_sites = 512;

/// The squares of the numbers of one block, lane by lane, added to sums.
template <int lanes>
void add_block(const double* block, bool rotate, double* sums) {
  for (int k = 0; k < 6; ++k) {
    double n[4][lanes];
    for (int spin = 0; spin < 4; ++spin)
      for (int l = 0; l < lanes; ++l) n[spin][l] = block[(6 * spin + k) * lanes + l];
    if (rotate) {
      for (int l = 0; l < lanes; ++l) {
        const double in[4] = {n[0][l], n[1][l], n[2][l], n[3][l]};
        double out[4];
        spin_basis::to_degrand_rossi(out, in, 1);
        for (int spin = 0; spin < 4; ++spin) n[spin][l] = out[spin];
      }
    }
    for (int spin = 0; spin < 4; ++spin)
      for (int l = 0; l < lanes; ++l) sums[l] += n[spin][l] * n[spin][l];
  }
}

/// In the vector layout blocks are walked as they lie in memory. Those of one time of the sub-lattices follow each
/// other; their lanes may belong to different times of the lattice.
template <int lanes>
std::vector<double> norms_by_blocks(const Propagator& propagator, const VectorLayout& layout) {
  const bool rotate = propagator.sink == Propagator::Sink::ukqcd;
  const int times = layout.block_dims()[3];
  const std::int64_t in_time = layout.blocks() / times, chunks = (in_time + chunk_blocks - 1) / chunk_blocks;
  std::vector<std::array<double, lanes>> partial(std::size_t(times * 2 * chunks));
#pragma omp parallel for schedule(static)
  for (std::int64_t item = 0; item < times * 2 * chunks; ++item) {
    const std::int64_t chunk = item % chunks, time = item / chunks / 2;
    const Parity p = parities[item / chunks % 2];
    const std::int64_t begin = time * in_time + chunk * chunk_blocks;
    const std::int64_t end = std::min((time + 1) * in_time, begin + chunk_blocks);
    std::array<double, lanes> sums{};
    for (const Field& column : propagator.columns) {
      const double* numbers = static_cast<const double*>(column.numbers(p));
      for (std::int64_t b = begin; b < end; ++b)
        add_block<lanes>(numbers + b * spinor_numbers * lanes, rotate, sums.data());
    }
    partial[std::size_t(item)] = sums;
  }
  std::vector<double> out(std::size_t(propagator.desc().lattice->dims()[3]));
  for (std::int64_t item = 0; item < times * 2 * chunks; ++item)
    for (int l = 0; l < lanes; ++l)
      out[std::size_t(item / chunks / 2 + layout.lane_coordinate(l, 3) * times)] += partial[std::size_t(item)][l];
  return out;
}

/// In any other layout by sites in even-odd order, in which the time slices follow each other.
std::vector<double> norms_by_sites(const Propagator& propagator) {
  const Lattice& lattice = *propagator.desc().lattice;
  const HostColumns columns(propagator);
  const SiteNorm<HostColumns::View> norm{columns.view(), propagator.sink == Propagator::Sink::ukqcd};
  const std::int64_t times = lattice.dims()[3], in_time = lattice.half_volume() / times;
  const std::int64_t chunks = (in_time + chunk_sites - 1) / chunk_sites;
  std::vector<double> partial(std::size_t(times * 2 * chunks)), out(static_cast<std::size_t>(times));
#pragma omp parallel for schedule(static)
  for (std::int64_t item = 0; item < times * 2 * chunks; ++item) {
    const std::int64_t first = item / chunks / 2 * in_time, begin = item % chunks * chunk_sites;
    const std::int64_t end = std::min(in_time, begin + chunk_sites);
    for (std::int64_t site = begin; site < end; ++site)
      partial[std::size_t(item)] += norm(int(item / chunks % 2), first + site);
  }
  for (std::int64_t item = 0; item < times * 2 * chunks; ++item)
    out[std::size_t(item / chunks / 2)] += partial[std::size_t(item)];
  return out;
}

}  // namespace

namespace host {

void pack_sites(void* bytes, const PropagatorPiece& piece) { for_each_site<PackColumn>(bytes, piece); }

void unpack_sites(const PropagatorPiece& piece, const void* bytes) {
  for_each_site<UnpackColumn>(const_cast<void*>(bytes), piece);
}

std::vector<double> slice_norms(const Propagator& propagator) {
  const Layout& layout = propagator.desc().layout;
  if (layout.grouped()) return norms_by_sites(propagator);
  const VectorLayout& blocks = propagator.desc().lattice->vector_layout(layout.lanes);
  switch (layout.lanes) {
    case 8: return norms_by_blocks<8>(propagator, blocks);
    case 4: return norms_by_blocks<4>(propagator, blocks);
    case 2: return norms_by_blocks<2>(propagator, blocks);
    case 1: return norms_by_blocks<1>(propagator, blocks);
    default: return norms_by_sites(propagator);
  }
}

}  // namespace host

Propagator make_propagator(const FieldDesc& desc, Propagator::Sink sink) {
  Propagator made;
  made.sink = sink;
  while (made.columns.size() < std::size_t(Propagator::size)) made.columns.emplace_back(desc);
  return made;
}

void pack_sites(void* bytes, const PropagatorPiece& piece) {
  require_piece(piece);
  spinor_work(piece.propagator->backend()).pack_sites(bytes, piece);
}

void unpack_sites(const PropagatorPiece& piece, const void* bytes) {
  require_piece(piece);
  require(piece.propagator->sink == Propagator::Sink::degrand_rossi, "files hold DeGrand-Rossi spins");
  spinor_work(piece.propagator->backend()).unpack_sites(piece, bytes);
}

std::vector<double> slice_norms(const Propagator& propagator) {
  require_complete(propagator);
  const Lattice& lattice = *propagator.desc().lattice;
  const std::vector<double> mine = spinor_work(propagator.backend()).slice_norms(propagator);
  std::vector<double> all(std::size_t(lattice.global_dims()[3]), 0.0);
  std::copy(mine.begin(), mine.end(), all.begin() + lattice.origin()[3]);
  lattice.communicator().sum(all.data(), all.size());
  return all;
}

void move_to_host(Propagator& propagator) {
  for (Field& column : propagator.columns) {
    if (column.desc().backend->host_memory()) continue;
    FieldDesc desc = column.desc();
    desc.backend = &cpu_backend();
    Field here(desc);
    for (const Parity p : parities)
      column.desc().backend->copy_out(here.numbers(p), column.numbers(p), desc.parity_bytes());
    column = std::move(here);
  }
}

namespace {

/// turn(to, from, count): one of the rotations of spin_basis.h.
template <class Turn>
void turn_spins(Field& column, const Turn& turn) {
  HostImage image(column);
  for (const Parity p : parities) {
    const SiteAccess<double> sites(image.field(), p);
#pragma omp parallel for schedule(static)
    for (std::int64_t site = 0; site < column.lattice().half_volume(); ++site) {
      double from[spinor_numbers], to[spinor_numbers];
      sites.load(site, from);
      turn(to, from, spinor_numbers / 4);
      sites.store(site, to);
    }
  }
  image.write_back();
}

}  // namespace

void to_degrand_rossi(Field& column) { turn_spins(column, spin_basis::to_degrand_rossi<double>); }

void from_degrand_rossi(Field& column) { turn_spins(column, spin_basis::from_degrand_rossi<double>); }

}  // namespace quadrille
