#include "modules/mgemm/tasks/salted_matrix.h"

#include "core/random/random.h"

namespace quadrille::mgemm {

std::vector<double> salted_matrix(std::int64_t count, const Salt& salt, std::uint64_t seed, std::uint32_t stream) {
  std::vector<double> out(static_cast<std::size_t>(count));
#pragma omp parallel for
  for (std::int64_t place = 0; place < count; ++place) {
    SiteRandom random(seed, RandomPurpose::SaltedMatrix, place, stream);
    const double background = 2 * random.uniform() - 1;
    const bool large = random.uniform() < salt.fraction;
    out[std::size_t(place)] = large ? salt.low + (salt.high - salt.low) * random.uniform() : background;
  }
  return out;
}

}  // namespace quadrille::mgemm
