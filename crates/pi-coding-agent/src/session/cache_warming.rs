//! Keeps the cached prompt of a provider alive.
//!
//! A provider forgets a prompt after some minutes. If a tool or the user takes longer, the next
//! request pays for the whole prompt again. So the last request is repeated shortly before, with
//! one token of output, as long as that is clearly cheaper than the loss of the cache.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_config::settings::CacheWarmingMode;
use pi_protocol::{
    AssistantStream, CacheRetention, CancelToken, Model, Provider, Request, ThinkingLevel, Usage,
    UsageRecord, complete, now_ms,
};
use serde_json::Value;

use super::last_answer;
use super::{AgentSession, WeakAgentSession, lock};
use crate::extension::{CacheWarming, QuestionKind, Warming};

/// Smallest time between a refresh and the end of the cache.
const MARGIN: Duration = Duration::from_secs(10);

/// Time after a request during which its prompt is kept while a run works.
const LONGEST_RUN: Duration = Duration::from_secs(60 * 60);

/// Time after a request during which its prompt is kept between runs.
const LONGEST_IDLE: Duration = Duration::from_secs(30 * 60);

/// Expected savings from which on a refresh is worth it, in US dollars.
const MINIMUM_SAVINGS: f64 = 0.05;

/// Assumed probability that the user continues before the cache expires.
const IDLE_CONTINUATION: f64 = 0.15;

/// The cached prompt of a session: that of its last request.
pub(super) struct CacheWarmer {
    session: WeakAgentSession,
    current: Mutex<Option<Prompt>>,
}

/// A prompt that is kept.
#[derive(Clone, Default)]
struct Prompt {
    cancel: CancelToken,
    /// The run that sent the prompt is over.
    idle: Arc<AtomicBool>,
}

/// A provider whose prompts are kept alive.
pub(super) struct WarmedProvider {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) warmer: Arc<CacheWarmer>,
}

impl Provider for WarmedProvider {
    fn stream(&self, request: Request, cancel: CancelToken) -> AssistantStream {
        self.warmer.start(&request);
        if let Some(session) = self.warmer.session.upgrade() {
            lock(&session.0.cache_health).sent(&request, now_ms());
        }
        self.provider.stream(request, cancel)
    }
}

impl CacheWarmer {
    /// Creates the warmer of a session.
    pub(super) fn new(session: WeakAgentSession) -> Self {
        Self { session, current: Mutex::default() }
    }

    /// Keeps the prompt of this request instead of an earlier one.
    fn start(&self, request: &Request) {
        self.stop();
        let Some(session) = self.session.upgrade() else { return };
        let Some(lifetime) = lifetime(request) else { return };
        let Some(delay) = refresh_delay(lifetime) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if session.settings().cache_warming == CacheWarmingMode::Off {
            return;
        }
        let prompt = Prompt::default();
        *lock(&self.current) = Some(prompt.clone());
        runtime.spawn(keep(self.session.clone(), request.clone(), prompt, lifetime, delay));
    }

    /// Lets the cache expire.
    pub(super) fn stop(&self) {
        if let Some(prompt) = lock(&self.current).take() {
            prompt.cancel.cancel();
        }
    }

