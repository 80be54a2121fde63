#include "input/tasks/hadrons/meson_channels.h"

#include <algorithm>

namespace quadrille {

namespace {

/// Names of mesons and the gamma that they have at both ends. Those with _2 mix with the one of the same name.
const std::vector<std::pair<std::string, std::string>>& mesons_by_name() {
  static const std::vector<std::pair<std::string, std::string>> names = {
      {"pion", "g5"},      {"pion_2", "gtg5"},  {"a0", "1"},      {"a0_2", "gt"},
      {"rho_x", "gx"},     {"rho_y", "gy"},     {"rho_z", "gz"},  {"rho_x_2", "gxgt"},
      {"rho_y_2", "gygt"}, {"rho_z_2", "gzgt"}, {"a1_x", "gxg5"}, {"a1_y", "gyg5"},
      {"a1_z", "gzg5"},    {"b1_x", "gygz"},    {"b1_y", "gxgz"}, {"b1_z", "gxgy"}};
  return names;
}

}  // namespace

Parameter channels_parameter() {
  Parameter name{
      .name = "meson", .type = ParameterType::choice, .help = "a meson, by the gamma that it has at both ends:"};
  for (const auto& [meson, gamma] : mesons_by_name()) {
    name.choices.push_back(meson);
    name.help += " " + meson + " " + gamma + (meson == mesons_by_name().back().first ? "" : ",");
  }
  Parameter channel;
  channel.name = "channel";
  channel.type = ParameterType::group;
  channel.shorthand = "meson";
  channel.members = {name,
                     {.name = "sink",
                      .type = ParameterType::choice,
                      .help = "A, the gamma at the sink; g5 = gx gy gz gt",
                      .choices = gamma_names()},
                     {.name = "source",
                      .type = ParameterType::choice,
                      .help = "B, the gamma at the source",
                      .required = true,
                      .choices = gamma_names(),
                      .only_if = {{"sink", {}}}}};
  channel.exactly_one_of = {{"meson", "sink"}};
  Parameter channels;
  channels.name = "channels";
  channels.type = ParameterType::list;
  channels.help =
      "C(p, t) = sum_x exp(-i p (x - x0)) tr[A S(x) B g5 S'(x)^+ g5], S' the antiquark's propagator, x0 the source: "
      "names of mesons, or {sink: A, source: B}, such as [pion, {sink: gtg5, source: g5}]";
  channels.default_text = "[pion]";
  channels.element = {channel};
  channels.most = 256;
  return channels;
}

std::vector<NamedChannel> channels_of(const Parameters& task) {
  std::vector<NamedChannel> out;
  for (const auto& channel : task.group_list("channels")) {
    if (!channel->has("meson")) {
      const std::string &sink = channel->text("sink"), &source = channel->text("source");
      out.push_back({sink + "_" + source, sink, source});
      continue;
    }
    const auto& known = mesons_by_name();
    const auto meson =
        std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first == channel->text("meson"); });
    out.push_back({meson->first, meson->second, meson->second});
  }
  return out;
}

}  // namespace quadrille
