/*
 * A process that has no memory for the library's own books ends with a line that says so. What it prints besides is a failure.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <tern_region.h>
#include <unistd.h>

int main(void)
{
    char name[40], memory[64];
    tern_region_space *space;
    tern_region_cookie cookie;
    struct iovec segment = {memory, sizeof memory};
    snprintf(name, sizeof name, "lack.%d", (int)getpid());
    if (tern_region_open(name, 1, 0, 1 << 20, 0, &space) < 0) {
        puts("no space");
        return 1;
    }
    tern_region_remove(name);
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_AS, &none) != 0)
        perror("setrlimit");
    for (size_t some = 1 << 20; some >= 16; some /= 2)
        while (malloc(some))
            ;
    int error = 0;
    for (int turn = 0; turn < 1000000 && error == 0; turn++)
        error = tern_region_create(space, &segment, 1, TERN_REGION_READ, 0, &cookie);
    fprintf(stderr, "error %d\n", error);
    return 1;
}
