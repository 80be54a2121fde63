#include "core/error.h"
#include "modules/md/forces.h"

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

std::string letter_of(Method method) { return entry(method).letter; }
std::string description_of(Method method) { return entry(method).description; }

Method method_named(const std::string& name) {
  std::string known;
  for (const Named& one : all) {
    if (name == one.letter || name == one.name) return one.method;
    if (one.method <= Method::narumi_constant) known += std::string(known.empty() ? "" : ", ") + one.letter;
  }
  throw Error(ErrorCode::invalid_input, "unknown method '" + name + "': use one of " + known);
}

}  // namespace quadrille::md
