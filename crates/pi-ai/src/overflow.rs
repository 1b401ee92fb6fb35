//! Detection of answers that failed because the conversation exceeds the context window.
//!
//! Providers report this only in English prose. A false positive compacts a conversation for
//! nothing, a false negative leaves the user stuck, so each pattern is as tight as its source allows.

use std::sync::LazyLock;

use pi_protocol::{AssistantMessage, StopReason};
use regex_lite::{Regex, RegexBuilder};

/// Errors of rate limits, which may mention tokens.
const NOT_OVERFLOW: &[&str] =
    &["^(Throttling error|Service unavailable):", "rate limit", "too many requests"];

/// Errors of an overflow, each with its provider.
const OVERFLOW: &[&str] = &[
    "prompt (is )?too long",                 // Anthropic, Z.AI
    "prompt exceeds max length",             // Z.AI in China
    "request_too_large",                     // Anthropic, by bytes
    "input is too long for requested model", // Bedrock
    "exceeds the context window",            // OpenAI
    r"exceeds (the )?(model'?s )?maximum context length( of [\d,]+ tokens?| \([\d,]+\))", // LiteLLM
    "context window exceeded",               // LiteLLM before the call
    "input token count.*exceeds the maximum", // Google
    r"maximum prompt length is \d+",         // xAI
    "reduce the length of the messages",     // Groq
    r"maximum context length is [\d,]+ tokens", // OpenRouter
    r"exceeds (the )?maximum allowed input length of [\d,]+ tokens?", // Poolside
    r"input \(\d+ tokens\) is longer than the model'?s context length \(\d+ tokens\)", // Together
    r"exceeds the limit of \d+",             // GitHub Copilot
    "exceeds the available context size",    // llama.cpp
    "greater than the context length",       // LM Studio
    "context window exceeds limit",          // MiniMax
    "exceeded model token limit",            // Kimi
    r"too large for model with \d+ maximum context length", // Mistral
    r"prompt has [\d,]+ tokens?, but the configured context size is [\d,]+ tokens?", // DS4
    "model_context_window_exceeded",         // Z.AI, Anthropic: as a stop reason
    "prompt too long; exceeded (max )?context length", // Ollama
    "range of input length should be",       // DashScope
    "context[_ ]length[_ ]exceeded",
    "too many tokens",
    "token limit exceeded",
    r"^[\w .-]+ API error \(413\):",
    r"^413([\s:]|$)",
];

/// The error of Cerebras, which is a status without a body.
const OVERFLOW_CEREBRAS: &str = r"^4(00|13)\s*(status code)?\s*\(no body\)";

static NOT_OVERFLOW_SET: LazyLock<Vec<Regex>> = LazyLock::new(|| compile(NOT_OVERFLOW));
static OVERFLOW_SET: LazyLock<Vec<Regex>> = LazyLock::new(|| compile(OVERFLOW));
static CEREBRAS: LazyLock<Vec<Regex>> = LazyLock::new(|| compile(&[OVERFLOW_CEREBRAS]));

/// Compiles patterns of this crate; a test checks that all of them compile.
pub(crate) fn compile(patterns: &[&str]) -> Vec<Regex> {
    let compile = |pattern: &&str| RegexBuilder::new(pattern).case_insensitive(true).build();
    patterns.iter().filter_map(|pattern| compile(pattern).ok()).collect()
}

/// Returns true if the conversation exceeded the context window, by the error of the provider or by
/// its token counts.
pub fn is_context_overflow(message: &AssistantMessage, context_window: Option<u64>) -> bool {
    if message.stop_reason == StopReason::Error
        && let Some(error) = &message.error_message
        && mentions_overflow(error, &message.provider)
    {
        return true;
    }
    let Some(window) = context_window.filter(|window| *window > 0) else { return false };
    let usage = &message.usage;
    let input = usage.input.saturating_add(usage.cache_read);
    match message.stop_reason {
        // Some endpoints truncate the input without an error.
        StopReason::Stop => input > window,
        // Others fill the window with input, so that no tokens are left for an answer.
        StopReason::Length => usage.output == 0 && input.saturating_mul(100) >= window * 99,
        _ => false,
    }
}

fn mentions_overflow(error: &str, provider: &str) -> bool {
    let any = |set: &[Regex]| set.iter().any(|pattern| pattern.is_match(error));
    if any(&NOT_OVERFLOW_SET) {
        return false;
    }
    any(&OVERFLOW_SET) || (provider == "cerebras" && any(&CEREBRAS))
}

/// Returns true if the answer was truncated although fewer than `requested` tokens were produced.
/// After compaction, a retry can give a complete answer.
pub fn is_recoverable_length(message: &AssistantMessage, requested: u64) -> bool {
    message.stop_reason == StopReason::Length && requested > 0 && message.usage.output < requested
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_compile() {
        assert_eq!(NOT_OVERFLOW_SET.len(), NOT_OVERFLOW.len());
        assert_eq!(OVERFLOW_SET.len(), OVERFLOW.len());
        assert_eq!(CEREBRAS.len(), 1);
    }
}
