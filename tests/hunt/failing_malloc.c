/* Allocations that fail on request, preloaded before the C library: the n-th one, or the n-th to the m-th. */

#include <errno.h>
#include <malloc.h>
#include <stdint.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

/* Allocations so far, first and last of them that fail, and the least bytes of one that counts. */
int64_t failing[4] = {0, INT64_MAX, INT64_MAX, 0};

static int fails(size_t size) {
    if ((int64_t)size < failing[3])
        return 0;
    int64_t number = __atomic_add_fetch(&failing[0], 1, __ATOMIC_RELAXED);
    if (number < failing[1] || number > failing[2])
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return fails(size) ? NULL : __libc_malloc(size); }

void *calloc(size_t count, size_t size) { return fails(count * size) ? NULL : __libc_calloc(count, size); }

void *realloc(void *old, size_t size) {
    int shrinks = old != NULL && size <= malloc_usable_size(old); /* which never fails */
    return !shrinks && fails(size) ? NULL : __libc_realloc(old, size);
}
