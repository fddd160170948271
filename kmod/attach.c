// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Pages of a region in the memory of another process, and the words of generation. */
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "tern.h"

#define MAGIC 0x5465726e

/*
 * All attachments are mappings of one inode of our own, in which each slot has its range of pages. So the kernel finds
 * the mappings of a region, in whatever processes they are.
 */
#define SLOT_PAGES_SHIFT 31

static struct vfsmount *mount;
static struct inode *inode;

static int init_context(struct fs_context *context)
{
	return init_pseudo(context, MAGIC) ? 0 : -ENOMEM;
}

static struct file_system_type file_system = {
	.name = "tern",
	/* No owner: the mount of our own would keep the module from being unloaded. */
	.init_fs_context = init_context,
	.kill_sb = kill_anon_super,
};

int tern_attach_init(void)
{
	mount = kern_mount(&file_system);
	if (IS_ERR(mount))
		return PTR_ERR(mount);
	inode = alloc_anon_inode(mount->mnt_sb);
	if (IS_ERR(inode)) {
		kern_unmount(mount);
		return PTR_ERR(inode);
	}
	return 0;
}

void tern_attach_exit(void)
{
	iput(inode);
	kern_unmount(mount);
}

struct address_space *tern_mapping(void)
{
	return inode->i_mapping;
}

static unsigned long slot_start(const struct tern_region *region)
{
	return (unsigned long)(region->cookie & TERN_SLOT_MASK) << SLOT_PAGES_SHIFT;
}

/* Takes the pages out of all processes; `alive` is false already. */
void tern_zap(struct tern_region *region)
{
	loff_t start = (loff_t)slot_start(region) << PAGE_SHIFT;

	unmap_mapping_range(inode->i_mapping, start, (loff_t)region->page_count << PAGE_SHIFT, 1);
}

static void release(struct kref *refs)
{
	struct tern_attachment *attachment = container_of(refs, struct tern_attachment, refs);

	tern_region_put(attachment->region);
	kfree(attachment);
	atomic_long_dec(&tern_counts.attachments);
}

static void vma_open(struct vm_area_struct *vma)
{
	struct tern_attachment *attachment = vma->vm_private_data;

	kref_get(&attachment->refs);
}

static void vma_close(struct vm_area_struct *vma)
{
	struct tern_attachment *attachment = vma->vm_private_data;

	kref_put(&attachment->refs, release);
}

static vm_fault_t vma_fault(struct vm_fault *fault)
{
	struct tern_attachment *attachment = fault->vma->vm_private_data;
	struct tern_region *region = attachment->region;
	unsigned long page = fault->pgoff - slot_start(region);
	vm_fault_t result = VM_FAULT_SIGBUS;

	if (page < attachment->first || page - attachment->first >= attachment->count)
		return VM_FAULT_SIGBUS;
	/* The zap comes after the lock. The pages are pinned while the region is alive. */
	mutex_lock(&region->lock);
	if (tern_is_alive(region))
		result = vmf_insert_pfn(fault->vma, fault->address, page_to_pfn(region->pages[page]));
	mutex_unlock(&region->lock);
	return result;
}

static const struct vm_operations_struct operations = {
	.open = vma_open,
	.close = vma_close,
	.fault = vma_fault,
};

static int map_words(struct tern_context *context, struct vm_area_struct *vma)
{
	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EACCES;
	vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND, VM_MAYWRITE | VM_MAYEXEC);
	return remap_vmalloc_range(vma, context->words, 0);
}

/* From the offset 0, the words of generation; from elsewhere, what tern_attach is about to map. */
int tern_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct tern_context *context = file->private_data;
	struct tern_attachment *attachment;
	u32 forbidden;

	if (context->mm != current->mm)
		return -EBADFD;
	if (!vma->vm_pgoff)
		return map_words(context, vma);
	xa_lock(&context->attachments);
	attachment = xa_load(&context->attachments, vma->vm_pgoff);
	if (attachment)
		kref_get(&attachment->refs);
	xa_unlock(&context->attachments);
	if (!attachment)
		return -ENXIO;
	forbidden = VM_EXEC | (attachment->protection & TERN_WRITE ? 0 : VM_WRITE) |
		    (attachment->protection & TERN_READ ? 0 : VM_READ);
	/* A private mapping would copy the pages at the first write. */
	if ((vma->vm_flags & forbidden) || !(vma->vm_flags & VM_MAYSHARE) || vma_pages(vma) != attachment->count ||
	    (vma->vm_flags & (VM_SHARED | VM_MAYWRITE)) == VM_MAYWRITE) {
		kref_put(&attachment->refs, release);
		return -EACCES;
	}
	/* What is forbidden now stays forbidden for mprotect. */
	vm_flags_mod(vma, VM_PFNMAP | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, forbidden << 4);
	vma->vm_pgoff = slot_start(attachment->region) + attachment->first;
	vma->vm_private_data = attachment;
	vma->vm_ops = &operations;
	return 0;
}

