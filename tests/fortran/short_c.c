/* Limits of address space, for programs in Fortran. */
#include <stdio.h>
#include <sys/resource.h>

static struct rlimit before;

void shorten(long more)
{
    struct rlimit limit;
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld", &pages) != 1)
        puts("/proc/self/statm cannot be read");
    if (file)
        fclose(file);
    getrlimit(RLIMIT_AS, &before);
    limit = before;
    limit.rlim_cur = (rlim_t)pages * 4096 + (rlim_t)more;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        perror("setrlimit");
}

void lift(void)
{
    setrlimit(RLIMIT_AS, &before);
}
