// Products of operands that are on the device: in double by cuBLAS, and split, panel by panel where memory is short.
#pragma once

#include "core/api.h"
#include "modules/mgemm/choice/device_choice.h"
#include "modules/mgemm/product/arguments.h"
#include "modules/mgemm/product/cuda/factor.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace quadrille::mgemm {

/// C = alpha A B + beta C by one call of cuBLAS on the backend's stream.
template <class T>
QUADRILLE_API void dense_product_on_device(T alpha, DenseView<const T> a, DenseView<const T> b, T beta, DenseView<T> c);

/// What a split product of panels of this shape takes besides A, B and C, `large` being the large elements in both.
QUADRILLE_API std::int64_t split_bytes(const ProductShape& shape, std::int64_t large, const FormTraits& form);

/// What of it belongs to neither panels nor sums, for panels of any rows and columns that are up to `depth` long.
std::int64_t split_bytes_beside_panels(std::int64_t depth, std::int64_t large, const FormTraits& form);

/// Bytes that a staged number takes in parts, with its share of the analysis and of what lines are padded with.
inline int padded_part_bytes(const FormTraits& form) { return form.parts * form.bytes * 5 / 4 + 2; }

/// The panels through which a split product of operands on the device passes, for that many bytes besides them;
/// nothing where less than half is left for panels.
QUADRILLE_API std::optional<PanelPlan> plan_device_split(const ProductShape& shape, std::int64_t large,
                                                         const FormTraits& form, std::int64_t bytes);

/// The bytes that may be taken: the cap; where there is none, nearly all that is free.
QUADRILLE_API std::int64_t device_budget(std::int64_t memory_cap);

}  // namespace quadrille::mgemm
