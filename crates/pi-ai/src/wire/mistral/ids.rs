//! Ids of tool calls: exactly nine letters and digits.

use std::collections::{HashMap, HashSet};

use crate::wire::ids::short_hash;

const LENGTH: usize = 9;

/// Rewrites the ids of calls that other models made. The same id is always rewritten in the same
/// way, and two ids never become the same.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    assigned: HashMap<String, String>,
    taken: HashSet<String>,
}

impl CallIds {
    /// Returns the id to send in place of `id`.
    pub(super) fn rewrite(&mut self, id: &str) -> String {
        if let Some(assigned) = self.assigned.get(id) {
            return assigned.clone();
        }
        let mut attempt = 0;
        let mut candidate = derive(id, attempt);
        while self.taken.contains(&candidate) {
            attempt += 1;
            candidate = derive(id, attempt);
        }
        self.taken.insert(candidate.clone());
        self.assigned.insert(id.to_owned(), candidate.clone());
        candidate
    }
}

/// Derives an id of nine characters. It is equal to that of the TypeScript pi, so that both programs
/// share prompt caches.
pub(super) fn derive(id: &str, attempt: u32) -> String {
    let plain: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
    if attempt == 0 && plain.len() == LENGTH {
        return plain;
    }
    let seed = if plain.is_empty() { id.to_owned() } else { plain };
    let seed = if attempt == 0 { seed } else { format!("{seed}:{attempt}") };
    let mut hash = short_hash(&seed);
    // Hashes rarely have fewer characters.
    while hash.len() < LENGTH {
        hash.push('0');
    }
    hash.truncate(LENGTH);
    hash
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ids_are_valid_distinct_and_stable(ids in prop::collection::vec(".{0,40}", 0..40)) {
            let mut rewritten = CallIds::default();
            let mut seen = HashMap::new();
            for id in ids.iter().chain(&ids) {
                let new = rewritten.rewrite(id);
                prop_assert!(new.len() == LENGTH && new.bytes().all(|b| b.is_ascii_alphanumeric()));
                prop_assert_eq!(seen.entry(new).or_insert(id), &id);
            }
        }
    }
}
