// SPDX-License-Identifier: BSD-2-Clause
// How civetweb gets its connections. A program that links a library owns the calls that the library makes by name: this one
// defines bind(2), listen(2) and accept(2), which POSIX describes and civetweb calls to get a listener and, from it,
// connections. For civetweb's threads they are answered by an HttpFront, which owns the real listeners; for every other
// caller in the process they do what the system's do.
//
// civetweb asks poll(2) when to call accept. Its listener is therefore a descriptor that always has something to read (the
// bell), so it always calls accept, and accept returns when there is a connection worth a thread. Nothing listens behind the
// bell: it has no address.
#pragma once

namespace memstat {

class HttpFront;

/// While one lives, the calls of this thread get civetweb's listener from `front`: put it around mg_start2. Thread safety:
/// one thread's own.
class CivetwebStart {
 public:
  explicit CivetwebStart(HttpFront& front);
  ~CivetwebStart();
  CivetwebStart(const CivetwebStart&) = delete;
  CivetwebStart& operator=(const CivetwebStart&) = delete;
};

/// civetweb's thread that accepts calls this before it looks at its listener: from then on its accept asks `front`, until
/// the thread ends.
void become_accepting_thread(HttpFront& front);

}  // namespace memstat
