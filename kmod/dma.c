// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Copies by an engine that the kernel knows (Intel IOAT, and DSA where its kernel driver has the work queue). */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/jiffies.h>

#include "tern.h"

#ifdef CONFIG_DMA_ENGINE

/* Pieces under way at a time. */
#define BATCH 32
/* An engine that needs longer for a batch has failed. */
#define PATIENCE (5 * HZ)

struct mapped {
	dma_addr_t source, target;
	size_t len;
};

void tern_dma_init(void)
{
	dmaengine_get();
}

void tern_dma_exit(void)
{
	dmaengine_put();
}

bool tern_dma_is_there(void)
{
	return tern_use_dma && dma_find_channel(DMA_MEMCPY);
}

/* Hands one piece to the engine. 0: the engine cannot take it. */
static size_t submit(struct dma_chan *channel, struct tern_cursor *from, struct tern_cursor *to, u64 len,
		     struct mapped *mapped, dma_cookie_t *cookie)
{
	struct device *device = channel->device->dev;
	struct dma_async_tx_descriptor *descriptor;
	struct page *source, *target;
	size_t source_at, target_at, part;

	part = min_t(u64, len, tern_cursor_page(from, &source, &source_at));
	part = min(part, tern_cursor_page(to, &target, &target_at));
	if (!is_dma_copy_aligned(channel->device, source_at, target_at, part))
		return 0;
	mapped->len = part;
	mapped->source = dma_map_page(device, source, source_at, part, DMA_TO_DEVICE);
	if (dma_mapping_error(device, mapped->source))
		return 0;
	mapped->target = dma_map_page(device, target, target_at, part, DMA_FROM_DEVICE);
	if (dma_mapping_error(device, mapped->target))
		goto unmap_source;
	descriptor = dmaengine_prep_dma_memcpy(channel, mapped->target, mapped->source, part, 0);
	if (!descriptor)
		goto unmap_both;
	*cookie = dmaengine_submit(descriptor);
	if (dma_submit_error(*cookie))
		goto unmap_both;
	return part;

unmap_both:
	dma_unmap_page(device, mapped->target, part, DMA_FROM_DEVICE);
unmap_source:
	dma_unmap_page(device, mapped->source, part, DMA_TO_DEVICE);
	return 0;
}

/* Waits for what was submitted up to a cookie. */
static int finish(struct dma_chan *channel, dma_cookie_t cookie)
{
	unsigned long end = jiffies + PATIENCE;
	enum dma_status status;

	dma_async_issue_pending(channel);
	for (;;) {
		status = dma_async_is_tx_complete(channel, cookie, NULL, NULL);
		if (status == DMA_COMPLETE)
			return 0;
		if (status == DMA_ERROR || time_after(jiffies, end))
			break;
		usleep_range(10, 30);
	}
	/* From here on the engine writes nothing. */
	dmaengine_terminate_sync(channel);
	pr_warn_ratelimited("tern: a DMA engine has failed (%d); the processor copies instead\n", status);
	return -EOPNOTSUPP;
}

static int batch(struct dma_chan *channel, struct tern_cursor *from, struct tern_cursor *to, u64 len, u64 *moved)
{
	struct tern_cursor source = *from, target = *to;
	struct mapped mapped[BATCH];
	dma_cookie_t cookie = 0;
	u64 done = 0;
	int error, count = 0, i;

	while (count < BATCH && done < len) {
		size_t part = submit(channel, &source, &target, len - done, &mapped[count], &cookie);

		if (!part)
			break;
		tern_cursor_advance(&source, part);
		tern_cursor_advance(&target, part);
		done += part;
		count++;
	}
	if (!count)
		return -EOPNOTSUPP;
	error = finish(channel, cookie);
	for (i = 0; i < count; i++) {
		dma_unmap_page(channel->device->dev, mapped[i].target, mapped[i].len, DMA_FROM_DEVICE);
		dma_unmap_page(channel->device->dev, mapped[i].source, mapped[i].len, DMA_TO_DEVICE);
	}
	if (error)
		return error;
	*from = source;
	*to = target;
	*moved += done;
	atomic_long_add(done, &tern_counts.dma_bytes);
	return 0;
}

/* EOPNOTSUPP: the rest, from where the cursors are, is the processor's. */
int tern_dma_copy(struct tern_cursor *from, struct tern_cursor *to, u64 len, const bool *stop, u64 *moved)
{
	struct dma_chan *channel = tern_use_dma ? dma_find_channel(DMA_MEMCPY) : NULL;
	int error = 0;

	if (!channel)
		return -EOPNOTSUPP;
	while (*moved < len && !error) {
		if (READ_ONCE(*stop))
			return -ECANCELED;
		if (!tern_is_alive(from->region) || !tern_is_alive(to->region))
			return -ENOENT;
		error = batch(channel, from, to, len - *moved, moved);
	}
	return error;
}

#else

void tern_dma_init(void)
{
}

void tern_dma_exit(void)
{
}

bool tern_dma_is_there(void)
{
	return false;
}

int tern_dma_copy(struct tern_cursor *from, struct tern_cursor *to, u64 len, const bool *stop, u64 *moved)
{
	return -EOPNOTSUPP;
}

#endif
