#include "core/numbers/precision.h"

#include "core/system/names.h"

namespace quadrille {
namespace {

constexpr Named<Precision> precisions[] = {
    {Precision::Double, "double"}, {Precision::Single, "single"}, {Precision::Half, "half"}};
constexpr Named<Reconstruct> reconstructions[] = {
    {Reconstruct::R18, "18"}, {Reconstruct::R12, "12"}, {Reconstruct::R8, "8"}};

}  // namespace

std::string to_string(Precision p) { return name_of(precisions, p); }
Precision parse_precision(const std::string& name) { return value_of(precisions, name, "the precision"); }

std::string to_string(Reconstruct r) { return name_of(reconstructions, r); }
Reconstruct parse_reconstruct(const std::string& name) { return value_of(reconstructions, name, "the reconstruction"); }

}  // namespace quadrille
