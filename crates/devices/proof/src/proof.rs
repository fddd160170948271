//! The handshake: each side proves that it belongs to the job, before anything else is read.
//!
//! ```text
//! caller                                        called
//!   hello: magic, from, to, wire, nonce ----->
//!                                       <-----  challenge: nonce, proof of the called
//!   proof of the caller                 ----->
//!                                       <-----  verdict: taken, or "my own call is under way"
//! ```
//!
//! The key of a pair is made of both tokens, which went by the launcher to the processes of the job alone. No secret
//! crosses the connection. Each message has a fixed length, so that no byte behind it is read. From the same key and both
//! random numbers follow the keys of what is said afterwards, where that is to be secret ([`Session`]).

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A random secret of a process, which all of its job know.
pub type Token = [u8; 32];
/// A random number of one handshake.
pub type Nonce = [u8; 16];

const MAGIC: [u8; 8] = *b"TERNTCP2";
/// Bytes of each message.
pub const HELLO: usize = 8 + 4 + 4 + 4 + 16;
pub const CHALLENGE: usize = 16 + 32;
pub const PROOF: usize = 32;
pub const VERDICT: usize = 1;

/// A message that is not what a process of this job sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stranger;

/// The tokens of all processes.
pub struct Keys {
    pub me: u32,
    pub tokens: Vec<Token>,
}

/// What a keyed hash is for: none of them can stand for another.
#[derive(Clone, Copy)]
enum Purpose {
    CallerProves = 1,
    CalledProves = 2,
    KeyToCalled = 3,
    KeyToCaller = 4,
}

/// The keys of one connection, one for each direction. They are as fresh as the random numbers of both sides.
pub struct Session {
    pub sends: [u8; 32],
    pub receives: [u8; 32],
}

/// What whoever knows the secret can tell of `about`, and nobody else. What is told for one `purpose` says nothing of another.
pub fn derive(secret: &Token, purpose: &[u8], about: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key may have any length");
    mac.update(&(purpose.len() as u64).to_le_bytes());
    mac.update(purpose);
    mac.update(about);
    mac.finalize().into_bytes().into()
}

impl Keys {
    fn mac(&self, purpose: Purpose, hello: &Hello, challenge: &Nonce) -> Hmac<Sha256> {
        let key = [self.tokens[hello.from as usize], self.tokens[hello.to as usize]].concat();
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key may have any length");
        mac.update(&[purpose as u8]);
        mac.update(&hello.encode());
        mac.update(challenge);
        mac
    }

    /// The hello of a call to `to`, for connection `wire` of the pair.
    pub fn hello(&self, to: u32, wire: u32, nonce: Nonce) -> Hello {
        Hello { from: self.me, to, wire, nonce }
    }

    /// Reads the hello of a caller.
    pub fn read_hello(&self, bytes: &[u8; HELLO]) -> Result<Hello, Stranger> {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let nonce = bytes[20..].try_into().expect("16 bytes");
        let hello = Hello { from: word(8), to: word(12), wire: word(16), nonce };
        let known = (hello.from as usize) < self.tokens.len() && hello.from != self.me && hello.to == self.me;
        if bytes[..8] == MAGIC && known { Ok(hello) } else { Err(Stranger) }
    }

    /// What the called side answers to a hello.
    pub fn challenge(&self, hello: &Hello, nonce: &Nonce) -> [u8; CHALLENGE] {
        let proof = self.mac(Purpose::CalledProves, hello, nonce).finalize().into_bytes();
        let mut out = [0; CHALLENGE];
        out[..16].copy_from_slice(nonce);
        out[16..].copy_from_slice(&proof);
        out
    }

    /// What the caller answers to a challenge, if the called side has proven itself.
    pub fn prove(&self, hello: &Hello, challenge: &[u8; CHALLENGE]) -> Result<[u8; PROOF], Stranger> {
        let nonce: Nonce = challenge[..16].try_into().expect("16 bytes");
        self.mac(Purpose::CalledProves, hello, &nonce).verify_slice(&challenge[16..]).map_err(|_| Stranger)?;
        Ok(self.mac(Purpose::CallerProves, hello, &nonce).finalize().into_bytes().into())
    }

    /// Whether the caller has proven itself.
    pub fn check(&self, hello: &Hello, nonce: &Nonce, proof: &[u8; PROOF]) -> Result<(), Stranger> {
        self.mac(Purpose::CallerProves, hello, nonce).verify_slice(proof).map_err(|_| Stranger)
    }

    /// The keys of a connection on which both sides have proven themselves, for this side.
    pub fn session(&self, hello: &Hello, nonce: &Nonce) -> Session {
        let key = |purpose| self.mac(purpose, hello, nonce).finalize().into_bytes().into();
        let (to_called, to_caller) = (key(Purpose::KeyToCalled), key(Purpose::KeyToCaller));
        match hello.from == self.me {
            true => Session { sends: to_called, receives: to_caller },
            false => Session { sends: to_caller, receives: to_called },
        }
    }
}

/// The first message: who calls whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    pub from: u32,
    pub to: u32,
    /// 0 for the connection that all goes on; others carry pieces of long messages, from the caller alone.
    pub wire: u32,
    pub nonce: Nonce,
}

