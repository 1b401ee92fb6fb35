//! Short ids of sessions, for people.

use pi_base::text;

/// The shortest beginnings of ids that are unique.
#[derive(Debug)]
pub struct ShortIds {
    /// All ids in order, so that the most similar ones are neighbors.
    sorted: Vec<String>,
}

impl ShortIds {
    /// Shorter ids would become ambiguous with the next session.
    const MIN: usize = 8;

    /// Creates the table from all ids.
    pub fn new(mut ids: Vec<String>) -> Self {
        ids.sort_unstable();
        ids.dedup();
        Self { sorted: ids }
    }

    /// Returns the beginning of `id` that no other id has.
    pub fn of(&self, id: &str) -> String {
        let at = self.sorted.partition_point(|other| other.as_str() < id);
        let before = at.checked_sub(1).and_then(|before| self.sorted.get(before));
        let after = self.sorted[at..].iter().find(|other| *other != id);
        let shared =
            |other: &String| id.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
        let longest = before.into_iter().chain(after).map(shared).max().unwrap_or(0);
        text::one_line(id).chars().take((longest + 1).max(Self::MIN)).collect()
    }
}
