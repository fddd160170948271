// Opens the part, runs it in a thread, closes it, and ends the thread after that.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *use(void *path)
{
    void *part = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void (*run)(void);
    if (!part) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    *(void **)&run = dlsym(part, "run");
    run();
    if (dlclose(part)) exit(4);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    (void)argc;
    pthread_create(&thread, NULL, use, argv[1]);
    pthread_join(thread, NULL);
    printf("closed\n");
    return 0;
}
