//! Short ids of sessions, for people.
//!
//! Ids begin with the time, so those of one day look alike. Their ends are random: they can be told
//! apart, read aloud and typed. An id that the user chose is shortened to its beginning.

use pi_base::text;

/// The shortest ends of ids that are unique; beginnings of ids that the user chose.
#[derive(Debug)]
pub struct ShortIds {
    /// The random ends of all ids, reversed and in order: the most similar ones are neighbors.
    ends: Vec<String>,
    /// All ids in order.
    starts: Vec<String>,
}

impl ShortIds {
    /// Shorter ids would become ambiguous with the next session.
    const MIN: usize = 8;

    /// Creates the table from all ids.
    pub fn new(ids: Vec<String>) -> Self {
        let ordered = |mut ids: Vec<String>| {
            ids.sort_unstable();
            ids.dedup();
            ids
        };
        let ends = ids.iter().map(|id| reversed(id)).collect();
        Self { ends: ordered(ends), starts: ordered(ids) }
    }

    /// Returns the part of `id` that no other id has at the same end.
    pub fn of(&self, id: &str) -> String {
        if is_random(id) {
            return reversed(&unique(&self.ends, &reversed(id), Self::MIN));
        }
        text::one_line(&unique(&self.starts, id, Self::MIN))
    }
}

fn reversed(id: &str) -> String {
    id.chars().rev().collect()
}

/// Returns true for an id that ends with random digits: a UUID.
fn is_random(id: &str) -> bool {
    let parts: Vec<usize> = id.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && id.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

/// Returns the beginning of `id` that no other id of a sorted list has.
fn unique(sorted: &[String], id: &str, min: usize) -> String {
    let at = sorted.partition_point(|other| other.as_str() < id);
    let before = at.checked_sub(1).and_then(|before| sorted.get(before));
    let after = sorted[at..].iter().find(|other| *other != id);
    let shared = |other: &String| id.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let longest = before.into_iter().chain(after).map(shared).max().unwrap_or(0);
    id.chars().take((longest + 1).max(min)).collect()
}
