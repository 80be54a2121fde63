#include "core/error.h"
#include "modules/md/pairs/forces.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace quadrille::md {
namespace {

struct Named {
  Method method;
  const char* letter;
  const char* name;
  const char* description;
};

constexpr Named all[] = {
    {Method::single, "A", "single", "single, single"},
    {Method::single_double, "B", "single_double", "single, double"},
    {Method::takahashi, "C", "takahashi", "single, Takahashi and Iitaka's trick"},
    {Method::nitadori, "D", "nitadori", "single, Nitadori's trick"},
    {Method::nitadori_large, "E", "nitadori_large", "single, modified Nitadori's trick"},
    {Method::narumi, "F", "narumi", "single, Narumi's trick"},
    {Method::double_double, "G", "double", "double, double"},
    {Method::int64, "int64", "int64", "single, 64-bit fixed point"},
    {Method::narumi_constant, "F*", "narumi_constant", "single, Narumi's trick by added constants"},
    {Method::exact, "exact", "exact", "single, exact"},
    {Method::magnitudes, "magnitudes", "magnitudes", "magnitudes in single, double"}};

const Named& entry(Method method) { return all[int(method)]; }

}  // namespace

constinit const std::array<const char*, 10> method_letters = [] {
  std::array<const char*, int(Method::narumi_constant) + 2> letters{};
  for (std::size_t k = 0; k + 1 < letters.size(); ++k) letters[k] = all[k].letter;
  return letters;
}();

std::string letter_of(Method method) { return entry(method).letter; }
std::string description_of(Method method) { return entry(method).description; }

Method method_named(const std::string& name) {
  for (const Named& one : all) {
    if (name == one.letter || name == one.name) return one.method;
  }
  throw Error(ErrorCode::invalid_input, fmt::format("unknown method '{}': use one of {}", name,
                                                    fmt::join(method_letters.begin(), method_letters.end() - 1, ", ")));
}

}  // namespace quadrille::md
