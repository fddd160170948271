// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A DMA engine in software for the tests of the kernel module: a kernel thread copies what an engine would. */
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <linux/workqueue.h>

static bool fail;
module_param(fail, bool, 0644);
MODULE_PARM_DESC(fail, "copies end with an error, and move nothing");

struct copy {
	struct dma_async_tx_descriptor descriptor;
	struct list_head link;
	dma_addr_t target, source;
	size_t len;
};

static struct dma_device engine;
static struct dma_chan channel;
static DEFINE_SPINLOCK(lock);
static LIST_HEAD(submitted);
static dma_cookie_t failed_at;
static struct platform_device *device;

static void copy_all(struct work_struct *work)
{
	struct copy *copy;

	for (;;) {
		spin_lock_irq(&lock);
		copy = list_first_entry_or_null(&submitted, struct copy, link);
		if (copy)
			list_del(&copy->link);
		spin_unlock_irq(&lock);
		if (!copy)
			return;
		if (fail)
			failed_at = copy->descriptor.cookie;
		else
			memcpy(phys_to_virt(copy->target), phys_to_virt(copy->source), copy->len);
		/* Who asks for the cookie sees the bytes. */
		smp_store_release(&channel.completed_cookie, copy->descriptor.cookie);
		kfree(copy);
	}
}
static DECLARE_WORK(work, copy_all);

static dma_cookie_t submit(struct dma_async_tx_descriptor *descriptor)
{
	struct copy *copy = container_of(descriptor, struct copy, descriptor);

	spin_lock_irq(&lock);
	channel.cookie = channel.cookie < DMA_MIN_COOKIE || channel.cookie == INT_MAX ? DMA_MIN_COOKIE : channel.cookie + 1;
	descriptor->cookie = channel.cookie;
	list_add_tail(&copy->link, &submitted);
	spin_unlock_irq(&lock);
	return descriptor->cookie;
}

static struct dma_async_tx_descriptor *prepare(struct dma_chan *chan, dma_addr_t target, dma_addr_t source, size_t len,
					       unsigned long flags)
{
	struct copy *copy = kzalloc(sizeof(*copy), GFP_KERNEL);

	if (!copy)
		return NULL;
	dma_async_tx_descriptor_init(&copy->descriptor, chan);
	copy->descriptor.tx_submit = submit;
	copy->target = target;
	copy->source = source;
	copy->len = len;
	return &copy->descriptor;
}

static void issue(struct dma_chan *chan)
{
	schedule_work(&work);
}

static enum dma_status status(struct dma_chan *chan, dma_cookie_t cookie, struct dma_tx_state *state)
{
	if (smp_load_acquire(&chan->completed_cookie) < cookie)
		return DMA_IN_PROGRESS;
	return failed_at >= cookie ? DMA_ERROR : DMA_COMPLETE;
}

static int terminate(struct dma_chan *chan)
{
	return 0;
}

static void synchronize(struct dma_chan *chan)
{
	flush_work(&work);
}

static int probe(struct platform_device *found)
{
	int error = dma_set_mask_and_coherent(&found->dev, DMA_BIT_MASK(64));

	if (error)
		return error;
	engine.dev = &found->dev;
	dma_cap_set(DMA_MEMCPY, engine.cap_mask);
	INIT_LIST_HEAD(&engine.channels);
	engine.device_prep_dma_memcpy = prepare;
	engine.device_issue_pending = issue;
	engine.device_tx_status = status;
	engine.device_terminate_all = terminate;
	engine.device_synchronize = synchronize;
	channel.device = &engine;
	channel.completed_cookie = DMA_MIN_COOKIE;
	channel.cookie = DMA_MIN_COOKIE;
	list_add_tail(&channel.device_node, &engine.channels);
	return dma_async_device_register(&engine);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
static void remove(struct platform_device *found)
{
	dma_async_device_unregister(&engine);
	flush_work(&work);
}
#else
static int remove(struct platform_device *found)
{
	dma_async_device_unregister(&engine);
	flush_work(&work);
	return 0;
}
#endif

static struct platform_driver driver = {
	.driver = { .name = "softdma" },
	.probe = probe,
	.remove = remove,
};

static int __init begin(void)
{
	device = platform_create_bundle(&driver, probe, NULL, 0, NULL, 0);
	return PTR_ERR_OR_ZERO(device);
}

static void __exit finish(void)
{
	platform_device_unregister(device);
	platform_driver_unregister(&driver);
}

module_init(begin);
module_exit(finish);
MODULE_DESCRIPTION("A DMA engine in software, for tests");
MODULE_LICENSE("Dual MIT/GPL");