    /// The run is over: the cache expires, unless it is kept between runs.
    pub(super) fn run_ended(&self, mode: CacheWarmingMode) {
        if mode != CacheWarmingMode::Idle {
            self.stop();
        } else if let Some(prompt) = &*lock(&self.current) {
            prompt.idle.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for CacheWarmer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns the lifetime of the cached prompt of a request; `None` if it is unknown, or if a request
/// for one token would have another prompt.
fn lifetime(request: &Request) -> Option<Duration> {
    let model = &request.model;
    let cached = model.prompt_cache.as_ref()?;
    let seconds = match request.options.cache_retention {
        None | Some(CacheRetention::Short) => cached.short,
        Some(CacheRetention::Long) => cached.long,
        Some(CacheRetention::None) => None,
    };
    let thinks = request.options.reasoning.is_some_and(|level| level != ThinkingLevel::Off);
    // A thinking budget is a part of the output limit.
    let budgeted = model.api == "anthropic-messages"
        && model.compat.get("forceAdaptiveThinking") != Some(&Value::Bool(true));
    if thinks && budgeted { None } else { seconds.map(Duration::from_secs) }
}

/// Returns the time after which a prompt of this lifetime is refreshed.
fn refresh_delay(lifetime: Duration) -> Option<Duration> {
    let latest = lifetime.checked_sub(MARGIN).filter(|latest| !latest.is_zero())?;
    Some(latest.min(lifetime.mul_f64(0.9)))
}

/// Refreshes the prompt until that does not pay, or the prompt is given up.
async fn keep(
    this: WeakAgentSession,
    request: Request,
    prompt: Prompt,
    lifetime: Duration,
    delay: Duration,
) {
    let started = now_ms();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    let slack = milliseconds((lifetime - delay) / 2);
    loop {
        let due = now_ms() + milliseconds(delay);
        let idle = || prompt.idle.load(Ordering::Relaxed);
        let longest = || milliseconds(if idle() { LONGEST_IDLE } else { LONGEST_RUN });
        if due > started + longest()
            || tokio::time::timeout(delay, prompt.cancel.cancelled()).await.is_ok()
        {
            return;
        }
        // By the clock: the machine may have slept longer than the cache lived.
        if now_ms() > due + slack || now_ms() > started + longest() {
            return;
        }
        let Some(session) = this.upgrade() else { return };
        if !session.refresh_prompt(&request, &prompt.cancel, idle()).await {
            return;
        }
    }
}

impl AgentSession {
    /// Lets the cached prompt expire.
    pub(crate) fn stop_cache_warming(&self) {
        self.0.warmer.stop();
    }

    /// Sends a request again for one token, if that pays. Returns false if it does not.
    async fn refresh_prompt(&self, request: &Request, cancel: &CancelToken, idle: bool) -> bool {
        let mode = self.settings().cache_warming;
        let wanted = match mode {
            CacheWarmingMode::Off => false,
            CacheWarmingMode::Streaming => !idle,
            CacheWarmingMode::Idle => true,
        };
        let same = |model: Arc<Model>| {
            model.provider == request.model.provider && model.id == request.model.id
        };
        let model = self.routed_model().map(|(model, _)| model).or_else(|| self.model());
        if !wanted || !model.is_some_and(same) {
            return false;
        }
        let messages = self.0.agent.messages();
        let prompt_tokens =
            last_answer(messages.iter()).map_or(0, |answer| answer.usage.total_input());
        let planned = decision(&request.model, prompt_tokens, idle);
        let mut action = planned.action;
        if self.is_answered(QuestionKind::CacheWarming) {
            action = self.ask(planned).await.question.action;
        }
        if action == Warming::Stop || cancel.is_cancelled() {
            return false;
        }
        let mut request = request.clone();
        request.options.max_tokens = Some(1);
        request.options.retry.max_retries = 0;
        let answer = complete(&*self.0.provider, request, cancel.child()).await;
        if cancel.is_cancelled() {
            return false;
        }
        if answer.stop_reason.is_failure() {
            // The cache may still be there at the next time.
            return true;
        }
        lock(&self.0.cache_health).refreshed(now_ms());
        let model = answer.response_model.as_ref().unwrap_or(&answer.model);
        let appended = self.log().append_usage(UsageRecord {
            kind: "cache_warm".to_owned(),
            provider: answer.provider.clone(),
            model: model.clone(),
            usage: answer.usage.clone(),
            note: (action != planned.action).then(|| "extension override".to_owned()),
        });
        let emitted = match appended {
            Ok(id) => self.entry_appended(&id).await.map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = &emitted {
            self.warn(format!("The cost of keeping the prompt cache was not recorded: {error}"));
        }
        emitted.is_ok()
    }
}

/// Compares the costs of a refresh and of a lost cache.
fn decision(model: &Model, prompt_tokens: u64, idle: bool) -> CacheWarming {
    let price = |usage: Usage| {
        let mut usage = usage;
        usage.price(&model.cost);
        usage.cost.total
    };
    let hit = Usage { cache_read: prompt_tokens, ..Usage::default() };
    let miss = if model.cost.cache_write > 0.0 {
        Usage { cache_write: prompt_tokens, ..Usage::default() }
    } else {
        Usage { input: prompt_tokens, ..Usage::default() }
    };
    let warm_cost = price(Usage { output: 1, ..hit.clone() });
    let miss_cost = (price(miss) - price(hit)).max(0.0);
    let continuation_probability = if idle { IDLE_CONTINUATION } else { 1.0 };
    let savings = continuation_probability * miss_cost - warm_cost;
    let action = if savings >= MINIMUM_SAVINGS { Warming::Warm } else { Warming::Stop };
    CacheWarming { warm_cost, miss_cost, continuation_probability, action }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(fields: &Value) -> Model {
        let mut model = serde_json::json!({
            "id": "m", "provider": "p", "api": "anthropic-messages", "reasoning": true,
            "promptCache": {"short": 300, "long": 3600},
            "cost": {"input": 5, "output": 25, "cacheRead": 0.5, "cacheWrite": 6.25},
        });
        let changes = fields.as_object().cloned().unwrap_or_default();
        model.as_object_mut().into_iter().for_each(|model| model.extend(changes.clone()));
        serde_json::from_value(model).unwrap_or_default()
    }

    #[test]
    fn a_prompt_is_refreshed_shortly_before_its_end() {
        let seconds = |lifetime| {
            refresh_delay(Duration::from_secs(lifetime)).map(|delay| delay.as_secs_f64())
        };
        for (lifetime, delay) in [
            (300, Some(270.0)),
            (3600, Some(3240.0)),
            (60, Some(50.0)),
            (12, Some(2.0)),
            (10, None),
            (0, None),
        ] {
            assert_eq!(seconds(lifetime), delay, "{lifetime}");
        }
    }

    #[test]
    fn only_prompts_that_can_be_repeated_are_kept() {
        let adaptive = serde_json::json!({"compat": {"forceAdaptiveThinking": true}});
        let none = serde_json::json!({});
        let (short, long) = (Some(CacheRetention::Short), Some(CacheRetention::Long));
        let high = Some(ThinkingLevel::High);
        for (fields, retention, level, expected) in [
            (&none, None, None, Some(300)),
            (&none, short, None, Some(300)),
            (&none, long, None, Some(3600)),
            (&none, Some(CacheRetention::None), None, None),
            (&none, None, Some(ThinkingLevel::Off), Some(300)),
            (&none, None, high, None),
            (&adaptive, None, high, Some(300)),
            (&serde_json::json!({"api": "openai-responses"}), None, high, Some(300)),
            (&serde_json::json!({"promptCache": null}), None, None, None),
        ] {
            let mut request = Request::new(
                Arc::new(model(fields)),
                pi_protocol::Context::default(),
                pi_protocol::StreamOptions::default(),
            );
            request.options.cache_retention = retention;
            request.options.reasoning = level;
            let seconds = lifetime(&request).map(|lifetime| lifetime.as_secs());
            assert_eq!(seconds, expected, "{fields} {retention:?} {level:?}");
        }
    }

    #[test]
    fn a_refresh_must_save_five_cents() {
        for (tokens, idle, expected) in [
            (0, false, Warming::Stop),
            (9_000, false, Warming::Stop),
            (10_000, false, Warming::Warm),
            (10_000, true, Warming::Stop),
            (200_000, true, Warming::Warm),
        ] {
            let decision = decision(&model(&serde_json::json!({})), tokens, idle);
            assert_eq!(decision.action, expected, "{tokens} {decision:?}");
        }
        let free = model(
            &serde_json::json!({"cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}),
        );
        assert_eq!(decision(&free, 1_000_000, false).action, Warming::Stop);
    }
}
