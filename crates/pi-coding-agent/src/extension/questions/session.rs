//! Questions before a session is left, forked, compacted or navigated.

use std::path::PathBuf;
use std::sync::Arc;

use pi_protocol::{CancelToken, Entry, Usage};
use pi_session::ForkPosition;
use pi_session::compaction::CompactionPreparation;
use serde::Serialize;
use serde_json::{Value, json};

use crate::event::CompactionReason;
use crate::extension::question::wrapping;
use crate::extension::{Ask, Flow, TimeLimit};

/// Asks whether the session may be replaced by a new or another one.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BeforeSwitch {
    /// Kind of replacement.
    pub reason: SwitchReason,
    /// File of the session that takes over.
    pub target_session_file: Option<PathBuf>,
}

/// Kind of replacement of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SwitchReason {
    /// A new session begins.
    New,
    /// An existing session is resumed.
    Resume,
}

impl BeforeSwitch {
    pub(crate) fn new(reason: SwitchReason, target_session_file: Option<PathBuf>) -> Self {
        Self { reason, target_session_file }
    }
}

/// Decision whether a session may be left or forked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SwitchDecision {
    /// The session stays as it is.
    pub cancel: bool,
    /// The fork keeps the messages of the conversation that the editor shows.
    pub skip_conversation_restore: bool,
}

impl SwitchDecision {
    /// Keeps the session.
    pub fn cancel() -> Self {
        Self { cancel: true, ..Self::default() }
    }

    fn merge(&mut self, answer: Self) -> Flow {
        *self = answer;
        if answer.cancel { Flow::Stop } else { Flow::Next }
    }
}

impl Ask for BeforeSwitch {
    type Answer = SwitchDecision;
    wrapping!(BeforeSwitch);

    fn merge(&mut self, combined: &mut SwitchDecision, answer: SwitchDecision) -> Flow {
        combined.merge(answer)
    }

    fn payload(&self) -> Value {
        let mut payload = json!({ "reason": self.reason });
        if let Some(file) = &self.target_session_file {
            payload["targetSessionFile"] = json!(file);
        }
        payload
    }
}

/// Asks whether the session may be forked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BeforeFork {
    /// Entry at which the copy ends.
    pub entry_id: String,
    /// The copy ends before or at the entry.
    pub position: ForkPosition,
}

impl BeforeFork {
    pub(crate) fn new(entry_id: String, position: ForkPosition) -> Self {
        Self { entry_id, position }
    }
}

impl Ask for BeforeFork {
    type Answer = SwitchDecision;
    wrapping!(BeforeFork);

    fn merge(&mut self, combined: &mut SwitchDecision, answer: SwitchDecision) -> Flow {
        combined.merge(answer)
    }

    fn payload(&self) -> Value {
        let position = match self.position {
            ForkPosition::Before => "before",
            ForkPosition::At => "at",
        };
        json!({ "entryId": self.entry_id, "position": position })
    }
}

/// Asks what becomes of a compaction that is about to begin.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BeforeCompact {
    /// The messages to summarize and to keep.
    pub preparation: Arc<CompactionPreparation>,
    /// The entries of the current branch.
    pub branch: Arc<[Entry]>,
    /// Instructions of the user for the summary.
    pub instructions: Option<String>,
    /// Occasion of the compaction.
    pub reason: CompactionReason,
    /// The failed request is made again afterwards.
    pub will_retry: bool,
    /// Cancelled when the user aborts the compaction.
    pub cancel: CancelToken,
}

impl BeforeCompact {
    pub(crate) fn new(
        preparation: Arc<CompactionPreparation>,
        branch: Arc<[Entry]>,
        instructions: Option<&str>,
        reason: CompactionReason,
        will_retry: bool,
        cancel: &CancelToken,
    ) -> Self {
        let instructions = instructions.map(str::to_owned);
        Self { preparation, branch, instructions, reason, will_retry, cancel: cancel.clone() }
    }
}

/// Decision about a compaction.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Compaction {
    /// The session writes the summary.
    #[default]
    Proceed,
    /// The session is not compacted.
    Cancel,
    /// The extension has written the summary.
    Summary(Box<CompactionText>),
}

/// A summary that an extension has written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CompactionText {
    /// Text of the summary.
    pub summary: String,
    /// Id of the first entry that is kept.
    pub first_kept_entry_id: String,
    /// Size of the context before the compaction.
    pub tokens_before: u64,
    /// Data that is stored with the summary.
    pub details: Option<Value>,
    /// Tokens that writing the summary took.
    pub usage: Option<Usage>,
}