/* Whether all bytes of a range fill pages: a process gets no byte that was not declared. */
static int whole_pages(struct tern_region *region, u64 offset, u64 len, unsigned long *first)
{
	struct tern_cursor cursor;
	bool begun = false;

	tern_cursor_set(&cursor, region, offset);
	while (len) {
		const struct tern_piece *piece = &region->pieces[cursor.piece];
		u64 address = piece->address + (cursor.at - piece->start);
		u64 part = min(piece->len - (cursor.at - piece->start), len);

		if (offset_in_page(address) || offset_in_page(part))
			return -EINVAL;
		if (!begun)
			*first = piece->page + (address >> PAGE_SHIFT) - (piece->address >> PAGE_SHIFT);
		begun = true;
		tern_cursor_advance(&cursor, part);
		len -= part;
	}
	return begun ? 0 : -EINVAL;
}

static struct tern_attachment *new_attachment(struct tern_region *region, struct tern_attach *arg)
{
	struct tern_attachment *attachment;
	unsigned long first = 0;
	int error;

	error = whole_pages(region, arg->offset, arg->len, &first);
	if (error)
		return ERR_PTR(error);
	attachment = kzalloc(sizeof(*attachment), GFP_KERNEL_ACCOUNT);
	if (!attachment)
		return ERR_PTR(-ENOMEM);
	kref_init(&attachment->refs);
	tern_region_get(region);
	attachment->region = region;
	attachment->first = first;
	attachment->count = arg->len >> PAGE_SHIFT;
	attachment->protection = arg->protection;
	atomic_long_inc(&tern_counts.attachments);
	return attachment;
}

static int map(struct tern_context *context, struct file *file, struct tern_attachment *attachment,
	       struct tern_attach *arg)
{
	unsigned long prot = 0, address;
	u32 id;
	int error;

	if (arg->protection & TERN_READ)
		prot |= PROT_READ;
	if (arg->protection & TERN_WRITE)
		prot |= PROT_WRITE;
	error = xa_alloc(&context->attachments, &id, attachment, XA_LIMIT(1, INT_MAX >> PAGE_SHIFT), GFP_KERNEL_ACCOUNT);
	if (error)
		return error == -EBUSY ? -EAGAIN : error;
	address = vm_mmap(file, 0, arg->len, prot, MAP_SHARED, (unsigned long)id << PAGE_SHIFT);
	xa_erase(&context->attachments, id);
	if (IS_ERR_VALUE(address))
		return address;
	arg->address = address;
	return 0;
}

int tern_attach(struct tern_context *context, struct file *file, struct tern_attach *arg)
{
	struct tern_attachment *attachment;
	struct tern_region *region;
	int error;

	if (arg->reserved || !arg->protection || (arg->protection & ~(TERN_READ | TERN_WRITE)))
		return -EINVAL;
	region = tern_find(context, arg->cookie);
	if (IS_ERR(region))
		return PTR_ERR(region);
	/* Most processors cannot map a page for writing alone. */
	error = tern_enter(region, arg->offset, arg->len, arg->protection | TERN_READ);
	/* A mapping is no single use. */
	if (!error && (region->flags & TERN_SINGLE_USE))
		error = -EINVAL;
	if (!error) {
		attachment = new_attachment(region, arg);
		error = PTR_ERR_OR_ZERO(attachment);
	}
	if (!error) {
		error = map(context, file, attachment, arg);
		kref_put(&attachment->refs, release);
	}
	tern_leave(region);
	return error;
}
