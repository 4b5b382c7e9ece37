// SPDX-License-Identifier: BSD-2-Clause
// A kernel module that leaks: writing a number to a parameter leaks that many MiB. `more` takes blocks of 2 KiB, `small` of
// 96 bytes, `charged` of 512 that are charged to the writer's control group, `large` blocks of 64 KiB, `objects` a cache of
// its own, `mapped` vmalloc, `pages` whole pages, `percpu` MiB on each processor.
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

static struct kmem_cache* leaked_objects;

static void* leak_more(void) { return kmalloc(2048, GFP_KERNEL); }
static void* leak_small(void) { return kmalloc(96, GFP_KERNEL); }
static void* leak_charged(void) { return kmalloc(512, GFP_KERNEL_ACCOUNT); }
static void* leak_large(void) { return kmalloc(65536, GFP_KERNEL); }
static void* leak_object(void) { return leaked_objects ? kmem_cache_alloc(leaked_objects, GFP_KERNEL) : NULL; }
static void* leak_mapped(void) { return vmalloc(1 << 20); }
static void* leak_page(void) { return alloc_pages(GFP_KERNEL, 0); }
static void* leak_percpu(void) { return (__force void*)__alloc_percpu(16384, 8); }

static int leak(const char* value, void* (*one)(void), unsigned int in_a_mebibyte) {
  unsigned int mebibytes;
  const int error = kstrtouint(value, 10, &mebibytes);
  if (error) return error;
  for (unsigned int block = 0; block < mebibytes * in_a_mebibyte; ++block) {
    if (!one()) return -ENOMEM;
  }
  return 0;
}

#define LEAKS(name, one, in_a_mebibyte)                                            \
  static int set_##name(const char* value, const struct kernel_param* parameter) { \
    return leak(value, one, in_a_mebibyte);                                        \
  }                                                                                \
  static const struct kernel_param_ops name##_operations = {.set = set_##name};    \
  module_param_cb(name, &name##_operations, NULL, 0200)

LEAKS(more, leak_more, 512);
LEAKS(small, leak_small, 10922);
LEAKS(charged, leak_charged, 2048);
LEAKS(large, leak_large, 16);
LEAKS(objects, leak_object, 1024);
LEAKS(mapped, leak_mapped, 1);
LEAKS(pages, leak_page, 256);
LEAKS(percpu, leak_percpu, 64);

static void construct(void* object) { *(char*)object = 0; }  // a cache with one is not merged with others

static int __init begin(void) {
  leaked_objects = kmem_cache_create("leaked_object", 1000, 0, 0, construct);
  return leaked_objects ? 0 : -ENOMEM;
}
module_init(begin);
MODULE_LICENSE("Dual BSD/GPL");
