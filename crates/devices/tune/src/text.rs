//! Costs as text: one figure or curve a line.
//!
//! ```text
//! tern-costs 5
//! origin measured on …
//! lookup 370
//! copy libc
//! promote 65536:110000 1048576:900000
//! l3 packet 100
//! l3 mapped warm 1024:51 65536:980
//! ```
//!
//! Times are nanoseconds, a point is `bytes:nanoseconds`. `#` begins a comment. What a text does
//! not name stays as in [`Costs::default`].

use std::fmt::Write;

use tern_policy::costs::{Costs, Curve, Mover, Placement, Warmth};

/// The first line. The number changes when older programs could misread the rest, or a mover moves otherwise than before.
const HEAD: &str = "tern-costs 5";

/// The number in it, which is in the names of files too, so that two versions on one machine do not replace each other's.
pub fn version() -> &'static str {
    HEAD.rsplit(' ').next().expect("the number")
}

/// Who copies some KiB.
const COPIES: [&str; 2] = ["libc", "vectors"];

/// The single figures, by name.
fn figures(costs: &Costs) -> [(&'static str, f64); 5] {
    [
        ("lookup", costs.lookup),
        ("piece", costs.piece),
        ("kernel-piece", costs.kernel_piece),
        ("wake", costs.wake),
        ("switch", costs.switch),
    ]
}

fn figure<'a>(costs: &'a mut Costs, name: &str) -> Option<&'a mut f64> {
    Some(match name {
        "lookup" => &mut costs.lookup,
        "piece" => &mut costs.piece,
        "kernel-piece" => &mut costs.kernel_piece,
        "wake" => &mut costs.wake,
        "switch" => &mut costs.switch,
        _ => return None,
    })
}

/// The curves of what is not between two cores, by name.
fn curves(costs: &Costs) -> [(&'static str, &Curve); 4] {
    [("promote", &costs.promote), ("pin", &costs.pin), ("unpin", &costs.unpin), ("attach", &costs.attach)]
}

fn named_curve<'a>(costs: &'a mut Costs, name: &str) -> Option<&'a mut Curve> {
    Some(match name {
        "promote" => &mut costs.promote,
        "pin" => &mut costs.pin,
        "unpin" => &mut costs.unpin,
        "attach" => &mut costs.attach,
        _ => return None,
    })
}

/// The costs as text.
pub fn encode(costs: &Costs) -> String {
    let mut text = format!("{HEAD}\norigin {}\n", costs.origin);
    for (name, ns) in figures(costs) {
        let _ = writeln!(text, "{name} {ns:.1}");
    }
    let _ = writeln!(text, "copy {}", COPIES[usize::from(costs.vectors)]);
    for (name, curve) in curves(costs) {
        let _ = writeln!(text, "{name}{}", points(curve));
    }
    for placement in Placement::ALL {
        let pace = costs.pace(placement);
        let place = placement.name();
        let _ = writeln!(text, "{place} packet {:.1}", pace.packet);
        for mover in Mover::ALL {
            for warmth in Warmth::ALL {
                let curve = &pace.movers[mover as usize][warmth as usize];
                let (mover, warmth) = (mover.name(), warmth.name());
                let _ = writeln!(text, "{place} {mover} {warmth}{}", points(curve));
            }
        }
    }
    text
}

fn points(curve: &Curve) -> String {
    curve.points().iter().fold(String::new(), |mut text, (size, ns)| {
        let _ = write!(text, " {size}:{ns:.1}");
        text
    })
}

/// The costs that a text has. The error is one line that says where and what.
pub fn decode(text: &str) -> Result<Costs, String> {
    let mut lines = text.lines();
    if lines.next() != Some(HEAD) {
        return Err(format!("the first line is not {HEAD:?}"));
    }
    let mut costs = Costs::default();
    for (number, line) in lines.enumerate() {
        take(&mut costs, line).map_err(|why| format!("line {}: {why}", number + 2))?;
    }
    Ok(costs)
}

/// Takes over what one line says.
fn take(costs: &mut Costs, line: &str) -> Result<(), String> {
    let line = line.split('#').next().unwrap_or_default().trim();
    let Some((name, rest)) = line.split_once(' ') else {
        return match line {
            "" => Ok(()),
            name => Err(format!("{name:?} has no value")),
        };
    };
    if let Some(figure) = figure(costs, name) {
        *figure = time(rest)?;
    } else if name == "origin" {
        costs.origin = rest.trim().to_owned();
    } else if name == "copy" {
        let by = COPIES.iter().position(|by| *by == rest.trim());
        costs.vectors = by.ok_or_else(|| format!("copies are not by {rest:?}"))? == 1;
    } else if let Some(at) = named_curve(costs, name) {
        *at = curve(rest)?;
    } else if let Some(place) = Placement::ALL.iter().find(|place| place.name() == name) {
        let (name, rest) = rest.trim().split_once(' ').unwrap_or((rest, ""));
        let pace = &mut costs.paces[*place as usize];
        if name == "packet" {
            pace.packet = time(rest)?;
            return Ok(());
        }
        let (warm, rest) = rest.trim().split_once(' ').unwrap_or((rest, ""));
        let mover = Mover::ALL.iter().find(|mover| mover.name() == name);
        let warmth = Warmth::ALL.iter().find(|warmth| warmth.name() == warm);
        let (Some(mover), Some(warmth)) = (mover, warmth) else {
            return Err(format!("{name:?} {warm:?} is no mover, warm or cold"));
        };
        pace.movers[*mover as usize][*warmth as usize] = curve(rest)?;
    } else {
        return Err(format!("{name:?} is not known"));
    }
    Ok(())
}

