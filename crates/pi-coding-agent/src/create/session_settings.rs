//! The settings of the user, as a session and its requests need them.

use std::time::Duration;

use pi_config::Settings;
use pi_models::Fallbacks;
use pi_protocol::{CacheRetention, StreamOptions};

use super::AgentOptions;
use crate::Environment;
use crate::extension::RunMode;
use crate::session::SessionSettings;

/// Returns the settings that concern a session.
pub(super) fn session_settings(settings: &Settings, options: &AgentOptions) -> SessionSettings {
    // In these modes no one can stop a model that repeats itself.
    let is_watched = !matches!(options.mode, RunMode::Print | RunMode::Json);
    SessionSettings {
        retry: settings.retry.clone(),
        compaction: settings.compaction.clone(),
        branch_summary: settings.branch_summary(),
        steering_mode: settings.steering_mode,
        follow_up_mode: settings.follow_up_mode,
        steering_delivery: settings.steering_delivery,
        limits: settings.limits(),
        repetition: settings.repetition(is_watched),
        cache_warming: settings.cache_warming,
        block_images: settings.images.block_images,
        default_thinking_level: settings.default_thinking_level,
        model_thinking_levels: settings
            .model_thinking_levels
            .clone()
            .unwrap_or_default()
            .into_iter()
            .collect(),
        fallbacks: Fallbacks {
            given: options.model.fallbacks.clone(),
            by_model: settings.model_fallbacks.clone().unwrap_or_default(),
        },
    }
}

/// Returns the options of every request.
pub(super) fn stream_options(settings: &Settings, environment: &Environment) -> StreamOptions {
    let provider = &settings.retry.provider;
    let mut options = StreamOptions::default();
    let timeout = provider.timeout_ms.map(Duration::from_millis);
    options.timeouts.first_byte = timeout.or(options.timeouts.first_byte);
    options.transport = settings.transport;
    options.timeouts.websocket_connect = settings.websocket_connect_timeout.duration();
    options.timeouts.idle = settings.http_idle_timeout.duration();
    options.retry.max_retries = provider.max_retries;
    options.retry.max_delay = Duration::from_millis(provider.max_retry_delay_ms);
    options.thinking_budgets = settings.thinking_budgets();
    if environment.variable("PI_CACHE_RETENTION") == Some("long") {
        options.cache_retention = Some(CacheRetention::Long);
    }
    options
}
