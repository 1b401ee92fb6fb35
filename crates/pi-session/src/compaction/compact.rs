//! A compaction from end to end: request a summary, check it, request one repair, add what it lost,
//! or fall back to a summary without a model.

use pi_protocol::{AgentMessage, Compaction, Usage};
use serde::{Deserialize, Serialize};

use super::summarize::record;
use super::verify::{self, Expectations, FactSources, Facts, Finding, PREFIX_SECTIONS, SECTIONS};
use super::{
    CompactionPreparation, FileLists, Summarizer, SummaryError, mechanical, message_tokens,
    prompts, restore, text_tokens,
};
use crate::{EffectsResolver, SessionError};

/// The origin of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum SummaryStatus {
    /// Written by the model and unchanged.
    Passed,
    /// Written by the model after one request for repair.
    Repaired,
    /// Written by the model, with lost facts added verbatim.
    Restored,
    /// Written from the log, because no text of the model could be used.
    Mechanical,
}

/// The result of checking a summary, stored with the compaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Verification {
    /// The origin of the summary.
    pub status: SummaryStatus,
    /// Number of requests to the model.
    pub attempts: u32,
    /// Defects of the first draft.
    pub findings: Vec<Finding>,
    /// Defects of the last draft, whose facts were added.
    pub restored: Vec<Finding>,
    /// Facts to carry over, in this compaction and the next one.
    pub facts: Facts,
    /// Size of what was replaced, in tokens.
    pub replaced_tokens: u64,
    /// Size of the summary, in tokens.
    pub summary_tokens: u64,
}

/// The `details` of a compaction entry: those of the TypeScript pi, and the verification.
#[derive(Serialize)]
struct Details<'a> {
    #[serde(flatten)]
    files: &'a FileLists,
    verification: &'a Verification,
}

/// A plan of a compaction: what to summarize, what to keep and what to hide.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CompactionPlan {
    /// The preparation that a model summarizes.
    pub preparation: CompactionPreparation,
    /// A preparation that keeps more, for a summary that no model wrote.
    pub fallback: Option<CompactionPreparation>,
    /// Ids of entries to remove from the context before the compaction is appended.
    pub omit: Vec<String>,
}

/// The result of [`compact`], ready to be appended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CompactionOutcome {
    /// The compaction. [`Session::append_compaction`](crate::Session::append_compaction) adds the
    /// system message.
    pub compaction: Compaction,
    /// Estimated size of the context after the compaction, in tokens.
    pub tokens_after: u64,
    /// The result of checking the summary, which is also in `compaction.details`.
    pub verification: Verification,
}

/// An error that prevents a compaction. The context is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactionError {
    /// The last entry is a compaction.
    #[error("Already compacted")]
    AlreadyCompacted,
    /// Every entry would be kept.
    #[error("Nothing to compact (session too small)")]
    NothingToCompact,
    /// The request for a summary failed.
    #[error(transparent)]
    Summary(#[from] SummaryError),
    /// No summary is smaller than what it would replace.
    #[error(
        "too little to compact: the summary has {summary} tokens, and the messages it replaces {replaced}"
    )]
    DoesNotShrink {
        /// Size of the shortest summary, in tokens.
        summary: u64,
        /// Size of what the summary would replace, in tokens.
        replaced: u64,
    },
    /// The session cannot be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Compacts as planned. The fallback of the plan is used if no summary passes the checks.
pub async fn compact(
    summarizer: &Summarizer<'_>,
    plan: &CompactionPlan,
    custom_instructions: Option<&str>,
) -> Result<CompactionOutcome, CompactionError> {
    let preparation = &plan.preparation;
    let task = Task::new(preparation, &summarizer.effects);
    let mut attempts = 1;
    let draft = Draft::take(summarizer.summarize(preparation, custom_instructions).await, &task)?;
    let findings = draft.findings.clone();
    let mut usage = draft.usage.clone();
    let mut best = draft;
    if !best.findings.is_empty() {
        attempts += 1;
        let question = task.repair_request(summarizer, &best, custom_instructions);
        let repaired = summarizer.ask("Summary repair", question).await;
        match Draft::take(repaired, &task) {
            Ok(repaired) => {
                usage += &repaired.usage;
                best = best.better_of(repaired);
            }
            Err(error @ SummaryError::Aborted { .. }) => return Err(error.into()),
            // The first draft can still be used.
            Err(_) => {}
        }
    }
    let verdict = |status, restored, facts, replaced_tokens, summary_tokens| Verification {
        status,
        attempts,
        findings: findings.clone(),
        restored,
        facts,
        replaced_tokens,
        summary_tokens,
    };
    if let Some((text, restored)) = task.usable(&best) {
        let lost = restored.iter().any(|finding| !matches!(finding, Finding::MissingFile { .. }));
        let status = match (lost, attempts) {
            (true, _) => SummaryStatus::Restored,
            (false, 1) => SummaryStatus::Passed,
            (false, _) => SummaryStatus::Repaired,
        };
        let tokens = text_tokens(&text);
        let verdict = verdict(status, restored, task.facts.clone(), task.replaced_tokens, tokens);
        return task.finish(text, usage, verdict);
    }
    let mut shortest = CompactionError::DoesNotShrink { summary: 0, replaced: 0 };
    for fallback in plan
        .fallback
        .as_ref()
        .map(|preparation| Task::new(preparation, &summarizer.effects))
        .into_iter()
        .chain([task])
    {
        let (facts, replaced) = (fallback.facts.clone(), fallback.replaced_tokens);
        let text = mechanical::summarize(fallback.preparation, &facts, replaced);
        let tokens = text_tokens(&text);
        if tokens < replaced {
            let verdict = verdict(SummaryStatus::Mechanical, Vec::new(), facts, replaced, tokens);
            return fallback.finish(text, usage, verdict);
        }
        shortest = CompactionError::DoesNotShrink { summary: tokens, replaced };
    }
    Err(shortest)
}

