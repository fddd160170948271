//! Constants of the MPI 5.0 standard ABI (MPI 5.0 chapter 20 and annex A). The core uses the
//! standard ABI's values as its own; other binary interfaces convert at their face.
//!
//! Made from crates/interface/table/tables/constants.txt; change it there, then run
//! `UPDATE=1 cargo test -p tern-abi --test generated`.

#![allow(missing_docs)]

// Version of the standard and of the binary interface.
pub const MPI_VERSION: i32 = 5;
pub const MPI_SUBVERSION: i32 = 0;
pub const MPI_ABI_VERSION: i32 = 1;
pub const MPI_ABI_SUBVERSION: i32 = 0;

// Reduction operations.
pub const MPI_OP_NULL: usize = 0x20;
pub const MPI_SUM: usize = 0x21;
pub const MPI_MIN: usize = 0x22;
pub const MPI_MAX: usize = 0x23;
pub const MPI_PROD: usize = 0x24;
pub const MPI_BAND: usize = 0x28;
pub const MPI_BOR: usize = 0x29;
pub const MPI_BXOR: usize = 0x2a;
pub const MPI_LAND: usize = 0x30;
pub const MPI_LOR: usize = 0x31;
pub const MPI_LXOR: usize = 0x32;
pub const MPI_MINLOC: usize = 0x38;
pub const MPI_MAXLOC: usize = 0x39;
pub const MPI_REPLACE: usize = 0x3c;
pub const MPI_NO_OP: usize = 0x3d;

// Communicators.
pub const MPI_COMM_NULL: usize = 0x100;
pub const MPI_COMM_WORLD: usize = 0x101;
pub const MPI_COMM_SELF: usize = 0x102;

// Groups.
pub const MPI_GROUP_NULL: usize = 0x108;
pub const MPI_GROUP_EMPTY: usize = 0x109;

// Windows.
pub const MPI_WIN_NULL: usize = 0x110;

// Files.
pub const MPI_FILE_NULL: usize = 0x118;

// Sessions.
pub const MPI_SESSION_NULL: usize = 0x120;

// Matched messages.
pub const MPI_MESSAGE_NULL: usize = 0x128;
pub const MPI_MESSAGE_NO_PROC: usize = 0x129;

// Info objects.
pub const MPI_INFO_NULL: usize = 0x130;
pub const MPI_INFO_ENV: usize = 0x131;

// Error handlers.
pub const MPI_ERRHANDLER_NULL: usize = 0x140;
pub const MPI_ERRORS_ARE_FATAL: usize = 0x141;
pub const MPI_ERRORS_ABORT: usize = 0x142;
pub const MPI_ERRORS_RETURN: usize = 0x143;

// Requests.
pub const MPI_REQUEST_NULL: usize = 0x180;

