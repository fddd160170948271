/*
 * Two processes: one declares a table, the other one reads a part of it and writes into another part.
 *
 *     cc example.c $(pkg-config --cflags --libs tern_region) && ./a.out
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tern_region.h>
#include <unistd.h>

static void check(int error, const char *what)
{
    if (error < 0) {
        fprintf(stderr, "%s: %s (%d)\n", what, tern_region_text(error), error);
        exit(1);
    }
}

/* Each process joins after the fork, under a number of its own. */
static tern_region_space *join(uint32_t me)
{
    tern_region_space *space;
    char name[40];
    snprintf(name, sizeof name, "example.%d", (int)(me == 0 ? getpid() : getppid()));
    /* Where the kernel lets nobody read another's memory, a thread of the owner answers. */
    check(tern_region_open(name, 2, me, 1 << 20, TERN_REGION_SERVER, &space), "open");
    return space;
}

static void user(int from)
{
    tern_region_space *space = join(1);
    tern_region_spot spot = {0, 6};
    if (read(from, &spot.cookie, sizeof spot.cookie) != sizeof spot.cookie)
        exit(1);
    char buffer[6];
    struct iovec local = {buffer, sizeof buffer};
    check(tern_region_inline_copy(space, &local, 1, spot, sizeof buffer, TERN_REGION_READ), "read");
    printf("read \"%.6s\"\n", buffer);

    /* The same way back, without waiting. */
    tern_region_status *status;
    memcpy(buffer, "FIRST", 5);
    spot.offset = 0;
    check(tern_region_start_inline_copy(space, &local, 1, spot, 5, TERN_REGION_WRITE, TERN_REGION_IDLE, &status),
          "start");
    check(tern_region_wait(status), "write");
    tern_region_release(status);
    check(tern_region_close(space), "close");
    exit(0);
}

int main(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        return 1;
    fflush(stdout);
    if (fork() == 0)
        user(ends[0]);
    tern_region_space *space = join(0);
    /* Two pieces of a table: 8 bytes here, 4 bytes there. */
    char table[] = "first...----last";
    struct iovec segments[] = {{table, 8}, {table + 12, 4}};
    tern_region_cookie cookie;
    check(tern_region_create(space, segments, 2, TERN_REGION_READ | TERN_REGION_WRITE, 0, &cookie), "create");
    if (write(ends[1], &cookie, sizeof cookie) != sizeof cookie)
        return 1;
    int status;
    wait(&status);
    /* From here on nobody touches the table any more. */
    check(tern_region_destroy(space, cookie), "destroy");
    printf("the table is \"%s\"\n", table);
    check(tern_region_close(space), "close");
    return status != 0;
}
