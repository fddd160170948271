/* For tests of files: a name that all ranks know and nobody else uses, and what a file holds. */
#ifndef FILE_H
#define FILE_H

#include "check.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char name[256];

/* A name in the directory for temporary files, of a file that is not there. Not made of the process
 * number: one that was killed may have had it, and left its file. */
static inline void choose_name(void)
{
    const char *place = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/tern-file-XXXXXX", place ? place : "/tmp");
    close(mkstemp(name));
    unlink(name);
}

/* Starts MPI; chooses a name that all ranks know. */
static inline void begin_file(int *argc, char ***argv)
{
    begin(argc, argv);
    if (rank == 0) choose_name();
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
}

/* Bytes of the file, or -1 when there is none. */
static inline long long length_of(const char *file)
{
    struct stat status;
    return stat(file, &status) ? -1 : (long long)status.st_size;
}

/* Reads the file past the library; returns how many bytes there were. */
static inline long long look(const char *file, void *bytes, size_t room)
{
    int fd = open(file, O_RDONLY);
    if (fd < 0)
        return -1;
    long long got = pread(fd, bytes, room, 0);
    close(fd);
    return got;
}

/* A small generator, the same everywhere. */
static inline unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

#endif
