/* What the kernel says of this process's memory. */
#ifndef MAPPING_H
#define MAPPING_H

#include <stdint.h>
#include <stdio.h>

/* Whether the page at `address` belongs to a mapping that others may have too. */
static inline int is_shared(const void *address)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1000], letters[5] = "";
    int shared = 0;
    while (fgets(line, sizeof line, maps)) {
        uintptr_t start, end;
        if (sscanf(line, "%lx-%lx %4s", &start, &end, letters) == 3 && start <= (uintptr_t)address && (uintptr_t)address < end)
            shared = letters[3] == 's';
    }
    fclose(maps);
    return shared;
}

#endif
