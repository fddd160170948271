# gdb's command `tern-queues`: the receives and messages that wait in this process, by the library that parallel debuggers load.
# mpiexec --gdb has it; elsewhere: gdb -ex 'source PREFIX/share/tern/gdb.py'
import ctypes
import gdb
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int, c_long, c_size_t, c_ulong, c_void_p

END_OF_LIST = 2
RECEIVES, MESSAGES = 1, 2


class Communicator(Structure):
    _fields_ = [("unique_id", c_ulong), ("local_rank", c_long), ("size", c_long), ("name", ctypes.c_char * 64)]


class Operation(Structure):
    _fields_ = [
        ("status", c_int), ("desired_local_rank", c_long), ("desired_global_rank", c_long), ("tag_wild", c_int), ("desired_tag", c_long),
        ("desired_length", c_long), ("system_buffer", c_int), ("buffer", c_ulong), ("actual_local_rank", c_long),
        ("actual_global_rank", c_long), ("actual_tag", c_long), ("actual_length", c_long), ("extra_text", (ctypes.c_char * 64) * 5),
    ]


class Table(Structure):
    """Functions that the library may call, in the order of its interface."""

    def __init__(self, **calls):
        super().__init__(**{name: ctypes.cast(call, c_void_p) for name, call in calls.items()})
        self.kept = calls  # or Python frees them


class Basic(Table):
    _fields_ = [(name, c_void_p) for name in "malloc free prints error_string put_image get_image put_process get_process".split()]


class ImageCalls(Table):
    _fields_ = [(name, c_void_p) for name in "sizes function symbol type field size_of".split()]


class ProcessCalls(Table):
    _fields_ = [(name, c_void_p) for name in "rank image fetch convert".split()]


def address_of(name):
    return int(gdb.parse_and_eval(f"(unsigned long)&{name}"))


def text_at(name, room):
    found = bytes(gdb.selected_inferior().read_memory(address_of(name), room))
    return found.split(b"\0")[0].decode()


class Queues:
    """The library, for the process that is selected in gdb."""

    PUT, GET = CFUNCTYPE(None, c_void_p, c_void_p), CFUNCTYPE(c_void_p, c_void_p)

    def __init__(self):
        self.library = ctypes.CDLL(text_at("MPIR_dll_name", 4096))
        self.library.mqs_dll_error_string.restype = c_char_p
        self.image, self.process = None, None
        self.basic = Basic(
            put_image=self.PUT(lambda image, info: setattr(self, "image", info)), get_image=self.GET(lambda image: self.image),
            put_process=self.PUT(lambda process, info: setattr(self, "process", info)), get_process=self.GET(lambda process: self.process),
        )
        self.images = ImageCalls(symbol=CFUNCTYPE(c_int, c_void_p, c_char_p, POINTER(c_ulong))(self.find))
        self.processes = ProcessCalls(
            image=self.GET(lambda process: 1), fetch=CFUNCTYPE(c_int, c_void_p, c_ulong, c_int, c_void_p)(self.fetch),
        )
        self.library.mqs_setup_basic_callbacks(byref(self.basic))
        self.check(self.library.mqs_setup_image(self.one, byref(self.images)))
        self.check(self.library.mqs_setup_process(self.one, byref(self.processes)))

    one = c_void_p(1)  # stands for the image, and for the process

    def find(self, image, name, to):
        try:
            to[0] = address_of(name.decode())
            return 0
        except gdb.error:
            return 1

    def fetch(self, process, address, length, to):
        try:
            ctypes.memmove(to, bytes(gdb.selected_inferior().read_memory(address, length)), length)
            return 0
        except gdb.error:
            return 1

    def check(self, code):
        if code:
            raise gdb.GdbError(self.library.mqs_dll_error_string(code).decode())

    def communicators(self):
        code, comm = self.library.mqs_setup_communicator_iterator(self.one), Communicator()
        while code == 0:
            self.check(self.library.mqs_get_communicator(self.one, byref(comm)))
            yield comm
            code = self.library.mqs_next_communicator(self.one)
        if code != END_OF_LIST:
            self.check(code)

    def operations(self, kind):
        self.check(self.library.mqs_setup_operation_iterator(self.one, kind))
        operation = Operation()
        while (code := self.library.mqs_next_operation(self.one, byref(operation))) == 0:
            yield operation
        if code != END_OF_LIST:
            self.check(code)


def peer(local, everywhere):
    if local < 0:
        return "any rank"
    # A process of another job has no rank there.
    return f"rank {local}" if everywhere in (local, -1) else f"rank {local} (rank {everywhere} of MPI_COMM_WORLD)"


def receive(operation):
    tag = "any tag" if operation.tag_wild else f"tag {operation.desired_tag}"
    notes = [text.value.decode() for text in operation.extra_text if text.value]
    if operation.buffer:
        notes.insert(0, f"{operation.desired_length} bytes at {operation.buffer:#x}")
    return ", ".join([f"from {peer(operation.desired_local_rank, operation.desired_global_rank)}", tag] + notes)


def message(operation):
    return f"from {peer(operation.actual_local_rank, operation.actual_global_rank)}, tag {operation.actual_tag}, {operation.actual_length} bytes"


class TernQueues(gdb.Command):
    """Shows the receives that are posted, and the messages that no receive has matched, of each communicator of this process."""

    def __init__(self):
        super().__init__("tern-queues", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        # Addresses are asked for in C, whatever language the process was stopped in.
        language = gdb.parameter("language")
        gdb.execute("set language c", to_string=True)
        try:
            self.look()
        finally:
            gdb.execute(f"set language {language}", to_string=True)

    def look(self):
        try:
            queues = Queues()
        except gdb.error as error:
            raise gdb.GdbError(f"this process has no message queues of Tern: {error}")
        try:
            self.show(queues)
        finally:
            queues.library.mqs_destroy_process_info(c_void_p(queues.process))
            queues.library.mqs_destroy_image_info(c_void_p(queues.image))

    def show(self, queues):
        some = False
        for comm in queues.communicators():
            lines = [f"  receive {receive(operation)}" for operation in queues.operations(RECEIVES)]
            lines += [f"  message {message(operation)}" for operation in queues.operations(MESSAGES)]
            if lines:
                some = True
                print(f"{comm.name.decode()} (rank {comm.local_rank} of {comm.size})", *lines, sep="\n", flush=True)
        if not some:
            print("no receive is posted, and no message waits", flush=True)


TernQueues()
