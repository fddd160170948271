/* Checks for the test programs: a failed one is told with its place, and the program goes on.
 * main ends with `return finish();`. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
static int rank, size;

#define CHECK(condition, ...) \
    do { \
        if (!(condition)) { \
            failures++; \
            fprintf(stderr, "%s:%d: rank %d: %s:", __FILE__, __LINE__, rank, #condition); \
            fprintf(stderr, " " __VA_ARGS__); \
            fprintf(stderr, "\n"); \
        } \
    } while (0)

/* The call succeeds. */
#define OK(call) \
    do { \
        int code_ = (call); \
        if (code_ != MPI_SUCCESS) { \
            char text_[MPI_MAX_ERROR_STRING]; \
            int length_; \
            failures++; \
            MPI_Error_string(code_, text_, &length_); \
            fprintf(stderr, "%s:%d: rank %d: %s: %s\n", __FILE__, __LINE__, rank, #call, text_); \
        } \
    } while (0)

/* The call fails with an error of this class. */
#ifdef LISTING
/* For the listing of all functions (crates/interface/abi/tests/called.rs), which reads what the preprocessor writes. */
#define FAILS(wanted, call) begin_wrong(wanted); call; end_wrong()
#else
#define FAILS(wanted, call) \
    do { \
        int code_ = (call), class_ = MPI_SUCCESS; \
        MPI_Error_class(code_, &class_); \
        if (class_ != (wanted)) { \
            failures++; \
            fprintf(stderr, "%s:%d: rank %d: %s: class %d, not %s\n", __FILE__, __LINE__, rank, #call, \
                    class_, #wanted); \
        } \
    } while (0)
#endif

/* The call of the tool interface fails with this code. */
#ifdef LISTING
#define REFUSES(wanted, call) begin_wrong(wanted); call; end_wrong()
#else
#define REFUSES(wanted, call) \
    do { \
        int code_ = (call); \
        CHECK(code_ == (wanted), "code %d: %s", code_, #call); \
    } while (0)
#endif

/* Starts MPI with errors returned. */
static inline void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

/* True in Tern, which finds wrong arguments that other libraries take or crash on. */
static inline int strict(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(text, &length);
    return strstr(text, "Tern") != NULL;
}

static inline int finish(void)
{
    MPI_Finalize();
    return failures ? 1 : 0;
}

#endif
