//! Compares consecutive prompts, to tell why a prompt was not in the provider's cache.
//!
//! A provider caches the beginning of a prompt: the system prompt, the tools and the messages up to
//! the first that differs. Each message is hashed once, when it is first sent. A request costs what
//! its new messages cost, however long the session is: earlier ones are recognized by their address.
//!
//! Pure: the clock is an argument. Nothing is said about requests whose provider reports no cache.

use std::hash::{DefaultHasher, Hasher as _};
use std::io;
use std::sync::Arc;

use pi_protocol::{
    AssistantMessage, CacheRetention, Context, History, Message, Model, Request, ThinkingLevel,
    Usage,
};
use pi_session::{CacheMiss, MissReason};

/// Fewest tokens that count as a miss. Providers cache in steps, and no prompt below this size.
const SMALLEST_MISS: u64 = 1024;

/// Lifetime of a cached prompt if the model's record has none.
const USUAL_LIFETIME_MS: f64 = 5.0 * 60.0 * 1000.0;

/// The prompts of a session: the last one that was answered, and the one that is being answered.
#[derive(Debug, Default)]
pub(super) struct CacheHealth {
    answered: Option<Answered>,
    sent: Option<Sent>,
}

/// A prompt that was sent.
#[derive(Debug, Clone)]
struct Sent {
    model: Arc<Model>,
    level: Option<ThinkingLevel>,
    messages: History<Message>,
    /// One for the prompt and the tools of the context, then one for each message.
    marks: History<Mark>,
    is_cached: bool,
    lifetime_ms: f64,
    at_ms: f64,
}

/// A prompt with the token counts of its answer.
#[derive(Debug)]
struct Answered {
    prompt: Sent,
    usage: Usage,
    /// Time of the last request that used the cache.
    used_at_ms: f64,
    /// The provider has reported tokens read from the cache.
    has_read: bool,
    /// The prompt is taken from the messages of the next one, as after a restart. It is not known
    /// whether it was sent like that.
    is_reconstructed: bool,
}

/// The hash of a message, or of a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    System { text: u64, tools: u64 },
    Other(u64),
}

impl CacheHealth {
    /// Notes that a prompt is sent.
    pub(super) fn sent(&mut self, request: &Request, now_ms: f64) {
        let Request { model, context, options, .. } = request;
        let known = self.answered.as_ref().map(|answered| &answered.prompt);
        let marks = marks(context, known);
        let lifetime =
            model.prompt_cache.as_ref().and_then(|cache| match options.cache_retention {
                Some(CacheRetention::Long) => cache.long,
                _ => cache.short,
            });
        self.sent = Some(Sent {
            model: Arc::clone(model),
            level: options.reasoning.filter(|level| *level != ThinkingLevel::Off),
            messages: context.messages.clone(),
            marks,
            is_cached: options.cache_retention != Some(CacheRetention::None),
            lifetime_ms: lifetime.map_or(USUAL_LIFETIME_MS, |seconds| seconds as f64 * 1000.0),
            at_ms: now_ms,
        });
    }

    /// Notes that a request kept the cached prompt alive.
    pub(super) fn refreshed(&mut self, now_ms: f64) {
        if let Some(answered) = &mut self.answered {
            answered.used_at_ms = now_ms;
        }
    }

    /// Compares the prompt that was answered with the one before. Returns the miss that the answer
    /// paid for, if there was one.
    pub(super) fn answered(&mut self, answer: &AssistantMessage) -> Option<CacheMiss> {
        let prompt = self.sent.take()?;
        let usage = answer.usage.clone();
        // The request failed before the provider counted; the next one is compared instead.
        if usage.total_input() == 0 {
            return None;
        }
        let previous = self.answered.take().or_else(|| recorded(&prompt));
        let is_reconstructed = previous.as_ref().is_some_and(|one| one.is_reconstructed);
        let has_read = usage.cache_read > 0
            || previous
                .as_ref()
                .is_some_and(|one| one.has_read && is_same_model(&one.prompt.model, &prompt.model));
        let miss = previous.and_then(|previous| compare(&previous, &prompt, &usage));
        // Without the prompt itself, only a reason that can be told is worth a record.
        let miss = miss.filter(|miss| !is_reconstructed || miss.reason != MissReason::Unknown);
        let used_at_ms = prompt.at_ms;
        let is_reconstructed = false;
        self.answered = Some(Answered { prompt, usage, used_at_ms, has_read, is_reconstructed });
        miss
    }
}

