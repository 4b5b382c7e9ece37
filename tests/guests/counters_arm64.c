/* SPDX-License-Identifier: BSD-2-Clause */
/* The first process of counters_arm64.py's guest: counts loops of known length with libcpc and powers the machine off. */
#include <inttypes.h>
#include <libcpc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <unistd.h>

enum { LOOPS = 5000000 };

/* Two instructions a round. */
static void loop(uint64_t rounds) { __asm__ volatile("1: subs %0, %0, #1\n b.ne 1b" : "+r"(rounds) : : "cc"); }

static cpc_t* cpc;
static cpc_set_t* overflow_set;
static volatile sig_atomic_t overflows, code;

static void on_overflow(int sig, siginfo_t* info, void* context) {
  (void)sig;
  (void)context;
  code = info->si_code;
  overflows++;
  (void)cpc_set_restart(cpc, overflow_set);
}

static void count(const char* name, uint_t requests, uint_t flags) {
  cpc_set_t* set = cpc_set_create(cpc);
  cpc_buf_t *before, *after;
  uint64_t value, enabled, running;
  uint_t i;

  for (i = 0; i < requests; i++) (void)cpc_set_add_request(cpc, set, name, 0, CPC_COUNT_USER, 0, NULL);
  before = cpc_buf_create(cpc, set);
  after = cpc_buf_create(cpc, set);
  if (cpc_bind_curlwp(cpc, set, flags) != 0 || cpc_set_sample(cpc, set, before) != 0) {
    printf("RESULT %s %u refused\n", name, requests);
    return;
  }
  loop(requests > 1 ? 20 * (uint64_t)LOOPS : LOOPS);
  if (cpc_set_sample(cpc, set, after) != 0) printf("RESULT %s %u lost\n", name, requests);
  cpc_buf_sub(cpc, after, after, before);
  for (i = 0; i < requests; i++) {
    (void)cpc_buf_get(cpc, after, (int)i, &value);
    (void)cpc_buf_times(cpc, after, (int)i, &enabled, &running);
    printf("RESULT %s %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name, requests, value, enabled, running);
  }
  (void)cpc_set_destroy(cpc, set);
}

static void count_overflows(void) {
  const uint64_t interval = 1000000;
  struct sigaction action;

  memset(&action, 0, sizeof(action));
  action.sa_sigaction = on_overflow;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  (void)sigaction(SIGEMT, &action, NULL);
  overflow_set = cpc_set_create(cpc);
  if (cpc_set_add_request(cpc, overflow_set, "instructions", 0 - interval, CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT, 0, NULL) !=
          0 ||
      cpc_bind_curlwp(cpc, overflow_set, 0) != 0) {
    printf("RESULT overflow refused\n");
    return;
  }
  loop(LOOPS);
  printf("RESULT overflow %d %d\n", (int)overflows, (int)(code == EMT_CPCOVF));
}

int main(void) {
  (void)mount("proc", "/proc", "proc", 0, NULL);
  (void)mount("sysfs", "/sys", "sysfs", 0, NULL);
  cpc = cpc_open(CPC_VER_CURRENT);
  if (cpc == NULL) {
    printf("RESULT none %s\n", cpc_open_message());
  } else {
    printf("RESULT counters %u\n", cpc_npic(cpc));
    count("instructions", 1, CPC_BIND_EXACT);
    count("PAPI_tot_ins", 1, 0);
    count("r8", 1, 0); /* the architecture's own number of retired instructions */
    count("cpu-cycles", 1, 0);
    count("instructions", cpc_npic(cpc) + 2, CPC_BIND_EXACT);
    count("instructions", cpc_npic(cpc) + 2, 0);
    count("LLC-load-misses", 1, 0);
    count_overflows();
  }
  printf("RESULT end\n");
  (void)fflush(stdout);
  sync();
  (void)reboot(RB_POWER_OFF);
  return 0;
}
