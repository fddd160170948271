/* The forms of a collective: blocking, nonblocking, persistent (started once, started twice), and
 * the same with large counts. */
#ifndef COLL_H
#define COLL_H

#include "check.h"

enum { BLOCKING, NONBLOCKING, PERSISTENT, TWICE, FORMS };
static const char *const form_names[FORMS] = {"blocking", "nonblocking", "persistent", "persistent, twice"};

#define FINISH_PERSISTENT(form, request) \
    do { \
        for (int starts_ = (form) == TWICE ? 2 : 1; starts_ > 0; starts_--) { \
            OK(MPI_Start(&request)); \
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE)); \
        } \
        OK(MPI_Request_free(&request)); \
    } while (0)

/* COLL(form, comm, Allreduce, allreduce, sendbuf, ...) */
#define COLL_AS(suffix, form, comm, Name, name, ...) \
    do { \
        MPI_Request request_ = MPI_REQUEST_NULL; \
        if ((form) == BLOCKING) { \
            OK(MPI_##Name##suffix(__VA_ARGS__, comm)); \
        } else if ((form) == NONBLOCKING) { \
            OK(MPI_I##name##suffix(__VA_ARGS__, comm, &request_)); \
            OK(MPI_Wait(&request_, MPI_STATUS_IGNORE)); \
        } else { \
            OK(MPI_##Name##_init##suffix(__VA_ARGS__, comm, MPI_INFO_NULL, &request_)); \
            FINISH_PERSISTENT(form, request_); \
        } \
        CHECK(request_ == MPI_REQUEST_NULL); \
    } while (0)
#define COLL(form, comm, Name, name, ...) COLL_AS(, form, comm, Name, name, __VA_ARGS__)
#define COLL_LARGE(form, comm, Name, name, ...) COLL_AS(_c, form, comm, Name, name, __VA_ARGS__)

#define BARRIER(form, comm) \
    do { \
        MPI_Request request_ = MPI_REQUEST_NULL; \
        if ((form) == BLOCKING) { \
            OK(MPI_Barrier(comm)); \
        } else if ((form) == NONBLOCKING) { \
            OK(MPI_Ibarrier(comm, &request_)); \
            OK(MPI_Wait(&request_, MPI_STATUS_IGNORE)); \
        } else { \
            OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &request_)); \
            FINISH_PERSISTENT(form, request_); \
        } \
    } while (0)

#endif