/// Returns the last answer in a prompt, with the messages before it as its prompt.
fn recorded(prompt: &Sent) -> Option<Answered> {
    let messages = prompt.messages.iter().rev().enumerate();
    let (after, answer) = messages.into_iter().find_map(|(after, message)| match message {
        Message::Assistant(answer) if answer.usage.total_input() > 0 => Some((after, answer)),
        _ => None,
    })?;
    let before = prompt.marks.len().saturating_sub(after + 1);
    let model = Model {
        id: answer.model.clone(),
        provider: answer.provider.clone(),
        // Prices and lifetimes of a cache are those of the present model, if it is the same.
        ..(*prompt.model).clone()
    };
    let earlier = Sent {
        model: Arc::new(model),
        marks: prompt.marks.iter().take(before).copied().collect(),
        at_ms: answer.timestamp,
        ..prompt.clone()
    };
    let has_read = answer.usage.cache_read > 0;
    let usage = answer.usage.clone();
    let used_at_ms = answer.timestamp;
    Some(Answered { prompt: earlier, usage, used_at_ms, has_read, is_reconstructed: true })
}

fn compare(previous: &Answered, prompt: &Sent, usage: &Usage) -> Option<CacheMiss> {
    if !previous.prompt.is_cached || !prompt.is_cached {
        return None;
    }
    let expected = cached_tokens(previous).min(usage.total_input());
    let missed = expected.saturating_sub(usage.cache_read);
    if missed < SMALLEST_MISS || missed < expected / 10 {
        return None;
    }
    let idle_ms = (prompt.at_ms - previous.used_at_ms).max(0.0);
    let reason = if !is_same_model(&previous.prompt.model, &prompt.model) {
        MissReason::ModelChanged
    } else if let Some(changed) = first_change(&previous.prompt, prompt) {
        changed
    } else if idle_ms > previous.prompt.lifetime_ms {
        MissReason::Expired
    } else if previous.prompt.level != prompt.level {
        MissReason::ThinkingChanged
    } else {
        MissReason::Unknown
    };
    let rate = prompt.model.cost.rate_for(usage.total_input());
    let paid = if usage.cache_write > 0 { rate.cache_write } else { rate.input };
    let cost = (paid - rate.cache_read).max(0.0) / 1e6 * missed as f64;
    Some(CacheMiss::new(reason, missed, cost, idle_ms))
}

/// Returns the number of tokens that the provider has in its cache after an answer.
fn cached_tokens(answered: &Answered) -> u64 {
    let usage = &answered.usage;
    let cost = &answered.prompt.model.cost;
    let reported = usage.cache_read.saturating_add(usage.cache_write);
    if usage.cache_write > 0 || cost.cache_write > 0.0 {
        // The provider reports what it writes; below its minimum that is nothing.
        reported
    } else if cost.cache_read > 0.0 || answered.has_read {
        usage.total_input()
    } else {
        0
    }
}

fn is_same_model(a: &Model, b: &Model) -> bool {
    a.provider == b.provider && a.id == b.id
}

