//! Which provider carries the messages, and what it can do.

use crate::abi::*;
use crate::library::Library;
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

/// Providers that are taken unasked, the best first: networks that are reached by libfabric alone, then RDMA cards.
/// For others Tern has devices of its own.
pub const TABLE: [&str; 5] = ["cxi", "efa", "opx", "psm3", "verbs;ofi_rxm"];

/// Bytes of a packet that a provider sends without asking its receiver: longer ones go only while both processes work.
pub fn most(provider: &str) -> usize {
    if provider.ends_with("ofi_rxm") { (16 << 10) - 256 } else { usize::MAX }
}

/// Whether a provider puts several packets into one buffer as it should. shm of libfabric 2.5 does not always: it reads a packet of
/// another process into no bytes of it, again and again.
pub fn fills(provider: &str) -> bool {
    provider != "shm"
}

/// What the modes of registration that this crate knows ask for.
const MR_MODE: c_int = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;

const RMA: u64 = FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
const PLAIN: u64 = FI_MSG | FI_SEND | FI_RECV;
/// What is asked for, the most first.
const CAPS: [u64; 4] =
    [PLAIN | FI_MULTI_RECV | RMA | FI_ATOMIC, PLAIN | FI_MULTI_RECV | RMA, PLAIN | FI_MULTI_RECV, PLAIN];
/// Atomics that change words and tell what was there stay in order.
pub const ATOMICS: u64 = FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAW;
/// What is asked to stay in order, the most first. This crate orders other accesses by itself.
const ORDERS: [u64; 4] = [FI_ORDER_SAS | ATOMICS, FI_ORDER_SAS, ATOMICS, 0];
/// Keys that this crate chooses are what it prefers.
const MODES: [c_int; 2] = [MR_MODE & !FI_MR_PROV_KEY, MR_MODE];

/// What a provider offers for one domain, as libfabric describes it.
pub struct Offer {
    library: &'static Library,
    info: *mut fi_info,
}

impl Drop for Offer {
    fn drop(&mut self) {
        // SAFETY: it is this offer's own, a list of one or more.
        unsafe { (self.library.freeinfo)(self.info) };
    }
}

// SAFETY: nothing of it belongs to a thread.
unsafe impl Send for Offer {}

impl Offer {
    pub fn info(&self) -> *mut fi_info {
        self.info
    }

    fn get(&self) -> &fi_info {
        // SAFETY: it lives as long as this.
        unsafe { &*self.info }
    }

    pub fn tx(&self) -> &fi_tx_attr {
        // SAFETY: the library fills all parts of what it offers.
        unsafe { &*self.get().tx_attr }
    }

    pub fn rx(&self) -> &fi_rx_attr {
        // SAFETY: as above.
        unsafe { &*self.get().rx_attr }
    }

    pub fn domain(&self) -> &fi_domain_attr {
        // SAFETY: as above.
        unsafe { &*self.get().domain_attr }
    }

    pub fn endpoint(&self) -> &fi_ep_attr {
        // SAFETY: as above.
        unsafe { &*self.get().ep_attr }
    }

    pub fn has(&self, caps: u64) -> bool {
        self.get().caps & caps == caps
    }

    pub fn asks(&self, mr_mode: c_int) -> bool {
        self.domain().mr_mode & mr_mode != 0
    }

    /// The first of the list with these names: a part of a provider's name finds it, too, and some do not look at the
    /// domain's.
    fn pick(&self, provider: &str, domain: Option<&str>) -> Option<Offer> {
        let mut next = self.info;
        // SAFETY: an entry of the list, or its end; strings are the library's.
        while let Some(info) = unsafe { next.as_ref() } {
            next = info.next;
            // SAFETY: as above.
            let names = unsafe { (text((*info.fabric_attr).prov_name), text((*info.domain_attr).name)) };
            if names.0 == provider && domain.is_none_or(|domain| names.1 == domain) {
                // SAFETY: an entry of the list is copied, alone.
                let info = unsafe { (self.library.dupinfo)(info) };
                return (!info.is_null()).then_some(Offer { library: self.library, info });
            }
        }
        None
    }

    /// Whether requests to a peer stay in such order.
    pub fn keeps(&self, order: u64) -> bool {
        self.tx().msg_order & self.rx().msg_order & order == order
    }

    /// Bits of a key of memory.
    pub fn key_mask(&self) -> u64 {
        match self.domain().mr_key_size {
            bytes @ 1..8 => (1 << (8 * bytes)) - 1,
            _ => u64::MAX,
        }
    }

    pub fn provider(&self) -> String {
        // SAFETY: strings of the library's, or null.
        unsafe { text((*self.get().fabric_attr).prov_name) }
    }

    /// The name of the domain: of a card, or an interface.
    pub fn domain_name(&self) -> String {
        // SAFETY: as above.
        unsafe { text(self.domain().name) }
    }
}

/// # Safety
/// A C string, or null.
unsafe fn text(of: *const c_char) -> String {
    if of.is_null() {
        return String::new();
    }
    // SAFETY: the contract.
    unsafe { CStr::from_ptr(of) }.to_string_lossy().into_owned()
}

/// Asks for endpoints of a provider with these abilities, on the domain of that name if one is given.
fn ask(
    library: &'static Library, provider: &str, domain: Option<&str>, caps: u64, order: u64, mr_mode: c_int,
) -> Result<Offer, isize> {
    let hints = Hints::new(library, Some(provider), domain).ok_or(-12_isize)?;
    // SAFETY: hints of dupinfo have all their parts.
    unsafe {
        let info = &mut *hints.info;
        info.caps = caps;
        info.mode = FI_CONTEXT | FI_CONTEXT2;
        (*info.ep_attr).r#type = FI_EP_RDM;
        (*info.tx_attr).msg_order = order;
        (*info.rx_attr).msg_order = order;
        let attributes = &mut *info.domain_attr;
        attributes.threading = FI_THREAD_DOMAIN;
        attributes.mr_mode = mr_mode;
        attributes.resource_mgmt = FI_RM_ENABLED;
    }
    hints.ask()
}

