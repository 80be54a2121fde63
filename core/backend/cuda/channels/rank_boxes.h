// Where ranks with a device each leave their sums for one another, as kernels see it.
#pragma once

namespace quadrille::cuda {

constexpr int most_boxes = 16;      ///< ranks
constexpr int most_box_words = 16;  ///< of one rank's sums

/// A box has two places, used in turns, for what each rank sends: halves of numbers, each with the number of its sum in
/// one word, so that a word says itself when it has come. A place of sum n + 2 is written when that of n has been read:
/// its sender has had this rank's of n + 1, which was sent after that.
struct RankBoxes {
  using Word = unsigned long long;
  int ranks = 1, rank = 0;
  unsigned* done = nullptr;   ///< how many sums this rank has done, the same on all
  Word* of[most_boxes] = {};  ///< [rank]: [turn][sender][word]
};

}  // namespace quadrille::cuda