/// Returns the first difference of a prompt to the beginning of the next one.
fn first_change(previous: &Sent, prompt: &Sent) -> Option<MissReason> {
    let same = previous.marks.shared_with(&prompt.marks);
    let before = previous.marks.iter_from(same);
    let mut after = prompt.marks.iter_from(same);
    for (index, old) in (same..).zip(before) {
        match (old, after.next()) {
            (old, Some(new)) if old == new => {}
            (Mark::System { tools, .. }, Some(Mark::System { tools: new, .. })) => {
                return Some(if tools == new {
                    MissReason::SystemPromptChanged
                } else {
                    MissReason::ToolsChanged
                });
            }
            // The first mark belongs to no message.
            _ => return Some(MissReason::PrefixChanged { message: index.max(1) as u64 }),
        }
    }
    // Instructions and tools of a later message may be sent at the beginning of the prompt.
    let none = hash(|_| Ok(()));
    let mut declared = after.filter_map(|mark| match mark {
        Mark::System { tools, .. } if *tools != none => Some(MissReason::ToolsChanged),
        Mark::System { .. } => Some(MissReason::SystemPromptChanged),
        Mark::Other(_) => None,
    });
    declared.next()
}

/// Returns the marks of a context. Those of messages that were part of the known prompt are taken
/// over.
fn marks(context: &Context, known: Option<&Sent>) -> History<Mark> {
    let front = mark_of_front(context);
    let reusable = known.filter(|known| known.marks.first() == Some(&front));
    let Some(known) = reusable else {
        return std::iter::once(front).chain(context.messages.iter().map(mark)).collect();
    };
    let shared = known.messages.shared_with(&context.messages);
    let mut old = known.messages.iter_from(shared).zip(known.marks.iter_from(shared + 1));
    let mut new = context.messages.iter_from(shared).peekable();
    let mut same = shared;
    let mut changed = None;
    while let (Some((message, mark)), Some(next)) = (old.next(), new.peek()) {
        let found = if is_same(message, next) { *mark } else { self::mark(next) };
        if found != *mark {
            changed = Some(found);
            new.next();
            break;
        }
        same += 1;
        new.next();
    }
    // The marks of a prompt that is continued are shared; only a changed one is built anew.
    let mut marks: History<Mark> = if same + 1 == known.marks.len() {
        known.marks.clone()
    } else {
        known.marks.iter().take(same + 1).copied().collect()
    };
    marks.extend(changed);
    marks.extend(new.map(mark));
    marks
}

fn mark_of_front(context: &Context) -> Mark {
    let text = hash(|out| {
        io::Write::write_all(out, context.system_prompt.as_deref().unwrap_or_default().as_bytes())
    });
    let tools = if context.tools.is_empty() {
        hash(|_| Ok(()))
    } else {
        hash(|out| serde_json::to_writer(out, &context.tools).map_err(Into::into))
    };
    Mark::System { text, tools }
}

fn is_same(a: &Message, b: &Message) -> bool {
    match (a, b) {
        (Message::System(a), Message::System(b)) => Arc::ptr_eq(a, b),
        (Message::User(a), Message::User(b)) => Arc::ptr_eq(a, b),
        (Message::Assistant(a), Message::Assistant(b)) => Arc::ptr_eq(a, b),
        (Message::ToolResult(a), Message::ToolResult(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

fn mark(message: &Message) -> Mark {
    let Message::System(system) = message else {
        return Mark::Other(hash(|out| serde_json::to_writer(out, message).map_err(Into::into)));
    };
    let text = hash(|out| {
        serde_json::to_writer(out, &(&system.content, &system.sections)).map_err(Into::into)
    });
    let tools = if system.tools_added.is_empty() && system.tools_removed.is_empty() {
        hash(|_| Ok(()))
    } else {
        let tools = (&system.tools_added, &system.tools_removed);
        hash(|out| serde_json::to_writer(out, &tools).map_err(Into::into))
    };
    Mark::System { text, tools }
}

/// Hashes what `write` writes.
fn hash(write: impl FnOnce(&mut Hashing) -> io::Result<()>) -> u64 {
    let mut hashing = Hashing(DefaultHasher::new());
    // Writing into a hash cannot fail, and a message that cannot be written never changes.
    let _ = write(&mut hashing);
    hashing.0.finish()
}

struct Hashing(DefaultHasher);

impl io::Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
