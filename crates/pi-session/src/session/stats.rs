//! Statistics of a session over all its branches.

use std::collections::{BTreeMap, HashMap};

use pi_protocol::{AgentMessage, ContextEdit, Entry, EntryBody, Message, Usage};
use serde::Serialize;
use serde_json::Value;

use super::Session;
use crate::SessionError;
use crate::cache_miss::CacheMiss;
use crate::compaction::{
    counted_since_compaction, counted_tokens, message_tokens, projected_tokens,
};
use crate::log::Kind;
use crate::projection;

/// Numbers of messages, tokens and US dollars over the entries of all branches. Tokens and cost
/// include summaries and other requests that produced no message.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
#[allow(missing_docs)] // The names are those of the messages and of RPC.
pub struct SessionStats {
    pub user_messages: u64,
    pub assistant_messages: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
    /// Messages of any role.
    pub total_messages: u64,
    /// System messages among them. Not part of the JSON object, which is that of RPC.
    #[serde(skip)]
    pub system_messages: u64,
    pub tokens: TokenTotals,
    #[serde(serialize_with = "pi_protocol::number::js::serialize")]
    pub cost: f64,
    /// Use of the prompt cache. Absent from the JSON object if no provider reported a cache.
    #[serde(skip_serializing_if = "CacheTotals::is_empty")]
    pub prompt_cache: CacheTotals,
}

/// Use of the prompt cache: answers whose prompt was read from it at least in part, and misses that
/// the session recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CacheTotals {
    /// Answers for which the provider counted input.
    pub requests: u64,
    /// Answers whose prompt was read from the cache at least in part.
    pub hits: u64,
    /// Recorded misses.
    pub misses: u64,
    /// Tokens of those misses.
    pub missed_tokens: u64,
    /// US dollars that hits would have saved.
    #[serde(serialize_with = "pi_protocol::number::js::serialize")]
    pub missed_cost: f64,
    /// Numbers of misses by reason.
    pub reasons: BTreeMap<&'static str, u64>,
}

impl CacheTotals {
    /// Returns true if nothing is known about a cache.
    pub fn is_empty(&self) -> bool {
        self.hits == 0 && self.misses == 0
    }

    fn add_miss(&mut self, miss: &CacheMiss) {
        self.misses += 1;
        self.missed_tokens = self.missed_tokens.saturating_add(miss.missed_tokens);
        self.missed_cost += miss.missed_cost;
        *self.reasons.entry(miss.reason.as_str()).or_default() += 1;
    }
}

/// Sums of tokens, as providers report them; `input` excludes tokens read from the cache.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
#[allow(missing_docs)] // The names are those of `Usage`.
pub struct TokenTotals {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// The sum of the other four.
    pub total: u64,
}

impl SessionStats {
    /// Adds an entry to the statistics.
    pub fn add(&mut self, entry: &Entry) {
        match &entry.body {
            EntryBody::Message(message) => {
                self.total_messages += 1;
                self.add_message(message);
            }
            custom @ EntryBody::Custom { .. } => {
                if let Some(miss) = CacheMiss::of(custom) {
                    self.prompt_cache.add_miss(&miss);
                }
            }
            EntryBody::Usage(body) => self.add_usage(Some(&body.usage)),
            EntryBody::Compaction(body) => self.add_usage(body.usage.as_ref()),
            EntryBody::BranchSummary(body) => self.add_usage(body.usage.as_ref()),
            _ => {}
        }
    }

    fn add_message(&mut self, message: &AgentMessage) {
        let AgentMessage::Llm(message) = message else { return };
        match message {
            Message::User(_) => self.user_messages += 1,
            Message::Assistant(assistant) => {
                self.assistant_messages += 1;
                self.tool_calls += assistant.tool_calls().count() as u64;
                self.add_usage(Some(&assistant.usage));
                if assistant.usage.total_input() > 0 {
                    self.prompt_cache.requests += 1;
                    self.prompt_cache.hits += u64::from(assistant.usage.cache_read > 0);
                }
            }
            Message::ToolResult(result) => {
                self.tool_results += 1;
                self.add_usage(result.usage.as_ref());
            }
            Message::System(_) => self.system_messages += 1,
        }
    }