/// Nanoseconds: a finite number that is not negative.
fn time(text: &str) -> Result<f64, String> {
    let text = text.trim();
    match text.parse::<f64>() {
        Ok(ns) if ns.is_finite() && ns >= 0.0 => Ok(ns),
        _ => Err(format!("{text:?} is not a time in nanoseconds")),
    }
}

fn curve(text: &str) -> Result<Curve, String> {
    let mut points = Vec::with_capacity(SIZES);
    for point in text.split_ascii_whitespace() {
        let point = point.split_once(':').and_then(|(size, ns)| Some((size.parse().ok()?, nanoseconds(ns)?)));
        points.push(point.ok_or("a point is not written bytes:nanoseconds")?);
    }
    Curve::new(points).map_err(|why| format!("the curve {why}"))
}

/// Points that most curves have, or less.
const SIZES: usize = 8;

/// A number as `str::parse` reads it. Each rank reads some 700 of them when it starts, so the usual form is read by itself:
/// digits, a point, one digit.
fn nanoseconds(text: &str) -> Option<f64> {
    let [whole @ .., b'.', tenth @ b'0'..=b'9'] = text.as_bytes() else { return text.parse().ok() };
    let digits = !whole.is_empty() && whole.len() <= 14 && whole.iter().all(u8::is_ascii_digit);
    if !digits {
        return text.parse().ok();
    }
    let add = |sum: u64, digit: &u8| sum * 10 + u64::from(digit - b'0');
    // Both are exact, so that the quotient is the nearest number to what is written.
    Some(whole.iter().chain([tenth]).fold(0, add) as f64 / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    #[test]
    fn numbers_are_read_as_elsewhere() {
        let numbers = [
            "0.0",
            "0.1",
            "17.3",
            "99999999999999.9",
            "123456789012345.6",
            "5",
            "1e3",
            "0.25",
            ".5",
            "-1.5",
            "+1.5",
            "1.x",
            "",
            ".",
            "x.1",
            "1_0.5",
            "inf",
        ];
        for text in numbers {
            assert_eq!(nanoseconds(text), text.parse::<f64>().ok(), "{text:?}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut costs = Costs { lookup: 1.5, origin: "a machine of glass".into(), ..Costs::default() };
        costs.paces[1].packet = 77.0;
        costs.paces[2].movers[3][1] = Curve::new(vec![(7, 9.5)]).unwrap();
        // What is scaled has more digits than are written.
        let once = decode(&encode(&costs)).unwrap();
        let twice = decode(&encode(&once)).unwrap();
        assert_eq!(once, twice);
        assert_eq!(once.origin, costs.origin);
        assert_eq!(once.lookup, 1.5);
        assert_eq!(once.paces[0], costs.paces[0]);
        assert_eq!(once.paces[1].packet, 77.0);
        assert_eq!(once.paces[2].movers[3][1], costs.paces[2].movers[3][1]);
    }

    #[test]
    fn what_is_left_out_is_as_by_default() {
        let costs = decode("tern-costs 5\n\n# nothing\nwake 5 # five\n").unwrap();
        assert_eq!(costs, Costs { wake: 5.0, ..Costs::default() });
    }

    #[test]
    fn nonsense_is_named() {
        let wrong = |line: &str| decode(&format!("tern-costs 5\nwake 1\n{line}\n")).unwrap_err();
        for (line, why) in [
            ("wake", "line 3: \"wake\" has no value"),
            ("wake -1", "line 3: \"-1\" is not a time in nanoseconds"),
            ("wake NaN", "line 3: \"NaN\" is not a time in nanoseconds"),
            ("wake inf", "line 3: \"inf\" is not a time in nanoseconds"),
            ("wakes 1", "line 3: \"wakes\" is not known"),
            ("l3 ring warm 1:1", "line 3: \"ring\" \"warm\" is no mover, warm or cold"),
            ("l3 pipe hot 1:1", "line 3: \"pipe\" \"hot\" is no mover, warm or cold"),
            ("l3 pipe warm", "line 3: the curve has no points"),
            ("l3 pipe warm 1", "line 3: a point is not written bytes:nanoseconds"),
            ("l3 pipe warm 1:2 x:3", "line 3: a point is not written bytes:nanoseconds"),
            ("cache pipe warm 1:1", "line 3: \"cache\" is not known"),
            ("promote 1:NaN", "line 3: the curve has NaN ns at 1 bytes"),
            ("promote 8:1 4:2", "line 3: the curve has its sizes out of order at 4"),
            ("promote 1:1000 2:1", "line 3: the curve falls from 1000 ns at 1 bytes to 1 ns at 2"),
        ] {
            assert_eq!(wrong(line), why);
        }
        for head in ["", "tern-costs 1\n", "<html>\n"] {
            assert!(decode(head).is_err());
        }
    }

    proptest! {
        #[test]
        fn a_damaged_file_is_refused_or_read(changes in prop::collection::vec(any::<Change>(), 1..4)) {
            let text = damage(encode(&Costs::default()).as_bytes(), &changes);
            if let Ok(costs) = decode(&String::from_utf8_lossy(&text)) {
                decode(&encode(&costs)).expect("what was written");
            }
        }

        #[test]
        fn any_lines_are_read(lines in "([a-z]{1,8} ([a-z]{1,6} ){0,2}([0-9.e-]{0,9}:?[0-9.e-]{0,9} ?){0,3}\n){0,4}") {
            let _ = decode(&format!("{HEAD}\n{lines}"));
        }
    }
}
