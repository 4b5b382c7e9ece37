// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/node_figures.h"

#include <algorithm>

namespace memstat {

NodeFigures NodeFigures::with_room_for(const Staging& staging, NodeFieldMask fields) const {
  NodeFigures grown;
  grown.fields_ = fields_ | fields;
  grown.node_count_ = std::max(node_count_, staging.node_count());
  grown.values_.reset(new std::uint64_t[grown.node_count_ * grown.fields_.size()]);
  std::fill_n(grown.values_.get(), grown.node_count_ * grown.fields_.size(), kNoFigure);
  for (std::uint32_t node = 0; node < node_count_; ++node) {
    for_each_of(fields_, [&](NodeField field) { grown.values_[grown.place(field, node)] = values_[place(field, node)]; });
  }
  return grown;
}

void NodeFigures::take(const Staging& staging, const StagedType& type, NodeFieldMask fields) noexcept {
  const NodeFieldMask staged = staging.node_fields();
  const bool has_all_nodes = node_count_ == staging.node_count() && staging.existing_nodes() == node_count_;
  if (staged == fields_ && fields == fields_ && has_all_nodes) {  // as usual
    const std::span<const std::uint64_t> figures = staging.node_figures(type);
    std::copy(figures.begin(), figures.end(), values_.get());
    return;
  }
  for (std::uint32_t node = 0; node < node_count_; ++node) {
    const bool is_staged = node < staging.node_count() && staging.has_node(node);
    for_each_of(fields & fields_, [&](NodeField field) {
      values_[place(field, node)] = is_staged && staged.has(field) ? staging.node_figure(type, field, node) : kNoFigure;
    });
  }
}

}  // namespace memstat
