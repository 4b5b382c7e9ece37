/* SPDX-License-Identifier: BSD-2-Clause */
/* What tracers.py compiles and runs: `work SECONDS` opens and closes event descriptors and prints the ns of CPU that one
 * takes; `attach OBJECT` attaches all programs of a compiled BPF object, says "ready", and lets go of them when its input
 * ends. */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static int work(double seconds) {
  const clock_t begin = clock();
  unsigned long long steps = 0;
  clock_t now = begin;
  while (now - begin < seconds * CLOCKS_PER_SEC) {
    for (int i = 0; i < 10000; ++i) close(eventfd(0, 0));
    steps += 10000;
    now = clock();
  }
  printf("%.3f\n", (double)(now - begin) / CLOCKS_PER_SEC * 1e9 / (double)steps);
  return 0;
}

static int attach(const char* path) {
  struct bpf_object* object = bpf_object__open_file(path, NULL);
  if (!object || bpf_object__load(object) != 0) return fprintf(stderr, "the kernel refuses %s\n", path), 1;
  struct bpf_program* program;
  bpf_object__for_each_program(program, object) {
    if (!bpf_program__attach(program)) return fprintf(stderr, "a program of %s is not attached\n", path), 1;
  }
  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) {
  }
  return 0; /* the kernel detaches the rest */
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "work") == 0) return work(atof(argv[2]));
  if (argc == 3 && strcmp(argv[1], "attach") == 0) return attach(argv[2]);
  return 2;
}