/// A preparation and the expectations on its summary.
struct Task<'a> {
    preparation: &'a CompactionPreparation,
    facts: Facts,
    files: FileLists,
    sections: Vec<&'static str>,
    replaced_tokens: u64,
}

impl<'a> Task<'a> {
    fn new(preparation: &'a CompactionPreparation, effects: &EffectsResolver) -> Self {
        let replaced: Vec<AgentMessage> =
            preparation.to_summarize.iter().chain(&preparation.turn_prefix).cloned().collect();
        let files = preparation.file_ops.lists();
        let previous_summary = preparation.previous_summary.as_deref();
        let facts = Facts::extract(&FactSources {
            replaced: &replaced,
            kept: &preparation.kept,
            modified_files: &files.modified,
            previous_summary,
            previous: preparation.previous_facts.as_ref(),
            effects,
        });
        let mut sections = Vec::new();
        if !preparation.to_summarize.is_empty() {
            sections.extend(SECTIONS);
        }
        if preparation.is_split_turn {
            sections.extend(PREFIX_SECTIONS);
        }
        let replaced_tokens = replaced.iter().map(message_tokens).sum::<u64>()
            + previous_summary.map_or(0, text_tokens);
        Self { preparation, facts, files, sections, replaced_tokens }
    }

    fn check(&self, text: &str) -> Vec<Finding> {
        let expected = Expectations {
            facts: &self.facts,
            sections: &self.sections,
            replaced_tokens: self.replaced_tokens,
        };
        verify::check(text, &expected)
    }

    /// Returns the text to store, with the facts it lost, and those; `None` if it cannot be used.
    fn usable(&self, draft: &Draft) -> Option<(String, Vec<Finding>)> {
        if draft.findings.iter().any(Finding::is_fatal) {
            return None;
        }
        let text = restore::restore(&draft.text, &draft.findings);
        (text_tokens(&text) < self.replaced_tokens).then(|| (text, draft.findings.clone()))
    }

    fn repair_request(
        &self,
        summarizer: &Summarizer<'_>,
        draft: &Draft,
        focus: Option<&str>,
    ) -> String {
        let messages: Vec<AgentMessage> = self
            .preparation
            .to_summarize
            .iter()
            .chain(&self.preparation.turn_prefix)
            .cloned()
            .collect();
        let previous = self.preparation.previous_summary.as_deref();
        let problems = draft.findings.iter().map(Finding::to_string).collect::<Vec<_>>();
        let others = [previous.unwrap_or_default(), &draft.text, &problems.concat()].concat();
        let record = summarizer.fit(&record(&messages), &others);
        prompts::repair(&record, previous, &draft.text, &problems, &self.sections, focus)
    }

    fn finish(
        self,
        text: String,
        usage: Usage,
        verification: Verification,
    ) -> Result<CompactionOutcome, CompactionError> {
        let summary = text + &self.files.to_tags();
        let before = self.preparation.tokens_before;
        let tokens_after = before.saturating_sub(self.replaced_tokens) + text_tokens(&summary);
        let details = Details { files: &self.files, verification: &verification };
        let compaction = Compaction {
            summary,
            first_kept_entry_id: self.preparation.first_kept.clone(),
            tokens_before: before as f64,
            details: Some(serde_json::to_value(details).map_err(SessionError::from)?),
            usage: Some(usage),
            from_hook: Some(false),
            system_message: None,
        };
        Ok(CompactionOutcome { compaction, tokens_after, verification })
    }
}

/// A text of the model, and its defects.
struct Draft {
    text: String,
    usage: Usage,
    findings: Vec<Finding>,
}

impl Draft {
    /// Turns an answer into a draft. An answer that is not a summary has a fatal finding; a failed
    /// request is an error.
    fn take(
        answer: Result<super::SummaryText, SummaryError>,
        task: &Task<'_>,
    ) -> Result<Self, SummaryError> {
        let unusable = |finding| Self {
            text: String::new(),
            usage: Usage::default(),
            findings: vec![finding],
        };
        match answer {
            Ok(summary) => {
                let findings = task.check(&summary.text);
                Ok(Self { text: summary.text, usage: summary.usage, findings })
            }
            Err(SummaryError::CalledTool { .. }) => Ok(unusable(Finding::ToolCall)),
            Err(SummaryError::Empty { .. }) => Ok(unusable(Finding::Empty)),
            Err(SummaryError::Incomplete { .. }) => {
                let sign = "the output limit was reached".to_owned();
                Ok(unusable(Finding::Truncated { sign }))
            }
            Err(error) => Err(error),
        }
    }

    fn better_of(self, other: Self) -> Self {
        let badness = |draft: &Self| {
            let fatal = draft.findings.iter().filter(|finding| finding.is_fatal()).count();
            (fatal, draft.findings.len())
        };
        if badness(&other) <= badness(&self) { other } else { self }
    }
}