// Datatypes.
pub const MPI_DATATYPE_NULL: usize = 0x200;
pub const MPI_AINT: usize = 0x201;
pub const MPI_COUNT: usize = 0x202;
pub const MPI_OFFSET: usize = 0x203;
pub const MPI_PACKED: usize = 0x207;
pub const MPI_SHORT: usize = 0x208;
pub const MPI_INT: usize = 0x209;
pub const MPI_LONG: usize = 0x20a;
pub const MPI_LONG_LONG: usize = 0x20b;
pub const MPI_LONG_LONG_INT: usize = MPI_LONG_LONG;
pub const MPI_UNSIGNED_SHORT: usize = 0x20c;
pub const MPI_UNSIGNED: usize = 0x20d;
pub const MPI_UNSIGNED_LONG: usize = 0x20e;
pub const MPI_UNSIGNED_LONG_LONG: usize = 0x20f;
pub const MPI_FLOAT: usize = 0x210;
pub const MPI_C_COMPLEX: usize = 0x212;
pub const MPI_C_FLOAT_COMPLEX: usize = MPI_C_COMPLEX;
pub const MPI_CXX_FLOAT_COMPLEX: usize = 0x213;
pub const MPI_DOUBLE: usize = 0x214;
pub const MPI_C_DOUBLE_COMPLEX: usize = 0x216;
pub const MPI_CXX_DOUBLE_COMPLEX: usize = 0x217;
pub const MPI_LOGICAL: usize = 0x218;
pub const MPI_INTEGER: usize = 0x219;
pub const MPI_REAL: usize = 0x21a;
pub const MPI_COMPLEX: usize = 0x21b;
pub const MPI_DOUBLE_PRECISION: usize = 0x21c;
pub const MPI_DOUBLE_COMPLEX: usize = 0x21d;
pub const MPI_CHARACTER: usize = 0x21e;
pub const MPI_LONG_DOUBLE: usize = 0x220;
pub const MPI_C_LONG_DOUBLE_COMPLEX: usize = 0x224;
pub const MPI_CXX_LONG_DOUBLE_COMPLEX: usize = 0x225;
pub const MPI_FLOAT_INT: usize = 0x228;
pub const MPI_DOUBLE_INT: usize = 0x229;
pub const MPI_LONG_INT: usize = 0x22a;
pub const MPI_2INT: usize = 0x22b;
pub const MPI_SHORT_INT: usize = 0x22c;
pub const MPI_LONG_DOUBLE_INT: usize = 0x22d;
pub const MPI_2REAL: usize = 0x230;
pub const MPI_2DOUBLE_PRECISION: usize = 0x231;
pub const MPI_2INTEGER: usize = 0x232;
pub const MPI_C_BOOL: usize = 0x238;
pub const MPI_CXX_BOOL: usize = 0x239;
pub const MPI_WCHAR: usize = 0x23c;
pub const MPI_INT8_T: usize = 0x240;
pub const MPI_UINT8_T: usize = 0x241;
pub const MPI_CHAR: usize = 0x243;
pub const MPI_SIGNED_CHAR: usize = 0x244;
pub const MPI_UNSIGNED_CHAR: usize = 0x245;
pub const MPI_BYTE: usize = 0x247;
pub const MPI_INT16_T: usize = 0x248;
pub const MPI_UINT16_T: usize = 0x249;
pub const MPI_INT32_T: usize = 0x250;
pub const MPI_UINT32_T: usize = 0x251;
pub const MPI_INT64_T: usize = 0x258;
pub const MPI_UINT64_T: usize = 0x259;
pub const MPI_LOGICAL1: usize = 0x2c0;
pub const MPI_INTEGER1: usize = 0x2c1;
pub const MPI_LOGICAL2: usize = 0x2c8;
pub const MPI_INTEGER2: usize = 0x2c9;
pub const MPI_REAL2: usize = 0x2ca;
pub const MPI_LOGICAL4: usize = 0x2d0;
pub const MPI_INTEGER4: usize = 0x2d1;
pub const MPI_REAL4: usize = 0x2d2;
pub const MPI_COMPLEX4: usize = 0x2d3;
pub const MPI_LOGICAL8: usize = 0x2d8;
pub const MPI_INTEGER8: usize = 0x2d9;
pub const MPI_REAL8: usize = 0x2da;
pub const MPI_COMPLEX8: usize = 0x2db;
pub const MPI_LOGICAL16: usize = 0x2e0;
pub const MPI_INTEGER16: usize = 0x2e1;
pub const MPI_REAL16: usize = 0x2e2;
pub const MPI_COMPLEX16: usize = 0x2e3;
pub const MPI_COMPLEX32: usize = 0x2eb;

// Fortran: size and elements of a status.
pub const MPI_F_STATUS_SIZE: i32 = 8;
pub const MPI_F_SOURCE: i32 = 0;
pub const MPI_F_TAG: i32 = 1;
pub const MPI_F_ERROR: i32 = 2;

