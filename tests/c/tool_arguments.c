// ranks: 1 2
// Every function of the tool information interface, with right and with wrong arguments, before MPI is
// initialised, in between, and after it is finalised (MPI 5.0 section 15.3).
#include "check.h"

#define IS(wanted, call) \
    do { \
        int code_ = (call); \
        CHECK(code_ == (wanted), "%s gives %d", #call, code_); \
    } while (0)

static int bad_handle_value;
/* No handle of anything: an address of the program. */
#define BAD ((void *)&bad_handle_value)

static void uninitialised(void)
{
    int n, index = 0;
    char text[8];
    MPI_Count ticks;
    MPI_Info info;
    MPI_T_enum words = MPI_T_ENUM_NULL;
    MPI_T_cvar_handle cvar = MPI_T_CVAR_HANDLE_NULL;
    MPI_T_pvar_handle pvar = MPI_T_PVAR_HANDLE_NULL;
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    MPI_T_event_registration registration = NULL;
    const int wanted = MPI_T_ERR_NOT_INITIALIZED;
    IS(wanted, MPI_T_category_changed(&n));
    IS(wanted, MPI_T_category_get_categories(0, 1, &n));
    IS(wanted, MPI_T_category_get_cvars(0, 1, &n));
    IS(wanted, MPI_T_category_get_events(0, 1, &n));
    IS(wanted, MPI_T_category_get_index("tern", &index));
    IS(wanted, MPI_T_category_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    IS(wanted, MPI_T_category_get_num(&n));
    IS(wanted, MPI_T_category_get_num_events(0, &n));
    IS(wanted, MPI_T_category_get_pvars(0, 1, &n));
    IS(wanted, MPI_T_cvar_get_index("TERN_LOG", &index));
    IS(wanted, MPI_T_cvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    IS(wanted, MPI_T_cvar_get_num(&n));
    IS(wanted, MPI_T_cvar_handle_alloc(0, NULL, &cvar, &n));
    IS(wanted, MPI_T_cvar_handle_free(&cvar));
    IS(wanted, MPI_T_cvar_read(cvar, text));
    IS(wanted, MPI_T_cvar_write(cvar, text));
    IS(wanted, MPI_T_enum_get_info(words, &n, NULL, NULL));
    IS(wanted, MPI_T_enum_get_item(words, 0, &n, NULL, NULL));
    IS(wanted, MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &info));
    IS(wanted, MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL));
    IS(wanted, MPI_T_event_copy(NULL, text));
    IS(wanted, MPI_T_event_get_index("unexpected_message", &index));
    IS(wanted, MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    IS(wanted, MPI_T_event_get_num(&n));
    IS(wanted, MPI_T_event_get_source(NULL, &n));
    IS(wanted, MPI_T_event_get_timestamp(NULL, &ticks));
    IS(wanted, MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &registration));
    IS(wanted, MPI_T_event_handle_free(registration, NULL, NULL));
    IS(wanted, MPI_T_event_handle_get_info(registration, &info));
    IS(wanted, MPI_T_event_handle_set_info(registration, MPI_INFO_NULL));
    IS(wanted, MPI_T_event_read(NULL, 0, text));
    IS(wanted, MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL));
    IS(wanted, MPI_T_event_set_dropped_handler(registration, NULL));
    IS(wanted, MPI_T_finalize());
    IS(wanted, MPI_T_pvar_get_index("sent_short", MPI_T_PVAR_CLASS_COUNTER, &index));
    IS(wanted, MPI_T_pvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    IS(wanted, MPI_T_pvar_get_num(&n));
    IS(wanted, MPI_T_pvar_handle_alloc(session, 0, NULL, &pvar, &n));
    IS(wanted, MPI_T_pvar_handle_free(session, &pvar));
    IS(wanted, MPI_T_pvar_read(session, pvar, text));
    IS(wanted, MPI_T_pvar_readreset(session, pvar, text));
    IS(wanted, MPI_T_pvar_reset(session, pvar));
    IS(wanted, MPI_T_pvar_session_create(&session));
    IS(wanted, MPI_T_pvar_session_free(&session));
    IS(wanted, MPI_T_pvar_start(session, pvar));
    IS(wanted, MPI_T_pvar_stop(session, pvar));
    IS(wanted, MPI_T_pvar_write(session, pvar, text));
    IS(wanted, MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    IS(wanted, MPI_T_source_get_num(&n));
    IS(wanted, MPI_T_source_get_timestamp(0, &ticks));
}

/* Cutting of strings, by the name of setting `index`. */
static void strings(int index)
{
    char whole[64], cut[64];
    int needed = 0, length = sizeof whole;
    OK(MPI_T_cvar_get_info(index, NULL, &needed, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(needed > 6, "%d", needed);
    OK(MPI_T_cvar_get_info(index, whole, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(length == needed && (int)strlen(whole) + 1 == needed, "%d %s", length, whole);
    length = 0;
    OK(MPI_T_cvar_get_info(index, cut, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(length == needed, "%d", length);
    memset(cut, 'x', sizeof cut);
    length = 5;
    OK(MPI_T_cvar_get_info(index, cut, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(length == needed && !strncmp(cut, whole, 4) && cut[4] == 0 && cut[5] == 'x', "%d %s", length, cut);
    memset(cut, 'x', sizeof cut);
    OK(MPI_T_cvar_get_info(index, cut, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(cut[0] == 'x');
}

static void words(MPI_T_enum type, const char *setting)
{
    char name[64];
    int n = 0, length = sizeof name, value = -1;
    OK(MPI_T_enum_get_info(type, &n, name, &length));
    CHECK(n >= 2 && !strcmp(name, setting), "%d %s", n, name);
    for (int i = 0; i < n; i++) {
        length = sizeof name;
        OK(MPI_T_enum_get_item(type, i, &value, name, &length));
        CHECK(value == i && length == (int)strlen(name) + 1 && length > 1);
    }
    IS(MPI_T_ERR_INVALID_INDEX, MPI_T_enum_get_item(type, n, &value, name, &length));
    IS(MPI_T_ERR_INVALID_INDEX, MPI_T_enum_get_item(type, -1, &value, name, &length));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_enum_get_info(MPI_T_ENUM_NULL, &n, name, &length));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_enum_get_item(BAD, 0, &value, name, &length));
}

static void cvars(void)
{
    int n, index, verbosity, bind, scope, count, found;
    char name[256], desc[4096];
    MPI_Datatype type;
    MPI_T_enum enumeration;
    MPI_T_cvar_handle handle, old;
    OK(MPI_T_cvar_get_num(&n));
    CHECK(n > 10, "%d", n);
    IS(MPI_T_ERR_INVALID, MPI_T_cvar_get_num(NULL));
    for (int i = 0; i < n; i++) {
        int name_len = sizeof name, desc_len = sizeof desc;
        OK(MPI_T_cvar_get_info(i, name, &name_len, &verbosity, &type, &enumeration, desc, &desc_len, &bind, &scope));
        CHECK(!strncmp(name, "TERN_", 5) && desc_len > 10 && bind == MPI_T_BIND_NO_OBJECT, "%s", name);
        CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
        CHECK(scope >= MPI_T_SCOPE_CONSTANT && scope <= MPI_T_SCOPE_ALL_EQ);
        OK(MPI_T_cvar_get_index(name, &found));
        CHECK(found == i);
        OK(MPI_T_cvar_handle_alloc(i, NULL, &handle, &count));
        if (type == MPI_INT) {
            int value = -1, items;
            CHECK(count == 1 && enumeration != MPI_T_ENUM_NULL, "%s", name);
            OK(MPI_T_cvar_read(handle, &value));
            OK(MPI_T_enum_get_info(enumeration, &items, NULL, NULL));
            CHECK(value >= 0 && value < items, "%s: %d", name, value);
            words(enumeration, name);
        } else {
            char *value = malloc(count);
            CHECK(type == MPI_CHAR && enumeration == MPI_T_ENUM_NULL, "%s", name);
            OK(MPI_T_cvar_read(handle, value));
            CHECK((int)strlen(value) < count);
            free(value);
        }
        IS(MPI_T_ERR_INVALID, MPI_T_cvar_read(handle, NULL));
        old = handle;
        OK(MPI_T_cvar_handle_free(&handle));
        CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
        IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_read(old, desc));
        IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_handle_free(&old));
    }
    OK(MPI_T_cvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    IS(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    IS(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    IS(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_handle_alloc(n, NULL, &handle, &count));
    IS(MPI_T_ERR_INVALID, MPI_T_cvar_handle_alloc(0, NULL, NULL, &count));
    IS(MPI_T_ERR_INVALID, MPI_T_cvar_handle_alloc(0, NULL, &handle, NULL));
    IS(MPI_T_ERR_INVALID, MPI_T_cvar_handle_free(NULL));
    IS(MPI_T_ERR_INVALID_NAME, MPI_T_cvar_get_index("TERN_NOTHING", &index));
    IS(MPI_T_ERR_INVALID, MPI_T_cvar_get_index(NULL, &index));
    IS(MPI_T_ERR_INVALID, MPI_T_cvar_get_index("TERN_LOG", NULL));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_read(BAD, desc));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_write(MPI_T_CVAR_HANDLE_NULL, desc));
    strings(0);
}

static void pvars(void)
{
    int n, index, verbosity, class, bind, readonly, continuous, atomic, count, found;
    char name[256], desc[4096];
    unsigned long long value = 7;
    MPI_Datatype type;
    MPI_T_enum enumeration;
    MPI_T_pvar_session session, other, old_session;
    MPI_T_pvar_handle handle, old;
    OK(MPI_T_pvar_get_num(&n));
    CHECK(n > 30, "%d", n);
    IS(MPI_T_ERR_INVALID, MPI_T_pvar_get_num(NULL));
    IS(MPI_T_ERR_INVALID, MPI_T_pvar_session_create(NULL));
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_session_create(&other));
    CHECK(session != other);
    for (int i = 0; i < n; i++) {
        int name_len = sizeof name, desc_len = sizeof desc;
        OK(MPI_T_pvar_get_info(i, name, &name_len, &verbosity, &class, &type, &enumeration, desc, &desc_len, &bind,
            &readonly, &continuous, &atomic));
        CHECK(type == MPI_UNSIGNED_LONG_LONG && enumeration == MPI_T_ENUM_NULL && desc_len > 10, "%s", name);
        CHECK(bind == MPI_T_BIND_NO_OBJECT && readonly == continuous && atomic == !readonly, "%s", name);
        CHECK(class >= MPI_T_PVAR_CLASS_STATE && class <= MPI_T_PVAR_CLASS_GENERIC);
        OK(MPI_T_pvar_get_index(name, class, &found));
        CHECK(found == i);
        IS(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_GENERIC, &found));
        OK(MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &count));
        CHECK(count == 1);
        OK(MPI_T_pvar_read(session, handle, &value));
        if (continuous) {
            IS(MPI_T_ERR_PVAR_NO_STARTSTOP, MPI_T_pvar_start(session, handle));
            IS(MPI_T_ERR_PVAR_NO_STARTSTOP, MPI_T_pvar_stop(session, handle));
        } else {
            CHECK(value == 0, "%s starts with %llu", name, value);
            OK(MPI_T_pvar_start(session, handle));
            OK(MPI_T_pvar_start(session, handle));
            OK(MPI_T_pvar_stop(session, handle));
            OK(MPI_T_pvar_stop(session, handle));
        }
        if (readonly) {
            IS(MPI_T_ERR_PVAR_NO_WRITE, MPI_T_pvar_write(session, handle, &value));
            IS(MPI_T_ERR_PVAR_NO_WRITE, MPI_T_pvar_reset(session, handle));
            IS(MPI_T_ERR_PVAR_NO_WRITE, MPI_T_pvar_readreset(session, handle, &value));
        } else {
            value = 41;
            OK(MPI_T_pvar_write(session, handle, &value));
            OK(MPI_T_pvar_readreset(session, handle, &value));
            CHECK(value == 41);
            OK(MPI_T_pvar_read(session, handle, &value));
            CHECK(value == 0);
            OK(MPI_T_pvar_reset(session, handle));
            IS(MPI_T_ERR_INVALID, MPI_T_pvar_write(session, handle, NULL));
            IS(MPI_T_ERR_INVALID, MPI_T_pvar_readreset(session, handle, NULL));
        }
        IS(MPI_T_ERR_INVALID, MPI_T_pvar_read(session, handle, NULL));
        IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(other, handle, &value));
        IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_handle_free(other, &handle));
        IS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_start(MPI_T_PVAR_SESSION_NULL, handle));
        old = handle;
        OK(MPI_T_pvar_handle_free(session, &handle));
        CHECK(handle == MPI_T_PVAR_HANDLE_NULL);
        IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_stop(session, old));
        IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_reset(session, old));
    }
    OK(MPI_T_pvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    IS(MPI_T_ERR_INVALID_INDEX,
        MPI_T_pvar_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    IS(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index("nothing", MPI_T_PVAR_CLASS_COUNTER, &index));
    IS(MPI_T_ERR_INVALID, MPI_T_pvar_get_index(NULL, MPI_T_PVAR_CLASS_COUNTER, &index));
    IS(MPI_T_ERR_INVALID, MPI_T_pvar_get_index("sent_short", MPI_T_PVAR_CLASS_COUNTER, NULL));
    IS(MPI_T_ERR_INVALID_INDEX, MPI_T_pvar_handle_alloc(session, n, NULL, &handle, &count));
    IS(MPI_T_ERR_INVALID_INDEX, MPI_T_pvar_handle_alloc(session, -1, NULL, &handle, &count));
    IS(MPI_T_ERR_INVALID, MPI_T_pvar_handle_alloc(session, 0, NULL, NULL, &count));
    IS(MPI_T_ERR_INVALID, MPI_T_pvar_handle_alloc(session, 0, NULL, &handle, NULL));
    IS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_handle_alloc(BAD, 0, NULL, &handle, &count));
    IS(MPI_T_ERR_INVALID, MPI_T_pvar_handle_free(session, NULL));
    /* All handles: of a session without any, and of none. */
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    OK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    OK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    IS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_start(BAD, MPI_T_PVAR_ALL_HANDLES));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &value));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_write(session, MPI_T_PVAR_ALL_HANDLES, &value));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_readreset(session, MPI_T_PVAR_ALL_HANDLES, &value));
    /* A session takes its handles along. */
    OK(MPI_T_pvar_handle_alloc(session, 0, NULL, &handle, &count));
    old_session = session;
    OK(MPI_T_pvar_session_free(&session));
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
    IS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_read(old_session, handle, &value));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(other, handle, &value));
    IS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_session_free(&old_session));
    IS(MPI_T_ERR_INVALID, MPI_T_pvar_session_free(NULL));
    OK(MPI_T_pvar_session_free(&other));
}

