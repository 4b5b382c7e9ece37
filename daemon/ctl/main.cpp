// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/ctl.h"

int main(int argc, char** argv) { return memstat::ctl::run(argc, argv); }
