// The text of single values: numbers, the flow syntax of defaults, short forms for messages.
#pragma once

#include "core/parameters/parameters.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quadrille {

/// "12", "-3", "+7"; nothing else (no 1.5, no 1e4, no hexadecimal), and empty when it does not fit in 64 bits.
std::optional<std::int64_t> parse_integer(const std::string& text);

/// "1", ".5", "1.0e-12"; empty for anything else, for nan and infinity, and for what overflows or underflows a double.
std::optional<double> parse_real(const std::string& text);

/// The tree of a value in YAML's flow syntax (plain scalars, [..], {..}), as defaults in tables are written.
/// Throws ErrorCode::internal when the text is not that: a table is then wrong.
Value parse_flow(const std::string& text, const Location& where);

/// A value in one short line for a message: "[1, 2]", "'text'", "null".
std::string brief(const Value& value);

/// Whether two resolved values are equal, given or defaults; maps in whatever order.
bool same(const Parameters::Item& a, const Parameters::Item& b);

/// The shortest text that reads back as the same double ("1e-10").
std::string real_text(double value);
/// The key of a variant that chooses the entry.
Parameter selector_of(const Parameter& parameter);
/// Of a scalar its text; of a group its members that were given, "type mr steps 4"; empty for others.
std::string text_of(const Parameters::Item& item);

}  // namespace quadrille
