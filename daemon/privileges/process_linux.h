// SPDX-License-Identifier: BSD-2-Clause
// Process attributes that only Linux has.
#pragma once

namespace memstat {

/// Sets the name of this process in ps(1), up to 15 bytes.
void name_process(const char* name);
/// Kills this process when the thread that created it ends. Undone by a change of the user.
void end_with_parent();
/// Closes this descriptor and all higher ones. Returns false on kernels before 5.9.
bool close_from(int first);

}  // namespace memstat