static void categories(void)
{
    int n, stamp, again, found, index, cvars, pvars, parts, events, seen_cvars = 0, seen_pvars = 0, seen_events = 0;
    int all_cvars, all_pvars, all_events, indices[256];
    char name[128], desc[1024];
    OK(MPI_T_category_get_num(&n));
    CHECK(n > 5 && n < 100);
    OK(MPI_T_category_changed(&stamp));
    OK(MPI_T_cvar_get_num(&all_cvars));
    OK(MPI_T_pvar_get_num(&all_pvars));
    OK(MPI_T_event_get_num(&all_events));
    for (int i = 0; i < n; i++) {
        int name_len = sizeof name, desc_len = sizeof desc;
        OK(MPI_T_category_get_info(i, name, &name_len, desc, &desc_len, &cvars, &pvars, &parts));
        OK(MPI_T_category_get_num_events(i, &events));
        OK(MPI_T_category_get_index(name, &found));
        CHECK(found == i && desc_len > 5, "%s", name);
        CHECK(i == 0 ? parts == n - 1 && !cvars && !pvars : parts == 0 && cvars + pvars > 0, "%s", name);
        memset(indices, -1, sizeof indices);
        OK(MPI_T_category_get_cvars(i, 256, indices));
        for (int k = 0; k < 256; k++)
            CHECK((k < cvars) == (indices[k] >= 0) && indices[k] < all_cvars);
        memset(indices, -1, sizeof indices);
        OK(MPI_T_category_get_pvars(i, 1, indices));
        CHECK((indices[0] >= 0) == (pvars > 0) && indices[1] == -1);
        memset(indices, -1, sizeof indices);
        OK(MPI_T_category_get_events(i, 256, indices));
        for (int k = 0; k < 256; k++)
            CHECK((k < events) == (indices[k] >= 0) && indices[k] < all_events);
        memset(indices, -1, sizeof indices);
        OK(MPI_T_category_get_categories(i, 256, indices));
        for (int k = 0; k < 256; k++)
            CHECK((k < parts) == (indices[k] > 0) && indices[k] < n);
        seen_cvars += cvars, seen_pvars += pvars, seen_events += events;
    }
    CHECK(seen_cvars == all_cvars && seen_pvars == all_pvars && seen_events == all_events);
    OK(MPI_T_category_changed(&again));
    CHECK(again == stamp);
    OK(MPI_T_category_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    OK(MPI_T_category_get_cvars(0, 0, NULL));
    IS(MPI_T_ERR_INVALID, MPI_T_category_get_cvars(0, 1, NULL));
    IS(MPI_T_ERR_INVALID, MPI_T_category_get_pvars(0, -1, indices));
    IS(MPI_T_ERR_INVALID, MPI_T_category_get_events(0, 1, NULL));
    IS(MPI_T_ERR_INVALID, MPI_T_category_get_categories(0, -1, indices));
    IS(MPI_T_ERR_INVALID, MPI_T_category_get_num(NULL));
    IS(MPI_T_ERR_INVALID, MPI_T_category_get_num_events(0, NULL));
    IS(MPI_T_ERR_INVALID, MPI_T_category_changed(NULL));
    IS(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    IS(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_num_events(-1, &events));
    IS(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_cvars(n, 1, indices));
    IS(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_pvars(-1, 1, indices));
    IS(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_events(n, 1, indices));
    IS(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_categories(n, 1, indices));
    IS(MPI_T_ERR_INVALID_NAME, MPI_T_category_get_index("nothing", &index));
    IS(MPI_T_ERR_INVALID, MPI_T_category_get_index(NULL, &index));
    IS(MPI_T_ERR_INVALID, MPI_T_category_get_index("tern", NULL));
}

static int freed;
static void on_event(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    (void)event, (void)registration, (void)safety, (void)data;
}
static void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety, void *data)
{
    (void)count, (void)registration, (void)source, (void)safety, (void)data;
}
static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    (void)registration;
    CHECK(safety == MPI_T_CB_REQUIRE_NONE && data == &freed);
    freed++;
}

