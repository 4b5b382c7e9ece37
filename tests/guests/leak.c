// SPDX-License-Identifier: BSD-2-Clause
// A kernel module that leaks: a number written to its parameter `more` is the MiB, in blocks of 2 KiB, that are lost then.
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

static int leak_more(const char* value, const struct kernel_param* parameter) {
  unsigned int mebibytes;
  const int error = kstrtouint(value, 10, &mebibytes);
  if (error) return error;
  for (unsigned int block = 0; block < mebibytes * 512; ++block) {
    if (!kmalloc(2048, GFP_KERNEL)) return -ENOMEM;
  }
  return 0;
}

static const struct kernel_param_ops leak_operations = {.set = leak_more};
module_param_cb(more, &leak_operations, NULL, 0200);
MODULE_LICENSE("Dual BSD/GPL");
