// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/app.h"

int main(int argc, char** argv) { return memstat::run_app(argc, argv); }
