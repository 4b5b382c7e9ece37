// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/free_heap.h"
#include "daemon/app.h"
#include "daemon/process/out_of_memory.h"

// Runs before the constructors of the program's own objects, which allocate memory.
__attribute__((constructor(101))) static void prepare_for_little_memory() {
  memstat::end_clearly_when_out_of_memory();
  memstat::share_one_heap();
}

int main(int argc, char** argv) { return memstat::run_app(argc, argv); }
