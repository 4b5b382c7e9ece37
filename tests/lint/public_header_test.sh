#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# <memstat.h> and <libcpc.h> compile by themselves, and <memstat.h> behind the headers that FreeBSD's programs include first, as C and as C++,
# without a warning; and a consumer written for FreeBSD compiles against it unchanged.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo '#include <memstat.h>' >"$work/alone.c"
echo '#include <libcpc.h>' >"$work/counters.c"
printf '#include <sys/types.h>\n#include <memstat.h>\n#include <memstat.h>\n' >"$work/after.c"
cat >"$work/consumer.c" <<'END'
#include <sys/types.h>
#include <sys/param.h>
#include <memstat.h>
#include <stdio.h>

#if MEMSTAT_MAXCALLER != 16 || MEMTYPE_MAXNAME != 32 || ALLOCATOR_ANY != 255 || MEMSTAT_ERROR_KVM_SHORTREAD != 8
#error "constants must do for the preprocessor"
#endif

int main(void) {
  struct memory_type_list *list;
  struct memory_type *type;
  size_t i;
  char name[MEMTYPE_MAXNAME];

  list = memstat_mtl_alloc();
  if (list == NULL) return 1;
  if (memstat_sysctl_all(list, 0) < 0) fprintf(stderr, "%s\n", memstat_strerror(memstat_mtl_geterror(list)));
  for (type = memstat_mtl_first(list); type != NULL; type = memstat_mtl_next(type)) {
    snprintf(name, sizeof name, "%s", memstat_get_name(type));
    printf("%s %ju", name, (uintmax_t)memstat_get_bytes(type));
    for (i = 0; i < memstat_malloc_zone_get_count(); i++)
      if (memstat_malloc_zone_used(type, i)) printf(" %zu", memstat_malloc_zone_get_size(i));
    memstat_set_caller_pointer(type, 0, type);
    memstat_set_percpu_caller_uint64(type, 0, 0, memstat_get_percpu_free(type, 0));
  }
  memstat_mtl_free(list);
  return 0;
}
END
echo '#include <memstat.h>
void *wrong = memstat_no_such_function;' >"$work/bad.c"

flags=(-I"$root/core/include" -fsyntax-only -pedantic -Wall -Wextra -Werror -Wundef -Wconversion)
tried=0
for compiler in cc gcc clang; do
  command -v "$compiler" >/dev/null || continue
  tried=$((tried + 1))
  for standard in c11 gnu17; do
    for file in alone counters after consumer; do
      "$compiler" -std="$standard" -D_DEFAULT_SOURCE -Wstrict-prototypes "${flags[@]}" "$work/$file.c"
    done
  done
  for standard in c++11 c++20; do
    for file in alone counters after consumer; do
      "$compiler" -x c++ -std="$standard" "${flags[@]}" "$work/$file.c"
    done
  done
  if "$compiler" -std=c11 "${flags[@]}" "$work/bad.c" 2>/dev/null; then
    echo "$compiler found nothing wrong with a bad program"
    exit 1
  fi
done
if [ "$tried" = 0 ]; then
  echo "no C compiler is installed"
  exit 77
fi
