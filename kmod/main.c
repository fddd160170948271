// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The device, its calls, its options, and what it counts. */
#include <linux/compat.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "tern.h"

unsigned int tern_max_contexts = 4096;
module_param_named(max_contexts, tern_max_contexts, uint, 0644);
MODULE_PARM_DESC(max_contexts, "most opens of the device at a time, by all processes");

unsigned int tern_max_regions = 16384;
module_param_named(max_regions, tern_max_regions, uint, 0644);
MODULE_PARM_DESC(max_regions, "most regions of a context");

unsigned int tern_max_segments = 65536;
module_param_named(max_segments, tern_max_segments, uint, 0644);
MODULE_PARM_DESC(max_segments, "most segments of a region or a local list");

unsigned int tern_max_jobs = 256;
module_param_named(max_jobs, tern_max_jobs, uint, 0644);
MODULE_PARM_DESC(max_jobs, "most asynchronous copies of a context at a time");

bool tern_allow_group;
module_param_named(allow_group, tern_allow_group, bool, 0644);
MODULE_PARM_DESC(allow_group, "regions may be for all users of the owner's group; otherwise for its user alone");

bool tern_use_dma = true;
module_param_named(use_dma, tern_use_dma, bool, 0644);
MODULE_PARM_DESC(use_dma, "DMA engines may copy");

struct tern_counts tern_counts;
struct workqueue_struct *tern_workqueue;

static int open(struct inode *inode, struct file *file)
{
	struct tern_context *context = tern_context_new();

	if (IS_ERR(context))
		return PTR_ERR(context);
	file->private_data = context;
	file->f_mapping = tern_mapping();
	return 0;
}

static int release(struct inode *inode, struct file *file)
{
	tern_context_close(file->private_data);
	return 0;
}

static void tell_about(struct tern_about *arg)
{
	arg->version = TERN_VERSION;
	arg->features = TERN_HAS_NOTIFY | (tern_dma_is_there() ? TERN_HAS_DMA : 0) | (tern_allow_group ? TERN_HAS_GROUP : 0);
}

static long ioctl(struct file *file, unsigned int command, unsigned long user)
{
	struct tern_context *context = file->private_data;
	void __user *at = (void __user *)user;
	union {
		struct tern_about about;
		struct tern_create create;
		struct tern_inline in_line;
		struct tern_copy copy;
		struct tern_attach attach;
		u64 cookie;
	} arg = {};
	int error;

	if (_IOC_TYPE(command) != _IOC_TYPE(TERN_IOC_ABOUT) || _IOC_SIZE(command) > sizeof(arg))
		return -ENOTTY;
	if ((_IOC_DIR(command) & _IOC_WRITE) && copy_from_user(&arg, at, _IOC_SIZE(command)))
		return -EFAULT;
	/* After fork or exec, or sent to another process: its memory is not the context's. */
	if (context->mm != current->mm && command != TERN_IOC_ABOUT)
		return -EBADFD;

	error = 0;
	switch (command) {
	case TERN_IOC_ABOUT:
		tell_about(&arg.about);
		break;
	case TERN_IOC_CREATE:
		error = tern_create(context, &arg.create);
		break;
	case TERN_IOC_DESTROY:
		error = tern_destroy(context, arg.cookie);
		break;
	case TERN_IOC_INLINE:
		error = tern_inline(context, &arg.in_line);
		break;
	case TERN_IOC_COPY:
		error = tern_copy(context, &arg.copy);
		break;
	case TERN_IOC_ATTACH:
		error = tern_attach(context, file, &arg.attach);
		break;
	default:
		return -ENOTTY;
	}
	/* After an error too: bytes that were moved are told. */
	if ((_IOC_DIR(command) & _IOC_READ) && copy_to_user(at, &arg, _IOC_SIZE(command)) && !error)
		error = -EFAULT;
	return error;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = open,
	.release = release,
	.unlocked_ioctl = ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = tern_mmap,
};

#define COUNT(name)                                                                                                 \
	static ssize_t name##_show(struct device *device, struct device_attribute *attribute, char *text)          \
	{                                                                                                          \
		return sysfs_emit(text, "%ld\n", atomic_long_read(&tern_counts.name));                             \
	}                                                                                                          \
	static DEVICE_ATTR_RO(name)

COUNT(contexts);
COUNT(regions);
COUNT(pinned_pages);
COUNT(jobs);
COUNT(attachments);
COUNT(dma_bytes);

static struct attribute *tern_attrs[] = {
	&dev_attr_contexts.attr, &dev_attr_regions.attr,     &dev_attr_pinned_pages.attr,
	&dev_attr_jobs.attr,     &dev_attr_attachments.attr, &dev_attr_dma_bytes.attr,
	NULL,
};
ATTRIBUTE_GROUPS(tern);

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tern",
	.fops = &operations,
	.groups = tern_groups,
	.mode = 0666,
};

static int __init begin(void)
{
	int error = tern_region_init();

	if (error)
		return error;
	error = tern_attach_init();
	if (error)
		goto no_attach;
	tern_dma_init();
	error = misc_register(&device);
	if (error)
		goto no_device;
	return 0;

no_device:
	tern_dma_exit();
	tern_attach_exit();
no_attach:
	tern_region_exit();
	return error;
}

static void __exit finish(void)
{
	misc_deregister(&device);
	/* First, for what is queued may take pages out of mappings. */
	tern_region_exit();
	tern_dma_exit();
	tern_attach_exit();
}

module_init(begin);
module_exit(finish);
MODULE_DESCRIPTION("Copies between declared memory of processes, for MPI libraries");
MODULE_VERSION("1");
MODULE_LICENSE("Dual MIT/GPL");