// Error classes.
pub const MPI_SUCCESS: i32 = 0;
pub const MPI_ERR_BUFFER: i32 = 1;
pub const MPI_ERR_COUNT: i32 = 2;
pub const MPI_ERR_TYPE: i32 = 3;
pub const MPI_ERR_TAG: i32 = 4;
pub const MPI_ERR_COMM: i32 = 5;
pub const MPI_ERR_RANK: i32 = 6;
pub const MPI_ERR_REQUEST: i32 = 7;
pub const MPI_ERR_ROOT: i32 = 8;
pub const MPI_ERR_GROUP: i32 = 9;
pub const MPI_ERR_OP: i32 = 10;
pub const MPI_ERR_TOPOLOGY: i32 = 11;
pub const MPI_ERR_DIMS: i32 = 12;
pub const MPI_ERR_ARG: i32 = 13;
pub const MPI_ERR_UNKNOWN: i32 = 14;
pub const MPI_ERR_TRUNCATE: i32 = 15;
pub const MPI_ERR_OTHER: i32 = 16;
pub const MPI_ERR_INTERN: i32 = 17;
pub const MPI_ERR_PENDING: i32 = 18;
pub const MPI_ERR_IN_STATUS: i32 = 19;
pub const MPI_ERR_ACCESS: i32 = 20;
pub const MPI_ERR_AMODE: i32 = 21;
pub const MPI_ERR_ASSERT: i32 = 22;
pub const MPI_ERR_BAD_FILE: i32 = 23;
pub const MPI_ERR_BASE: i32 = 24;
pub const MPI_ERR_CONVERSION: i32 = 25;
pub const MPI_ERR_DISP: i32 = 26;
pub const MPI_ERR_DUP_DATAREP: i32 = 27;
pub const MPI_ERR_FILE_EXISTS: i32 = 28;
pub const MPI_ERR_FILE_IN_USE: i32 = 29;
pub const MPI_ERR_FILE: i32 = 30;
pub const MPI_ERR_INFO_KEY: i32 = 31;
pub const MPI_ERR_INFO_NOKEY: i32 = 32;
pub const MPI_ERR_INFO_VALUE: i32 = 33;
pub const MPI_ERR_INFO: i32 = 34;
pub const MPI_ERR_IO: i32 = 35;
pub const MPI_ERR_KEYVAL: i32 = 36;
pub const MPI_ERR_LOCKTYPE: i32 = 37;
pub const MPI_ERR_NAME: i32 = 38;
pub const MPI_ERR_NO_MEM: i32 = 39;
pub const MPI_ERR_NOT_SAME: i32 = 40;
pub const MPI_ERR_NO_SPACE: i32 = 41;
pub const MPI_ERR_NO_SUCH_FILE: i32 = 42;
pub const MPI_ERR_PORT: i32 = 43;
pub const MPI_ERR_QUOTA: i32 = 44;
pub const MPI_ERR_READ_ONLY: i32 = 45;
pub const MPI_ERR_RMA_ATTACH: i32 = 46;
pub const MPI_ERR_RMA_CONFLICT: i32 = 47;
pub const MPI_ERR_RMA_RANGE: i32 = 48;
pub const MPI_ERR_RMA_SHARED: i32 = 49;
pub const MPI_ERR_RMA_SYNC: i32 = 50;
pub const MPI_ERR_SERVICE: i32 = 51;
pub const MPI_ERR_SIZE: i32 = 52;
pub const MPI_ERR_SPAWN: i32 = 53;
pub const MPI_ERR_UNSUPPORTED_DATAREP: i32 = 54;
pub const MPI_ERR_UNSUPPORTED_OPERATION: i32 = 55;
pub const MPI_ERR_WIN: i32 = 56;
pub const MPI_ERR_RMA_FLAVOR: i32 = 57;
pub const MPI_ERR_PROC_ABORTED: i32 = 58;
pub const MPI_ERR_VALUE_TOO_LARGE: i32 = 59;
pub const MPI_ERR_SESSION: i32 = 60;
pub const MPI_ERR_ERRHANDLER: i32 = 61;
pub const MPI_ERR_ABI: i32 = 62;

