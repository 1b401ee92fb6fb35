//! Which process is below which, and the end of them.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// What is known about a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    parent: u32,
    session: u32,
}

/// Kills all processes below this one.
pub(super) fn kill_descendants(of: u32) {
    below(of, &places()).into_iter().for_each(kill);
}

/// Kills all processes of a session.
pub(crate) fn kill_session(session: u32) {
    let places = places();
    let members = places.iter().filter(|(_, place)| place.session == session);
    members.for_each(|(id, _)| kill(*id));
}

fn kill(id: u32) {
    if let Some(id) = Pid::from_raw(id.cast_signed()) {
        // It may just have ended by itself.
        let _ = kill_process(id, Signal::KILL);
    }
}

/// All processes that can be seen. Empty where there is no `/proc`.
fn places() -> BTreeMap<u32, Place> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let read = |id: u32| Some((id, parse(&fs::read(format!("/proc/{id}/stat")).ok()?)?));
    ids.filter_map(read).collect()
}

/// The place that a line of `/proc/*/stat` tells. The name in it may contain anything.
fn parse(stat: &[u8]) -> Option<Place> {
    let stat = String::from_utf8_lossy(stat);
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    Some(Place { parent, session })
}

/// Everything below a process, nearest first.
fn below(root: u32, places: &BTreeMap<u32, Place>) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for (id, place) in places {
        children.entry(place.parent).or_default().push(*id);
    }
    let mut found = children.remove(&root).unwrap_or_default();
    let mut next = 0;
    while let Some(id) = found.get(next) {
        found.extend(children.remove(id).unwrap_or_default());
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_stat_is_read_whatever_the_name() {
        let place = Some(Place { parent: 7, session: 5 });
        for name in ["sh", "a) S 1 2 3", "((", "a b\n"] {
            assert_eq!(parse(format!("12 ({name}) S 7 6 5 0 -1").as_bytes()), place, "{name}");
        }
        assert_eq!(parse(b"12 (sh"), None);
    }

    #[test]
    fn descendants_are_found_at_any_depth_and_circles_end() {
        let place = |parent| Place { parent, session: 1 };
        let places = [(1, 0), (2, 1), (3, 2), (4, 3), (5, 1), (8, 9), (9, 8)];
        let places = places.into_iter().map(|(id, parent)| (id, place(parent))).collect();
        assert_eq!(below(2, &places), [3, 4]);
        assert_eq!(below(1, &places), [2, 5, 3, 4]);
        assert_eq!(below(8, &places), [9, 8]);
    }
}
