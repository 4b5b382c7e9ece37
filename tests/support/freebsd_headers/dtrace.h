// SPDX-License-Identifier: BSD-2-Clause
// What FreeBSD's <dtrace.h> and <sys/dtrace.h> declare, as far as core/events/malloc/malloc_events_freebsd.cpp uses it
// (libdtrace, FreeBSD 13 to 15). Compiled, never linked.
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include <cstdint>

#define DTRACE_VERSION 3
#define DTRACE_C_ZDEFS 0x0004
#define DTRACE_STATUS_EXITED 2
#define DTRACE_STATUS_STOPPED 4
#define DTRACE_HANDLE_OK 0
#define DTRACE_AGGWALK_NEXT 0

struct dtrace_hdl_t;
struct dtrace_prog_t;

enum dtrace_probespec_t {
  DTRACE_PROBESPEC_NONE = -1,
  DTRACE_PROBESPEC_PROVIDER = 0,
  DTRACE_PROBESPEC_MOD,
  DTRACE_PROBESPEC_FUNC,
  DTRACE_PROBESPEC_NAME
};

struct dtrace_attribute_t {
  std::uint8_t dtat_name;
  std::uint8_t dtat_data;
  std::uint8_t dtat_class;
};

struct dtrace_proginfo_t {
  dtrace_attribute_t dpi_descattr;
  dtrace_attribute_t dpi_stmtattr;
  unsigned int dpi_aggregates;
  unsigned int dpi_recgens;
  unsigned int dpi_matches;
  unsigned int dpi_speculations;
};

struct dtrace_recdesc_t {
  std::uint16_t dtrd_action;
  std::uint32_t dtrd_size;
  std::uint32_t dtrd_offset;
  std::uint16_t dtrd_alignment;
  std::uint16_t dtrd_format;
  std::uint64_t dtrd_arg;
  std::uint64_t dtrd_uarg;
};

struct dtrace_aggdesc_t {
  char* dtagd_name;
  std::int64_t dtagd_varid;
  int dtagd_flags;
  std::uint32_t dtagd_id;
  std::uint32_t dtagd_epid;
  std::uint32_t dtagd_size;
  int dtagd_nrecs;
  std::uint32_t dtagd_pad;
  dtrace_recdesc_t dtagd_rec[1];
};

struct dtrace_aggdata_t {
  dtrace_hdl_t* dtada_handle;
  dtrace_aggdesc_t* dtada_desc;
  void* dtada_edesc;
  void* dtada_pdesc;
  char* dtada_data;
  std::uint64_t dtada_normal;
  size_t dtada_size;
};

enum dtrace_dropkind_t { DTRACEDROP_PRINCIPAL, DTRACEDROP_AGGREGATION };

struct dtrace_dropdata_t {
  dtrace_hdl_t* dtdda_handle;
  int dtdda_cpu;
  dtrace_dropkind_t dtdda_kind;
  std::uint64_t dtdda_drops;
  std::uint64_t dtdda_total;
  const char* dtdda_msg;
};

struct dtrace_errdata_t;

using dtrace_handle_drop_f = int(const dtrace_dropdata_t*, void*);
using dtrace_handle_err_f = int(const dtrace_errdata_t*, void*);
using dtrace_aggregate_f = int(const dtrace_aggdata_t*, void*);

extern "C" {
dtrace_hdl_t* dtrace_open(int version, int flags, int* error);
void dtrace_close(dtrace_hdl_t* handle);
int dtrace_go(dtrace_hdl_t* handle);
int dtrace_status(dtrace_hdl_t* handle);
int dtrace_errno(dtrace_hdl_t* handle);
const char* dtrace_errmsg(dtrace_hdl_t* handle, int error);
int dtrace_setopt(dtrace_hdl_t* handle, const char* option, const char* value);
dtrace_prog_t* dtrace_program_strcompile(dtrace_hdl_t* handle, const char* text, dtrace_probespec_t spec, unsigned int flags,
                                         int argc, char* const argv[]);
int dtrace_program_exec(dtrace_hdl_t* handle, dtrace_prog_t* program, dtrace_proginfo_t* info);
int dtrace_handle_drop(dtrace_hdl_t* handle, dtrace_handle_drop_f* handler, void* argument);
int dtrace_handle_err(dtrace_hdl_t* handle, dtrace_handle_err_f* handler, void* argument);
int dtrace_aggregate_snap(dtrace_hdl_t* handle);
int dtrace_aggregate_walk(dtrace_hdl_t* handle, dtrace_aggregate_f* function, void* argument);
}
