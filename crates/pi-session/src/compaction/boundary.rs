//! The position of the previous compaction among the entries of a context.
//!
//! A projection begins with the last compaction, although that was appended after the entries that
//! it kept. The functions here find the entries that are newer than the compaction.

use pi_protocol::{Compaction, Entry, EntryBody};

use crate::ProjectedEntry;

/// Returns the compaction with which a projection begins.
pub(super) fn previous(entries: &[ProjectedEntry]) -> Option<(&Entry, &Compaction)> {
    let entry = &entries.first()?.entry;
    match &entry.body {
        EntryBody::Compaction(compaction) => Some((entry, compaction)),
        _ => None,
    }
}

/// Returns the index of the first entry that was appended after the last compaction; 0 without one.
pub(super) fn newer_than_compaction(entries: &[ProjectedEntry]) -> usize {
    let Some((entry, compaction)) = previous(entries) else { return 0 };
    if compaction.first_kept_entry_id == entry.id {
        return 1;
    }
    let rest = || entries.iter().enumerate().skip(1);
    if let Some((at, _)) =
        rest().find(|(_, later)| later.entry.parent_id.as_ref() == Some(&entry.id))
    {
        return at;
    }
    if let Some((at, _)) = rest().find(|(_, kept)| Some(&kept.entry.id) == entry.parent_id.as_ref())
    {
        return at + 1;
    }
    // Both neighbors are missing: system messages that were left out, or damaged. Time stamps have
    // one format, so comparing their texts compares the times.
    rest()
        .find(|(_, later)| later.entry.timestamp > entry.timestamp)
        .map_or(entries.len(), |(at, _)| at)
}