impl Hello {
    pub fn encode(&self) -> [u8; HELLO] {
        let mut out = [0; HELLO];
        out[..8].copy_from_slice(&MAGIC);
        out[8..12].copy_from_slice(&self.from.to_le_bytes());
        out[12..16].copy_from_slice(&self.to.to_le_bytes());
        out[16..20].copy_from_slice(&self.wire.to_le_bytes());
        out[20..].copy_from_slice(&self.nonce);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(me: u32) -> Keys {
        Keys { me, tokens: vec![[1; 32], [2; 32], [3; 32]] }
    }

    /// Runs a handshake in which byte `at` of all that is sent is changed by `change`.
    fn run(caller: &Keys, called: &Keys, to: u32, at: usize, change: u8) -> Result<u32, Stranger> {
        let mut sent = 0;
        let mut pass = |bytes: &mut [u8]| {
            if (sent..sent + bytes.len()).contains(&at) {
                bytes[at - sent] ^= change;
            }
            sent += bytes.len();
        };
        let hello = caller.hello(to, 0, [4; 16]);
        let mut first = hello.encode();
        pass(&mut first);
        let heard = called.read_hello(&first)?;
        let nonce = [5; 16];
        let mut challenge = called.challenge(&heard, &nonce);
        pass(&mut challenge);
        let mut proof = caller.prove(&hello, &challenge)?;
        pass(&mut proof);
        called.check(&heard, &nonce, &proof)?;
        Ok(heard.from)
    }

    #[test]
    fn processes_of_a_job_prove_themselves() {
        assert_eq!(run(&keys(0), &keys(1), 1, usize::MAX, 0), Ok(0));
        assert_eq!(run(&keys(2), &keys(0), 0, usize::MAX, 0), Ok(2));
        // Who calls somebody else, or itself, is refused.
        assert_eq!(run(&keys(0), &keys(1), 2, usize::MAX, 0), Err(Stranger));
        assert_eq!(run(&keys(1), &keys(1), 1, usize::MAX, 0), Err(Stranger));
    }

    #[test]
    fn another_job_is_refused() {
        let other = Keys { me: 0, tokens: vec![[1; 32], [9; 32], [3; 32]] };
        assert_eq!(run(&other, &keys(1), 1, usize::MAX, 0), Err(Stranger));
        assert_eq!(run(&keys(0), &Keys { me: 1, ..other }, 1, usize::MAX, 0), Err(Stranger));
    }

    #[test]
    fn a_proof_of_one_side_or_of_another_time_is_none() {
        let (caller, called) = (keys(0), keys(1));
        let hello = caller.hello(1, 0, [4; 16]);
        let challenge = called.challenge(&hello, &[5; 16]);
        // What the called side has proven, it is told in return.
        let reflected = challenge[16..].try_into().expect("32 bytes");
        assert_eq!(called.check(&hello, &[5; 16], &reflected), Err(Stranger));
        let proof = caller.prove(&hello, &challenge).expect("it is the called one");
        assert_eq!(called.check(&hello, &[5; 16], &proof), Ok(()));
        // An earlier handshake once more, to either side.
        assert_eq!(called.check(&hello, &[6; 16], &proof), Err(Stranger));
        assert_eq!(caller.prove(&caller.hello(1, 0, [6; 16]), &challenge), Err(Stranger));
        // Of another connection of the pair.
        assert_eq!(called.check(&caller.hello(1, 1, [4; 16]), &[5; 16], &proof), Err(Stranger));
    }

    #[test]
    fn what_is_derived_differs_by_secret_purpose_and_subject() {
        let one = derive(&[1; 32], b"name", b"x");
        assert_eq!(derive(&[1; 32], b"name", b"x"), one);
        for other in [derive(&[2; 32], b"name", b"x"), derive(&[1; 32], b"namex", b""), derive(&[1; 32], b"name", b"y")]
        {
            assert_ne!(other, one);
        }
    }

    #[test]
    fn both_sides_have_the_same_keys_and_nobody_else() {
        let (caller, called) = (keys(0), keys(1));
        let hello = caller.hello(1, 0, [4; 16]);
        let (one, other) = (caller.session(&hello, &[5; 16]), called.session(&hello, &[5; 16]));
        assert_eq!((one.sends, one.receives), (other.receives, other.sends));
        assert_ne!(one.sends, one.receives);
        let again = caller.session(&hello, &[6; 16]);
        let fresh = caller.session(&caller.hello(1, 0, [6; 16]), &[5; 16]);
        for more in [again, fresh] {
            assert!(more.sends != one.sends && more.receives != one.receives);
        }
        let said = [&hello.encode()[..], &called.challenge(&hello, &[5; 16])].concat();
        assert!(!said.windows(32).any(|window| window == one.sends || window == one.receives));
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_found(at in 0..HELLO + CHALLENGE + PROOF, change in 1..=255u8) {
            prop_assert_eq!(run(&keys(0), &keys(1), 1, at, change), Err(Stranger));
        }

        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), HELLO)) {
            let _ = keys(1).read_hello(bytes[..].try_into().expect("so many bytes"));
        }
    }
}
