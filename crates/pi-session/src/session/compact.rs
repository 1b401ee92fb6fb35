//! Compacting a session, taking that back, and showing what it dropped.

use std::collections::{HashMap, HashSet};

use pi_protocol::{Entry, EntryBody};
use serde_json::json;

use super::{NewCompaction, Session};
use crate::SessionError;
use crate::compaction::{
    CompactError, Compacted, CompactionSettings, Preparation, Summarizer, compact, prepare,
};
use crate::log::{Kind, RawObject};
use crate::tree::Index;

/// Marks the place to which a compaction was taken back, so that it is the current entry also
/// when the session is opened again.
const UNCOMPACTED: &str = "pi.uncompact";

/// Why a session was not compacted.
#[derive(Debug, thiserror::Error)]
pub enum CompactionFailed {
    /// The last entry is a compaction.
    #[error("Already compacted")]
    AlreadyCompacted,
    /// Everything would be kept.
    #[error("Nothing to compact (session too small)")]
    NothingToCompact,
    /// There is no summary.
    #[error(transparent)]
    Summary(#[from] CompactError),
    /// The session cannot be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// What a compaction dropped from the context.
#[derive(Debug, Clone, PartialEq)]
pub struct Dropped {
    /// The entries that the model no longer reads, oldest first. An earlier compaction among
    /// them is the one whose summary was carried on.
    pub entries: Vec<Entry>,
    /// What it reads instead.
    pub summary: String,
}

impl Session {
    /// Compacts the context at the current entry and appends the compaction. A summary that does
    /// not pass the checks is mended or replaced; see [`compact`].
    pub async fn compact(
        &mut self,
        summarizer: &Summarizer<'_>,
        settings: &CompactionSettings,
        custom_instructions: Option<&str>,
    ) -> Result<(String, Compacted), CompactionFailed> {
        let (preparation, keep_more) = self.prepare_compaction(settings)?;
        let made =
            compact(summarizer, &preparation, custom_instructions, keep_more.as_ref()).await?;
        let id = self.append_compacted(&made)?;
        Ok((id, made))
    }

    /// What a compaction at the current entry would do, and a more cautious one in case no
    /// summary can be trusted.
    pub fn prepare_compaction(
        &mut self,
        settings: &CompactionSettings,
    ) -> Result<(Preparation, Option<Preparation>), CompactionFailed> {
        if self.leaf.is_some_and(|leaf| self.tree.node(leaf).kind == Kind::Compaction) {
            return Err(CompactionFailed::AlreadyCompacted);
        }
        let entries = self.projection()?;
        let preparation = prepare(&entries, settings).ok_or(CompactionFailed::NothingToCompact)?;
        // A summary without a model behind it loses more, so it should stand for less.
        let cautious = CompactionSettings {
            keep_recent_tokens: settings
                .keep_recent_tokens
                .saturating_mul(2)
                .min(preparation.tokens_before / 2),
            ..settings.clone()
        };
        Ok((preparation, prepare(&entries, &cautious)))
    }

    /// Appends a compaction.
    pub fn append_compacted(&mut self, made: &Compacted) -> Result<String, SessionError> {
        self.append_compaction(NewCompaction {
            summary: made.summary.clone(),
            first_kept: Some(made.first_kept.clone()),
            tokens_before: made.tokens_before as f64,
            details: Some(serde_json::to_value(&made.details)?),
            usage: Some(made.usage.clone()),
            from_hook: Some(false),
        })
    }

    /// Takes a compaction of the current branch back: the context is again what it was before,
    /// followed by what was said since. Nothing is removed; the compacted branch stays.
    ///
    /// Returns the id of the new current entry.
    pub fn uncompact(&mut self, compaction: &str) -> Result<String, SessionError> {
        let index = self.compaction_on_branch(compaction)?;
        let left = self.leaf;
        let path = self.tree.path(self.leaf);
        let after: Vec<Index> = path.into_iter().skip_while(|at| *at != index).skip(1).collect();
        self.move_to(self.tree.parent(index));
        let done = self
            .append_custom(UNCOMPACTED, Some(json!({ "compactionId": compaction })))
            .and_then(|mark| self.say_again(&after).map(|last| last.unwrap_or(mark)));
        if done.is_err() {
            self.move_to(left);
        }
        done
    }

    /// Appends copies of entries at the current one.
    fn say_again(&mut self, entries: &[Index]) -> Result<Option<String>, SessionError> {
        let mut copies: HashMap<String, String> = HashMap::new();
        let mut last = None;
        for index in entries {
            let line = self.raw_line(&mut self.log.reader(), *index)?;
            let mut object = RawObject::parse(&line)?;
            let old = self.tree.node(*index).id.to_string();
            let new = self.new_id();
            object.set_text("id", Some(&new));
            object.set_text("parentId", self.leaf_id());
            for link in ["targetId", "firstKeptEntryId", "fromId"] {
                if let Some(copy) =
                    object.value::<String>(link).and_then(|target| copies.get(&target).cloned())
                {
                    object.set_text(link, Some(&copy));
                }
            }
            copies.insert(old, new);
            last = Some(self.append_line(&object.to_string())?);
        }
        Ok(last)
    }

    /// What a compaction dropped: the entries that counted before it and do not count after it.
    pub fn dropped_by(&self, compaction: &str) -> Result<Dropped, SessionError> {
        let index = self.find(compaction)?;
        let EntryBody::Compaction(body) = self.entry(compaction)?.body else {
            return Err(not_a_compaction(compaction));
        };
        let kept: HashSet<Index> = self.selected(Some(index))?.into_iter().collect();
        let before = self.selected(self.tree.parent(index))?;
        let mut reader = self.log.reader();
        let entries: Result<Vec<Entry>, _> = before
            .into_iter()
            .filter(|index| !kept.contains(index))
            .map(|index| self.read_entry(&mut reader, index))
            .collect();
        Ok(Dropped { entries: entries?, summary: body.summary })
    }

    fn compaction_on_branch(&self, id: &str) -> Result<Index, SessionError> {
        let index = self.find(id)?;
        let is_one = self.tree.node(index).kind == Kind::Compaction;
        if is_one && self.tree.is_on_path(index, self.leaf) {
            Ok(index)
        } else {
            Err(not_a_compaction(id))
        }
    }
}

fn not_a_compaction(id: &str) -> SessionError {
    SessionError::WrongKind { id: id.to_owned(), expected: "a compaction of the current branch" }
}
