// For programs in Fortran: stands in front of the C library's functions that leave destructors with threads.
#define CATCH
#include "ends.h"