/// Hints for the library.
struct Hints {
    library: &'static Library,
    info: *mut fi_info,
}

impl Hints {
    fn new(library: &'static Library, provider: Option<&str>, domain: Option<&str>) -> Option<Hints> {
        // SAFETY: null makes empty hints.
        let info = unsafe { (library.dupinfo)(ptr::null()) };
        if info.is_null() {
            return None;
        }
        let hints = Hints { library, info };
        // SAFETY: hints of dupinfo have all their parts; strings of strdup are freed with them.
        unsafe {
            if let Some(provider) = provider {
                (*(*info).fabric_attr).prov_name = libc::strdup(CString::new(provider).ok()?.as_ptr());
            }
            if let Some(domain) = domain {
                (*(*info).domain_attr).name = libc::strdup(CString::new(domain).ok()?.as_ptr());
            }
        }
        Some(hints)
    }

    fn ask(&self) -> Result<Offer, isize> {
        let mut info = ptr::null_mut();
        // SAFETY: the library reads the hints, and gives a list that the offer frees.
        let error = unsafe { (self.library.getinfo)(API, ptr::null(), ptr::null(), 0, self.info, &raw mut info) };
        if error == 0 { Ok(Offer { library: self.library, info }) } else { Err(error as isize) }
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        // SAFETY: from dupinfo.
        unsafe { (self.library.freeinfo)(self.info) };
    }
}

/// The best that a provider offers, on the domain of that name if one is given.
///
/// Errors: it offers no reliable datagrams here.
pub fn best(library: &'static Library, provider: &str, domain: Option<&str>) -> Result<Offer, String> {
    let place = domain.map_or(String::new(), |domain| format!(" on {domain}"));
    let none = |why: String| format!("{provider}{place}: {why}");
    // Whoever does not offer the least offers nothing.
    let least = ask(library, provider, domain, PLAIN, 0, MR_MODE);
    let mut last = match least.map(|offers| offers.pick(provider, domain)) {
        Ok(Some(_)) => 0,
        Ok(None) => return Err(none("not offered".into())),
        Err(error) => return Err(none(library.error(error))),
    };
    for caps in CAPS {
        for (order, mr_mode) in ORDERS.iter().flat_map(|order| MODES.map(|mode| (*order, mode))) {
            match ask(library, provider, domain, caps, order, mr_mode) {
                Ok(offers) => match offers.pick(provider, domain) {
                    Some(offer) => return Ok(offer),
                    None => continue,
                },
                Err(error) => last = error,
            }
        }
    }
    Err(none(if last == 0 { "not offered".into() } else { library.error(last) }))
}

/// The provider that was asked for, or the first of the table that is there.
///
/// Errors: none is; with what there is.
pub fn choose(library: &'static Library, asked: Option<&str>, domain: Option<&str>) -> Result<Offer, String> {
    let tried: Vec<&str> = asked.map_or(TABLE.to_vec(), |asked| vec![asked]);
    let mut why = Vec::new();
    for provider in tried {
        match best(library, provider, domain) {
            Ok(offer) => return Ok(offer),
            Err(error) => why.push(error),
        }
    }
    let there = names(library);
    let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
    let version = library.version();
    Err(format!(
        "libfabric {}.{} offers no endpoints that Tern takes ({}); there are: {there}; name one with TERN_OFI_PROVIDER",
        version.0,
        version.1,
        why.join(", ")
    ))
}

/// The names of the providers that have reliable datagrams here.
pub fn names(library: &'static Library) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    each(library, |offer| {
        if !found.contains(&offer.provider) {
            found.push(offer.provider);
        }
    });
    found
}

/// One place that a provider reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub provider: String,
    /// A card, or an interface.
    pub domain: String,
    pub rma: bool,
    pub atomics: bool,
}

/// Tells of everything with reliable datagrams.
pub fn each(library: &'static Library, mut tell: impl FnMut(Found)) {
    let Some(hints) = Hints::new(library, None, None) else { return };
    // SAFETY: as in `ask`.
    unsafe {
        let info = &mut *hints.info;
        info.caps = FI_MSG;
        info.mode = FI_CONTEXT | FI_CONTEXT2;
        (*info.ep_attr).r#type = FI_EP_RDM;
        (*info.domain_attr).mr_mode = MR_MODE;
    }
    // All that a provider can is told only where it is asked for nothing.
    let Ok(offer) = hints.ask() else { return };
    let mut next = offer.info;
    let mut seen = Vec::new();
    // SAFETY: an entry of the list, or its end; strings are the library's.
    while let Some(info) = unsafe { next.as_ref() } {
        next = info.next;
        // SAFETY: as above.
        let (provider, domain) = unsafe { (text((*info.fabric_attr).prov_name), text((*info.domain_attr).name)) };
        // One place has several addresses.
        if seen.contains(&(provider.clone(), domain.clone())) {
            continue;
        }
        seen.push((provider.clone(), domain.clone()));
        let Ok(best) = best(library, &provider, Some(&domain)) else { continue };
        let (rma, atomics) = (best.has(FI_RMA), best.has(FI_ATOMIC));
        let found = Found { provider, domain, rma, atomics };
        tell(found);
    }
}