// Error classes of fault tolerance, with the values that MPICH has.
pub const MPI_ERR_PROC_FAILED: i32 = 101;
pub const MPI_ERR_PROC_FAILED_PENDING: i32 = 102;
pub const MPI_ERR_REVOKED: i32 = 103;

// Older names of these.
pub const MPIX_ERR_PROC_FAILED: i32 = MPI_ERR_PROC_FAILED;
pub const MPIX_ERR_PROC_FAILED_PENDING: i32 = MPI_ERR_PROC_FAILED_PENDING;
pub const MPIX_ERR_REVOKED: i32 = MPI_ERR_REVOKED;

// Error codes of the tool interface, and the last code.
pub const MPI_T_ERR_CANNOT_INIT: i32 = 1001;
pub const MPI_T_ERR_NOT_ACCESSIBLE: i32 = 1002;
pub const MPI_T_ERR_NOT_INITIALIZED: i32 = 1003;
pub const MPI_T_ERR_NOT_SUPPORTED: i32 = 1004;
pub const MPI_T_ERR_MEMORY: i32 = 1005;
pub const MPI_T_ERR_INVALID: i32 = 1006;
pub const MPI_T_ERR_INVALID_INDEX: i32 = 1007;
pub const MPI_T_ERR_INVALID_ITEM: i32 = 1008;
pub const MPI_T_ERR_INVALID_SESSION: i32 = 1009;
pub const MPI_T_ERR_INVALID_HANDLE: i32 = 1010;
pub const MPI_T_ERR_INVALID_NAME: i32 = 1011;
pub const MPI_T_ERR_OUT_OF_HANDLES: i32 = 1012;
pub const MPI_T_ERR_OUT_OF_SESSIONS: i32 = 1013;
pub const MPI_T_ERR_CVAR_SET_NOT_NOW: i32 = 1014;
pub const MPI_T_ERR_CVAR_SET_NEVER: i32 = 1015;
pub const MPI_T_ERR_PVAR_NO_WRITE: i32 = 1016;
pub const MPI_T_ERR_PVAR_NO_STARTSTOP: i32 = 1017;
pub const MPI_T_ERR_PVAR_NO_ATOMIC: i32 = 1018;
pub const MPI_ERR_LASTCODE: i32 = 0x3fff;

// Buffer addresses with a meaning.
pub const MPI_BOTTOM: usize = 0;
pub const MPI_IN_PLACE: usize = 1;
pub const MPI_BUFFER_AUTOMATIC: usize = 2;

// No arguments to spawn with.
pub const MPI_ARGV_NULL: usize = 0;

// No arguments to spawn several programs with.
pub const MPI_ARGVS_NULL: usize = 0;

// Arrays that are not given.
pub const MPI_ERRCODES_IGNORE: usize = 0;
pub const MPI_UNWEIGHTED: usize = 10;
pub const MPI_WEIGHTS_EMPTY: usize = 11;

// Statuses that are not wanted.
pub const MPI_STATUS_IGNORE: usize = 0;
pub const MPI_STATUSES_IGNORE: usize = 0;

// Sizes of strings, with their terminating null.
pub const MPI_MAX_DATAREP_STRING: i32 = 128;
pub const MPI_MAX_ERROR_STRING: i32 = 512;
pub const MPI_MAX_INFO_KEY: i32 = 256;
pub const MPI_MAX_INFO_VAL: i32 = 1024;
pub const MPI_MAX_LIBRARY_VERSION_STRING: i32 = 8192;
pub const MPI_MAX_OBJECT_NAME: i32 = 128;
pub const MPI_MAX_PORT_NAME: i32 = 1024;
pub const MPI_MAX_PROCESSOR_NAME: i32 = 256;
pub const MPI_MAX_STRINGTAG_LEN: i32 = 1024;
pub const MPI_MAX_PSET_NAME_LEN: i32 = 1024;

// Space that a buffered message needs beside its data.
pub const MPI_BSEND_OVERHEAD: i32 = 512;

