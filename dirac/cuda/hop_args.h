// What a CUDA hopping kernel is given. Plain data.
#pragma once

#include "core/layout/grouped_layout.h"
#include "kernel_terms.h"

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
  const void* ghosts[8];  ///< half spinors by GroupedSite::face_index(), one section of 12 numbers; null: not divided
  const float* ghost_norms[8];
  const int* sites;  ///< even-odd indices of those that are not inner
  int count;

  /// The comparisons are none that a body makes, whose results would stay in registers until it needs them.
  QUADRILLE_HOST_DEVICE bool inner(const GroupedSite& here) const {
    const int x = 2 * here.xh + (here.odd ? 1 : 0);
    return x >= first[0] && x <= last[0] && here.y >= first[1] && here.y <= last[1] && here.z >= first[2] &&
           here.z <= last[2] && here.t >= first[3] && here.t <= last[3];
  }
};

/// out = L (b D in) (+ R z), with the site-local L and R of codegen/terms.py, on one parity of fields in the grouped
/// layout; `in` lies on the other parity. out must not overlap in, and may be z. The links are those of the output's
/// sites.
struct CudaHopArgs {
  // The sections of the upper and the lower spins; for the dagger the lower ones come first.
  void* out[2];
  void* in[2];
  void* z[2];                 ///< z[0] null: no term with z
  const void* spatial_links;  ///< directions hops::spatial
  const void* time_links;     ///< directions hops::time
  float* out_norms;           ///< half precision only, as the other norms
  const float* in_norms;
  const float* z_norms;
  GroupedGeometry geometry;
  CudaEdges edges;
  CudaHopScalars<double> in_double;
  CudaHopScalars<float> in_float;
  /// For kernels with site-local terms other than numbers. Behind all other arguments: those without them keep their
  /// places.
  KernelTerms terms;

  template <class T>
  QUADRILLE_HOST_DEVICE const CudaHopScalars<T>& scalars() const {
    if constexpr (sizeof(T) == 8) {
      return in_double;
    } else {
      return in_float;
    }
  }
};

/// The kernels of one hopping term as the host finds them.
struct CudaHopKernels {
  const void* whole;  ///< on every site: where no edge is special
  const void* inner;  ///< on the sites that are at no special edge
  const void* edges;  ///< on the others, a thread each in blocks of edge_threads
  bool walks;         ///< the first two take fewer columns than there are tiles along t
};
constexpr int edge_threads = 128;

/// Half spinors as hops from other ranks find them, projected from one parity of a field.
struct CudaPackArgs {
  void* in[2];  ///< as CudaHopArgs::in
  const float* in_norms;
  GroupedGeometry geometry;  ///< its parity is that of `in`; no tiles
  struct Face {
    int direction;  ///< of the hop on the other rank
    int sites;
    void* out;  ///< [section of 12 numbers] for the sites of the face
    float* out_norms;
  } faces[8];
};

/// The kernel that packs, a thread for each site of a face in blocks of edge_threads; the faces are along grid y.
struct CudaPackKernel {
  const void* function;
};

/// The kernel of site-local terms alone, a thread for each site in blocks of edge_threads: out = R z of CudaHopArgs.
struct CudaLocalKernel {
  const void* function;
};

/// What does not change from call to call, and the rest of one call; the geometry is the launch's.
CudaHopArgs unbound_args(const HopSetup& setup);
/// Where the halves of the spinors of a parity begin: the upper spins, for the dagger the lower ones.
void point_to_halves(void* (&to)[2], const Field& field, Parity p, Dagger dagger);
CudaHopArgs bound(CudaHopArgs args, const HopSetup& setup, const HopCall& call);

}  // namespace quadrille::dirac
