// Formats of matrix_elements.h that have a file of their own.
#pragma once

#include "modules/shared/elements/matrix_elements.h"

#include <memory>
#include <string>

namespace quadrille {

constexpr std::int32_t cp2k_record = 16;  ///< bytes of a record of a binary dump, which its first word says
std::unique_ptr<ElementSource> cp2k_elements(const std::string& path, bool binary);

template <class T>
std::unique_ptr<MatrixElements<T>> market_elements(const std::string& path);
bool is_complex_market(const std::string& path);

}  // namespace quadrille