static void empty_info(MPI_Info *info)
{
    int keys = -1;
    OK(MPI_Info_get_nkeys(*info, &keys));
    CHECK(keys == 0, "%d", keys);
    OK(MPI_Info_free(info));
}

static void events(void)
{
    int n, verbosity, elements, bind, found, source, number;
    char name[128], desc[1024], buffer[64];
    MPI_Datatype types[8];
    MPI_Aint places[8];
    MPI_Count ticks, rate, most;
    MPI_Info info, hints;
    MPI_T_enum names;
    MPI_T_source_order order;
    MPI_T_event_registration registration, old;
    OK(MPI_T_source_get_num(&n));
    CHECK(n == 1);
    for (int i = 0; i < n; i++) {
        MPI_Count earlier;
        int name_len = sizeof name, desc_len = sizeof desc;
        OK(MPI_T_source_get_info(i, name, &name_len, desc, &desc_len, &order, &rate, &most, &info));
        CHECK(order == MPI_T_SOURCE_ORDERED && rate == 1000000000 && most > rate && name_len > 1 && desc_len > 1);
        empty_info(&info);
        OK(MPI_T_source_get_timestamp(i, &earlier));
        OK(MPI_T_source_get_timestamp(i, &ticks));
        CHECK(0 < earlier && earlier <= ticks && ticks <= most);
    }
    OK(MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    IS(MPI_T_ERR_INVALID_INDEX, MPI_T_source_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    IS(MPI_T_ERR_INVALID_INDEX, MPI_T_source_get_timestamp(-1, &ticks));
    IS(MPI_T_ERR_INVALID, MPI_T_source_get_timestamp(0, NULL));
    IS(MPI_T_ERR_INVALID, MPI_T_source_get_num(NULL));

    OK(MPI_T_event_get_num(&n));
    IS(MPI_T_ERR_INVALID, MPI_T_event_get_num(NULL));
    CHECK(n >= 3);
    for (int i = 0; i < n; i++) {
        int name_len = sizeof name, desc_len = sizeof desc, room = 1;
        memset(places, -1, sizeof places);
        OK(MPI_T_event_get_info(i, name, &name_len, &verbosity, types, places, &room, &names, &info, desc, &desc_len, &bind));
        CHECK(places[0] == 0 && places[1] == -1 && room > 1, "%s", name);
        elements = 8;
        OK(MPI_T_event_get_info(i, NULL, NULL, NULL, types, places, &elements, NULL, NULL, NULL, NULL, NULL));
        CHECK(elements == room && bind == MPI_T_BIND_NO_OBJECT && desc_len > 10);
        for (int k = 0; k < elements; k++) {
            int length = sizeof desc, value;
            CHECK(types[k] == MPI_INT || types[k] == MPI_UNSIGNED_LONG_LONG);
            OK(MPI_T_enum_get_item(names, k, &value, desc, &length));
            CHECK(value == k && length > 1);
        }
        OK(MPI_T_enum_get_info(names, &number, NULL, NULL));
        CHECK(number == elements);
        empty_info(&info);
        OK(MPI_T_event_get_index(name, &found));
        CHECK(found == i);
    }
    IS(MPI_T_ERR_INVALID_INDEX,
        MPI_T_event_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    IS(MPI_T_ERR_INVALID_NAME, MPI_T_event_get_index("nothing", &found));
    IS(MPI_T_ERR_INVALID, MPI_T_event_get_index(NULL, &found));
    IS(MPI_T_ERR_INVALID, MPI_T_event_get_index("unexpected_message", NULL));

    OK(MPI_Info_create(&hints));
    OK(MPI_Info_set(hints, "anything", "that nobody knows"));
    OK(MPI_T_event_handle_alloc(0, NULL, hints, &registration));
    OK(MPI_T_event_handle_set_info(registration, hints));
    OK(MPI_T_event_handle_get_info(registration, &info));
    empty_info(&info);
    IS(MPI_T_ERR_INVALID, MPI_T_event_handle_get_info(registration, NULL));
    IS(MPI_T_ERR_INVALID, MPI_T_event_handle_set_info(registration, BAD));
    IS(MPI_T_ERR_INVALID_INDEX, MPI_T_event_handle_alloc(n, NULL, MPI_INFO_NULL, &old));
    IS(MPI_T_ERR_INVALID, MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, NULL));
    IS(MPI_T_ERR_INVALID, MPI_T_event_handle_alloc(0, NULL, BAD, &old));
    const MPI_T_cb_safety levels[] = {MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED,
        MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE};
    for (int i = 0; i < 4; i++) {
        IS(MPI_T_ERR_INVALID, MPI_T_event_callback_get_info(registration, levels[i], &info));
        OK(MPI_T_event_register_callback(registration, levels[i], hints, NULL, on_event));
        OK(MPI_T_event_callback_set_info(registration, levels[i], hints));
        OK(MPI_T_event_callback_get_info(registration, levels[i], &info));
        empty_info(&info);
        IS(MPI_T_ERR_INVALID, MPI_T_event_callback_get_info(registration, levels[i], NULL));
    }
    OK(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL));
    IS(MPI_T_ERR_INVALID, MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL));
    IS(MPI_T_ERR_INVALID, MPI_T_event_register_callback(registration, 0x77, MPI_INFO_NULL, NULL, on_event));
    OK(MPI_T_event_set_dropped_handler(registration, on_dropped));
    OK(MPI_T_event_set_dropped_handler(registration, NULL));
    OK(MPI_Info_free(&hints));
    old = registration;
    OK(MPI_T_event_handle_free(registration, &freed, on_free));
    CHECK(freed == 1, "%d", freed);
    freed = 0;
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_free(old, &freed, on_free));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_free(NULL, NULL, NULL));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_get_info(old, &info));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_set_info(old, MPI_INFO_NULL));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_register_callback(old, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, on_event));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_callback_set_info(old, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_callback_get_info(old, MPI_T_CB_REQUIRE_NONE, &info));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_set_dropped_handler(old, on_dropped));
    CHECK(freed == 0);
    /* Outside callbacks there is no event to look at. */
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_read(BAD, 0, buffer));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_copy(BAD, buffer));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_get_timestamp(BAD, &ticks));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_get_source(BAD, &source));
}

static void all(void)
{
    int provided = -1, n;
    uninitialised();
    IS(MPI_T_ERR_INVALID, MPI_T_init_thread(-5, &provided));
    IS(MPI_T_ERR_INVALID, MPI_T_init_thread(MPI_THREAD_SINGLE, NULL));
    uninitialised();
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK(provided == MPI_THREAD_SINGLE);
    OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    OK(MPI_T_finalize());
    /* Twice initialised, once finalised. */
    OK(MPI_T_cvar_get_num(&n));
    cvars();
    pvars();
    categories();
    events();
    /* The last end frees what is left. */
    MPI_T_pvar_session session, old;
    MPI_T_cvar_handle cvar;
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_cvar_handle_alloc(0, NULL, &cvar, &n));
    OK(MPI_T_finalize());
    uninitialised();
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    old = session;
    IS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_session_free(&old));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_handle_free(&cvar));
    OK(MPI_T_finalize());
}

int main(int argc, char **argv)
{
    all();
    begin(&argc, &argv);
    all();
    MPI_Finalize();
    all();
    return failures != 0;
}
