// Matrices on their way between the host's memory and the device's, on streams of their own, so that they travel while
// the backend's stream works.
#pragma once

#include "core/api.h"
#include "core/backend/cuda/owned.h"
#include "modules/shared/dense/dense_view.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace quadrille::cuda {

/// Of device memory that runs out.
inline constexpr const char* staging_advice = "use a smaller memory cap, or free memory of the device";

QUADRILLE_API void record(const OwnedEvent& event, cudaStream_t stream);
/// Later work on `stream` waits for the event as it was last recorded.
QUADRILLE_API void wait(cudaStream_t stream, const OwnedEvent& event);
/// Later work on `to` waits for all work queued on `from`. The event may be used again at once.
QUADRILLE_API void pass(const OwnedEvent& event, cudaStream_t from, cudaStream_t to);

/// Memory that the driver has pinned (cudaHostAlloc, cudaHostRegister) is copied from and to where it is, unless its
/// lines are short; other memory passes through pinned buffers, into and out of which OpenMP's threads copy. To pin
/// memory takes longer than to fill it: buffers are kept for the next link. Panels on the device have no gaps and the
/// storage order of the matrix.
class QUADRILLE_API HostLink {
 public:
  HostLink();
  /// Waits for everything that travels.
  ~HostLink();
  HostLink(const HostLink&) = delete;
  HostLink& operator=(const HostLink&) = delete;

  /// Whether a matrix is copied from and to where it is.
  template <class T>
  static bool is_direct(DenseView<const T> matrix);

  cudaStream_t up() const { return up_.get(); }
  cudaStream_t down() const { return down_.get(); }

  /// Asks for the copy on up(); the matrix may be changed when this returns, unless it is pinned.
  template <class T>
  void send(DenseView<const T> matrix, T* panel);
  /// Asks for the copy on down(). Parts of it may wait until progress() or finish_receiving().
  template <class T>
  void receive(const T* panel, DenseView<T> matrix);

  /// Takes what has arrived out of the buffers and asks for what comes next; does not wait. send() does this, too.
  void progress();
  /// All of receive()'s work is queued on down() when this returns.
  void finish_asking();
  /// All of it is where it belongs when this returns.
  void finish_receiving();

 private:
  struct Buffer {
    PinnedMemory memory;
    OwnedEvent travelled;
    std::function<void(const std::byte*)> unpack;  ///< set while something is on its way down into it
  };
  /// A piece of a matrix that is not queued yet.
  struct Piece {
    const std::byte* from;
    std::size_t bytes;
    std::function<void(const std::byte*)> unpack;
  };
  static void make_buffers(std::vector<Buffer>& buffers);
  static void keep_buffers(std::vector<Buffer>& buffers);
  void ask(Piece& piece, Buffer& buffer);
  void take_out(Buffer& buffer);

  OwnedStream up_, down_;
  std::vector<Buffer> up_buffers_, down_buffers_;
  std::vector<Piece> waiting_;  ///< to be queued, in order, from first_waiting_ on
  std::size_t first_waiting_ = 0;
  std::size_t up_turn_ = 0, down_turn_ = 0, oldest_down_ = 0;  ///< buffers are used in turn
};

}  // namespace quadrille::cuda
