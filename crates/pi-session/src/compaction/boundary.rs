//! Where the previous compaction stands among the entries that count.
//!
//! A projection begins with the last compaction although it was appended after what it kept.
//! Who asks what came *later* needs the place back.

use pi_protocol::{Compaction, Entry, EntryBody};

use crate::ProjectedEntry;

/// The compaction a projection begins with.
pub(super) fn previous(entries: &[ProjectedEntry]) -> Option<(&Entry, &Compaction)> {
    let entry = &entries.first()?.entry;
    match &entry.body {
        EntryBody::Compaction(compaction) => Some((entry, compaction)),
        _ => None,
    }
}

/// The index of the first entry that was appended after the last compaction; 0 without one.
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
    // Both neighbours are missing: left out as system messages, or damaged. Time stamps have one
    // format, so that comparing their texts compares the times.
    rest()
        .find(|(_, later)| later.entry.timestamp > entry.timestamp)
        .map_or(entries.len(), |(at, _)| at)
}