impl Ask for BeforeCompact {
    type Answer = Compaction;
    // The extension may ask a model; the user can abort.
    const TIME_LIMIT: TimeLimit = TimeLimit::Unlimited;
    wrapping!(BeforeCompact);

    fn merge(&mut self, combined: &mut Compaction, answer: Compaction) -> Flow {
        if answer == Compaction::Proceed {
            return Flow::Next;
        }
        let cancelled = answer == Compaction::Cancel;
        *combined = answer;
        if cancelled { Flow::Stop } else { Flow::Next }
    }

    fn payload(&self) -> Value {
        let preparation = &self.preparation;
        let mut payload = json!({
            "preparation": {
                "firstKeptEntryId": preparation.first_kept,
                "messagesToSummarize": preparation.to_summarize,
                "turnPrefixMessages": preparation.turn_prefix,
                "isSplitTurn": preparation.is_split_turn,
                "tokensBefore": preparation.tokens_before,
                "previousSummary": preparation.previous_summary,
                // Effects do not tell a new file from an edited one.
                "fileOps": {
                    "read": preparation.file_ops.read,
                    "written": preparation.file_ops.modified,
                    "edited": [],
                },
                "settings": {
                    "enabled": preparation.settings.enabled,
                    "reserveTokens": preparation.settings.reserve_tokens,
                    "keepRecentTokens": preparation.settings.keep_recent_tokens,
                },
            },
            "branchEntries": self.branch,
            "reason": self.reason,
            "willRetry": self.will_retry,
        });
        if let Some(instructions) = &self.instructions {
            payload["customInstructions"] = json!(instructions);
        }
        payload
    }
}

/// Asks what becomes of a move to another place in the session tree.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BeforeTree {
    /// Entry that the user selected.
    pub target_id: String,
    /// Current entry before the move.
    pub old_leaf_id: Option<String>,
    /// Last entry that both branches share.
    pub common_ancestor_id: Option<String>,
    /// Entries of the branch that is left.
    pub entries_to_summarize: Arc<[Entry]>,
    /// The user wants the branch summarized.
    pub wants_summary: bool,
    /// Instructions of the user for the summary.
    pub instructions: Option<String>,
    /// The instructions replace the standard ones.
    pub replace_instructions: bool,
    /// Label for the place of arrival.
    pub label: Option<String>,
    /// Cancelled when the user aborts the move.
    pub cancel: CancelToken,
}

impl BeforeTree {
    pub(crate) fn new(target_id: &str, cancel: &CancelToken) -> Self {
        Self {
            target_id: target_id.to_owned(),
            old_leaf_id: None,
            common_ancestor_id: None,
            entries_to_summarize: Arc::from([]),
            wants_summary: false,
            instructions: None,
            replace_instructions: false,
            label: None,
            cancel: cancel.clone(),
        }
    }
}

/// Decision about a move in the session tree.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TreeDecision {
    /// The current entry stays.
    pub cancel: bool,
    /// Summary of the branch that is left.
    pub summary: Option<BranchSummaryText>,
    /// Instructions instead of those of the user.
    pub instructions: Option<String>,
    /// True if the instructions replace the standard ones.
    pub replace_instructions: Option<bool>,
    /// Label for the place of arrival.
    pub label: Option<String>,
}

/// A branch summary that an extension has written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BranchSummaryText {
    /// Text of the summary.
    pub summary: String,
    /// Data that is stored with the summary.
    pub details: Option<Value>,
    /// Tokens that writing the summary took.
    pub usage: Option<Usage>,
}

impl Ask for BeforeTree {
    type Answer = TreeDecision;
    // The extension may ask a model; the user can abort.
    const TIME_LIMIT: TimeLimit = TimeLimit::Unlimited;
    wrapping!(BeforeTree);

    fn merge(&mut self, combined: &mut TreeDecision, answer: TreeDecision) -> Flow {
        if answer == TreeDecision::default() {
            return Flow::Next;
        }
        let cancelled = answer.cancel;
        *combined = answer;
        if cancelled { Flow::Stop } else { Flow::Next }
    }

    fn payload(&self) -> Value {
        let mut preparation = json!({
            "targetId": self.target_id,
            "oldLeafId": self.old_leaf_id,
            "commonAncestorId": self.common_ancestor_id,
            "entriesToSummarize": self.entries_to_summarize,
            "userWantsSummary": self.wants_summary,
        });
        if let Some(instructions) = &self.instructions {
            preparation["customInstructions"] = json!(instructions);
            preparation["replaceInstructions"] = json!(self.replace_instructions);
        }
        if let Some(label) = &self.label {
            preparation["label"] = json!(label);
        }
        json!({ "preparation": preparation })
    }
}
