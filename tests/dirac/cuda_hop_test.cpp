// The CUDA hopping kernels without a GPU: the bodies of the generated sources and their index arithmetic, on the host.
#include "core/field/site_access.h"
#include "core/gauge/face_exchange.h"
#include "core/layout/grouped_layout.h"
#include "dirac/cuda/tiles.h"
#include "dirac/hop_kernel.h"
#include "tests/dirac/site_terms_testing.h"

#include "wilson_double_12_cuda.cu"
#include "wilson_double_18_cuda.cu"
#include "wilson_double_8_cuda.cu"
#include "wilson_double_local_cuda.cu"
#include "wilson_double_pack_cuda.cu"
#include "wilson_half_12_cuda.cu"
#include "wilson_half_18_cuda.cu"
#include "wilson_half_8_cuda.cu"
#include "wilson_half_local_cuda.cu"
#include "wilson_half_pack_cuda.cu"
#include "wilson_single_12_cuda.cu"
#include "wilson_single_18_cuda.cu"
#include "wilson_single_8_cuda.cu"
#include "wilson_single_local_cuda.cu"
#include "wilson_single_pack_cuda.cu"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

namespace quadrille {
namespace {

using namespace testing;
using dirac::CudaHopListArgs;
using dirac::CudaPackArgs;
using dirac::TimeLinks;
using dirac::Walk;

using Body = void (*)(const dirac::CudaHopShared&, const dirac::CudaHopFields* first, const GroupedSite&);
using EdgeBody = void (*)(const CudaHopListArgs&, int call, const GroupedSite&);
using PackBody = void (*)(const CudaPackArgs&, int call, int number, int index);

struct Bodies {
  Body site, two;  ///< for one call, and for two of a list
  EdgeBody edge_site;
};

Bodies bodies_of(const OperatorForm& form, bool site_terms) {
  const bool t = form.temporal_gauge;
#define X(name, op, precision_, reconstruct_, line)                                                                 \
  if (form.precision == Precision::precision_ && form.reconstruct == Reconstruct::reconstruct_) {                   \
    if (site_terms) {                                                                                               \
      return {t ? &dirac::name##_site<TimeLinks::at_edges, true, 1> : &dirac::name##_site<TimeLinks::all, true, 1>, \
              &dirac::name##_site<TimeLinks::as_told, true, 2>,                                                     \
              t ? &dirac::name##_edge_site<true, true> : &dirac::name##_edge_site<false, true>};                    \
    }                                                                                                               \
    return {t ? &dirac::name##_site<TimeLinks::at_edges, false, 1> : &dirac::name##_site<TimeLinks::all, false, 1>, \
            &dirac::name##_site<TimeLinks::as_told, false, 2>,                                                      \
            t ? &dirac::name##_edge_site<true, false> : &dirac::name##_edge_site<false, false>};                    \
  }
#include "cuda_kernel_table.inc"
#undef X
  return {};
}

PackBody pack_body_of(Precision precision) {
#define X(name, op, precision_) \
  if (precision == Precision::precision_) return &dirac::name##_site;
#include "cuda_pack_table.inc"
#undef X
  return nullptr;
}

/// Calls f(tx, ty, tz, bx, by, slice) for every thread of a launch and its slices.
template <class F>
void for_each_place(const dirac::TiledLaunch& launch, F&& f) {
  const auto &g = launch.grid, &b = launch.block;
  for (int slice = 0; slice < launch.geometry.first_slice(g[2]); ++slice)
    for (int by = 0; by < g[1]; ++by)
      for (int bx = 0; bx < g[0]; ++bx)
        for (int tz = 0; tz < b[2]; ++tz)
          for (int ty = 0; ty < b[1]; ++ty)
            for (int tx = 0; tx < b[0]; ++tx) f(tx, ty, tz, bx, by, slice);
}

/// Calls f with the site of every thread of a launch, and of the same thread in the next slice.
template <class F>
void for_each_thread(const dirac::TiledLaunch& launch, F&& f) {
  for_each_place(launch, [&](int tx, int ty, int tz, int bx, int by, int slice) {
    const auto at = [&](int s) { return GroupedSite(launch.geometry, tx, ty, tz, bx, by, s); };
    f(at(slice), at(slice + 1));
  });
}

FieldDesc in_groups(FieldDesc desc) {
  desc.layout = grouped_layout(desc.precision);
  return desc;
}

class CudaHop : public ::testing::TestWithParam<Dims> {};
INSTANTIATE_TEST_SUITE_P(Extents, CudaHop, ::testing::ValuesIn(test_extents));

TEST_P(CudaHop, EveryTileVisitsEverySiteOnceAndFindsItsNeighbours) {
  const Lattice lattice(GetParam());
  const Dims& dims = lattice.dims();
  for (int most : {1, 32, 128, 512}) {
    const std::vector<Walk> walks = dirac::possible_walks(dims, most, [](int) { return 7; });
    ASSERT_FALSE(walks.empty());
    for (const Walk& walk : walks) {
      EXPECT_LE(dirac::volume(walk.tile), most);
      for (Parity p : {Parity::Even, Parity::Odd}) {
        const dirac::TiledLaunch launch(dims, p, walk);
        std::set<int> seen;
        std::int64_t visits = 0;
        for_each_thread(launch, [&](const GroupedSite& here, const GroupedSite& next) {
          GroupedSite stepped = here;
          stepped.next_slice(launch.geometry);
          EXPECT_EQ(stepped, next);
          seen.insert(here.site);
          ++visits;
          const Dims x = lattice.coordinates(p, here.site);
          const auto check = [&]<int d>() {
            Dims y = x;
            y[d % 4] = (x[d % 4] + (d < 4 ? 1 : dims[d % 4] - 1)) % dims[d % 4];
            const bool edge = here.edge<d>(launch.geometry);
            EXPECT_EQ(edge, x[d % 4] == (d < 4 ? dims[d % 4] - 1 : 0));
            EXPECT_EQ(here.neighbour<d>(launch.geometry), lattice.even_odd_index(y));
          };
          check.operator()<0>(), check.operator()<1>(), check.operator()<2>(), check.operator()<3>();
          check.operator()<4>(), check.operator()<5>(), check.operator()<6>(), check.operator()<7>();
          EXPECT_EQ(GroupedSite(launch.geometry, here.site), here);
        });
        EXPECT_EQ(std::int64_t(seen.size()), lattice.half_volume()) << dirac::to_string(walk);
        EXPECT_EQ(visits, lattice.half_volume()) << dirac::to_string(walk);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST_P(CudaHop, EveryLaunchForAListVisitsEverySiteOnceForEachGroupOfCalls) {
  const Lattice lattice(GetParam());
  const Dims& dims = lattice.dims();
  using GroupsAndMost = std::pair<int, int>;  // and how many of them lie side by side at most
  for (const auto& [groups, most] : {GroupsAndMost{1, 1}, {2, 2}, {3, 3}, {5, 5}, {8, 4}}) {
    const auto walks = dirac::possible_list_walks(dims, groups, 384, [](int) { return 56; });
    std::set<int> abreast;
    for (const dirac::ListWalk& walk : walks) {
      abreast.insert(walk.abreast);
      EXPECT_LE(dirac::volume(walk.walk.tile) * walk.abreast, 384);
      const dirac::ListLaunch launch(dims, Parity::Odd, walk, groups);
      CudaHopListArgs args{};
      args.geometry = launch.geometry;
      args.abreast = launch.abreast;
      args.blocks = launch.blocks;
      std::multiset<std::pair<int, int>> seen;
      for_each_place(launch, [&](int tx, int ty, int tz, int bx, int by, int slice) {
        const GroupedSite here(args.geometry, tx, args.row(ty), tz, args.tile(bx), by, slice);
        if (args.group(bx, ty) < groups) seen.emplace(args.group(bx, ty), here.site);
      });
      ASSERT_EQ(std::int64_t(seen.size()), groups * lattice.half_volume()) << dirac::to_string(walk);
      EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), seen.size()) << dirac::to_string(walk);
      EXPECT_EQ(seen.begin()->first, 0);
      EXPECT_EQ(std::prev(seen.end())->second, lattice.half_volume() - 1);
    }
    ASSERT_FALSE(abreast.empty());
    EXPECT_EQ(*abreast.begin(), 1) << groups;
    EXPECT_EQ(*abreast.rbegin(), most) << groups;
  }
}

TEST_P(CudaHop, AShorterListTakesTheWayMostLikeThatOfALongerOne) {
  const auto ways = [&](int groups) {
    return dirac::possible_list_walks(Lattice(GetParam()).dims(), groups, 384, [](int) { return 56; });
  };
  const std::vector<dirac::ListWalk> six = ways(6), three = ways(3);
  for (std::size_t i = 0; i < six.size(); ++i) {
    EXPECT_EQ(dirac::to_string(six[dirac::most_like(six, six[i])]), dirac::to_string(six[i]));
    const dirac::ListWalk& like = three.at(dirac::most_like(three, six[i]));
    const bool same_there = std::any_of(three.begin(), three.end(), [&](const dirac::ListWalk& way) {
      return dirac::to_string(way) == dirac::to_string(six[i]);
    });
    if (same_there) {
      EXPECT_EQ(dirac::to_string(like), dirac::to_string(six[i]));
    }
  }
}

/// Makes nonsense of the time links of hops that do not cross the edge: temporal gauge fixing must not load them.
void spoil_inner_time_links(Field& time, const OperatorForm& form) {
  const Lattice& lattice = time.lattice();
  const int numbers = int(form.reconstruct), last = lattice.dims()[3] - 1;
  with_number_type(form.precision, [&](auto number) {
    using Access = SiteAccess<decltype(number)>;
    for (Parity p : {Parity::Even, Parity::Odd}) {
      const Access access(time, p);
      typename Access::Real links[36];
      for (std::int64_t site = 0; site < lattice.half_volume(); ++site) {
        const int t = lattice.coordinates(p, site)[3];
        access.load(site, links);
        if (t != last) std::fill_n(links, numbers, 0.7f);
        if (t != 0) std::fill_n(links + numbers, numbers, 0.7f);
        access.store(site, links);
      }
    }
  });
}

/// What ranks would send each other if the lattice, whole on this one, were divided in the directions of `divided` and
/// its neighbours were itself.
class OwnGhosts {
 public:
  OwnGhosts(const HopSetup& setup, const HopCall& call, const GroupedGeometry& geometry, unsigned divided) {
    CudaPackArgs args{};
    for (std::size_t i = 0; i < call.list.size(); ++i) {
      dirac::point_to_halves(args.calls[i].in, *call.list[i].x, opposite(call.parity), call.dagger);
      args.calls[i].in_norms = call.list[i].x->norms(opposite(call.parity));
    }
    args.geometry = geometry;
    args.geometry.parity = 1 - geometry.parity;
    const Lattice& lattice = *setup.spinor.lattice;
    dims_ = lattice.dims();
    for (int d = 0; d < 8; ++d) {
      if ((divided >> d % 4 & 1) == 0) continue;
      const std::size_t sites = std::size_t(lattice.half_volume() / lattice.dims()[d % 4]);
      const std::size_t padded = (sites + Layout::block - 1) / Layout::block * Layout::block;
      numbers_[d] = padded * 12 * std::size_t(number_bytes(setup.form.precision));
      bytes_[d] = numbers_[d] + padded * sizeof(float);
      ghosts_[d].resize(call.list.size() * bytes_[d], std::byte{0x7f});
      args.faces[0] = {d, int(sites), ghosts_[d].data(), numbers_[d], bytes_[d]};
      for (int i = 0; i < int(call.list.size()); ++i)
        for (int index = 0; index < int(sites); ++index) pack_body_of(setup.form.precision)(args, i, 0, index);
    }
  }
  void describe(dirac::CudaEdges& edges) const {
    for (int d = 0; d < 8; ++d) {
      if (ghosts_[d].empty()) continue;
      if (d < 4) {
        edges.last[d] = dims_[d] - 2;
      } else {
        edges.first[d - 4] = 1;
      }
      edges.ghosts[d] = ghosts_[d].data();
      edges.ghost_numbers[d] = numbers_[d];
      edges.ghost_bytes[d] = bytes_[d];
    }
  }

 private:
  Dims dims_;
  std::vector<std::byte> ghosts_[8];
  std::size_t numbers_[8], bytes_[8];
};

/// Which terms: L (D x) + R x, with blocks on neither, on the sum or on x, and with others for the twist there.
struct Terms {
  SiteTerm l, r;
  enum { none, on_sum, on_z } blocks = none;
  bool twist_blocks = false;
};

/// Against the reference, for every form, with boundary factors as in the scene and ghosts in the directions of
/// `divided`.
void every_body_agrees(const Scene& scene, unsigned divided, Terms terms) {
  const Dims dims = scene.lattice.dims();
  const WilsonParameters& w = scene.parameters;
  const HostSpinor psis[] = {random_spinor(dims), random_spinor(dims)};
  const std::vector<SiteBlocks> b = random_blocks(scene.lattice.volume()), c = random_blocks(scene.lattice.volume());
  const auto double_18 = [&](std::uint8_t directions) {
    return Field(
        in_groups(FieldDesc::links(scene.lattice, Precision::Double, Reconstruct::R18, cpu_backend(), directions)));
  };
  Field forward = double_18(hops::forward), matrices = double_18(1);  // as the store of a device has them
  import_links(forward, scene.gauge->host_links());
  const LinkView g = view_of(matrices);
  FaceExchange faces(scene.lattice, cpu_backend());
  ASSERT_TRUE(faces.fix_time(g, view_of(forward)));
  for (const OperatorForm& form : all_forms()) {
    const auto links = [&](std::uint8_t directions) {
      Field field(
          in_groups(FieldDesc::links(scene.lattice, form.precision, form.reconstruct, cpu_backend(), directions)));
      faces.copy(view_of(field), view_of(forward), form.temporal_gauge ? &g : nullptr);
      return field;
    };
    const Field spatial = links(hops::spatial);
    Field time = links(hops::time);
    HostLinks links_read(dims);
    export_links(links_read, spatial);
    export_links(links_read, time);
    if (form.temporal_gauge) spoil_inner_time_links(time, form);
    const FieldDesc full = in_groups(FieldDesc::spinor(scene.lattice, Subset::Full, form.precision));
    const FieldDesc blocks =
        in_groups(FieldDesc::of(site_formats::chiral_blocks, scene.lattice, Subset::Full, form.precision));
    const Field of_b = stored(blocks, b), of_c = stored(blocks, c);
    if (terms.blocks != Terms::none) {
      SiteTerm& term = terms.blocks == Terms::on_sum ? terms.l : terms.r;
      term.blocks = &of_b;
      term.twist_blocks = terms.twist_blocks ? &of_c : nullptr;
    }
    const HopSetup setup{"wilson", form, {w.boundary, w.nu / w.xi0, w.chemical_potential}, full, &spatial, &time};
    for (const Dagger dagger : {Dagger::No, Dagger::Yes}) {
      // Three calls: one alone, two as those of a thread.
      std::deque<Field> x, y;
      for (const std::size_t of : {0, 1, 0}) {
        import_spinor(x.emplace_back(full), psis[of]);
        y.emplace_back(full);
      }
      for (Parity p : {Parity::Even, Parity::Odd}) {
        std::vector<Operands> list;
        for (std::size_t i = 0; i < 3; ++i) list.push_back({&y[i], &x[i], &x[i]});
        const HopCall call{list, p, dagger, terms.l, terms.r};
        const dirac::TiledLaunch launch(dims, p, dirac::possible_walks(dims, 128, [](int) { return 7; }).back());
        CudaHopListArgs args = dirac::bound(dirac::unbound_args(setup), setup, call);
        args.geometry = launch.geometry;
        const OwnGhosts ghosts(setup, call, launch.geometry, divided);
        ghosts.describe(args.edges);
        const Bodies bodies = bodies_of(form, call.has_terms());
        for_each_thread(launch, [&](const GroupedSite& here, const GroupedSite&) {
          if (args.edges.inner(here)) {
            bodies.site(args, args.calls, here);
            bodies.two(args, args.calls + 1, here);
          } else {
            for (int i = 0; i < args.count; ++i) bodies.edge_site(args, i, here);
          }
        });
      }
      const bool eight = form.reconstruct == Reconstruct::R8;
      const double bound = form.precision == Precision::Double   ? (eight ? 1e-12 : 1e-14)
                           : form.precision == Precision::Single ? (eight ? 1e-4 : 1e-6)
                                                                 : 1e-3;
      for (const std::size_t of : {0, 1}) {
        const HostSpinor& psi = psis[of];
        const HostSpinor expected =
            sum(term(terms.l, b, c, hopped(scene, links_read, psi, dagger)), term(terms.r, b, c, psi));
        for (std::size_t i = of; i < 3; i += 2) {
          HostSpinor got(dims);
          export_spinor(got, y[i]);
          EXPECT_LT(relative_distance(got, expected), terms.blocks == Terms::none ? bound : 3 * bound)
              << to_string(form) << " dagger " << int(dagger) << " divided " << divided << " call " << i;
        }
      }
    }
  }
}

TEST_P(CudaHop, EveryBodyAgreesWithTheReferenceOnItsOwnLinks) {
  Scene scene = Scene::hot(GetParam());
  const Terms m{{-0.5}, {4.1}};
  every_body_agrees(scene, 0, m);
  scene.parameters.boundary = {0, 1, 0, 1};
  every_body_agrees(scene, 0, m);
}

TEST_P(CudaHop, EveryBodyAgreesWithTheReferenceAtAChemicalPotential) {
  Scene scene = Scene::hot(GetParam());
  scene.parameters.chemical_potential = -0.41;
  every_body_agrees(scene, 8, {{-0.5}, {4.1}});
}

TEST_P(CudaHop, EveryBodyAgreesWithTheReferenceOnGhosts) {
  Scene scene = Scene::hot(GetParam());
  const Terms m{{-0.5}, {4.1}};
  for (const unsigned divided : {1u, 2u, 4u, 8u, 15u}) every_body_agrees(scene, divided, m);
  scene.parameters.boundary = {0, 1, 0, 1};
  every_body_agrees(scene, 10, m);
}

TEST_P(CudaHop, EveryBodyAgreesWithTheReferenceOnSiteTerms) {
  const Scene scene = Scene::hot(GetParam());
  const SiteTerm l{-0.7, 0.4}, r{1.3, -0.6};
  every_body_agrees(scene, 0, {l, r});
  every_body_agrees(scene, 2, {{l.number}, r});
  every_body_agrees(scene, 0, {l, r, Terms::on_sum});
  every_body_agrees(scene, 8, {l, r, Terms::on_z});
  every_body_agrees(scene, 0, {l, r, Terms::on_sum, true});
  every_body_agrees(scene, 8, {l, r, Terms::on_z, true});
}

}  // namespace
}  // namespace quadrille