// Modes of opening a file.
pub const MPI_MODE_APPEND: i32 = 1;
pub const MPI_MODE_CREATE: i32 = 2;
pub const MPI_MODE_DELETE_ON_CLOSE: i32 = 4;
pub const MPI_MODE_EXCL: i32 = 8;
pub const MPI_MODE_RDONLY: i32 = 16;
pub const MPI_MODE_RDWR: i32 = 32;
pub const MPI_MODE_SEQUENTIAL: i32 = 64;
pub const MPI_MODE_UNIQUE_OPEN: i32 = 128;
pub const MPI_MODE_WRONLY: i32 = 256;

// Assertions on windows.
pub const MPI_MODE_NOCHECK: i32 = 1024;
pub const MPI_MODE_NOPRECEDE: i32 = 2048;
pub const MPI_MODE_NOPUT: i32 = 4096;
pub const MPI_MODE_NOSTORE: i32 = 8192;
pub const MPI_MODE_NOSUCCEED: i32 = 16384;

// Wildcards, special ranks, and no value.
pub const MPI_ANY_SOURCE: i32 = -1;
pub const MPI_ANY_TAG: i32 = -2;
pub const MPI_PROC_NULL: i32 = -3;
pub const MPI_ROOT: i32 = -4;
pub const MPI_UNDEFINED: i32 = -32766;

// Levels of thread support.
pub const MPI_THREAD_SINGLE: i32 = 0;
pub const MPI_THREAD_FUNNELED: i32 = 1024;
pub const MPI_THREAD_SERIALIZED: i32 = 2048;
pub const MPI_THREAD_MULTIPLE: i32 = 4096;

// Order of arrays.
pub const MPI_ORDER_C: i32 = 0xc;
pub const MPI_ORDER_FORTRAN: i32 = 0xf;

// Distribution of arrays.
pub const MPI_DISTRIBUTE_NONE: i32 = 16;
pub const MPI_DISTRIBUTE_BLOCK: i32 = 17;
pub const MPI_DISTRIBUTE_CYCLIC: i32 = 18;
pub const MPI_DISTRIBUTE_DFLT_DARG: i32 = 19;

// Constructors of datatypes.
pub const MPI_COMBINER_NAMED: i32 = 101;
pub const MPI_COMBINER_DUP: i32 = 102;
pub const MPI_COMBINER_CONTIGUOUS: i32 = 103;
pub const MPI_COMBINER_VECTOR: i32 = 104;
pub const MPI_COMBINER_HVECTOR: i32 = 105;
pub const MPI_COMBINER_INDEXED: i32 = 106;
pub const MPI_COMBINER_HINDEXED: i32 = 107;
pub const MPI_COMBINER_INDEXED_BLOCK: i32 = 108;
pub const MPI_COMBINER_HINDEXED_BLOCK: i32 = 109;
pub const MPI_COMBINER_STRUCT: i32 = 110;
pub const MPI_COMBINER_SUBARRAY: i32 = 111;
pub const MPI_COMBINER_DARRAY: i32 = 112;
pub const MPI_COMBINER_F90_REAL: i32 = 113;
pub const MPI_COMBINER_F90_COMPLEX: i32 = 114;
pub const MPI_COMBINER_F90_INTEGER: i32 = 115;
pub const MPI_COMBINER_RESIZED: i32 = 116;
pub const MPI_COMBINER_VALUE_INDEX: i32 = 117;

// Classes of datatypes.
pub const MPI_TYPECLASS_INTEGER: i32 = 192;
pub const MPI_TYPECLASS_REAL: i32 = 193;
pub const MPI_TYPECLASS_COMPLEX: i32 = 194;

// Results of comparisons.
pub const MPI_IDENT: i32 = 201;
pub const MPI_CONGRUENT: i32 = 202;
pub const MPI_SIMILAR: i32 = 203;
pub const MPI_UNEQUAL: i32 = 204;

// Topologies.
pub const MPI_CART: i32 = 211;
pub const MPI_GRAPH: i32 = 212;
pub const MPI_DIST_GRAPH: i32 = 213;