    fn add_usage(&mut self, usage: Option<&Usage>) {
        let Some(usage) = usage else { return };
        let tokens = &mut self.tokens;
        tokens.input += usage.input;
        tokens.output += usage.output;
        tokens.cache_read += usage.cache_read;
        tokens.cache_write += usage.cache_write;
        tokens.total = tokens.input + tokens.output + tokens.cache_read + tokens.cache_write;
        self.cost += usage.cost.total;
    }
}

impl Session {
    /// Returns the size of the context in tokens. `None` after a compaction, until a provider has
    /// counted again: earlier counts refer to another context.
    pub fn context_tokens(&mut self) -> Result<Option<u64>, SessionError> {
        if let Some(tokens) = self.counted_at_end()? {
            return Ok(Some(tokens));
        }
        let entries = self.projection()?;
        let compacted = entries
            .first()
            .is_some_and(|first| matches!(first.entry.body, EntryBody::Compaction(_)));
        let known = !compacted || counted_since_compaction(&entries);
        Ok(known.then(|| projected_tokens(&entries).tokens))
    }

    /// Returns the last count of a provider and an estimate of what follows it. Reads from the end,
    /// so the cost does not depend on the length of the session. `None` if there is no count, or
    /// what was counted has changed since.
    fn counted_at_end(&self) -> Result<Option<u64>, SessionError> {
        let mut reader = self.log.reader();
        let mut later: u64 = 0;
        // Edits of entries that are still to come on the way back, the last one of each.
        let mut edits: HashMap<String, ContextEdit> = HashMap::new();
        for index in self.tree.walk_up(self.leaf) {
            match self.tree.node(index).kind {
                Kind::Compaction => return Ok(None),
                Kind::Message(_)
                | Kind::BranchSummary
                | Kind::CustomMessage
                | Kind::ContextEdit => {}
                _ => continue,
            }
            let entry = match self.read_entry(&mut reader, index) {
                Err(SessionError::Damaged { .. }) => return Ok(None),
                entry => entry?,
            };
            if let EntryBody::ContextEdit(edit) = entry.body {
                edits.entry(edit.target_id.clone()).or_insert(edit);
                continue;
            }
            let edit = edits.remove(&entry.id);
            for message in projection::messages(&entry, edit.as_ref()).iter().rev() {
                if let Some(counted) = message.as_assistant().and_then(|one| counted_tokens(one)) {
                    let is_valid = edits.is_empty() && edit.is_none();
                    return Ok(is_valid.then_some(counted.saturating_add(later)));
                }
                later = later.saturating_add(message_tokens(message));
            }
        }
        Ok(None)
    }

    /// Returns the data of the last custom entry of a type on the current branch that `is_wanted`
    /// accepts. Reads only custom entries, from the end.
    pub fn last_custom(
        &self,
        wanted_type: &str,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Result<Option<Value>, SessionError> {
        let mut reader = self.log.reader();
        for index in self.tree.walk_up(self.leaf) {
            if self.tree.node(index).kind != Kind::Custom {
                continue;
            }
            let entry = match self.read_entry(&mut reader, index) {
                Err(SessionError::Damaged { .. }) => continue,
                entry => entry?,
            };
            if let EntryBody::Custom { custom_type, data: Some(data) } = entry.body
                && custom_type == wanted_type
                && is_wanted(&data)
            {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    /// Returns the recorded misses of the prompt cache, oldest first. Reads all entries.
    pub fn cache_misses(&self) -> Vec<CacheMiss> {
        let entries = self.entries().filter_map(Result::ok);
        entries.filter_map(|entry| CacheMiss::of(&entry.body)).collect()
    }

    /// Returns the statistics of the session. Reads all entries.
    pub fn stats(&self) -> Result<SessionStats, SessionError> {
        self.stats_since(0)
    }

    /// Returns the statistics of the entries from an index on, in file order. Reads no others.
    pub fn stats_since(&self, first: usize) -> Result<SessionStats, SessionError> {
        let mut stats = SessionStats::default();
        let mut reader = self.log.reader();
        for index in self.tree.indices().skip(first) {
            if self.tree.node(index).damaged {
                continue;
            }
            match self.read_entry(&mut reader, index) {
                Ok(entry) => stats.add(&entry),
                // Damaged entries are not counted; `verify` reports them.
                Err(SessionError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(stats)
    }
}
