//! What several crates ask of the kernel in the same words.

use rustix::fd::AsFd;
use rustix::net::sockopt;
use std::time::Duration;

/// Random bytes.
///
/// Errors: the kernel has none.
pub fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    const { assert!(N <= 256, "up to so many come whole") };
    let mut bytes = [0; N];
    // SAFETY: writes at most N bytes into the array.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), N, 0) };
    if got == N as isize { Ok(bytes) } else { Err(std::io::Error::last_os_error()) }
}

/// Ends this process with that exit code. What C's stdio holds is written; functions that were registered for the exit (atexit) do
/// not run.
pub fn end_process(code: i32) -> ! {
    // SAFETY: no stream: all that are open are flushed. What ends the process needs nothing.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::_exit(code)
    }
}

/// Has the kernel ask the other end of a TCP connection, when nothing has come for a third of `silence`. Without an answer it ends
/// the connection after `silence`, about, and has asked twice by then if that is two seconds or more. It does not ask while bytes of this end are on their way.
///
/// Errors: it is no TCP socket.
pub fn keep_alive(socket: impl AsFd, silence: Duration) -> rustix::io::Result<()> {
    let second = Duration::from_secs(1);
    sockopt::set_socket_keepalive(&socket, true)?;
    sockopt::set_tcp_keepidle(&socket, (silence / 3).max(second))?;
    sockopt::set_tcp_keepintvl(&socket, (silence / 6).max(second))?;
    sockopt::set_tcp_keepcnt(&socket, 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_asks_after_a_third() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        keep_alive(&socket, Duration::from_secs(30)).expect("a TCP socket");
        assert_eq!(sockopt::socket_keepalive(&socket), Ok(true));
        assert_eq!(sockopt::tcp_keepidle(&socket), Ok(Duration::from_secs(10)));
        keep_alive(&socket, Duration::from_millis(10)).expect("a TCP socket");
        assert_eq!(sockopt::tcp_keepidle(&socket), Ok(Duration::from_secs(1)), "the kernel counts seconds");
    }

    /// One without an answer may be a matter of the answer's way.
    #[test]
    fn the_kernel_has_asked_twice_within_the_limit() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        for seconds in 2..=120 {
            let silence = Duration::from_secs(seconds);
            keep_alive(&socket, silence).expect("a TCP socket");
            let (idle, between) = (sockopt::tcp_keepidle(&socket), sockopt::tcp_keepintvl(&socket));
            assert!(idle.expect("a time") + between.expect("a time") <= silence, "{seconds} s");
        }
    }

    #[test]
    fn random_bytes_differ() {
        assert_ne!(random::<32>().expect("bytes"), random::<32>().expect("bytes"));
    }
}