// How MPI_Comm_split_type splits.
pub const MPI_COMM_TYPE_SHARED: i32 = 221;
pub const MPI_COMM_TYPE_HW_UNGUIDED: i32 = 222;
pub const MPI_COMM_TYPE_HW_GUIDED: i32 = 223;
pub const MPI_COMM_TYPE_RESOURCE_GUIDED: i32 = 224;

// Locks of windows.
pub const MPI_LOCK_EXCLUSIVE: i32 = 301;
pub const MPI_LOCK_SHARED: i32 = 302;

// How a window was made.
pub const MPI_WIN_FLAVOR_CREATE: i32 = 311;
pub const MPI_WIN_FLAVOR_ALLOCATE: i32 = 312;
pub const MPI_WIN_FLAVOR_DYNAMIC: i32 = 313;
pub const MPI_WIN_FLAVOR_SHARED: i32 = 314;

// Memory models of windows.
pub const MPI_WIN_UNIFIED: i32 = 321;
pub const MPI_WIN_SEPARATE: i32 = 322;

// Where file positions count from.
pub const MPI_SEEK_CUR: i32 = 401;
pub const MPI_SEEK_END: i32 = 402;
pub const MPI_SEEK_SET: i32 = 403;

// The present position of a file.
pub const MPI_DISPLACEMENT_CURRENT: i64 = -1;

// Keys of predefined attributes.
pub const MPI_KEYVAL_INVALID: i32 = 0;
pub const MPI_TAG_UB: i32 = 501;
pub const MPI_IO: i32 = 502;
pub const MPI_HOST: i32 = 503;
pub const MPI_WTIME_IS_GLOBAL: i32 = 504;
pub const MPI_APPNUM: i32 = 505;
pub const MPI_LASTUSEDCODE: i32 = 506;
pub const MPI_UNIVERSE_SIZE: i32 = 507;
pub const MPI_WIN_BASE: i32 = 601;
pub const MPI_WIN_DISP_UNIT: i32 = 602;
pub const MPI_WIN_SIZE: i32 = 603;
pub const MPI_WIN_CREATE_FLAVOR: i32 = 604;
pub const MPI_WIN_MODEL: i32 = 605;

// Key of the attribute that tells whether failures are survived.
pub const MPI_FT: i32 = 508;

// Older name of this.
pub const MPIX_FT: i32 = MPI_FT;

// Copying attributes, old names.
pub const MPI_NULL_COPY_FN: usize = 0x0;
pub const MPI_DUP_FN: usize = 0x1;

// Deleting attributes, old name.
pub const MPI_NULL_DELETE_FN: usize = 0x0;

// Copying attributes of communicators.
pub const MPI_COMM_NULL_COPY_FN: usize = 0x0;
pub const MPI_COMM_DUP_FN: usize = 0x1;

// Deleting attributes of communicators.
pub const MPI_COMM_NULL_DELETE_FN: usize = 0x0;

// Copying attributes of datatypes.
pub const MPI_TYPE_NULL_COPY_FN: usize = 0x0;
pub const MPI_TYPE_DUP_FN: usize = 0x1;

// Deleting attributes of datatypes.
pub const MPI_TYPE_NULL_DELETE_FN: usize = 0x0;

// Copying attributes of windows.
pub const MPI_WIN_NULL_COPY_FN: usize = 0x0;
pub const MPI_WIN_DUP_FN: usize = 0x1;

// Deleting attributes of windows.
pub const MPI_WIN_NULL_DELETE_FN: usize = 0x0;

// No conversion of data representations.
pub const MPI_CONVERSION_FN_NULL: usize = 0x0;

// No conversion of data representations, large counts.
pub const MPI_CONVERSION_FN_NULL_C: usize = 0x0;

// Tool interface: enumerations.
pub const MPI_T_ENUM_NULL: usize = 0;

// Tool interface: control variables.
pub const MPI_T_CVAR_HANDLE_NULL: usize = 0;

// Tool interface: performance variables.
pub const MPI_T_PVAR_HANDLE_NULL: usize = 0;
pub const MPI_T_PVAR_ALL_HANDLES: usize = 1;

