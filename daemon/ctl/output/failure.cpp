// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/output/failure.h"

namespace memstat::ctl {

std::string failure_of(memory_type_list* list, const std::string& wanted) {
  std::string text = memstat_mtl_get_message(list);
  const int error = memstat_mtl_geterror(list);
  if (text.empty()) text = memstat_strerror(error);  // there was no memory for more
  if (error == MEMSTAT_ERROR_NOTPRESENT && !wanted.empty()) text += "\n" + wanted;
  return text;
}

}  // namespace memstat::ctl
