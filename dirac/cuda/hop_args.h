// What a CUDA hopping kernel is given. Plain data.
#pragma once

#include "core/layout/grouped_layout.h"
#include "kernel_terms.h"

#include <cstddef>

namespace quadrille {
class Field;
enum class Parity;
enum class Dagger;
struct HopSetup;
struct HopCall;
struct HopScalars;
}  // namespace quadrille

namespace quadrille::dirac {

/// The scalars of a call in the arithmetic of the kernel: converting them there would cost more than the rest of them.
template <class T>
struct CudaHopScalars {
  T a;
  /// All that the hop in a direction is multiplied by, inside the lattice and across its edge: b, its coefficient,
  /// the projector's 2 in time, and a boundary factor that is real.
  T factors[8][2];
  T phases[8][2];  ///< real and imaginary part of a boundary factor that is not
};

/// Edges of this rank's part of the lattice. What hops across some of them find is not what inner sites find: half
/// spinors of another rank, or a boundary factor that is not real. The sites there have a kernel of their own.
struct CudaEdges {
  bool special;           ///< whether there are such sites
  int first[4], last[4];  ///< inner sites have coordinates from first to last
  bool of_lattice[8];     ///< the edge in direction d is the whole lattice's
  bool phased[8];         ///< the boundary factor there is not real
  /// Half spinors by GroupedSite::face_index(), one section of 12 numbers, then in half precision the norms, of each
  /// call; null: not divided.
  const void* ghosts[8];
  std::size_t ghost_numbers[8], ghost_bytes[8];  ///< of a call: bytes before the norms, and all
  const int* sites;                              ///< even-odd indices of those that are not inner
  int count;

  template <int d>
  QUADRILLE_HOST_DEVICE const char* ghosts_of(int call) const {
    return static_cast<const char*>(ghosts[d]) + std::size_t(call) * ghost_bytes[d];
  }
  template <int d>
  QUADRILLE_HOST_DEVICE const float* ghost_norms_of(int call) const {
    return reinterpret_cast<const float*>(ghosts_of<d>(call) + ghost_numbers[d]);
  }
  /// The comparisons are none that a body makes, whose results would stay in registers until it needs them.
  QUADRILLE_HOST_DEVICE bool inner(const GroupedSite& here) const {
    const int x = 2 * here.xh + (here.odd ? 1 : 0);
    return x >= first[0] && x <= last[0] && here.y >= first[1] && here.y <= last[1] && here.z >= first[2] &&
           here.z <= last[2] && here.t >= first[3] && here.t <= last[3];
  }
};

/// The fields of one call of a list: the sections of the upper and the lower spins, for the dagger the lower ones
/// first.
struct CudaHopFields {
  void* out[2];
  void* in[2];
  void* z[2];        ///< z[0] null: no term with z
  float* out_norms;  ///< half precision only, as the other norms
  const float* in_norms;
  const float* z_norms;
};

/// out = L (b D in) (+ R z), with the site-local L and R of codegen/terms.py, on one parity of fields in the grouped
/// layout; `in` lies on the other parity. out must not overlap in, and may be z. The links are those of the output's
/// sites. Here: what the calls of a list share.
struct CudaHopShared {
  const void* spatial_links;  ///< directions hops::spatial
  const void* time_links;     ///< directions hops::time
  GroupedGeometry geometry;
  CudaEdges edges;
  CudaHopScalars<double> in_double;
  CudaHopScalars<float> in_float;
  /// For kernels with site-local terms other than numbers. Behind all other arguments: those without them keep their
  /// places.
  KernelTerms terms;
  bool temporal_gauge;  ///< for kernels that are not compiled for it: time links are 1 but at the edges in t

  template <class T>
  QUADRILLE_HOST_DEVICE const CudaHopScalars<T>& scalars() const {
    if constexpr (sizeof(T) == 8) {
      return in_double;
    } else {
      return in_float;
    }
  }
};

/// With the fields of one call, and of as many as a launch works on at most.
struct CudaHopArgs : CudaHopShared {
  CudaHopFields calls[1];
};
constexpr int most_calls = 16;
struct CudaHopListArgs : CudaHopShared {
  CudaHopFields calls[most_calls];
  int count;  ///< of calls
  // How a launch for a list is laid out (ListLaunch): groups of calls, each the work of one thread, lie side by side
  // along threadIdx.y, above the rows of a tile; thread blocks with other groups of the same tile follow each other. In
  // kernels without tiles: `blocks` blocks with the same sites.
  int abreast, blocks;

  QUADRILLE_HOST_DEVICE int tile(int bx) const { return bx / blocks; }  ///< the blockIdx.x of a launch for one call
  QUADRILLE_HOST_DEVICE int row(int ty) const { return ty % geometry.tile_y; }  ///< and its threadIdx.y
  QUADRILLE_HOST_DEVICE int group(int bx, int ty) const { return bx % blocks * abreast + ty / geometry.tile_y; }
};

/// The kernels of one hopping term as the host finds them.
struct CudaHopKernels {
  const void* whole;  ///< on every site: where no edge is special
  const void* inner;  ///< on the sites that are at no special edge
  const void* edges;  ///< on the others, of lists too, in blocks of edge_threads sites
  bool walks;         ///< the first two take fewer columns than there are tiles along t
  const void* lists;  ///< as the first two, for lists; with temporal gauge or without
  int calls;          ///< of a thread of those
};
constexpr int edge_threads = 128;

/// Half spinors as hops from other ranks find them, projected from one parity of a field.
struct CudaPackArgs {
  struct In {
    void* in[2];  ///< as CudaHopFields::in
    const float* in_norms;
  } calls[most_calls];
  GroupedGeometry geometry;  ///< its parity is that of `in`; no tiles
  struct Face {
    int direction;  ///< of the hop on the other rank
    int sites;
    void* out;                   ///< of each call [section of 12 numbers] for the sites of the face, then the norms
    std::size_t numbers, bytes;  ///< of a call: bytes before the norms, and all

    QUADRILLE_HOST_DEVICE char* out_of(int call) const { return static_cast<char*>(out) + std::size_t(call) * bytes; }
    QUADRILLE_HOST_DEVICE float* norms_of(int call) const { return reinterpret_cast<float*>(out_of(call) + numbers); }
  } faces[8];
};

/// The kernel that packs, a thread for each site of a face in blocks of edge_threads; the faces are along grid y, the
/// calls along grid z.
struct CudaPackKernel {
  const void* function;
};

/// The kernel of site-local terms alone, laid out as that at edges, a block of edge_threads sites for each call. out =
/// R z of CudaHopListArgs.
struct CudaLocalKernel {
  const void* function;
};

/// What does not change from call to call, and the rest of a list of at most most_calls; the geometry and the layout
/// are the launch's.
CudaHopListArgs unbound_args(const HopSetup& setup);
/// Where the halves of the spinors of a parity begin: the upper spins, for the dagger the lower ones.
void point_to_halves(void* (&to)[2], const Field& field, Parity p, Dagger dagger);
CudaHopListArgs bound(CudaHopListArgs args, const HopSetup& setup, const HopCall& call);

}  // namespace quadrille::dirac