// Tool interface: sessions of performance variables.
pub const MPI_T_PVAR_SESSION_NULL: usize = 0;

// Tool interface: what callbacks may do.
pub const MPI_T_CB_REQUIRE_NONE: i32 = 0x00;
pub const MPI_T_CB_REQUIRE_MPI_RESTRICTED: i32 = 0x03;
pub const MPI_T_CB_REQUIRE_THREAD_SAFE: i32 = 0x0f;
pub const MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE: i32 = 0x3f;

// Tool interface: order of events.
pub const MPI_T_SOURCE_ORDERED: i32 = 1;
pub const MPI_T_SOURCE_UNORDERED: i32 = 2;

// Tool interface: verbosity.
pub const MPI_T_VERBOSITY_USER_BASIC: i32 = 0x09;
pub const MPI_T_VERBOSITY_USER_DETAIL: i32 = 0x0a;
pub const MPI_T_VERBOSITY_USER_ALL: i32 = 0x0c;
pub const MPI_T_VERBOSITY_TUNER_BASIC: i32 = 0x11;
pub const MPI_T_VERBOSITY_TUNER_DETAIL: i32 = 0x12;
pub const MPI_T_VERBOSITY_TUNER_ALL: i32 = 0x14;
pub const MPI_T_VERBOSITY_MPIDEV_BASIC: i32 = 0x21;
pub const MPI_T_VERBOSITY_MPIDEV_DETAIL: i32 = 0x22;
pub const MPI_T_VERBOSITY_MPIDEV_ALL: i32 = 0x24;

// Tool interface: objects that variables are bound to.
pub const MPI_T_BIND_NO_OBJECT: i32 = 1;
pub const MPI_T_BIND_MPI_COMM: i32 = 2;
pub const MPI_T_BIND_MPI_DATATYPE: i32 = 3;
pub const MPI_T_BIND_MPI_ERRHANDLER: i32 = 4;
pub const MPI_T_BIND_MPI_FILE: i32 = 5;
pub const MPI_T_BIND_MPI_GROUP: i32 = 6;
pub const MPI_T_BIND_MPI_OP: i32 = 7;
pub const MPI_T_BIND_MPI_REQUEST: i32 = 8;
pub const MPI_T_BIND_MPI_WIN: i32 = 9;
pub const MPI_T_BIND_MPI_MESSAGE: i32 = 10;
pub const MPI_T_BIND_MPI_INFO: i32 = 11;
pub const MPI_T_BIND_MPI_SESSION: i32 = 12;

// Tool interface: scope of control variables.
pub const MPI_T_SCOPE_CONSTANT: i32 = 1;
pub const MPI_T_SCOPE_READONLY: i32 = 2;
pub const MPI_T_SCOPE_LOCAL: i32 = 3;
pub const MPI_T_SCOPE_GROUP: i32 = 4;
pub const MPI_T_SCOPE_GROUP_EQ: i32 = 5;
pub const MPI_T_SCOPE_ALL: i32 = 6;
pub const MPI_T_SCOPE_ALL_EQ: i32 = 7;

// Tool interface: classes of performance variables.
pub const MPI_T_PVAR_CLASS_STATE: i32 = 1;
pub const MPI_T_PVAR_CLASS_LEVEL: i32 = 2;
pub const MPI_T_PVAR_CLASS_SIZE: i32 = 3;
pub const MPI_T_PVAR_CLASS_PERCENTAGE: i32 = 4;
pub const MPI_T_PVAR_CLASS_HIGHWATERMARK: i32 = 5;
pub const MPI_T_PVAR_CLASS_LOWWATERMARK: i32 = 6;
pub const MPI_T_PVAR_CLASS_COUNTER: i32 = 7;
pub const MPI_T_PVAR_CLASS_AGGREGATE: i32 = 8;
pub const MPI_T_PVAR_CLASS_TIMER: i32 = 9;
pub const MPI_T_PVAR_CLASS_GENERIC: i32 = 10;
