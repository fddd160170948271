//! Lists of hosts, as resource managers write them. `None` for what is none.

use crate::host_list::Host;

/// Most hosts of a list: a bound on damage.
const MOST: usize = 1 << 16;

/// `a,n[1-3,08-10]-ib[0,1]`: numbers keep their leading zeros.
pub fn nodes(text: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for entry in entries(text)? {
        all.extend(expanded(entry)?);
        if all.len() > MOST {
            return None;
        }
    }
    Some(all).filter(|all| !all.is_empty())
}

/// Split at the commas outside brackets.
fn entries(text: &str) -> Option<Vec<&str>> {
    let mut inside = false;
    for byte in text.bytes().filter(|byte| b"[]".contains(byte)) {
        if inside == (byte == b'[') {
            return None;
        }
        inside = !inside;
    }
    let mut inside = false;
    let split = text.split(move |letter| {
        inside = (inside || letter == '[') && letter != ']';
        letter == ',' && !inside
    });
    Some(split.map(str::trim).filter(|entry| !entry.is_empty()).collect())
}

fn expanded(entry: &str) -> Option<Vec<String>> {
    let Some((before, rest)) = entry.split_once('[') else { return Some(vec![entry.to_owned()]) };
    let (ranges, after) = rest.split_once(']')?;
    let afters = expanded(after)?;
    let mut all = Vec::new();
    for range in ranges.split(',') {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let width = from.len();
        let (from, to): (usize, usize) = (from.parse().ok()?, to.parse().ok()?);
        if to < from || (to - from) * afters.len() + all.len() > MOST {
            return None;
        }
        for number in from..=to {
            all.extend(afters.iter().map(|after| format!("{before}{number:0width$}{after}")));
        }
    }
    Some(all)
}

/// `2(x3),1`: 2, 2, 2, 1; as many as `count`.
pub fn repeated(text: &str, count: usize) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (number, times) = match part.split_once("(x") {
            Some((number, times)) => (number, times.strip_suffix(')')?.parse().ok()?),
            None => (part, 1),
        };
        let number: u32 = number.trim().parse().ok()?;
        if number == 0 || times > count - all.len().min(count) {
            return None;
        }
        all.extend(std::iter::repeat_n(number, times));
    }
    (all.len() == count).then_some(all)
}

/// A host in each line, as often as it has slots.
pub fn lines(text: &str) -> Option<Vec<Host>> {
    let names = text.lines().map(str::trim).filter(|line| !line.is_empty());
    merged(names.map(|name| (name, 1)))
}

/// `a 4 b 2`
pub fn pairs(text: &str) -> Option<Vec<Host>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs: Option<Vec<(&str, u32)>> = words.chunks(2).map(|pair| Some((pair[0], slots(pair.get(1)?)?))).collect();
    merged(pairs?.into_iter())
}

/// Lines of a host, its slots, and more.
pub fn table(text: &str) -> Option<Vec<Host>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let rows: Option<Vec<(&str, u32)>> = lines
        .map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, slots(words.next()?)?))
        })
        .collect();
    merged(rows?.into_iter())
}

fn slots(text: &str) -> Option<u32> {
    text.parse().ok().filter(|slots| *slots > 0)
}

fn merged<'a>(hosts: impl Iterator<Item = (&'a str, u32)>) -> Option<Vec<Host>> {
    let mut all: Vec<Host> = Vec::new();
    for (name, slots) in hosts {
        if name.starts_with('-') {
            return None;
        }
        match all.iter_mut().find(|known| known.name == name) {
            Some(known) => known.slots = known.slots.map(|some| some.saturating_add(slots)),
            None => all.push(Host { name: name.to_owned(), slots: Some(slots) }),
        }
    }
    Some(all).filter(|all| !all.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_stand_for_numbers() {
        let listed = |text: &str| nodes(text).map(|names| names.join(" "));
        assert_eq!(listed("a").as_deref(), Some("a"));
        assert_eq!(listed("n[1-3,7],login").as_deref(), Some("n1 n2 n3 n7 login"));
        assert_eq!(listed("n[098-101]").as_deref(), Some("n098 n099 n100 n101"));
        assert_eq!(listed("r[0-1]n[1,3].x").as_deref(), Some("r0n1.x r0n3.x r1n1.x r1n3.x"));
        for wrong in ["", ",", "n[", "n]", "n[1", "n[3-1]", "n[a-b]", "n[]", "n[1]]", "n[[1]]", "n[0-99999999]"] {
            assert_eq!(nodes(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_are_repeated() {
        assert_eq!(repeated("2(x3),1", 4), Some(vec![2, 2, 2, 1]));
        assert_eq!(repeated("72", 1), Some(vec![72]));
        for wrong in ["", "0", "2(x3", "2(x)", "2(x4294967295)", "2,2,2,2,2"] {
            assert_eq!(repeated(wrong, 4), None, "{wrong}");
        }
    }

    #[test]
    fn tables_need_slots() {
        assert_eq!(pairs("a 4 b"), None);
        assert_eq!(table("a\n"), None);
        assert_eq!(lines("-oProxyCommand=x\n"), None);
        assert_eq!(lines("\n"), None);
    }
}
